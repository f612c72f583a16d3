"""The parsed form of a Datalog program: what was written, and where."""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.errors import Place
from tidings.ir.expression import Expression


@dataclass(frozen=True, slots=True)
class Argument:
    """A term of an atom, by its position or under the name of a column; ``*`` has no term."""

    term: Expression | None
    place: Place
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ParsedAtom:
    """A predicate and its arguments as they were written."""

    predicate: str
    arguments: tuple[Argument, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class ParsedLiteral:
    """An atom of a body."""

    atom: ParsedAtom
    negated: bool


@dataclass(frozen=True, slots=True)
class ParsedComparison:
    """Two expressions and what is to hold between them."""

    operator: str
    left: Expression
    right: Expression
    place: Place


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A rule or fact."""

    head: ParsedAtom
    literals: tuple[ParsedLiteral, ...]
    comparisons: tuple[ParsedComparison, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Declaration:
    """Names and types of a predicate's columns, where they are given."""

    predicate: str
    columns: tuple[tuple[str, str], ...]
    place: Place


@dataclass(slots=True)
class ParsedProgram:
    """Rules in the order in which they were written, and what is asked."""

    rules: list[ParsedRule] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    questions: list[ParsedAtom] = field(default_factory=list)
    storage: dict[str, str] = field(default_factory=dict)
    """What is said of the rows of predicates, by their names in small letters: ``always``, ``never`` or ``auto``."""
