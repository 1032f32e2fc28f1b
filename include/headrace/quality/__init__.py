"""Profiles, checks and the verdict a release must pass."""
