"""Watch the links of a network: signals, signals joined with tables, changes of a view, filtered measurements.

After the situations of HiPAC ("Situation Monitoring for Active Databases", examples 1.1, 1.2, 2.4 and 3).  A program
that tests links tells what it saw by a signal.  A signal is no row of a table: it is there for one transaction, and
rules can join it with tables.

    python examples/network_links.py [--engine duckdb]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import tidings

TABLES = """
    CREATE EVENT link_status (link STRING, occurrence STRING, severity INT);
    CREATE TABLE link (name STRING PRIMARY KEY, mode STRING, traffic INT);
    CREATE TABLE reading (link STRING PRIMARY KEY, temperature DOUBLE, pressure DOUBLE, remark STRING);

    INSERT INTO link VALUES
        ('link1', 'microwave', 30), ('link2', 'microwave', 40), ('link3', 'fibre', 28), ('link4', 'fibre', 10);
    INSERT INTO reading VALUES ('link1', 20.2, 1000.1, 'new'), ('link2', 21.4, 1010.0, 'old');

    CREATE VIEW busy AS SELECT name, traffic FROM link WHERE traffic > 32;
    -- Broken sensors give values that cannot be; the rest is rounded, so that noise is no change.
    CREATE VIEW weather AS SELECT link, round(temperature) AS temperature, round(pressure) AS pressure
        FROM reading WHERE temperature BETWEEN -50 AND 60;
"""

RULES = """
    -- 1.1: a selection of the signal
    CREATE RULE severe ON SIGNAL link_status
      WHEN SELECT link, occurrence, severity FROM link_status WHERE severity > 5
      DO CALL told() WITH (action = 'deferred');

    -- 1.2: the signal joined with what the database knows of the link
    CREATE RULE severe_on_microwave ON SIGNAL link_status
      WHEN SELECT s.link, l.mode FROM link_status s JOIN link l ON l.name = s.link
        WHERE s.severity > 5 AND l.mode = 'microwave'
      DO CALL told_of_microwave() WITH (action = 'deferred');

    -- 2.4: what a transaction does to a view, old and new side by side
    CREATE RULE busy_changes
      WHEN SELECT old.name AS was, old.traffic AS before, new.name AS is, new.traffic AS after FROM CHANGES(busy, name)
      DO CALL told_of_busy() WITH (action = 'deferred');

    -- 3: the same of a view that filters
    CREATE RULE weather_changes ON UPDATE OF reading
      WHEN SELECT new.link, old.temperature, new.temperature FROM CHANGES(weather, link)
      DO CALL told_of_weather() WITH (action = 'deferred');
"""


def say(db: tidings.Database, procedure: str, what: str) -> None:
    """Let a procedure print what it is given."""

    @db.procedure(procedure)
    def told(rows: list[dict[str, Any]]) -> None:
        for row in sorted(rows, key=str):
            values = ", ".join("-" if v is None else str(v) for v in row.values())
            print(f"    {what}: {values}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    engine = parser.parse_args().engine

    with tidings.open(engine=engine) as db:
        db.sql(TABLES)
        db.sql(RULES)
        say(db, "told", "severe")
        say(db, "told_of_microwave", "on microwave")
        say(db, "told_of_busy", "busy")
        say(db, "told_of_weather", "weather")

        def change(text: str) -> Callable[[], object]:
            return lambda: db.sql(text)

        def evening() -> None:
            with db.transaction() as tx:
                tx.update("link", [{"name": "link1", "traffic": 33}])
                tx.insert("link", [("link5", "fibre", 25)])
                tx.delete("link", [{"name": "link2"}])

        steps: dict[str, Callable[[], object]] = {
            "a test of two links": change(
                "SIGNAL link_status VALUES ('link1', 'slow', 1), ('link2', 'loses packets', 6)"
            ),
            "a test of a fibre link": change("SIGNAL link_status VALUES ('link3', 'cut', 9)"),
            "three links change in one transaction": evening,
            "a remark changes": change("UPDATE reading SET remark = 'checked' WHERE link = 'link1'"),
            "noise": change("UPDATE reading SET temperature = 20.4 WHERE link = 'link1'"),
            "it gets warm": change("UPDATE reading SET temperature = 29.8 WHERE link = 'link1'"),
            "a sensor breaks": change("UPDATE reading SET temperature = 999 WHERE link = 'link2'"),
        }
        for said, step in steps.items():
            print(said)
            step()
        print("signals that are left:", db.query("link_status").rows())


if __name__ == "__main__":
    main()
