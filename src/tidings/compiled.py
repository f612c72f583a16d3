"""The one owner of everything that is compiled from definitions, and the one way to forget it.

Binding a query, compiling its delta program and printing its SQL are done once and remembered, like prepared
statements.  All of it depends on the definitions of tables and views.  When one of these changes,
:meth:`CompiledPlans.forget` drops everything, so that nothing compiled outlives the definition it was made from.

Each part of a database that compiles something asks for a section of its own and gives it a name and a type::

    self._programs: dict[ProgramKey, Program] = self.compiled.section()

A section forgets what was used the longest time ago when it has more than :attr:`CompiledPlans.limit` entries.  So
queries that are asked once, each with other constants, do not fill the memory, while what views and rules use stays:
there is room for it.  Whoever looks something up must be able to compile it again.

What holds more than a mapping registers a function to be called: ``compiled.on_forget(self._unbind)``.  A plan or a
program is looked up by its identity (:class:`Identity`): comparing whole trees would cost more than it saves.
"""

from __future__ import annotations

from collections import OrderedDict
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


FEW = 200
"""So many entries a section has room for, whatever is defined,"""
PER_DEFINITION = 30
"""and so many more for each definition: a query has several steps, and programs for several kinds of batches."""


class Section(OrderedDict[Any, Any]):
    """A mapping that forgets what was used the longest time ago.

    >>> section = Section(lambda: 2)
    >>> for key in "abac":
    ...     section[key] = section.get(key, 0) + 1
    >>> dict(section)
    {'a': 2, 'c': 1}
    """

    def __init__(self, limit: Callable[[], int]) -> None:
        super().__init__()
        self._limit = limit

    def __getitem__(self, key: Any) -> Any:
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, as of a dictionary."""
        if key not in self:
            return default
        return self[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        while len(self) > self._limit():
            self.popitem(last=False)


@dataclass(slots=True)
class CompiledPlans:
    """What one database has compiled.

    >>> compiled = CompiledPlans()
    >>> plans = compiled.section()
    >>> plans["SELECT 1"] = "a plan"
    >>> compiled.forget()
    >>> plans
    Section()
    """

    definitions: Callable[[], int] = field(default=lambda: 0)
    """How many views and rules there are."""
    _sections: list[dict[Any, Any]] = field(init=False, default_factory=list)
    _callbacks: list[Callable[[], None]] = field(init=False, default_factory=list)

    def limit(self) -> int:
        """How many entries a section has room for."""
        return FEW + PER_DEFINITION * self.definitions()

    def section(self) -> dict[Any, Any]:
        """A new, empty mapping for compiled things of one kind; :meth:`forget` empties it."""
        section = Section(self.limit)
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
