"""Rules over the inventory, in twenty shapes: rules of a shape differ in a constant.

Every rule reads the quantities, so a transaction that changes one is judged by all of them.  Hardly any fires.
"""

from __future__ import annotations

import tidings

SHAPES = (
    "SELECT item, qty FROM quantity WHERE qty < -{n}",
    "SELECT item, qty FROM quantity WHERE qty > {many}",
    "SELECT item, qty FROM quantity WHERE item = {n} AND qty < 3",
    "SELECT item, qty * 2 AS double_qty FROM quantity WHERE item > 5 AND qty < -{n}",
    "SELECT item % 10 AS part, qty FROM quantity WHERE item % 100 = {n} AND qty < 0",
    "SELECT item FROM quantity WHERE item < {n} AND qty < 2",
    "SELECT item FROM quantity WHERE item BETWEEN 1 AND 9 AND qty = {n}",
    "SELECT item, abs(qty) AS size FROM quantity WHERE qty <= -{n}",
    "SELECT q.item, q.qty FROM quantity q JOIN min_stock m ON m.item = q.item"
    " WHERE q.qty < m.amount AND m.amount < {n}",
    "SELECT q.item, m.amount FROM quantity q JOIN min_stock m ON m.item = q.item"
    " WHERE q.qty * 9 < m.amount AND q.item < {n}",
    "SELECT q.item, c.freq FROM quantity q JOIN consume_freq c ON c.item = q.item"
    " WHERE c.freq > {n} AND q.qty < c.freq",
    "SELECT q.item, d.supplier FROM quantity q JOIN delivery_time d ON d.item = q.item"
    " WHERE q.qty < 4 AND d.supplier = {n}",
    "SELECT q.item, d.days FROM quantity q JOIN delivery_time d ON d.item = q.item WHERE d.days > {n} AND q.qty < 5",
    "SELECT q.item, s.supplier FROM quantity q JOIN supplies s ON s.item = q.item WHERE s.supplier = {n} AND q.qty < 6",
    "SELECT item, qty FROM low_stock WHERE item = {n}",
    "SELECT item, threshold - qty AS missing FROM low_stock WHERE threshold - qty > {many}",
    "SELECT item FROM low_stock WHERE item % 1000 = {n} AND qty < 7",
    "SELECT l.item, d.supplier FROM low_stock l JOIN delivery_time d ON d.item = l.item"
    " WHERE d.supplier = {n} AND l.qty < 8",
    "SELECT item, qty FROM quantity WHERE qty + item < {n} AND item > 2",
    "SELECT item, qty FROM quantity WHERE NOT (qty > -{n})",
)
"""Conditions with a number each."""

MANY = 1_000_000


def rule(number: int, variants: int = 1) -> str:
    """One rule: the shapes in turns, each in some variants that differ in what they select."""
    n, variant = number // len(SHAPES) + 1, number // len(SHAPES) % variants
    query = SHAPES[number % len(SHAPES)].format(n=n, many=MANY + n)
    if variant:
        query = query.replace("SELECT ", f"SELECT {variant} AS variant, ", 1)
    return f"CREATE RULE r{number} WHEN {query} DO NOTIFY 'watchers'"


def write(db: tidings.Database, count: int, variants: int = 1) -> None:
    """Make some rules."""
    for first in range(0, count, 500):
        db.sql(";\n".join(rule(number, variants) for number in range(first, min(first + 500, count))))


IDLE = "CREATE RULE idle{n} WHEN SELECT x FROM elsewhere WHERE x > {n} DO NOTIFY 'watchers'"
"""A rule over a table that nobody changes."""


def write_idle(db: tidings.Database, count: int) -> None:
    """Make some rules whose tables are not touched."""
    db.sql("CREATE TABLE elsewhere (x INT)")
    if count:
        db.sql(";\n".join(IDLE.format(n=n) for n in range(count)))


PARAMETERISED = """
    CREATE RULE watch (i BIGINT, least INT) WHEN SELECT item, qty FROM quantity WHERE item = i AND qty < least
      DO NOTIFY 'watchers'
"""


def activate(db: tidings.Database, count: int, items: int) -> None:
    """Make a rule with parameters, and activate it that often; every activation is another one."""
    db.sql(PARAMETERISED)
    with db.transaction() as tx:
        tx.insert("activations_of_watch", [(n % items, n // items - 1) for n in range(count)])
