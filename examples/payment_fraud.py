"""Watch payments for cards that are in two places at once, and block them.

A join of payments with themselves, a rule that acts in the transaction, one that refuses later payments, and a desk
that is told: not of tests that it knows of, and in one message per country instead of one per payment.

    python examples/payment_fraud.py [--engine duckdb]
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime, timedelta

import tidings
from tidings.errors import RuleRaised

TABLES = """
    CREATE TABLE payment (id INT PRIMARY KEY, card STRING, country STRING, amount INT, at TIMESTAMP);
    CREATE TABLE blocked (card STRING);
    CREATE VIEW far_apart AS
        SELECT b.card, a.id AS first, b.id AS second, a.country AS here, b.country AS there, b.amount
        FROM payment a JOIN payment b ON a.card = b.card AND a.country <> b.country
        WHERE a.at < b.at AND b.at <= a.at + INTERVAL 1 HOUR;
"""

RULES = """
    CREATE RULE block
      WHEN SELECT DISTINCT card FROM far_apart
      DO INSERT INTO blocked SELECT card FROM condition WITH (action = 'deferred');

    CREATE RULE no_blocked_cards
      WHEN SELECT new.id, new.card FROM CHANGES(payment) JOIN blocked b ON b.card = new.card
      DO RAISE 'the card is blocked' WITH (condition = 'immediate');

    CREATE RULE tell_the_desk
      WHEN SELECT card, here, there, amount FROM far_apart DO NOTIFY 'desk'
      WITH (group_by = there, group_wait = INTERVAL 10 MINUTES);

    SILENCE RULE tell_the_desk WHERE card = 'test' FOR INTERVAL 1 DAY COMMENT 'the card of our own testers';
"""

PAYMENTS = [
    ("08:00", "ann", "SE", 40),
    ("08:05", "bob", "SE", 15),
    ("08:10", "test", "SE", 1),
    ("08:20", "ann", "NO", 900),
    ("08:22", "test", "NO", 1),
    ("08:25", "bob", "NO", 700),
    ("08:30", "ann", "NO", 950),
    ("10:00", "cid", "SE", 20),
    ("12:00", "cid", "NO", 20),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    engine = parser.parse_args().engine

    clock = tidings.ManualClock(datetime(2026, 1, 5, 7, 0, tzinfo=UTC))
    with tidings.open(engine=engine, clock=clock) as db, db.deliveries.listen("desk") as desk:
        db.sql(TABLES)
        db.sql(RULES)
        for number, (time, card, country, amount) in enumerate(PAYMENTS, 1):
            at = datetime.fromisoformat(f"2026-01-05 {time}:00+00:00")
            clock.set(at)
            print(f"{time}  {card} pays {amount} in {country}", end="")
            try:
                with db.transaction() as tx:
                    tx.insert("payment", [(number, card, country, amount, at)])
                print()
            except RuleRaised as refused:
                print(f": refused, {refused.parameters['message']}")
            db.advance()
        clock.advance(timedelta(hours=1))
        db.advance()
        db.deliveries.step()

        print("blocked:", ", ".join(sorted(row["card"] for row in db.query("blocked").rows())))
        while (notice := desk.get(timeout=0)) is not None:
            data = notice.payload["data"]
            listed = ", ".join(f"{row['card']} ({row['amount']})" for row in data["rows"])
            print(f"the desk hears of payments in {data['group']['there']}: {listed}")
        fired = db.query("SELECT state, rows FROM tidings.firings WHERE state = 'silenced'").rows()
        print("silenced:", [row["rows"] for row in fired])


if __name__ == "__main__":
    main()
