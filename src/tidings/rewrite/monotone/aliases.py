"""Other aliases for a second use of the same tables in one query."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tidings.ir.expression import Expression, Ref, column, substitute
from tidings.ir.standard_form import Alternative, Instant, StandardForm, TableUse


@dataclass(slots=True)
class Aliases:
    """The aliases of one query."""

    used: set[str]

    @staticmethod
    def of(form: StandardForm) -> Aliases:
        return Aliases({alias.lower() for a in form.alternatives for alias in _aliases(a)})

    def fresh(self, alternative: Alternative) -> Alternative:
        """The same alternative over tables with aliases of their own."""
        names: dict[Ref, Expression] = {}
        return self._renamed(alternative, names)

    def _renamed(self, alternative: Alternative, names: dict[Ref, Expression]) -> Alternative:
        tables = tuple(self._use(use, names) for use in alternative.tables)

        def instants(bounds: tuple[Instant, ...]) -> tuple[Instant, ...]:
            return tuple(Instant(substitute(b.expression, names), b.shift) for b in bounds)

        return replace(
            alternative,
            tables=tables,
            plain=tuple(substitute(term, names) for term in alternative.plain),
            lower=instants(alternative.lower),
            upper=instants(alternative.upper),
            absent=tuple(self._renamed(a, names) for a in alternative.absent),
        )

    def _use(self, use: TableUse, names: dict[Ref, Expression]) -> TableUse:
        alias = next(a for n in range(2, len(self.used) + 3) if (a := f"{use.alias}_{n}").lower() not in self.used)
        self.used.add(alias.lower())
        names.update({(use.alias, c.name): column(alias, c.name) for c in use.table.columns})
        return TableUse(use.table, alias, substitute(use.time, names))


def _aliases(alternative: Alternative) -> list[str]:
    inner = [alias for absent in alternative.absent for alias in _aliases(absent)]
    return [use.alias for use in alternative.tables] + inner
