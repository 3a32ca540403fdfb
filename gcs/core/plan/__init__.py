"""Plans: who crawls what, when and how that changes, and plans made ahead from the last session."""
