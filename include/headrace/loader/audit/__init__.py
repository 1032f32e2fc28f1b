"""What two recorded runs saw, and which worker of a run is slow and why."""
