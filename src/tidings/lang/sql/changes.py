"""Takes ``CHANGES(…)`` out of a query: a relation with a row per change stands in its place.

The relation has the old values in columns ``old_…`` and the new ones in ``new_…``, paired by key.  A query may read
several, also several of one table; those of one table by one key are one relation.

In the condition of a rule they are the changes of a transaction.  In a query they are those of an interval, which the
arguments ``since => …`` and ``until => …`` give.

``old.x`` and ``new.x`` are columns of the one ``CHANGES`` of the nearest SELECT around them.  Where a SELECT has
several, the alias says which: ``c.old.x``.  In the result ``new.x`` is called ``x`` and ``old.x`` is called ``old_x``.
``new.*`` and ``old.*`` are all columns of a side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from sqlglot import exp

from tidings.errors import AmbiguousColumn, Place, TidingsError, UnknownColumn, UnknownRelation, closest
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression
from tidings.ir.relation import Column, Relation, Scan
from tidings.lang.sql.bind import bind
from tidings.lang.sql.context import Analyzer, Namespace
from tidings.lang.sql.parse import place

SIDES = ("old", "new")

DEFAULT_ALIAS = "changes"


@dataclass(frozen=True, slots=True)
class ChangesOf:
    """The argument of ``CHANGES(…)``: a table, view or query, and the columns by which old and new rows are paired."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    plan: Relation
    since: Expression | None = None
    until: Expression | None = None
    """The ends of the interval, in a query; ``until`` may be left out."""

    @property
    def relation(self) -> str:
        """The name of the relation of changes in the query; no table has one with a space."""
        name = f"changes of {self.name} by {', '.join(self.key)}" if self.key else f"changes of {self.name}"
        ends = ((word, end) for word, end in (("since", self.since), ("until", self.until)) if end is not None)
        return " ".join([name, *(f"{word} {end.sql(DIALECT)}" for word, end in ends)])

    @property
    def side_by_side(self) -> tuple[Column, ...]:
        """The columns of the relation of changes: the old ones, then the new ones."""
        return tuple(Column(f"{side}_{c.name}", c.type) for side in SIDES for c in self.columns)


@dataclass(frozen=True, slots=True)
class ChangeSource:
    """A table or view whose changes can be read, and its primary key, if it has one."""

    name: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]


FindSource = Callable[[str], ChangeSource | None]
"""Finds a table or view by its name."""

Refusal = Callable[[Place | None, str, str | None], TidingsError]
"""The error for a place in the text, with a reason and perhaps a hint."""


