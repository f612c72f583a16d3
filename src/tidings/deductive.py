"""The calls of a database that speak Datalog: programs as views."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from threading import RLock

from tidings.exclusive import exclusive
from tidings.front.assembly import Parts
from tidings.lang.datalog.compile import bind_program
from tidings.lang.datalog.statements import questions, view_statements
from tidings.lang.sql import statement as sql
from tidings.result import Result


class Deductive:
    """What a database answers in Datalog; see :class:`tidings.database.Database`."""

    _parts: Parts
    _mutex: RLock

    @exclusive
    def datalog(
        self, program: str | Path, *, stored: bool | Collection[str] = False, replace: bool = False
    ) -> list[Result]:
        """Define every predicate of a program as a view, and answer what it asks with ``?- p(1, x).``

        ``program`` is a text, or the path of a ``.dl`` file.  ``stored`` says of which predicates the rows are kept: of
        all, of none or of those named.  Nothing is defined if the program is refused.
        """
        text = program.read_text(encoding="utf-8") if isinstance(program, Path) else _text(program)
        parts = self._parts
        bound = bind_program(text, parts.relations, parts.backend, views=True)
        kept: Collection[str] = bound.predicates if stored is True else stored or ()
        created: list[str] = []
        try:
            for name, create in view_statements(bound, stored=kept, replace=replace):
                for statement in sql.read(create):
                    parts.statements.run(statement)
                created.append(name)
        except BaseException:
            for name in reversed(created if not replace else []):
                for statement in sql.read(f"DROP VIEW IF EXISTS `{name}`"):
                    parts.statements.run(statement)
            raise
        return [parts.answers.now(parts.plans.plan(question)) for question in questions(bound)]


def _text(program: str) -> str:
    """A program's text, or that of the file it is in."""
    if program.endswith(".dl") and "\n" not in program:
        return Path(program).read_text(encoding="utf-8")
    return program
