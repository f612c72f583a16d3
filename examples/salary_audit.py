"""Audit salaries: what is too much is refused, what is much is written down, and who earns well is told.

Three rules with three couplings.  One refuses a statement at once.  One writes to a table in the transaction that it
is about, so that both are there or neither.  One tells after the commit, and only of what the transaction came to.

    python examples/salary_audit.py [--engine duckdb]
"""

from __future__ import annotations

import argparse

import tidings
from tidings.errors import RuleRaised

TABLES = """
    CREATE TABLE emp (name STRING PRIMARY KEY, manager STRING, salary INT);
    CREATE TABLE audit (name STRING, before INT, after INT);
    INSERT INTO emp VALUES ('joe', 'ann', 30), ('lynn', 'ann', 40), ('ann', NULL, 50);
    CREATE VIEW well_paid AS SELECT name, salary FROM emp WHERE salary > 32;
"""

RULES = """
    CREATE RULE not_more_than_the_manager
      WHEN SELECT e.name, e.salary, m.salary AS managers FROM emp e JOIN emp m ON m.name = e.manager
        WHERE e.salary > m.salary
      DO RAISE 'nobody earns more than the manager' WITH (condition = 'immediate');

    CREATE RULE big_raise ON UPDATE OF emp(salary)
      WHEN SELECT new.name, old.salary, new.salary FROM CHANGES(emp) WHERE new.salary > 1.1 * old.salary
      DO INSERT INTO audit SELECT name, old_salary, salary FROM condition WITH (action = 'deferred');

    CREATE RULE well_paid_changes WHEN CHANGED SELECT name, salary FROM well_paid DO NOTIFY 'payroll' WITH (key = name);
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    engine = parser.parse_args().engine

    with tidings.open(engine=engine) as db, db.deliveries.listen("payroll") as payroll:
        db.sql(TABLES)
        db.sql(RULES)

        print("joe gets one more: nothing is told")
        db.sql("UPDATE emp SET salary = 31 WHERE name = 'joe'")

        print("lynn should get 60")
        try:
            db.sql("UPDATE emp SET salary = 60 WHERE name = 'lynn'")
        except RuleRaised as refused:
            print(f"    refused: {refused.parameters['message']}: {refused.parameters['rows']}")

        print("joe is raised to 49 and then to 45, in one transaction; ed is hired, lynn leaves")
        with db.transaction() as tx:
            tx.update("emp", [{"name": "joe", "salary": 49}])
            tx.update("emp", [{"name": "joe", "salary": 45}])
            tx.insert("emp", [("ed", "ann", 25)])
            tx.delete("emp", [{"name": "lynn"}])
        db.advance()
        db.deliveries.step()

        print("audit:", db.query("audit").rows())
        while (notice := payroll.get(timeout=0)) is not None:
            for row in sorted(notice.payload["data"]["rows"], key=str):
                print(f"payroll hears: {row['name']} {row['change']}, {row['salary']}")


if __name__ == "__main__":
    main()
