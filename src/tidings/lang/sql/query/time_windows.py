"""Windows of time to group by: ``window(ts, '10 minutes', '5 minutes')``, ``session_window(ts, '5 minutes')``.

Each is a struct of a start and an end, and rows without a time have none:

- windows one after the other (*tumbling*) are an expression of the time;
- windows that overlap (*sliding*) are several for each row: the row is unnested with the numbers of those it lies in;
- a *session* is as long as each row follows on an earlier one of its group within a gap.  Alone the call is the row's
  own span, from its time to the end of its gap.  Where it is grouped by, the spans that meet are put together
  (:func:`sessions`): per group of the other keys, a moment begins a session if it lies after the end of all spans
  before it, and belongs to the last one begun.

The translation is from tree to tree, before the clauses are bound.  Elsewhere in the SELECT ``window`` and
``session_window`` are the names of what is grouped by, unless a source has columns of these names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from tidings.analysis import functions
from tidings.errors import InvalidExpression
from tidings.ir.expression import Expression, Ref, cast, column, filled, literal, read, show_name, substitute, template
from tidings.ir.relation import Aggregate, Column, Item, Join, Project, Relation, Unnest, Window
from tidings.lang.sql.context import Context
from tidings.lang.sql.query.expression import bind_expression
from tidings.lang.sql.query.scope import Scope, ScopeRelation

_NAMES = ("window", "session_window", "window_time")
_CLAUSES = ("where", "group", "having", "qualify", "order")
_UNITS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
_PART = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*([a-z]+?)s?(?=\s|$)", re.IGNORECASE)
_SOURCE = "__windows"
"""The source that sliding windows come from; no user's relation is called so."""


@dataclass(frozen=True, slots=True)
class TimeWindows:
    """A SELECT without calls of time windows, over a plan that has what they need."""

    node: exp.Select
    plan: Relation
    session: Expression | None = None
    """The span of a row, if sessions are asked for."""


def with_time_windows(
    ctx: Context, node: exp.Select, scope: Scope, plan: Relation, analysed: exp.Select
) -> TimeWindows:
    """The SELECT with its time windows written out; ``analysed`` is given what the plan gets."""
    calls = [c for part in _parts(node) for c in _calls(part)]
    if not calls:
        return TimeWindows(node, plan)
    tree = node.copy()
    _write_out_times(tree)
    windows = list(dict.fromkeys(c for part in _parts(tree) for c in _calls(part)))
    if not windows:
        return TimeWindows(tree, plan)
    if len(windows) > 1:
        raise ctx.unsupported("several time windows in one SELECT", calls[0])
    (call,), name = windows, functions.function_name(windows[0]) or ""
    if name == "session_window":
        struct, there = _span(ctx, call, scope)
    else:
        struct, there, plan = _window(ctx, call, scope, plan, analysed)
    _replace(tree, call, name, struct, scope)
    condition = there if tree.args.get("where") is None else exp.and_(tree.args["where"].this, there)
    tree.set("where", exp.Where(this=condition))
    session = bind_expression(ctx, struct, scope, {}) if name == "session_window" else None
    return TimeWindows(tree, plan, session)


def _parts(node: exp.Select) -> list[Expression]:
    return [*node.expressions, *(node.args[a] for a in _CLAUSES if node.args.get(a) is not None)]


def _calls(part: Expression) -> list[Expression]:
    """The calls of time windows in a clause, not those in its subqueries."""
    calls: list[Expression] = []
    for found in part.walk(prune=lambda n: isinstance(n, exp.Query) and n is not part):
        if isinstance(found, exp.Anonymous) and functions.function_name(found) in _NAMES:
            calls.append(found)
    return calls


def _write_out_times(tree: exp.Select) -> None:
    """``window_time(w)`` is the last instant of a window."""
    for call in [c for part in _parts(tree) for c in _calls(part)]:
        if functions.function_name(call) == "window_time" and len(call.expressions) == 1:
            last = "TIMESTAMP_MICROS(UNIX_MICROS(x.end) - 1)"
            call.replace(_filled_fields(last, call.expressions[0]))


