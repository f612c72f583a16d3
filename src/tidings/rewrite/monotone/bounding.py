"""The minimum bounding monotone query: ``Q_M(t)`` is everything that ``Q`` answered at an instant up to ``t``.

Each alternative is true from the last of its lower bounds up to the first of its upper bounds, as far as the
``NOT EXISTS`` among its terms let it be.  So it has been true by ``t`` if it was true at one of two kinds of instants:

- at the last lower bound, where all other terms but ``NOT EXISTS`` begin to hold, if that is not after an upper bound,
- at an instant between the bounds at which a ``NOT EXISTS`` became true (:mod:`tidings.rewrite.monotone.candidates`).

All terms are judged at that instant, which is an expression of the rows; so the clock is left in one place only, in
``instant <= t``.  Identity: ``Q_M(t) = ⋃ Q(s), s <= t``, as sets; for a query without upper bounds and NOT EXISTS it is
``Q`` itself.  Comparisons whose outcome is known (:mod:`tidings.rewrite.monotone.order`) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sqlglot import exp

from tidings.ir.expression import Expression
from tidings.ir.standard_form import Alternative, Instant, StandardForm, TableUse
from tidings.rewrite.monotone.aliases import Aliases
from tidings.rewrite.monotone.candidates import Candidate, Latest, falls
from tidings.rewrite.monotone.order import Order, latest, not_after


class _Never(Exception):
    """A term that is known to be false."""


def bounding(form: StandardForm) -> StandardForm:
    """Alternatives without upper bounds that have, at an instant, all rows that a query had up to then."""
    aliases = Aliases.of(form)
    found: dict[Alternative, None] = {}
    for alternative in form.alternatives:
        for candidate in _instants(alternative, aliases):
            try:
                found[_judged(alternative, candidate)] = None
            except _Never:
                continue
    if not found:
        first = form.alternatives[0]
        found[Alternative(first.tables, (exp.false(),), first.lower, output=first.output)] = None
    return StandardForm(tuple(found))


def _instants(alternative: Alternative, aliases: Aliases) -> Iterator[Candidate]:
    """The instants at which an alternative may begin to be true."""
    yield Candidate((), (), alternative.lower)
    for absent in alternative.absent:
        yield from falls(aliases.fresh(absent))


def _judged(alternative: Alternative, candidate: Candidate) -> Alternative:
    """The alternative with all of its terms judged at an instant, from which on it counts."""
    tables, plain = alternative.tables + candidate.tables, alternative.plain + candidate.plain
    order = Order.of(tables, plain)
    at = order.last_ones(candidate.at)
    bounds = replace(alternative, lower=order.last_ones(alternative.lower))
    pairs = [*candidate.ordered, *_between(bounds, at)]
    return Alternative(
        tables,
        tuple(dict.fromkeys([*plain, *_terms(order, pairs)])),
        at,
        absent=tuple(_absent_at(alternative.absent, at, tables, plain)),
        output=alternative.output,
    )


def _between(alternative: Alternative, at: Latest) -> Iterator[tuple[Instant, Latest]]:
    """An instant is not before the lower bounds of an alternative, and not after the upper ones."""
    yield from ((bound, at) for bound in alternative.lower)
    yield from ((instant, (bound,)) for instant in at for bound in alternative.upper)


def _terms(order: Order, pairs: Iterable[tuple[Instant, Latest]]) -> Iterator[Expression]:
    """The conditions that instants are in order, without those that are known to be."""
    for first, last in pairs:
        verdicts = [order.is_not_after(first, instant) for instant in last]
        if True in verdicts:
            continue
        possible = tuple(i for i, verdict in zip(last, verdicts, strict=True) if verdict is None)
        if not possible:
            raise _Never
        yield not_after(first, latest(possible))


def _absent_at(
    absent: tuple[Alternative, ...], at: Latest, tables: tuple[TableUse, ...], plain: tuple[Expression, ...]
) -> Iterator[Alternative]:
    """Alternatives that no rows may satisfy, judged at an instant; those that none can are left out."""
    for alternative in absent:
        inner_tables, inner_plain = tables + alternative.tables, plain + alternative.plain
        order = Order.of(inner_tables, inner_plain)
        bounds = replace(alternative, lower=order.last_ones(alternative.lower))
        try:
            terms = tuple(_terms(order, _between(bounds, at)))
        except _Never:
            continue
        yield Alternative(
            alternative.tables,
            tuple(dict.fromkeys(alternative.plain + terms)),
            absent=tuple(_absent_at(alternative.absent, at, inner_tables, inner_plain)),
        )
