"""Helpers: access tokens, what an owner lends, the pools of errands, and how far a claim is believed."""
