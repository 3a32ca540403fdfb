"""Messages: every tuple of the whiteboard, its bytes and templates, and the protocols of election, delivery and end."""
