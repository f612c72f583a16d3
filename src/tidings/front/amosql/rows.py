"""Rows of variables: for which values of some variables something is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidings.lang.amosql.objectlog import ConstantTerm, Term, Variable
from tidings.lang.amosql.sql_update import Values


@dataclass(frozen=True, slots=True)
class Bindings:
    """Variables, and the rows of their values: each once, in order."""

    variables: tuple[Variable, ...] = ()
    rows: tuple[Values, ...] = ((),)

    @staticmethod
    def of(variables: Iterable[Variable], rows: Iterable[Values]) -> Bindings:
        return Bindings(tuple(variables), tuple(sorted(set(rows))))

    def only_row(self) -> dict[str, Term]:
        """The values of the variables, if there is one row."""
        assert len(self.rows) == 1
        pairs = zip(self.variables, self.rows[0], strict=True)
        return {variable.name: ConstantTerm(value, variable.type) for variable, value in pairs}