@dataclass(slots=True)
class ChangesTaker:
    """Takes ``CHANGES(…)`` out of one query."""

    text: str
    """What places refer to."""
    owner: str
    """What the query belongs to: a rule, or the result of the query itself."""
    namespace: Namespace
    find_source: FindSource
    analyzer: Analyzer
    refusal: Refusal
    over_interval: bool = False
    """Whether the changes are those of an interval that the arguments give."""
    _by_call: dict[int, ChangesOf] = field(init=False, default_factory=dict)
    """What the relations of changes in the tree are of, by the identity of their nodes."""
    _queries: dict[str, str] = field(init=False, default_factory=dict)
    """The names of the queries whose changes are read, by their texts."""

    def take(self, tree: Expression) -> tuple[ChangesOf, ...]:
        """Replace every ``CHANGES(relation or query[, key])`` by the relation of these changes, and give these."""
        calls = [table for table in tree.find_all(exp.Table) if is_changes(table)]
        self._check_calls(calls)
        for call in calls:
            self._replace_call(call)
        if calls:
            for column in list(tree.find_all(exp.Column)):
                if column.table.lower() in SIDES:
                    self._replace_column(column)
        return tuple({of.relation: of for of in self._by_call.values()}.values())

    # the relations

    def _check_calls(self, calls: list[exp.Table]) -> None:
        """Refuse changes of changes, and several in one SELECT that cannot be told apart."""
        unnamed: list[Expression | None] = []
        for call in calls:
            at = place(self.text, call)
            if any(map(_is_call, _ancestors(call))):
                self._refuse(at, "CHANGES cannot stand in CHANGES")
            if not call.alias:
                if any(select is call.parent_select for select in unnamed):
                    hint = f"give each an alias, as in {call.sql(DIALECT)} AS c"
                    self._refuse(at, "a SELECT has CHANGES several times without an alias", hint)
                unnamed.append(call.parent_select)

    def _replace_call(self, call: exp.Table) -> None:
        changes_of = self._changes_of(call.this.expressions, place(self.text, call))
        name = exp.to_identifier(changes_of.relation, quoted=True)
        if isinstance(call.this.expressions[0], exp.Column):
            name.meta.update(call.this.expressions[0].this.meta)
        alias = exp.TableAlias(this=exp.to_identifier(call.alias or DEFAULT_ALIAS))
        relation = exp.Table(this=name, alias=alias)
        relation.set("joins", call.args.get("joins"))
        call.replace(relation)
        self._by_call[id(relation)] = changes_of

    def _changes_of(self, arguments: list[Expression], at: Place | None) -> ChangesOf:
        first, *keys = [a for a in arguments if not isinstance(a, exp.Kwarg)] or [exp.Null()]
        since, until = self._interval([a for a in arguments if isinstance(a, exp.Kwarg)], at)
        query = first.this if isinstance(first, exp.Subquery) else first
        if not isinstance(query, exp.Column | exp.Query) or not all(isinstance(k, exp.Column) for k in keys):
            self._refuse(at, "CHANGES takes a table, a view or a query, and perhaps the columns of its key")
        primary_key: tuple[str, ...] = ()
        if isinstance(query, exp.Query):
            number = f" {len(self._queries) + 1}" if self._queries else ""
            name = self._queries.setdefault(query.sql(DIALECT), f"query{number} of {self.owner}")
            plan = bind(query, self.text, self.namespace, self.analyzer, name)
            columns = tuple(Column(f.name, f.type) for f in plan.fields)
        else:
            source = self.find_source(query.name)
            if source is None:
                hint = closest(query.name, self.namespace.names())
                raise UnknownRelation(place(self.text, query), hint, name=query.name)
            name, columns, primary_key = source.name, source.columns, source.key
            plan = Scan(name, name, columns)
        key = tuple(self._column_named(k, k.name, columns) for k in keys)
        return ChangesOf(name, columns, key or primary_key, plan, since, until)

    def _interval(self, arguments: list[exp.Kwarg], at: Place | None) -> tuple[Expression | None, Expression | None]:
        """The ends of the interval that the arguments give."""
        ends = {str(a.this.name).lower(): a.expression for a in arguments}
        if self.over_interval:
            if len(ends) != len(arguments) or ends.keys() - {"since", "until"} or "since" not in ends:
                reason = (
                    "CHANGES in a query is over an interval: it has since => an instant, and perhaps until => another"
                )
                self._refuse(at, reason, "as in CHANGES(t, since => TIMESTAMP '2026-01-31 12:00:00')")
        elif arguments:
            self._refuse(at, "CHANGES in a rule has the changes of each transaction, and takes no interval")
        return ends.get("since"), ends.get("until")

    # their columns

    def _replace_column(self, column: exp.Column) -> None:
        """Replace ``new.x`` by the column ``new_x`` of the relation that it is meant of; others stay."""
        meant = self._meant(column)
        if meant is None:
            return
        alias, changes_of = meant
        side = column.table.lower()
        is_item = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
        if isinstance(column.this, exp.Star):
            names = self._starred(column, changes_of)
            meta = column.args["table"].meta
        else:
            names, meta = [self._column_named(column, column.name, changes_of.columns)], column.this.meta
        items = []
        for name in names:
            identifier = exp.to_identifier(f"{side}_{name}", quoted=True)
            identifier.meta.update(meta)
            item = exp.column(identifier, table=exp.to_identifier(alias, quoted=True))
            items.append(item.as_(name if side == "new" else f"old_{name}", quoted=True) if is_item else item)
        column.replace(items if isinstance(column.this, exp.Star) else items[0])

    def _starred(self, column: exp.Column, changes_of: ChangesOf) -> list[str]:
        """The names of the columns that ``old.*`` or ``new.*`` stands for."""
        star, parent = column.this, column.parent
        if not isinstance(parent, exp.Select) or star.args.get("replace") or star.args.get("rename"):
            reason = f"{column.table}.* stands in the list of a SELECT, perhaps with EXCEPT"
            self._refuse(place(self.text, column), reason)
        left_out = {self._column_named(c, c.name, changes_of.columns) for c in star.args.get("except_") or ()}
        return [c.name for c in changes_of.columns if c.name not in left_out]

    def _column_named(self, tree: Expression, name: str, columns: tuple[Column, ...]) -> str:
        """A column by its name, as it is declared."""
        names = {c.name.lower(): c.name for c in columns}
        if name.lower() not in names:
            hint = closest(name, names.values())
            raise UnknownColumn(place(self.text, tree), hint, name=tree.sql(DIALECT))
        return names[name.lower()]

    def _meant(self, column: exp.Column) -> tuple[str, ChangesOf] | None:
        """The alias of the relation that ``old.x`` or ``c.old.x`` is a column of, and what it has the changes of."""
        for select in _selects_around(column):
            sources = [(source.alias_or_name, self._by_call.get(id(source))) for source in _sources(select)]
            if column.db:
                found = [(alias, of) for alias, of in sources if alias.lower() == column.db.lower()]
            else:
                if any(of is None and alias.lower() == column.table.lower() for alias, of in sources):
                    return None
                found = [(alias, of) for alias, of in sources if of is not None]
                if len(found) > 1:
                    written = column.sql(DIALECT)
                    candidates = ", ".join(f"{alias}.{written}" for alias, _ in found)
                    hint = f"say which one, as in {found[0][0]}.{written}"
                    raise AmbiguousColumn(place(self.text, column), hint, name=written, candidates=candidates)
            for alias, of in found:
                return None if of is None else (alias, of)
        return None

    def _refuse(self, at: Place | None, reason: str, hint: str | None = None) -> NoReturn:
        raise self.refusal(at, reason, hint)


