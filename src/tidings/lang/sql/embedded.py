"""Programs of another language inside SQL text: ``DATALOG $$ … $$`` where a query may stand.

The SQL parser does not read them.  Before it sees the text a program is replaced by a query of the same length, so that
places stay what they are; afterwards that query carries the program (:func:`program_of`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from tidings.ir.expression import Expression

_PROGRAM = re.compile(r"\bDATALOG\s*\$\$(.*?)\$\$", re.IGNORECASE | re.DOTALL)
_STAND_IN = re.compile(r"SELECT __d(\d+)\s*")
_KEY = "datalog"


@dataclass(frozen=True, slots=True)
class EmbeddedProgram:
    """The text of a program, and where in the statement's text it begins."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class HiddenPrograms:
    """A text without its programs."""

    original: str
    text: str
    programs: tuple[re.Match[str], ...]

    def restored(self, part: str) -> str:
        """A part of the text as it was written."""
        return _STAND_IN.sub(lambda found: self.programs[int(found[1])][0], part)

    def mark(self, tree: Expression) -> None:
        """Let the queries in a tree that stand for programs carry them."""
        for select in tree.find_all(exp.Select):
            items = select.expressions
            name = items[0].name if len(items) == 1 and isinstance(items[0], exp.Column) else ""
            if name.startswith("__d") and name[3:].isdigit() and int(name[3:]) < len(self.programs):
                program = self.programs[int(name[3:])]
                select.meta[_KEY] = EmbeddedProgram(program[1], program.start(1))


def hidden(text: str) -> HiddenPrograms | None:
    """A text with a query of the same length in the place of each program; None if there is none.

    >>> hidden("CREATE VIEW v AS DATALOG $$ p(1). $$").text
    'CREATE VIEW v AS SELECT __d0        '
    """
    programs = tuple(_PROGRAM.finditer(text))
    if not programs:
        return None
    numbers = iter(range(len(programs)))

    def stand_in(found: re.Match[str]) -> str:
        query = f"SELECT __d{next(numbers)}"
        return query + re.sub(r"[^\n]", " ", found[0][len(query) :])

    return HiddenPrograms(text, _PROGRAM.sub(stand_in, text), programs)


def program_of(query: Expression) -> EmbeddedProgram | None:
    """The program that a query stands for."""
    program = query.meta.get(_KEY) if isinstance(query, exp.Select) else None
    return program if isinstance(program, EmbeddedProgram) else None
