"""The feature log, cutoffs, snapshots and the point-in-time join."""
