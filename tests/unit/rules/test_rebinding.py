"""Relations are neither altered nor replaced in a way that breaks rules."""

from __future__ import annotations

import pytest

from tests.unit.rules.test_agenda import LOW, NOW, rows
from tidings import Database
from tidings.errors import BreaksViews


@pytest.fixture
def shop(db: Database) -> Database:
    db.sql(f"""
        CREATE VIEW least AS SELECT item, least FROM lim;
        CREATE VIEW least_items AS SELECT item FROM least;
        CREATE RULE act {LOW}
          DO INSERT INTO orders SELECT l.item, l.least FROM condition c JOIN least l USING (item) {NOW};
        CREATE RULE watch WHEN SELECT item, qty FROM low WHERE qty < 3 DO NOTIFY 'x';
        CREATE RULE through {LOW} DO CALL p((SELECT count(*) FROM least_items))
    """)
    return db


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("CREATE OR REPLACE VIEW least AS SELECT item FROM lim", "rule act"),
        ("CREATE OR REPLACE VIEW low AS SELECT item FROM stock", "rule watch"),
        ("CREATE OR REPLACE VIEW low AS SELECT qty FROM stock", "rule act, rule watch, rule through"),
        ("CREATE OR REPLACE MATERIALIZED VIEW least AS SELECT item FROM lim", "rule act"),
        ("ALTER TABLE orders ADD COLUMN note STRING", "rule act"),
        ("ALTER TABLE stock ADD COLUMN least INT", None),
        ("CREATE OR REPLACE VIEW least AS SELECT item, least + 1 AS least, 1 AS one FROM lim", None),
        ("CREATE OR REPLACE VIEW least_items AS SELECT least AS other FROM least", None),
    ],
)
def test_what_breaks_rules_is_refused(shop: Database, text: str, rules: str | None) -> None:
    if rules is None:
        shop.sql(text)
    else:
        with pytest.raises(BreaksViews) as refused:
            shop.sql(text)
        assert refused.value.parameters["dependents"] == rules
    assert shop.query("SELECT error FROM tidings.rules WHERE error IS NOT NULL").rows() == []
    shop.sql("UPDATE stock SET qty = 5 WHERE item = 1")
    assert len(rows(shop, "orders")) == 1