def _filled_fields(text: str, value: Expression) -> Expression:
    """A template in which ``x.field`` are fields of a value."""

    def part(node: Expression) -> Expression:
        if not isinstance(node, exp.Column) or node.table != "x":
            return node
        return exp.Dot(this=exp.Paren(this=value.copy()), expression=exp.to_identifier(node.name, quoted=True))

    return template(text).transform(part)


def _replace(tree: exp.Select, call: Expression, name: str, struct: Expression, scope: Scope) -> None:
    """Put the struct where the call, or the name of its column, stands."""
    for part in _parts(tree):
        for node in [n for n in part.walk() if n == call or _names_window(n, name, scope)]:
            value: Expression = exp.Paren(this=struct.copy())
            for field in node.parts[1:] if isinstance(node, exp.Column) else []:
                value = exp.Dot(this=value, expression=exp.to_identifier(field.name, quoted=True))
            if node is part:
                shown = node.name if isinstance(node, exp.Column) else name
                tree.set("expressions", [value.as_(shown, quoted=True) if e is part else e for e in tree.expressions])
            else:
                node.replace(value if isinstance(node.parent, exp.Dot) or value.find(exp.Dot) else struct.copy())


def _names_window(node: Expression, name: str, scope: Scope) -> bool:
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return False
    parts = [p.name for p in node.parts]
    return parts[0].lower() == name and scope.locate(parts) is None


def _time(ctx: Context, call: Expression, scope: Scope) -> tuple[Expression, str]:
    """The instant of a row in microseconds, as a tree, and the type that windows of it have."""
    time = call.expressions[0]
    bound = bind_expression(ctx, time, scope, {})
    (type,) = ctx.types([bound], tuple(f for s in scope.sources for _, f in s.columns), call)
    if type.startswith("struct<start:"):
        kind = "timestamp_ntz" if type.startswith("struct<start:timestamp_ntz") else "timestamp"
        return _filled_fields("(UNIX_MICROS(CAST(x.end AS TIMESTAMP)) - 1)", time), kind
    kind = "timestamp_ntz" if type == "timestamp_ntz" else "timestamp"
    return filled("UNIX_MICROS(CAST(x AS TIMESTAMP))", x=time), kind


def _struct(start: Expression, end: Expression, kind: str) -> Expression:
    instant = f"CAST(TIMESTAMP_MICROS({{}}) AS {kind})" if kind != "timestamp" else "TIMESTAMP_MICROS({})"
    text = f"STRUCT({instant.format('s')} AS start, {instant.format('e')} AS end)"
    return filled(text, s=start, e=end)


