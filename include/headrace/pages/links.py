"""Addresses of pages and of Airflow's own screens. Every address is made here."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, urlencode


@dataclass(frozen=True, kw_only=True)
class Links:
    """`root` is where the pages are mounted, `airflow` where Airflow's UI is; both without a trailing slash."""

    root: str
    airflow: str

    def datasets(self) -> str:
        return f"{self.root}/datasets"

    def dataset(self, name: str) -> str:
        return f"{self.root}/datasets/{quote(name)}"

    def release(self, dataset: str, number: int) -> str:
        return f"{self.root}/releases/{quote(dataset)}/{number}"

    def partition(self, dataset: str, number: int, partition: str) -> str:
        return f"{self.release(dataset, number)}/{quote(partition)}"

    def snapshots(self, view: str | None = None) -> str:
        return f"{self.root}/snapshots" + ("" if view is None else f"/{quote(view)}")

    def quality(self, dataset: str | None = None) -> str:
        return f"{self.root}/quality" + ("" if dataset is None else f"/{quote(dataset)}")

    def report(self, dataset: str, partition: str, manifest_digest: str) -> str:
        return f"{self.quality(dataset)}/{quote(partition)}/{manifest_digest}"

    def live_report(self, dataset: str, partition: str, profile_digest: str) -> str:
        return f"{self.quality(dataset)}/live/{quote(partition)}/{profile_digest}"

    def runs(self, dataset: str | None = None) -> str:
        return f"{self.root}/runs" + ("" if dataset is None else f"/{quote(dataset)}")

    def run(self, dataset: str, partition: str, name: str) -> str:
        return f"{self.runs(dataset)}/{quote(partition)}/{name}"

    def sample(self, dataset: str | None = None, sample_id: str | None = None) -> str:
        given = {"dataset": dataset, "sample_id": sample_id}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return f"{self.root}/sample" + (f"?{query}" if query else "")

    def incident(self, dataset: str, stream: str, number: int) -> str:
        """Where an incident is taken on."""
        return f"{self.root}/incidents/{quote(dataset)}/{quote(stream)}/{number}"

    def airflow_run(self, dag: str, run_id: str) -> str:
        return f"{self.airflow}/dags/{quote(dag)}/runs/{quote(run_id, safe='')}"

    def airflow_dag(self, dag: str) -> str:
        return f"{self.airflow}/dags/{quote(dag)}"
