"""Spark sessions: starting one, and what one says, in the words of Tidings."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType
from pyspark.sql.utils import is_remote

from tidings.engine.arrow import without_empty_chunks
from tidings.engine.location import Location
from tidings.engine.scratch import Scratch
from tidings.engine.sql import quoting
from tidings.ir import types
from tidings.ir.relation import Column
from tidings.quiet import quiet

FAILURES = (PySparkException, Py4JError)
"""What Spark raises when a query cannot be run."""

_QUERY_LOG = "SQLQueryContextLogger"

_EXCLUDED = "spark.sql.optimizer.excludedRules"
_SPOILING = re.compile(r"\[PLAN_VALIDATION_FAILED_RULE_IN_BATCH\] Rule ([\w.$]+)")


def local_session() -> SparkSession:
    """A session of its own in local mode; the first one starts Spark, later ones share it."""
    running = SparkSession.getActiveSession()
    if running is not None:
        return running.newSession()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    master = os.environ.get("TIDINGS_SPARK_MASTER", "local[*]")
    settings = {
        "spark.app.name": "tidings",
        "spark.master": master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.buffer.pageSize": "1m",
        "spark.driver.memory": os.environ.get("TIDINGS_SPARK_MEMORY", "4g"),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.log.level": os.environ.get("TIDINGS_SPARK_LOG", "FATAL"),  # what fails is raised
    }
    if master.startswith("local"):
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        }
    for key, value in settings.items():
        builder = builder.config(key, value)
    started: SparkSession = builder.getOrCreate()
    return started.newSession()


def analysis_fingerprint() -> str:
    """What the analysis of a query by a session of :func:`local_session` depends on, beside the query."""
    home = os.environ.get("SPARK_HOME") or str(Path(pyspark.__file__).parent)
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or f"{home}/conf", "spark-defaults.conf")
    text = defaults.read_text(encoding="utf-8") if defaults.is_file() else ""
    return f"{pyspark.__version__}\n{text}"


def relation_columns(session: SparkSession, name: str) -> tuple[Column, ...] | None:
    """The columns of a view or table that a session has, if there is one of this name."""
    try:
        with quiet_session():
            return tuple(Column(f.name, type_text(f.dataType)) for f in session.table(name).schema.fields)
    except FAILURES:
        return None


def scratch_of(session: SparkSession, shared: Location | None) -> Scratch | None:
    """Where a session's workers see files of this process: on a cluster only where it is shared.

    In local mode that is the folder of the database too, if it is on this machine: there rows are as private as it is.
    """
    if not is_remote() and str(session.sparkContext.master).startswith("local"):
        return Scratch(shared if shared is not None and shared.is_local else None)
    return None if shared is None else Scratch(shared)


def arrow_frame(session: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows of this process as a frame.

    Spark Connect makes no frame of an empty table: it is given a row, which is dropped.
    """
    if rows.num_rows or not is_remote():
        return session.createDataFrame(without_empty_chunks(rows))
    dropped = pa.table({field.name: pa.nulls(1, field.type) for field in rows.schema})
    return session.createDataFrame(dropped).where(F.lit(False))


def arrow_rows(session: SparkSession, text: str, nested: Mapping[str, str]) -> pa.Table:
    """The rows of a query, its nested columns cast to their types.

    Where a rule of Spark's optimizer spoils the plan, the query is run again without that rule.

    Spark 4.3 checks plans after every rule, and RemoveRedundantAliases loses columns of some plans in which one
    relation stands several times below unions and windows.
    """

    def rows() -> pa.Table:
        frame = session.sql(text)
        if nested:  # Arrow refuses a NULL struct whose fields Spark knows to be never NULL; a cast forgets that
            frame = frame.withColumns({n: F.col(quoted(n)).cast(t) for n, t in nested.items()})
        return frame.toArrow()

    try:
        return rows()
    except FAILURES as error:
        rule = _SPOILING.search(str(error))
        if rule is None:
            raise
    session.conf.set(_EXCLUDED, rule[1])
    try:
        return rows()
    finally:
        session.conf.unset(_EXCLUDED)


def quiet_session() -> AbstractContextManager[None]:
    """Keep PySpark from logging a failed query with the whole Java stack."""
    PySparkLogger.getLogger(_QUERY_LOG)  # so that the logger is of PySpark's own kind, whoever asks first
    return quiet(_QUERY_LOG)


def type_text(type: DataType) -> str:
    """A Spark type as :mod:`tidings.ir.types` writes it."""
    match type:
        case StructType():
            fields = (f"{types.field_name(f.name)}:{type_text(f.dataType)}" for f in type.fields)
            return f"struct<{','.join(fields)}>"
        case ArrayType():
            return f"array<{type_text(type.elementType)}>"
        case MapType():
            return f"map<{type_text(type.keyType)},{type_text(type.valueType)}>"
        case _:
            return type.simpleString()


def quoted(name: str) -> str:
    """A name as Spark has it in quotes."""
    return quoting.quoted(name, "spark")


def sentence(error: Exception) -> str:
    """What Spark says, without the plan and the stack below it.

    >>> sentence(ValueError("[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012\\n\\tat java.lang"))
    '[DIVIDE_BY_ZERO] Division by zero.'
    """
    text = str(error).split("\n")[0].split("; line ")[0].split(" SQLSTATE:")[0]
    return text.strip()


def fragment(error: PySparkException) -> str | None:
    """The part of a query that an error blames."""
    contexts = error.getQueryContext() or []
    return contexts[0].fragment() or None if contexts else None
