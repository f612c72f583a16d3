"""Procedures: functions of the user that rules call by name.

A procedure is given rows.  It is given the transaction under a parameter that is named ``tx``, or annotated as
:class:`tidings.write.transaction.Transaction`; other parameters keep their defaults.

While a procedure runs, its thread may not begin another transaction of the same database: what that did would stay even
if the transaction of the procedure is refused.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import Parameter
from threading import get_ident
from typing import Any, get_args

from tidings.errors import InvalidProcedure, NestedTransaction, UnknownProcedure, closest
from tidings.write.transaction import Transaction

Rows = list[dict[str, Any]]

TX = "tx"
"""The name of the parameter that takes the transaction."""


@dataclass(frozen=True, slots=True)
class Procedure:
    """A function that is called with all rows, or once per row; and with the transaction, if it takes it."""

    function: Callable[..., object]
    each: bool
    transaction: Parameter | None
    """The parameter that takes the transaction."""

    @staticmethod
    def of(name: str, function: Callable[..., object], *, each: bool) -> Procedure:
        """A procedure from a function; refused if it has a parameter that it would not be given."""
        return Procedure(function, each, _transaction_parameter(name, _parameters(name, function)))

    def __call__(self, rows: Rows, tx: Transaction) -> None:
        positional: tuple[Transaction, ...] = ()
        named: dict[str, Transaction] = {}
        if self.transaction is not None and self.transaction.kind is Parameter.POSITIONAL_ONLY:
            positional = (tx,)
        elif self.transaction is not None:
            named = {self.transaction.name: tx}
        for argument in rows if self.each else [rows]:
            self.function(argument, *positional, **named)


def _parameters(name: str, function: Callable[..., object]) -> list[Parameter]:
    """The parameters of a function, their annotations evaluated where that is possible."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except Exception:  # an annotation may be of what is imported for type checkers only
        try:
            signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise InvalidProcedure(name=name, reason="it is no function whose parameters are known") from None
    return list(signature.parameters.values())


def _transaction_parameter(name: str, parameters: list[Parameter]) -> Parameter | None:
    """The parameter that takes the transaction, if there is one; the first one takes the rows."""
    rows = parameters[0] if parameters else None
    if rows is None or rows.kind in (rows.KEYWORD_ONLY, rows.VAR_KEYWORD) or _takes_transaction(rows):
        raise InvalidProcedure(name=name, reason="its first parameter is not one for the rows")
    others = parameters[1:]
    takers = [p for p in others if _takes_transaction(p)]
    for parameter in others:
        is_collecting = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter not in takers and not is_collecting and parameter.default is parameter.empty:
            raise InvalidProcedure(name=name, reason=f"its parameter {parameter.name} would not be given")
    if len(takers) > 1:
        both = " and ".join(p.name for p in takers)
        raise InvalidProcedure(name=name, reason=f"{both} would both be given the transaction")
    if takers and takers[0].kind is Parameter.POSITIONAL_ONLY and takers[0] is not others[0]:
        raise InvalidProcedure(name=name, reason=f"{takers[0].name} can neither be given second nor by its name")
    return takers[0] if takers else None


_ANNOTATION = re.compile(r"(Optional\[)?([\w.]+\.)?Transaction(\])?(\s*\|\s*None)?")


def _takes_transaction(parameter: Parameter) -> bool:
    """Whether a parameter asks for the transaction, by its name or its annotation."""
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return False
    annotation = parameter.annotation
    if isinstance(annotation, str):
        is_annotated = _ANNOTATION.fullmatch(annotation.strip("'\" ")) is not None
    else:
        is_annotated = annotation is Transaction or Transaction in get_args(annotation)
    return parameter.name == TX or is_annotated


@dataclass(frozen=True, slots=True)
class Procedures:
    """The procedures that are registered with one database; names are taken without regard to case."""

    _by_name: dict[str, Procedure] = field(init=False, default_factory=dict)
    _running: dict[int, str] = field(init=False, default_factory=dict)
    """The names of the procedures that run now, by thread."""

    def register(self, name: str, function: Callable[..., object], *, each: bool) -> None:
        """Register a function under a name, in the place of one that had it before."""
        self._by_name[name.lower()] = Procedure.of(name, function, each=each)

    def call(self, name: str, rows: Rows, tx: Transaction) -> None:
        """Call a procedure with rows, in a transaction."""
        procedure = self[name]
        with self._run(name):
            procedure(rows, tx)

    @contextmanager
    def _run(self, name: str) -> Iterator[None]:
        thread = get_ident()
        outer = self._running.get(thread)
        self._running[thread] = name
        try:
            yield
        finally:
            del self._running[thread]
            if outer is not None:
                self._running[thread] = outer

    def require_none_running(self, method: str, hint: str) -> None:
        """Refuse to begin a transaction in a procedure, which runs in one; other threads may."""
        name = self._running.get(get_ident())
        if name is not None:
            raise NestedTransaction(None, hint, method=method, procedure=name)

    def __getitem__(self, name: str) -> Procedure:
        if name not in self:
            raise self.unknown(name)
        return self._by_name[name.lower()]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name

    def unknown(self, name: str) -> UnknownProcedure:
        """The error that says that a procedure is not registered."""
        return UnknownProcedure(None, closest(name, self._by_name), name=name)
