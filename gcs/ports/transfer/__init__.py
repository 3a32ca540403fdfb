"""Transfers to a central place; `transfer_form` says what they are."""
