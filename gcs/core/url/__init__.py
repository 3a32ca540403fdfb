"""URLs: the canonical form, the sort key, links, scope and admission."""
