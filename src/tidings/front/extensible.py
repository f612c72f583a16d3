"""The calls of a database by which users bring functions and operators of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tidings.algebra import UserOperator
from tidings.exclusive import Mutex
from tidings.front.assembly import Parts
from tidings.front.functions import declared_function
from tidings.front.operators import Incremental, Operators, declared

F = TypeVar("F", bound=Callable[..., object])


class Extensible:
    """What users add to SQL; see :class:`tidings.database.Database`."""

    _parts: Parts
    _mutex: Mutex

    def function(self, name: str, *, takes: Sequence[str], returns: str, each: bool = False) -> Callable[[F], F]:
        """Register a function that SQL can call by its name: in views, rules, continuous queries and Datalog.

        It is given Arrow arrays, one per argument, and gives an array of as many values; with ``each`` it is given the
        values of one row and gives one.  It must be deterministic: its value depends on its arguments alone.  The
        database keeps its declaration and its text; the code has to be registered again when the database is opened.

        :param takes: The types of its arguments, as in ``["double", "string"]``.
        :param returns: The type of its value.
        """

        def registered(code: F) -> F:
            with self._mutex:
                self._parts.functions.register(declared_function(name, takes, returns, code), code, code, each=each)
            return code

        return registered

    def operator(
        self,
        name: str,
        *,
        takes: str | Sequence[str],
        returns: str,
        key: str | Sequence[str] = (),
        incremental: Incremental = None,
        check: bool = False,
    ) -> Callable[[Callable[..., Any]], UserOperator]:
        """Register an operator on relations: a function from Arrow tables to an Arrow table, deterministic.

        SQL applies it by ``FROM name(TABLE r)``, the algebra by ``relation(…).apply(…)``, which takes what this gives.

        :param takes: The columns it reads, as in ``"sensor STRING, value DOUBLE"``; a text for each of its relations.
        :param returns: The columns of its result.
        :param key: Columns such that rows of different keys do not influence each other; the result has them too.
            A change is found by evaluating the operator for touched keys; without a key for everything.
        :param incremental: ``"linear"`` if every row has its result alone: then it is evaluated for changed rows.  Or a
            function from old inputs, removed rows and added rows (each a list of Arrow tables, one per relation) to
            what the result loses and what it gains: it is called for each transaction, for each key if there is one.
        :param check: Compare whatever that function says with the result before and after: for tests.
        """

        def registered(code: Callable[..., Any]) -> UserOperator:
            with self._mutex:
                declaration = declared(name, takes, returns, key, incremental)
                return Operators(self._parts.functions).register(declaration, code, incremental, check=check)

        return registered
