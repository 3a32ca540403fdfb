"""The librarian: answers the searches of a team from the index of one directory."""