def _window(
    ctx: Context, call: Expression, scope: Scope, plan: Relation, analysed: exp.Select
) -> tuple[Expression, Expression, Relation]:
    """The window of a row, the condition that there is one, and the plan with the starts of sliding ones."""
    if not 2 <= len(call.expressions) <= 4:
        raise InvalidExpression(ctx.place(call), reason="window() has a time, a duration, a slide and a start")
    length, slide, offset = _durations(ctx, call)
    micros, kind = _time(ctx, call, scope)
    start = filled(f"(m - ((m - {offset}) % {slide} + {slide}) % {slide})", m=micros)
    there = filled("NOT x IS NULL", x=call.expressions[0])
    if slide < length:
        plan, number = _numbered(ctx, plan, -(-length // slide), scope, analysed)
        start = filled(f"(s - n * {slide})", s=start, n=number)
        there = filled(f"s + {length} > m", s=start, m=micros)
    return _struct(start, filled(f"(s + {length})", s=start), kind), there, plan


def _numbered(
    ctx: Context, plan: Relation, several: int, scope: Scope, analysed: exp.Select
) -> tuple[Relation, Expression]:
    """The rows once per window each lies in, and the number of the window as a tree; ``*`` does not have it."""
    numbers = exp.GenerateSeries(start=literal(0), end=literal(several - 1))
    plan = Unnest(plan, ctx.alias("windows"), Column("number", "int"), numbers)
    source = ScopeRelation(_SOURCE, plan, (("number", plan.fields[-1]),))
    scope.sources = [*scope.sources, source]
    shown = exp.select(read("CAST(NULL AS INT)").as_("number", quoted=True)).subquery(_SOURCE)
    analysed.append("joins", exp.Join(this=shown, kind="CROSS"))
    return plan, exp.column("number", table=_SOURCE, quoted=True)


def _durations(ctx: Context, call: Expression) -> tuple[int, int, int]:
    """Length, slide and start of windows in microseconds."""
    values = [_duration(ctx, e) for e in call.expressions[1:]]
    length, slide, offset = (*values, *((values[0], 0)[len(values) - 1 :]))
    reason = ""
    if length <= 0 or slide <= 0:
        reason = "a window has a positive duration and slide"
    elif slide > length:
        reason = "windows slide by their duration at most"
    elif abs(offset) >= slide:
        reason = "windows start less than a slide from the epoch"
    if reason:
        raise InvalidExpression(ctx.place(call), reason=reason)
    return length, slide, offset


def _gap(node: Expression) -> Expression | None:
    """A gap in microseconds, where it is one text or a choice among texts, all of even length."""
    match node:
        case exp.Literal(is_string=True):
            micros = _micros(node.name)
            return None if micros is None else cast(literal(micros), "bigint")
        case exp.Null():
            return node.copy()
        case exp.Paren():
            return _gap(node.this)
        case exp.Case(this=None):
            default = node.args.get("default")
            results = [*(c.args["true"] for c in node.args["ifs"]), *([] if default is None else [default])]
            gaps = list(map(_gap, results))
            if None in gaps:
                return None
            tree = node.copy()
            for branch, gap in zip(tree.args["ifs"], gaps, strict=False):
                branch.set("true", gap)
            tree.set("default", None if default is None else gaps[-1])
            return tree
        case _:
            return None


def _duration(ctx: Context, node: Expression) -> int:
    negative = isinstance(node, exp.Neg)
    written = node.this if negative else node
    if not isinstance(written, exp.Literal):
        raise InvalidExpression(ctx.place(node), reason="the duration of a window is a text such as '5 minutes'")
    if not written.is_string:
        if not written.name.isdecimal():
            raise InvalidExpression(ctx.place(node), reason=f"{written.name} microseconds are no whole number")
        return int(written.name) * (-1 if negative else 1)
    micros = _micros(written.name)
    if micros is None:
        reason = f"'{written.name}' is no duration: weeks, days, hours, minutes and seconds are, months are not"
        raise InvalidExpression(ctx.place(node), reason=reason)
    return micros


def _micros(written: str) -> int | None:
    """A duration in microseconds; None if the text is none, or one of months.

    >>> _micros("1 hour 30 minutes"), _micros("interval -0.5 seconds"), _micros("1 month")
    (5400000000, -500000, None)
    """
    text = re.sub(r"^\s*interval\b", "", written, flags=re.IGNORECASE).strip()
    total, end = 0, 0
    while (part := _PART.match(text, end)) is not None and part[2].lower() in _UNITS:
        whole, _, fraction = part[1].partition(".")
        unit = _UNITS[part[2].lower()]
        scaled = int(fraction or 0) * unit // 10 ** len(fraction)
        total += int(whole) * unit + (-scaled if whole.startswith("-") else scaled)
        end = part.end()
    return None if end < len(text) or not text else total


def _span(ctx: Context, call: Expression, scope: Scope) -> tuple[Expression, Expression]:
    """A row's own span, and the condition that it is one."""
    if len(call.expressions) != 2:
        raise InvalidExpression(ctx.place(call), reason="session_window() has a time and a gap")
    micros, kind = _time(ctx, call, scope)
    gap = _gap(call.expressions[1])
    if gap is not None:
        end = filled("(m + g)", m=micros, g=gap)
    else:
        moment = filled("CAST(TIMESTAMP_MICROS(m) AS TIMESTAMP)", m=micros)
        interval = filled("CAST(g AS INTERVAL)", g=call.expressions[1])
        end = filled("UNIX_MICROS(t + g)", t=moment, g=interval)
    return _struct(micros, end, kind), filled("e > m", e=end, m=micros)


@dataclass(frozen=True, slots=True)
class SessionRows:
    """The rows of a plan, each in a session."""

    plan: Relation
    span: Expression
    session: Expression
    columns: Mapping[Ref, Expression]
    """The columns of the plan before, by their names there."""

    def moved(self, expression: Expression) -> Expression:
        """An expression over the plan before, with the session in place of the row's own span."""
        over = expression.transform(lambda n: self.session if n == self.span else n)
        return substitute(over, self.columns)


def sessions(ctx: Context, plan: Relation, span: Expression, keys: Sequence[tuple[Expression, str]]) -> SessionRows:
    """The rows with the session each is in, per combination of the other keys."""
    (type,) = ctx.types([span], plan.fields, span)
    ends = [_filled_fields(f"UNIX_MICROS(CAST(x.{n} AS TIMESTAMP))", span) for n in ("start", "end")]
    passed = [Item(f"{f.alias}.{f.name}", f.type, f.expression) for f in plan.fields]
    per = [Item(f"k{n}", t, key) for n, (key, t) in enumerate(keys)]
    until = Item("until", "bigint", ends[1])
    rows = Project(plan, ctx.alias("rows"), (*passed, *per, Item("since", "bigint", ends[0]), until))
    merged = _merged(ctx, rows, [*(i.name for i in per), "since"])
    same = (
        exp.NullSafeEQ(this=column(rows.alias, n), expression=column(merged.alias, n))
        for n in (*(i.name for i in per), "since")
    )
    by: dict[Ref, Expression] = {f.ref: column(rows.alias, f"{f.alias}.{f.name}") for f in plan.fields}
    kind = "timestamp_ntz" if "timestamp_ntz" in type else "timestamp"
    session = _struct(column(merged.alias, "begin"), column(merged.alias, "finish"), kind)
    return SessionRows(Join((rows, merged), tuple(same)), span, session, by)


def _merged(ctx: Context, rows: Project, keys: list[str]) -> Project:
    """Each moment of a group with the begin and the end of the session it is in."""
    items = (Item(i.name, i.type, column(rows.alias, i.name)) for i in rows.items if i.name in keys)
    last = Item("until", "bigint", exp.Max(this=column(rows.alias, "until")))
    moments: Relation = Aggregate(rows, ctx.alias("moments"), tuple(items), (last,))
    per = keys[:-1]
    moments = _with(ctx, moments, "reach", "MAX(r.until) OVER (PER ORDER BY r.since)", per)
    moments = _with(ctx, moments, "before", "LAG(r.reach) OVER (PER ORDER BY r.since)", per)
    first = "CASE WHEN r.before IS NULL OR r.since > r.before THEN r.since END"
    moments = _with(ctx, moments, "begin", f"MAX({first}) OVER (PER ORDER BY r.since)", per)
    return _with(ctx, moments, "finish", "MAX(r.until) OVER (PER)", [*per, "begin"])


def _with(ctx: Context, rows: Relation, name: str, text: str, per: list[str]) -> Project:
    """The rows with one more column, of a window function over them."""
    alias = rows.fields[0].alias
    partition = f"PARTITION BY {', '.join(f'r.{show_name(p)}' for p in per)}" if per else ""
    function = read(text.replace("PER", partition).replace("r.", f"{show_name(alias)}."))
    window = Window(rows, ctx.alias("session"), (Item(name, "bigint", function),))
    found = Item(name, "bigint", window.fields[-1].expression)
    return Project(window, ctx.alias("moments"), (*(Item(f.name, f.type, f.expression) for f in rows.fields), found))