def reads_changes(tree: Expression) -> bool:
    """Whether a query reads ``CHANGES(…)``."""
    return any(map(is_changes, tree.find_all(exp.Table)))


def is_changes(table: exp.Table) -> bool:
    """Whether a source in a FROM is ``CHANGES(…)``."""
    return _is_call(table.this)


def _is_call(node: object) -> bool:
    return isinstance(node, exp.Anonymous) and str(node.this).upper() == "CHANGES"


def _ancestors(node: Expression) -> Iterator[Expression]:
    while node.parent is not None:
        node = node.parent
        yield node


def _selects_around(column: exp.Column) -> Iterator[exp.Select]:
    """The SELECTs whose sources a column may belong to, the nearest first; a subquery in a FROM sees only its own."""
    node: Expression = column
    has_select = False
    for parent in _ancestors(column):
        if isinstance(parent, exp.Select):
            has_select = True
            yield parent
        elif has_select and (isinstance(parent, exp.CTE) or _is_source(node, parent)):
            return
        node = parent


def _is_source(node: Expression, parent: Expression) -> bool:
    """Whether a node is a source in a FROM that sees none of the others."""
    return isinstance(parent, exp.From | exp.Join) and node.arg_key == "this" and not isinstance(node, exp.Lateral)


def _sources(select: exp.Select) -> list[Expression]:
    """The tables and subqueries in the FROM of a SELECT that have a name."""
    found = [node for node in select.find_all(exp.Table, exp.Subquery) if node.parent_select is select]
    return [node for node in found if node.alias_or_name]
