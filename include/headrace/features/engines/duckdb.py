"""The same answers through DuckDB: the frontier as window functions, then its ASOF join.

Keys reach DuckDB as dense integers, so none of its casts ('01' = 1) can match what is different. Three of its habits are
worked around: ASOF ties are decided at random (the frontier has none), the output has no order (a position is carried and
sorted by), and a left side it believes small turns the join into nested loops (the threshold for that is set to 0).

Groups with retractions are answered by comparing every moment with every version, quadratic in the rows of one entity:
slow where an entity has many, and on purpose another algorithm than the numpy engine's sweep.
"""

from __future__ import annotations

import duckdb
import numpy as np

from headrace.features.columns import Rows
from headrace.features.engines.engine import log_table, questions_table
from headrace.features.frontier import NO_ROW, WITHDRAWN
from headrace.features.keys import Codes
from headrace.features.log import Log
from headrace.features.times import Micros

_PLAIN_STEPS = """
    CREATE TEMP TABLE steps AS
    WITH seen AS (
        SELECT *, greatest(x, a) AS v FROM log WHERE g NOT IN (SELECT g FROM log WHERE retraction)
    ), ranked AS (
        SELECT *, max(x) OVER (PARTITION BY g ORDER BY v, a, seq, x ROWS UNBOUNDED PRECEDING) AS best FROM seen
    ), records AS (
        SELECT g, v, row, lead(v) OVER (PARTITION BY g ORDER BY v, a, seq, x) AS next FROM ranked WHERE x = best
    )
    SELECT g, v, row FROM records WHERE next IS NULL OR next > v
"""
_SWEPT_STEPS = """
    INSERT INTO steps
    WITH seen AS (
        SELECT *, greatest(x, a) AS v FROM log WHERE g IN (SELECT g FROM log WHERE retraction)
    ), moments AS (
        SELECT DISTINCT g, v FROM seen
    ), versions AS (
        SELECT m.g, m.v, s.row, s.x, s.a, s.seq, EXISTS (
            SELECT 1 FROM seen r
            WHERE r.retraction AND r.g = s.g AND r.x = s.x AND r.v <= m.v
                AND (r.a > s.a OR (r.a = s.a AND r.seq > s.seq))
                AND (r.retracts_all OR r.retracts = s.seq)
        ) AS gone
        FROM moments m JOIN seen s ON s.g = m.g AND s.v <= m.v AND NOT s.retraction
    )
    SELECT g, v, coalesce(arg_max(row, (x, a, seq)) FILTER (NOT gone), $withdrawn) FROM versions GROUP BY g, v
"""
_ANSWERS = """
    SELECT coalesce(s.row, $no_row) AS row
    FROM questions q ASOF LEFT JOIN steps s ON q.g = s.g AND q.at >= s.v
    ORDER BY q.position
"""


class DuckdbEngine:
    """DuckDB, embedded.

    Args:
        threads: how many threads; None: as DuckDB decides.
        memory: memory limit such as `4GB`; None: as DuckDB decides. Above it, DuckDB spills to disk.
    """

    def __init__(self, *, threads: int | None = None, memory: str | None = None) -> None:
        self._settings: dict[str, str | bool | int | float | list[str]] = {"asof_loop_join_threshold": 0}
        if threads is not None:
            self._settings["threads"] = threads
        if memory is not None:
            self._settings["memory_limit"] = memory

    def rows_at(self, log: Log, group: Codes, asked: Codes, at: Micros) -> Rows:
        """See `Engine.rows_at`."""
        with duckdb.connect() as connection:
            for name, value in self._settings.items():
                connection.execute(f"SET {name} = '{value}'")
            connection.register("log", log_table(log, group))
            connection.register("questions", questions_table(asked, at))
            connection.execute(_PLAIN_STEPS)
            if log.retraction.any():
                connection.execute(_SWEPT_STEPS, {"withdrawn": WITHDRAWN})
            answers = connection.execute(_ANSWERS, {"no_row": NO_ROW}).fetchnumpy()
            return np.asarray(answers["row"], dtype=np.int64)
