"""Functions of users as those of a Spark session: over Arrow arrays, or value by value in Spark 4.0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from tidings.engine.arrow import arrow_type
from tidings.engine.scalar_function import ScalarFunction


def vectorised_udf(function: ScalarFunction) -> Any:
    """What Spark registers for a function; without ``arrow_udf``, its code is given arrays of one value."""
    spark: Any = F  # the stubs of PySpark do not have arrow_udf
    if hasattr(spark, "arrow_udf"):
        return spark.arrow_udf(function.vectorised(), function.returns)
    return spark.udf(one_by_one(function), function.returns, useArrow=True)


def one_by_one(function: ScalarFunction) -> Callable[..., Any]:
    """A function over values, which the code of a function is called with as arrays of one.

    >>> double = ScalarFunction("double", ("int",), "int", lambda values: values.cast("int64"))
    >>> one_by_one(double)(7)
    7
    """
    call, takes = function.vectorised(), [arrow_type(type) for type in function.takes]

    def each(*values: Any) -> Any:
        arrays = [pa.array([value], type=type) for value, type in zip(values, takes, strict=True)]
        return call(*arrays)[0].as_py()

    return each
