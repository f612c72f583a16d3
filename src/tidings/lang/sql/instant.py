"""The clock in a statement: read once, when the statement is run.

In a view ``now()`` moves on and rows come and go with it.  In a statement that changes rows it is one instant, so it is
put into the text before anything is bound.  So it is in a query that is asked once, where no view may read the clock.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis import functions
from tidings.clock import instant
from tidings.ir.expression import Expression, cast

_TYPES = {
    "now": "timestamp",
    "current_timestamp": "timestamp",
    "localtimestamp": "timestamp_ntz",
    "current_date": "date",
    "curdate": "date",
}


def reads_clock(node: Expression) -> bool:
    """Whether an expression mentions the clock."""
    return any(functions.reads_clock(n) for n in node.walk())


def with_instant(query: Expression, now: int) -> Expression:
    """A query that is asked once, at an instant: the clock says that, also where no view may read it.

    >>> with_instant(exp.maybe_parse("SELECT now(), a FROM t"), 1_500_000).sql("spark")
    "SELECT CAST('1970-01-01 00:00:01.500000' AS TIMESTAMP) AS `now()`, a FROM t"
    """
    named = query.copy()
    for item in named.selects if isinstance(named, exp.Query) else ():
        name = functions.function_name(item)
        if name in _TYPES and isinstance(item.parent, exp.Select):
            item.replace(exp.alias_(item.copy(), f"{name}()", quoted=True))
    return at_instant(named, now)


def at_instant(node: Expression, now: int) -> Expression:
    """A copy of an expression in which the clock says an instant; what else it mentions keeps its place in the text.

    >>> at_instant(exp.maybe_parse("now() > x"), 1_500_000).sql("spark")
    "CAST('1970-01-01 00:00:01.500000' AS TIMESTAMP) > x"
    """
    whole = exp.Tuple(expressions=[node.copy()])
    for mention in [n for n in whole.walk() if functions.function_name(n) in _TYPES]:
        type = _TYPES[str(functions.function_name(mention))]
        moment = f"{instant(now):%Y-%m-%d}" if type == "date" else f"{instant(now):%Y-%m-%d %H:%M:%S.%f}"
        value = cast(exp.Literal.string(moment), type)
        value.meta.update(mention.meta)
        mention.replace(value)
    result: Expression = whole.expressions[0].pop()
    return result
