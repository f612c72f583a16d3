"""Names of two parts: ``sales.orders`` is the relation ``orders`` of the schema ``sales``.

A schema is a part of names and nothing more: it is there as soon as a relation has it in its name, and needs no
statement.  To all that follows the name is one, with the dot in it, and the relation's columns go by ``orders`` or by
``sales.orders``.  Names without a schema are those of ``default``, which need not be said.  The schema ``tidings`` is
that of what the database shows of itself.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.ir.expression import Expression

DEFAULT = "default"
SYSTEM = "tidings"

_ALIASED = (exp.From, exp.Join, exp.Update, exp.Delete, exp.Merge, exp.Subquery)
"""What a relation stands in whose columns are spoken of by its name."""


def with_whole_names(tree: Expression) -> Expression:
    """A statement in which every relation has one name, and its columns go by the last part of it.

    >>> from tidings.lang.sql.parse import statements
    >>> statements("SELECT sales.orders.item FROM sales.orders")[0].sql("spark")
    'SELECT orders.item FROM `sales.orders` AS orders'
    >>> statements("SELECT default.orders.item FROM default.orders AS o")[0].sql("spark")
    'SELECT default.orders.item FROM orders AS o'
    """
    qualified = [t for t in tree.find_all(exp.Table) if t.db and not t.catalog and t.db.lower() != SYSTEM]
    _name_changes(tree)
    if not qualified:
        return tree
    sources = [t for t in tree.find_all(exp.Table) if isinstance(t.this, exp.Identifier)]
    known = {(t.db.lower(), t.name.lower()) for t in qualified if not t.alias}
    taken = {t.alias.lower() for t in sources if t.alias} | {
        t.name.lower() for t in sources if not t.alias and (t.db.lower(), t.name.lower()) not in known
    }
    for column in tree.find_all(exp.Column):
        named = (column.db.lower(), column.table.lower())
        if named in known and named[1] not in taken and not column.args.get("catalog"):
            column.set("db", None)
    for table in qualified:
        _make_whole(table)
    return tree


def without_default(name: str) -> str:
    """A name without the schema that need not be said.

    >>> without_default("Default.orders"), without_default("sales.orders")
    ('orders', 'sales.orders')
    """
    return name[len(DEFAULT) + 1 :] if name.lower().startswith(f"{DEFAULT}.") else name


def _make_whole(table: exp.Table) -> None:
    name, schema = table.this, table.args["db"]
    if not isinstance(name, exp.Identifier):
        return
    table.set("db", None)
    if schema.name.lower() == DEFAULT:
        return
    if not table.alias and isinstance(table.parent, _ALIASED):
        table.set("alias", exp.TableAlias(this=name.copy()))
    table.set("this", _joined(schema, name))


def _joined(schema: exp.Identifier, name: exp.Identifier) -> exp.Identifier:
    whole = exp.to_identifier(f"{schema.name}.{name.name}", quoted=True)
    marks = {**name.meta, "start": schema.meta.get("start", name.meta.get("start"))}
    whole.meta.update({k: v for k, v in marks.items() if v is not None})
    return whole


def _name_changes(tree: Expression) -> None:
    """``CHANGES(sales.orders)`` names a relation, too."""
    for call in tree.find_all(exp.Anonymous):
        first = call.expressions[0] if call.expressions else None
        if str(call.this).lower() != "changes" or not isinstance(first, exp.Column):
            continue
        schema = first.args.get("table")
        if schema is not None and not first.db and schema.name.lower() != SYSTEM:
            first.set("table", None)
            if schema.name.lower() != DEFAULT:
                first.set("this", _joined(schema, first.this))
