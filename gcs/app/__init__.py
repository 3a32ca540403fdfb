"""What puts processes together from ports and roles, and the options and files that commands share."""
