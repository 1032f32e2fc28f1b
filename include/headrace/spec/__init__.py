"""Frozen, validated declarations. Standard library only, so that a DAG file may import them at parse."""
