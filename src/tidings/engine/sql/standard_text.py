"""A query in standard form as SQL that can be read, and run.

One SELECT where its alternatives have the same tables and can be told by OR; else one per alternative, joined by UNION.
An answer is a set, so DISTINCT is there unless the answer has the keys of all tables.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from tidings.clock import instant
from tidings.ir.expression import Expression, cast, ref, show, show_name
from tidings.ir.standard_form import Alternative, Instant, OutputColumn, StandardForm, TableUse
from tidings.rewrite.monotone.order import not_after

NOW = exp.Anonymous(this="now")
"""The present, read from the clock."""

_INDENT = "  "


def timestamp(microseconds: int) -> Expression:
    """An instant as SQL.

    >>> show(timestamp(1_500_000))
    "CAST('1970-01-01 00:00:01.500000' AS TIMESTAMP)"
    """
    return cast(exp.Literal.string(f"{instant(microseconds):%Y-%m-%d %H:%M:%S.%f}"), "timestamp")


def query_text(form: StandardForm, present: Expression = NOW, since: Expression | None = None) -> str:
    """The text of a query; ``present`` and ``since`` are what stands for t and tau.

    Where nothing is told for tau, it is the beginning of time.
    """
    printer = _FormPrinter(Instant(present), Instant(timestamp(0) if since is None else since))
    first, *more = form.alternatives
    if more and all((a.tables, a.output) == (first.tables, first.output) and not a.since for a in more):
        return printer.select(first, [printer.either(form.alternatives)], distinct=not _has_keys(first))
    parts = (printer.whole(a, distinct=not more and not _has_keys(a)) for a in form.alternatives)
    return "\nUNION\n".join(parts)


def term_text(alternative: Alternative) -> str:
    """The text of the terms of an alternative, on one line."""
    return " ".join(" AND ".join(_FormPrinter(Instant(NOW), Instant(NOW)).terms(alternative)).split())


class _FormPrinter:
    """Prints with what stands for t and tau."""

    def __init__(self, present: Instant, since: Instant) -> None:
        self.present = present
        self.since = since

    def whole(self, alternative: Alternative, *, distinct: bool) -> str:
        """A SELECT of its own."""
        return self.select(alternative, list(self.terms(alternative)), distinct=distinct)

    def select(self, alternative: Alternative, terms: list[str], *, distinct: bool) -> str:
        lines = [
            f"SELECT {'DISTINCT ' if distinct else ''}{_columns(alternative)}",
            f"FROM {_from(alternative.tables)}",
        ]
        return "\n".join(lines + _where(terms))

    def either(self, alternatives: tuple[Alternative, ...]) -> str:
        """Alternatives of the same tables, joined by OR."""
        joined = [list(self.terms(a)) for a in alternatives]
        if not all(joined):
            return "TRUE"
        return "\n  OR ".join(f"({' AND '.join(terms)})" if len(terms) > 1 else terms[0] for terms in joined)

    def terms(self, alternative: Alternative) -> Iterator[str]:
        yield from (_operand_of_and(term) for term in alternative.plain)
        for bound in alternative.since:
            yield show(not_after(self.since.later(), bound))
        yield from (show(not_after(bound, self.present)) for bound in alternative.lower)
        yield from (show(not_after(self.present, bound)) for bound in alternative.upper)
        for absent in alternative.absent:
            where = "\n".join(_where(list(self.terms(absent))))
            inner = f"SELECT * FROM {_from(absent.tables)}\n{where}".rstrip()
            yield "NOT EXISTS (\n" + _indented(inner, 2) + ")"


def _indented(text: str, times: int) -> str:
    return "\n".join(_INDENT * times + line for line in text.splitlines())


def _where(terms: list[str]) -> list[str]:
    return [f"{'WHERE' if n == 0 else '  AND'} {term}" for n, term in enumerate(terms)]


def _operand_of_and(term: Expression) -> str:
    text = show(term)
    return f"({text})" if isinstance(term, exp.Or) else text


def _from(tables: tuple[TableUse, ...]) -> str:
    return ", ".join(
        show_name(t.table.name) if t.alias == t.table.name else f"{show_name(t.table.name)} AS {show_name(t.alias)}"
        for t in tables
    )


def _columns(alternative: Alternative) -> str:
    """What is selected: a star where that is the same."""
    everything = [(t.alias, c.name) for t in alternative.tables for c in t.table.columns]
    if [_column(o) for o in alternative.output] == everything:
        return "*"
    return ", ".join(map(_output, alternative.output))


def _output(output: OutputColumn) -> str:
    text = show(output.expression)
    return text if _column(output) is not None else f"{text} AS {show_name(output.name)}"


def _column(output: OutputColumn) -> tuple[str, str] | None:
    """The column that is told under its own name."""
    column = ref(output.expression)
    return column if column is not None and column[1] == output.name else None


def _has_keys(alternative: Alternative) -> bool:
    """Whether no two rows of an alternative are the same."""
    told = {_column(o) for o in alternative.output}
    return all(t.table.key and {(t.alias, k) for k in t.table.key} <= told for t in alternative.tables)
