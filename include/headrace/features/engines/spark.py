"""The same answers through Spark, beyond one machine: log rows and questions in one union, and a running maximum over it.

For each entity, rows and questions stand in one order: by the instant, rows before questions. The greatest `(x, a, seq)` so far is then the
answer to each question; no frontier is needed, since a running maximum forgets nothing. Plain windows only: Spark's own as-of join
is behind a flag and ten times slower where one entity is hot.

Groups with retractions first become steps, one for each moment, as in the DuckDB engine; of steps the newest counts.

Needs `pip install headrace[spark]`, and Java 17 or a Spark Connect server. The session is the one that is active, else a new one as
`SPARK_REMOTE` or Spark's own configuration says, else on this machine. The log travels from this process to Spark and back: what a session
reads from the lake itself is a question for a join that starts from files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.features.columns import Rows, integers
from headrace.features.engines.engine import log_table, questions_table
from headrace.features.errors import EngineMissing
from headrace.features.frontier import NO_ROW, WITHDRAWN
from headrace.features.keys import Codes
from headrace.features.log import Log
from headrace.features.times import Micros

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_FACTS = """
    WITH seen AS (
        SELECT *, greatest(x, a) AS v FROM {log}
    ), entangled AS (
        SELECT DISTINCT g FROM {log} WHERE retraction
    )
    SELECT g, v, named_struct('x', x, 'a', a, 'seq', seq, 'row', row) AS best FROM seen LEFT ANTI JOIN entangled USING (g)
"""
_SWEPT_FACTS = """
    WITH seen AS (
        SELECT *, greatest(x, a) AS v FROM {log} LEFT SEMI JOIN (SELECT DISTINCT g FROM {log} WHERE retraction) USING (g)
    ), moments AS (
        SELECT DISTINCT g, v FROM seen
    ), versions AS (
        SELECT m.g, m.v, s.row, s.x, s.a, s.seq, r.row IS NOT NULL AS gone
        FROM moments m
        JOIN seen s ON s.g = m.g AND s.v <= m.v AND NOT s.retraction
        LEFT JOIN seen r ON r.retraction AND r.g = s.g AND r.x = s.x AND r.v <= m.v
            AND (r.a > s.a OR (r.a = s.a AND r.seq > s.seq))
            AND (r.retracts_all OR r.retracts = s.seq)
    ), steps AS (
        SELECT g, v, coalesce(max_by(row, struct(x, a, seq)) FILTER (WHERE NOT gone), {withdrawn}) AS row FROM versions GROUP BY g, v
    )
    SELECT g, v, named_struct('x', v, 'a', 0L, 'seq', 0L, 'row', row) AS best FROM steps
"""
_ANSWERS = """
    WITH together AS (
        SELECT g, v, 0 AS asked, best, CAST(NULL AS BIGINT) AS position FROM {facts}
        UNION ALL
        SELECT g, at AS v, 1 AS asked, NULL AS best, position FROM {questions}
    ), running AS (
        SELECT position, max(best) OVER (PARTITION BY g ORDER BY v, asked ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS best
        FROM together
    )
    SELECT position, coalesce(best.row, {no_row}) AS row FROM running WHERE position IS NOT NULL
"""


class SparkEngine:
    """Spark, through SQL that any session understands, a Connect session among them."""

    def __init__(self, session: SparkSession | None = None) -> None:
        self._session = session

    def rows_at(self, log: Log, group: Codes, asked: Codes, at: Micros) -> Rows:
        """See `Engine.rows_at`."""
        answers = np.full(asked.shape, NO_ROW, dtype=np.int64)
        if asked.size == 0 or not (group >= 0).any():
            return answers
        spark = active_session() if self._session is None else self._session
        rows = _frame(spark, log_table(log, group))
        facts = spark.sql(_FACTS, log=rows)
        if log.retraction.any():
            facts = facts.unionByName(spark.sql(_SWEPT_FACTS, log=rows, withdrawn=WITHDRAWN))
        found = spark.sql(_ANSWERS, facts=facts, questions=_frame(spark, questions_table(asked, at)), no_row=NO_ROW).toArrow()
        answers[integers(found.column("position"))] = integers(found.column("row"))
        return answers


def active_session() -> SparkSession:
    """The session that is active, else a new one. Raises `EngineMissing` where a package or Java is not there."""
    try:
        from pyspark.errors import PySparkRuntimeError
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise _missing("no package pyspark") from error
    try:
        # Asked for first: the builder knows no Connect session that somebody else opened.
        active = SparkSession.getActiveSession()
        return SparkSession.builder.appName("headrace").getOrCreate() if active is None else active
    except (ImportError, PySparkRuntimeError) as error:  # no grpcio for Connect; no Java; no server named
        raise _missing(str(error).splitlines()[0]) from error


def _missing(found: str) -> EngineMissing:
    return EngineMissing(
        "engine spark",
        found=found,
        expected="pyspark 4.3, and Java 17 or a Spark Connect server that SPARK_REMOTE names",
        remedy="pip install 'headrace[spark]' and install Java 17, or 'pyspark[connect]' for a server; or name another engine.",
    )


def _frame(spark: SparkSession, table: Any) -> Any:
    return spark.createDataFrame(table)
