"""Plan, write, read and verify shards."""
