"""Search: words, the query language, which pages match, how well, and what is shown of them. All pure."""
