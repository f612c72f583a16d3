"""The one owner of everything that is compiled from definitions, and the one way to forget it.

Binding a query, compiling its delta program and printing its SQL are done once and remembered, like prepared
statements.  All of it depends on the definitions of tables and views.  When one of these changes,
:meth:`CompiledPlans.forget` drops everything, so that nothing compiled outlives the definition it was made from.

Each part of a database that compiles something asks for a section of its own and gives it a name and a type::

    self._programs: dict[ProgramKey, Program] = self.compiled.section()

What holds more than a mapping registers a function to be called: ``compiled.on_forget(self._unbind)``.  A plan or a
program is looked up by its identity (:class:`Identity`): comparing whole trees would cost more than it saves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Identity(Generic[T]):
    """A key that stands for one object, and keeps it alive; an equal object is another key.

    >>> one, twin = (1, [2]), (1, [2])
    >>> Identity(one) == Identity(one), Identity(one) == Identity(twin)
    (True, False)
    """

    of: T

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.of is self.of

    def __hash__(self) -> int:
        return object.__hash__(self.of)


@dataclass(slots=True)
class CompiledPlans:
    """What one database has compiled.

    >>> compiled = CompiledPlans()
    >>> plans = compiled.section()
    >>> plans["SELECT 1"] = "a plan"
    >>> compiled.forget()
    >>> plans
    {}
    """

    _sections: list[dict[Any, Any]] = field(init=False, default_factory=list)
    _callbacks: list[Callable[[], None]] = field(init=False, default_factory=list)

    def section(self) -> dict[Any, Any]:
        """A new, empty mapping for compiled things of one kind; :meth:`forget` empties it."""
        section: dict[Any, Any] = {}
        self._sections.append(section)
        return section

    def on_forget(self, callback: Callable[[], None]) -> None:
        """Call a function whenever everything is forgotten, to release what is not in a section."""
        self._callbacks.append(callback)

    def forget(self) -> None:
        """Drop everything that was compiled: a definition has changed."""
        for section in self._sections:
            section.clear()
        for callback in self._callbacks:
            callback()
