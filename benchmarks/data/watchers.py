"""Many stored views over the inventory, most of which have parts in common.

One hundred people watch what one engine must not compute one hundred times: the join behind "quantity below threshold"
is in nearly every view, filtered, grouped or joined in another way by each.
"""

from __future__ import annotations

import tidings

FAMILIES = (
    "SELECT item, qty, threshold FROM low_stock WHERE item % {few} = {n}",
    "SELECT item, threshold - qty AS missing FROM low_stock WHERE threshold - qty > {n}",
    "SELECT threshold, count(*) AS items, sum(qty) AS qty FROM low_stock WHERE item % {few} = {n} GROUP BY threshold",
    "SELECT l.item, d.supplier, d.days FROM low_stock l JOIN delivery_time d ON d.item = l.item"
    " WHERE d.days > {n} % 10",
    "SELECT d.supplier, count(*) AS low FROM low_stock l JOIN delivery_time d ON d.item = l.item"
    " WHERE d.supplier % {few} = {n} GROUP BY d.supplier",
    "SELECT item, qty FROM quantity WHERE qty < {n}",
    "SELECT l.item FROM low_stock l WHERE NOT EXISTS"
    " (SELECT 1 FROM supplies s WHERE s.item = l.item AND s.supplier % {few} = {n})",
    "SELECT item % {few} AS part, sum(qty) AS qty FROM quantity WHERE item % 100 = {n} GROUP BY item % {few}",
)
"""Queries with a number each; the first view is of the first family."""

FEW = 50


def view(number: int) -> str:
    """The query of one view: the families in turns."""
    return FAMILIES[number % len(FAMILIES)].format(n=number // len(FAMILIES), few=FEW)


def watch(db: tidings.Database, first: int, until: int) -> None:
    """Store some more views."""
    for number in range(first, until):
        db.sql(f"CREATE MATERIALIZED VIEW watched{number} AS {view(number)}")
