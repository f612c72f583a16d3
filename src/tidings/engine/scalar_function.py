"""Functions of users in SQL: Python that is given Arrow arrays, one value per row, and gives one.

Both engines call the same code.  A function is deterministic: its values depend on its arguments alone.  One that is
only declared, because its code was not registered since the database was opened, can be bound and not be called.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidings.engine.arrow import arrow_type
from tidings.errors import EngineFailed, ForeignFailed, FunctionNotRegistered, TidingsError, WrongIncrementalForm
from tidings.ir.operator_calls import foreign_name
from tidings.lang.sql.table_operator import TableOperator

_MISSING = re.compile(r"⟨tidings: (\w+) is not registered⟩")
"""What a function that is only declared says when it is called, wherever that is."""
_WRONG_FORM = re.compile(r"⟨tidings: form of (\w+): ([^⟩]*)⟩", re.DOTALL)
"""What an incremental form says that is checked and wrong."""
_FOREIGN_FAILED = re.compile(r"⟨tidings: foreign (\w+): ([^⟩]*)⟩", re.DOTALL)
"""What a foreign function of AMOSQL says that fails."""
_RAISED = re.compile(r"^([A-Za-z_][\w.]*: .+)$", re.MULTILINE)
"""The line of a traceback that has the error."""


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """A function by its name, the types of its arguments and of its value, and its code, if that is known."""

    name: str
    takes: tuple[str, ...]
    returns: str
    code: Callable[..., Any] | None
    each: bool = False
    """Whether the code is given values one by one, and not arrays."""
    operator: TableOperator | None = None
    """The operator of FROM whose rows it computes, if it is there for one."""

    @property
    def shown_name(self) -> str:
        """The name that users know it by."""
        return foreign_name(self.name) or self.name if self.operator is None else self.operator.name

    def vectorised(self) -> Callable[..., pa.Array]:
        """The function over arrays of any types that can be cast to its own.

        It closes over nothing but plain values and the user's code, for workers of Spark get a copy of it.
        """
        name, code, each = self.shown_name, self.code, self.each
        takes, returns = [arrow_type(type) for type in self.takes], arrow_type(self.returns)

        def call(*arguments: Any) -> Any:
            if code is None:
                raise RuntimeError(f"⟨tidings: {name} is not registered⟩")
            arrays = []
            for argument, type in zip(arguments, takes, strict=True):
                array = argument.combine_chunks() if isinstance(argument, pa.ChunkedArray) else argument
                arrays.append(array if array.type == type else array.cast(type))
            if each:
                rows = zip(*(array.to_pylist() for array in arrays), strict=True)
                return pa.array([code(*row) for row in rows], type=returns)
            result = code(*arrays)
            if isinstance(result, pa.ChunkedArray):
                result = result.combine_chunks()
            elif not isinstance(result, pa.Array):
                result = pa.array(result, type=returns)
            if len(result) != len(arrays[0]):
                raise ValueError(f"{name} gave {len(result)} values for {len(arrays[0])} rows")
            return result if result.type == returns else result.cast(returns)

        return _described(call, len(takes))


def _described(call: Callable[..., Any], arguments: int) -> Callable[..., Any]:
    """A function with the signature and the type hints by which engines know its arguments and its kind."""
    names = [f"argument{number}" for number in range(arguments)]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, annotation=pa.Array) for name in names]
    described: Any = call
    described.__signature__ = inspect.Signature(parameters, return_annotation=pa.Array)
    described.__annotations__ = dict.fromkeys([*names, "return"], pa.Array)
    return call


def engine_failure(engine: str, reason: str, whole_text: str) -> TidingsError:
    """What an engine failed with: by its name, if that is a function that is only declared; what Python raised, if any.

    >>> print(engine_failure("spark", "A worker failed:", "Traceback …\\n  at x\\nValueError: no\\n").message)
    The spark engine could not evaluate the plan: ValueError: no
    """
    missing = _MISSING.search(whole_text)
    if missing is not None:
        return FunctionNotRegistered(name=missing[1])
    wrong = wrong_form(whole_text)
    if wrong is not None:
        return wrong
    foreign = _FOREIGN_FAILED.search(whole_text)
    if foreign is not None:
        return ForeignFailed(name=foreign[1], reason=foreign[2])
    raised = _RAISED.findall(whole_text) if "Traceback" in whole_text else []
    return EngineFailed(engine=engine, reason=raised[-1] if raised else reason)


def wrong_form(text: str) -> WrongIncrementalForm | None:
    """That an incremental form is wrong, if a text says so."""
    found = _WRONG_FORM.search(text)
    return None if found is None else WrongIncrementalForm(name=found[1], reason=found[2])
