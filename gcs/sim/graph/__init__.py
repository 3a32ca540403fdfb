"""Web graphs: their form in memory, the files they come from, made-up ones, and the owners of their pages."""
