"""The calls of a database that speak Datalog: programs as views, and why a row is there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tidings.engine.recursion.fixpoint import fixpoint_program
from tidings.engine.recursion.rule_values import is_supported
from tidings.errors import InvalidDatalog, UnknownRelation, closest
from tidings.errors.arguments import checked
from tidings.exclusive import Mutex, exclusive
from tidings.front.assembly import Parts
from tidings.ir.expression import show_name
from tidings.lang.datalog.compile import bind_program
from tidings.lang.datalog.statements import questions, view_statements
from tidings.lang.sql import statement as sql
from tidings.read.derivations import Derivation, Explainer, FailedRule
from tidings.result import Result
from tidings.store.relation.table import Table
from tidings.waves.recursion.deltas import same_rows


class Deductive:
    """What a database answers in Datalog; see :class:`tidings.database.Database`."""

    _parts: Parts
    _mutex: Mutex

    @exclusive
    @checked
    def datalog(
        self, program: str | Path, *, stored: bool | Collection[str] | None = None, replace: bool = False
    ) -> list[Result]:
        """Define every predicate of a program as a view, and answer what it asks with ``?- p(1, x).``

        ``program`` is a text, or the path of a ``.dl`` file.  ``stored`` says of which predicates the rows are kept: of
        all, of none or of those named; else the program does with ``.stored``.  Of a recursion of which neither says
        anything they are derived on demand until storing them costs less.  Nothing is defined if the program is
        refused.
        """
        text = _text(program)
        parts = self._parts
        bound = bind_program(text, parts.relations, parts.backend, views=True)
        created: list[str] = []
        try:
            for name, create in view_statements(bound, stored=stored, replace=replace):
                for statement in sql.read(create):
                    parts.statements.run(statement)
                created.append(name)
        except BaseException:
            for name in reversed(created if not replace else []):
                for statement in sql.read(f"DROP VIEW IF EXISTS {show_name(name)}"):
                    parts.statements.run(statement)
            raise
        return [parts.answers.now(parts.plans.plan(question)) for question in questions(bound)]

    @exclusive
    @checked
    def why(self, view: str, row: Mapping[str, Any]) -> Derivation | None:
        """How a row of a recursive view is derived, as a tree of rows and rules; None if the row is not there."""
        explainer, predicate, values = self._explained(view, row)
        return explainer.why(predicate, values)

    @exclusive
    @checked
    def why_not(self, view: str, row: Mapping[str, Any]) -> tuple[FailedRule, ...]:
        """For each rule of a recursive view the literal that fails for a row; nothing if the row is there."""
        explainer, predicate, values = self._explained(view, row)
        return explainer.why_not(predicate, values)

    def _explained(self, view: str, row: Mapping[str, Any]) -> tuple[Explainer, str, tuple[Any, ...]]:
        parts = self._parts
        relation = parts.relations.find(view)
        if relation is None:
            raise UnknownRelation(None, closest(view, parts.relations.names()), name=view)
        node = None if isinstance(relation, Table) else same_rows(relation.plan)
        missing = [c.name for c in relation.columns if c.name not in row]
        if node is None or missing or any(m.extreme for m in node.members) or not is_supported(fixpoint_program(node)):
            reason = f"the row has no {missing[0]}" if missing else f"{view} is no plain recursive predicate"
            raise InvalidDatalog(None, "why and why_not explain rows of recursive predicates", reason=reason)
        inputs = {
            name: {tuple(r.values()) for r in parts.answers.now(plan).rows()}
            for name, plan in zip(node.names, node.inputs, strict=True)
        }
        return Explainer.over(node, inputs), node.output, tuple(row[c.name] for c in relation.columns)


def _text(program: str | Path) -> str:
    """A program's text, or that of the file it is in."""
    if isinstance(program, str) and (not program.endswith(".dl") or "\n" in program):
        return program
    try:
        return Path(program).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (
            f"there is no file {program}" if isinstance(error, FileNotFoundError) else f"{program} is no text in UTF-8"
        )
        raise InvalidDatalog(reason=reason) from None
