"""What people see in Airflow's UI: pages built from the lake, self-contained, without scripts, knowing nothing of Airflow."""
