"""What a run took: a record per task, a report per run, figures over the last runs."""
