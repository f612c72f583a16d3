"""Tables whose fragments are in databases of their own, by SQL: ``AT site`` names a database.

    firm = tidings.federate({"oslo": oslo, "rome": rome})
    firm.sql("CREATE TABLE pay (…) FRAGMENTED BY UNION (north AT oslo WHERE …, south AT rome WHERE …)")

Queries are those of :mod:`tidings.algebra`, and answered by a :class:`tidings.algebra.Federation`: each site judges
what it can alone.  What a statement changes is found in a scratch database: it is given the rows that the statement is
about, and no others, runs it with all its checks, and routes it; its changes of fragments are made at the sites.

Sites have no transaction in common.  A statement that changes several needs an id.  The first site then keeps all
shares together with its own, so that the same call completes what was stopped, with the rows that were meant.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, TypeAlias

import pyarrow as pa

from tidings import opening
from tidings.algebra import (
    AlgebraExpression,
    Condition,
    DeltaPair,
    FederatedDelta,
    Federation,
    Fragment,
    Fragmentation,
    Horizontal,
    RelationInstance,
    Vertical,
    instance_of,
    relation,
    whole,
)
from tidings.algebra.delta_relations.instance import hashable
from tidings.algebra.expressions.nodes import inputs_of, with_inputs
from tidings.algebra.fragments.federation import Position
from tidings.database import Database
from tidings.errors import InvalidFragmentation, UnknownRelation, UnsupportedStatement, closest
from tidings.errors.arguments import checked
from tidings.ir.fragments import FragmentScheme, FragmentTree
from tidings.lang.sql.statement import Delete, Drop, Insert, Query, Update, read
from tidings.lang.sql.statements.federated import among, canonical, of_the_row, quoted, reads_tables, single_statements
from tidings.lang.sql.statements.fragmented import CreateFragmented
from tidings.result import AffectedRows, Delta, Result

_SHARES = "federated_changes"
"""The table at each site of the changes of several sites that began there."""

_Change: TypeAlias = Insert | Update | Delete


def federate(databases: Mapping[str, Database]) -> FederatedDatabase:
    """Databases as the sites of fragmented tables.

    :param databases: By its name each site; they stay open when the federation is closed.
    """
    return FederatedDatabase(databases)


class FederatedDatabase:
    """Fragmented tables over several databases; it keeps nothing, so declare its tables whenever it is made."""

    def __init__(self, databases: Mapping[str, Database]) -> None:
        self.databases = dict(databases)
        self._scratch = opening.open(engine="duckdb")

    def __enter__(self) -> FederatedDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Forget the declarations; the databases stay open."""
        self._scratch.close()

    @property
    def position(self) -> dict[str, int]:
        """Where all sites are now: since when :meth:`changes` may be asked."""
        return {site: database.time for site, database in self.databases.items()}

    @checked
    def sql(self, text: str, *, id: str | None = None) -> AffectedRows | Result | None:
        """Run statements: CREATE TABLE … FRAGMENTED BY, DROP TABLE, INSERT, UPDATE, DELETE, queries.

        :param id: Makes each statement that changes rows count once; needed where it changes several sites.
        """
        answer: AffectedRows | Result | None = None
        for number, statement in enumerate(statement for one in single_statements(text) for statement in read(one)):
            match statement:
                case CreateFragmented():
                    self._create(statement)
                case Drop() if statement.kind.upper() == "TABLE":
                    self._drop(statement)
                case Insert() | Update() | Delete():
                    answer = self._change(statement, f"{id} {number}" if id and number else id)
                case Query():
                    answer = self.query(statement.query_text)
                case _:
                    hint = "make views and rules of one site in its database; ask changes() for those of several"
                    raise UnsupportedStatement(None, hint, statement=f"{type(statement).__name__} of a federation")
        return answer

    @checked
    def expression(self, text: str) -> AlgebraExpression:
        """A query over fragments, as the sites judge it."""
        return self._federation().localised(self._over_fragments(self._scratch.expression(text)))

    @checked
    def query(self, text: str, at: Position | None = None) -> Result:
        """The answer of a query, now or at a position."""
        schema = self._scratch.query(text).to_arrow().schema
        tuples = self._federation().read(self.expression(text), at).in_order_of(tuple(schema.names))
        return Result(pa.Table.from_pylist(tuples.dicts(), schema))

    @checked
    def changes(self, text: str, since: Position, until: Position | None = None) -> FederatedDelta:
        """How the answer of a query changed between two positions, and how many tuples each site sent for it."""
        return self._federation().changes(self.expression(text), since, until)

    @checked
    def explain(self, text: str) -> str:
        """Whether one site judges a query, and else what each computes alone."""
        return self._federation().explain(self._over_fragments(self._scratch.expression(text)))

    # tables

    @property
    def _schemes(self) -> dict[str, FragmentScheme]:
        return self._scratch._parts.relations.fragmented()

    def _federation(self) -> Federation:
        cut = [_fragmentation(scheme.tree, scheme.key, self._scratch) for scheme in self._schemes.values()]
        if not cut:
            raise UnknownRelation(None, "declare it by CREATE TABLE … FRAGMENTED BY", name="of the federation")
        return Federation(cut[0], self.databases, tuple(cut[1:]))

    def _over_fragments(self, node: AlgebraExpression) -> AlgebraExpression:
        """An expression over the fragments of the tables that it reads."""
        scheme = self._schemes.get(getattr(node, "name", ""))
        if scheme is not None and not inputs_of(node):
            return whole(_fragmentation(scheme.tree, scheme.key, self._scratch)).project(*node.attributes)
        return with_inputs(node, tuple(map(self._over_fragments, inputs_of(node))))

    def _create(self, statement: CreateFragmented) -> None:
        if statement.declared is None:
            reason = "say its columns; tables that are there become its fragments if they are the same"
            raise InvalidFragmentation(reason=reason)
        if statement.name in self._schemes and statement.if_absent:
            return
        self._scratch.sql(statement.text)
        try:
            self._create_fragments(self._schemes[statement.name])
        except BaseException:
            self._scratch.sql(f"DROP TABLE {quoted(statement.name)}")
            raise

    def _create_fragments(self, scheme: FragmentScheme) -> None:
        if not scheme.key:
            raise InvalidFragmentation(reason="a table of several databases needs a primary key")
        nowhere = [leaf.table for leaf in scheme.tree.leaves() if not leaf.site]
        if nowhere:
            raise InvalidFragmentation(reason=f"say at which site there is {', '.join(nowhere)}, by AT")
        lost = sorted({leaf.site for leaf in scheme.tree.leaves()} - set(self.databases))
        if lost:
            raise InvalidFragmentation(reason=f"there is no database for the site {', '.join(lost)}")
        for leaf in scheme.tree.leaves():
            text = self._statement(self._scratch, leaf.table)
            database = self.databases[leaf.site]
            database.sql(text.replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS", 1))
            there = self._statement(database, leaf.table)
            if there != text:
                raise InvalidFragmentation(reason=f"{leaf.table} is at {leaf.site}, and it is another: {there}")
            database.sql(f"CREATE TABLE IF NOT EXISTS {_SHARES} (id STRING PRIMARY KEY, shares STRING)")

    @staticmethod
    def _statement(database: Database, table: str) -> str:
        answer = database.sql(f"SHOW CREATE TABLE {quoted(table)}")
        assert isinstance(answer, Result)
        return canonical(answer.rows()[0]["statement"])

    def _drop(self, statement: Drop) -> None:
        for name in statement.names:
            scheme = self._scheme(name)
            for leaf in scheme.tree.leaves():
                self.databases[leaf.site].sql(f"DROP TABLE {quoted(leaf.table)}")
            self._scratch.sql(f"DROP TABLE {quoted(name)}")

    def _scheme(self, name: str) -> FragmentScheme:
        if name not in self._schemes:
            raise UnknownRelation(None, closest(name, self._schemes), name=name)
        return self._schemes[name]

    # changes

    def _change(self, statement: _Change, id: str | None) -> AffectedRows:
        scheme = self._scheme(statement.table)
        if reads_tables(statement):
            hint = "use values and conditions of the row alone"
            raise UnsupportedStatement(None, hint, statement="of a federation that reads other tables")
        if id is not None and (kept := self._kept(id)) is not None:
            self._apply(scheme, kept, id)
            return AffectedRows.of()
        federation, table = self._federation(), self._over_fragments(relation(statement.table, data=self._scratch))
        old = self._about(federation, table, statement)
        while True:
            affected, shares, keys = self._tried(statement, scheme, old)
            others = [row for row in self._with_keys(federation, table, scheme, keys) if row not in old]
            if not others:
                break
            old = [*old, *others]
        self._apply(scheme, shares, id)
        return affected

    @staticmethod
    def _about(federation: Federation, table: AlgebraExpression, statement: _Change) -> list[dict[str, Any]]:
        """The rows that a statement changes or deletes."""
        if isinstance(statement, Insert):
            return []
        if statement.where is not None:
            table = table.select(of_the_row(statement.where))
        return federation.read(table).dicts()

    @staticmethod
    def _with_keys(
        federation: Federation, table: AlgebraExpression, scheme: FragmentScheme, keys: list[Any]
    ) -> list[dict[str, Any]]:
        """The rows of the sites with some values in the first column of the key."""
        if not keys:
            return []
        return federation.read(table.select(among(scheme.key[0], keys))).dicts()

    def _tried(
        self, statement: _Change, scheme: FragmentScheme, old: list[dict[str, Any]]
    ) -> tuple[AffectedRows, dict[str, Delta], list[Any]]:
        """What a statement does to some rows: how many, the changes of each fragment, and the keys that it adds."""
        scratch, name = self._scratch, statement.table
        scratch.sql(f"TRUNCATE TABLE {quoted(name)}")
        with scratch.transaction() as transaction:
            transaction.insert(name, old)
        since = scratch.time
        affected = scratch.sql(statement.text)
        assert isinstance(affected, AffectedRows)
        added = scratch.changes(name, since).additions()
        shares = {table: scratch.changes(table, since) for table in scheme.tables()}
        return affected, shares, list(dict.fromkeys(row[scheme.key[0]] for row in added))

    def _apply(self, scheme: FragmentScheme, shares: Mapping[str, Delta], id: str | None) -> None:
        sites = {leaf.table: leaf.site for leaf in scheme.tree.leaves()}
        by_site: dict[str, dict[str, DeltaPair]] = {}
        for table, share in shares.items():
            if share.rows():
                by_site.setdefault(sites[table], {})[table] = _pair(share)
        if id is not None and len(by_site) > 1:
            row = {"id": id, "shares": _written(shares)}
            by_site[min(by_site)][_SHARES] = DeltaPair(
                RelationInstance(("id", "shares"), {}), instance_of([row], name=_SHARES)
            )
        self._federation().apply_shares(by_site, id)

    def _kept(self, id: str) -> dict[str, Delta] | None:
        """The changes that a call with an id has meant, if some site has begun with them."""
        for database in self.databases.values():
            if any(row["name"] == _SHARES for row in database.tables()):
                rows = database.query(f"SELECT shares FROM {_SHARES} WHERE id = :id", params={"id": id}).rows()
                if rows:
                    return _read(rows[0]["shares"])
        return None


def _fragmentation(
    tree: FragmentTree, key: tuple[str, ...], database: Database, of: Condition | None = None
) -> Fragmentation:
    """A tree of fragments for the algebra; a condition of a part holds for all below it that have its columns."""
    own = None if tree.condition is None else Condition.of(tree.condition)
    condition = Condition.all_of(c for c in (of, own) if c is not None)
    if tree.kind == "table":
        leaf = relation(tree.table, data=database)
        known = condition is not None and condition.attributes <= set(leaf.attributes)
        return Fragment(leaf, tree.site, condition if known else None)
    parts = tuple(_fragmentation(part, key, database, condition) for part in tree.parts)
    return Horizontal(parts) if tree.kind == "union" else Vertical(parts, key)


def _pair(delta: Delta) -> DeltaPair:
    names = tuple(delta.columns)

    def part(rows: list[dict[str, Any]]) -> RelationInstance:
        return RelationInstance.by_value(names, (tuple(hashable(row[name]) for name in names) for row in rows))

    return DeltaPair(part(delta.removals()), part(delta.additions()))


def _written(shares: Mapping[str, Delta]) -> str:
    """Changes of fragments as a text."""
    texts = {}
    for table, share in shares.items():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, share.to_arrow().schema) as stream:
            stream.write_table(share.to_arrow())
        texts[table] = b64encode(sink.getvalue()).decode()
    return json.dumps(texts)


def _read(text: str) -> dict[str, Delta]:
    return {table: Delta(pa.ipc.open_stream(b64decode(share)).read_all()) for table, share in json.loads(text).items()}
