"""Politeness: when a host may be asked again, and which URLs may go next."""
