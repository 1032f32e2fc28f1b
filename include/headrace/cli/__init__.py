"""`headrace ...` for people."""
