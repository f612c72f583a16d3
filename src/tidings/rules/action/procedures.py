"""Procedures: functions of the user that rules call by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tidings.errors import UnknownProcedure, closest
from tidings.write.transaction import Transaction

Rows = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Procedure:
    """A function that is called with all rows, or once per row; and with the transaction, if it takes it."""

    function: Callable[..., object]
    each: bool
    takes_transaction: bool

    @staticmethod
    def of(function: Callable[..., object], *, each: bool) -> Procedure:
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        positional = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
        return Procedure(function, each, len(positional) > 1)

    def __call__(self, rows: Rows, tx: Transaction) -> None:
        more = (tx,) if self.takes_transaction else ()
        for argument in rows if self.each else [rows]:
            self.function(argument, *more)


@dataclass(frozen=True, slots=True)
class Procedures:
    """The procedures that are registered with one database; names are taken without regard to case."""

    _by_name: dict[str, Procedure] = field(init=False, default_factory=dict)

    def register(self, name: str, function: Callable[..., object], *, each: bool) -> None:
        """Register a function under a name, in the place of one that had it before."""
        self._by_name[name.lower()] = Procedure.of(function, each=each)

    def __getitem__(self, name: str) -> Procedure:
        if name not in self:
            raise self.unknown(name)
        return self._by_name[name.lower()]

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._by_name

    def unknown(self, name: str) -> UnknownProcedure:
        """The error that says that a procedure is not registered."""
        return UnknownProcedure(None, closest(name, self._by_name), name=name)
