"""The only room that talks to storage."""
