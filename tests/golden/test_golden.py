"""Golden files: SQL in; plans, programs, SQL and explanations out, compared to the letter.

A golden is a text file of sections, each under a line ``== name``.  ``schema`` (definitions) and ``query`` are the
input.  The names of the others say what is wanted:

- ``plan``: the normalised plan;
- ``delta of a, b``: the terms when these tables change, one plan each, with restrictions;
- ``steps of a, b sharing v``: the same with shared views as steps of their own;
- ``stored of a, b``: the same for the query as a stored view, with its groupings kept and merged;
- ``spark of a, b`` and ``duckdb of a, b``: the SQL of the last step with its keys listed;
- ``semi-join of a, b``: the Spark SQL without lists of keys;
- ``maintenance of stored rows`` and ``maintenance of no rows``: the rules that maintain its recursion;
- ``explain``: what ``explain`` says;
- ``rule of r``: what ``EXPLAIN RULE r`` says of a rule in the schema.

``make goldens`` writes the wanted sections anew.  Every plan must read back as itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tidings
from tidings.delta.plan import Program, compile_program
from tidings.delta.recursion.program import MaintenancePrograms
from tidings.engine.duckdb import DuckDB
from tidings.engine.spark import Spark
from tidings.engine.sql.dialect import Dialect
from tidings.engine.sql.lower import lower
from tidings.engine.sql.statement import KeyList, KeyTest
from tidings.explain import explain
from tidings.ir import text
from tidings.ir.relation import Fixpoint, Relation, Scan
from tidings.ir.traverse import walk
from tidings.lang.sql.bind import bind
from tidings.lang.sql.parse import statements
from tidings.rewrite.pipeline import normalise
from tidings.store.relation.view import View, stored

FILES = sorted(Path(__file__).parent.rglob("*.txt"))
REWRITE = os.environ.get("TIDINGS_REWRITE_GOLDENS") == "1"


def sections(file: Path) -> dict[str, str]:
    parts = re.split(r"^== (.+)\n", file.read_text(), flags=re.MULTILINE)[1:]
    return {name: body.strip("\n") for name, body in zip(parts[::2], parts[1::2], strict=True)}


class Golden:
    """A golden's input, bound."""

    def __init__(self, schema: str, query: str) -> None:
        self.schema = schema
        with tidings.open(engine="duckdb") as db:
            db.sql(schema)
            (tree,) = statements(query)
            self.plan: Relation = bind(tree, query, db._parts.relations, db._parts.backend)
            self.views = db._parts.relations.definitions()

    def program(self, changed: str, shared: str = "") -> Program:
        tables, views = (frozenset(filter(None, names.split(", "))) for names in (changed, shared))
        return compile_program("result", self.plan, tables, self.views, views)

    def output(self, name: str) -> str:
        kind, _, rest = name.partition(" of ")
        match kind:
            case "plan":
                return shown(normalise(self.plan, self.views))
            case "explain":
                return explain("result", self.plan, self.views, Spark.dialect)
            case "rule":
                with tidings.open(engine="duckdb") as db:
                    db.sql(self.schema)
                    return db.explain_rule(rest)
            case "maintenance":
                return self.maintenance(stored=rest == "stored rows")
            case "delta" | "steps":
                return "\n\n".join(self.terms(*rest.split(" sharing ")))
            case "stored":
                return "\n\n".join(self.shown_terms(self.stored_program(rest)))
            case "spark" | "semi-join":
                return self.sql(rest, Spark.dialect, listed=kind == "spark")
            case "duckdb":
                return self.sql(rest, DuckDB.dialect, listed=True)
        raise ValueError(f"no output is called {name}")

    def maintenance(self, *, stored: bool) -> str:
        node = next(n for n in walk(normalise(self.plan, self.views)) if isinstance(n, Fixpoint))
        rows = {m.name: Scan(m.name, m.name, m.columns) for m in node.members} if stored else {}
        return MaintenancePrograms(node, rows, dict(zip(node.names, node.inputs, strict=True))).text()

    def terms(self, changed: str, shared: str = "") -> Iterator[str]:
        return self.shown_terms(self.program(changed, shared))

    def stored_program(self, changed: str) -> Program:
        view = stored(View("result", "", self.plan), normalise(self.plan, self.views), 0, strict=False)
        tables, kept = frozenset(changed.split(", ")), frozenset(view.groupings)
        return compile_program("result", view.over, tables, self.views | view.groupings, stored=kept, merged=kept)

    def shown_terms(self, program: Program) -> Iterator[str]:
        for step in program.steps:
            for term in step.terms:
                yield f"-- level {step.level}: {step.name} by {term.influent} as {term.occurrence}\n{shown(term.plan)}"

    def sql(self, changed: str, dialect: Dialect, *, listed: bool) -> str:
        program = self.program(changed)
        statement = lower(program.steps[-1].plan, dialect, program.changed if listed else frozenset())
        return statement.filled(_among)


def _among(keys: KeyList, test: KeyTest) -> str:
    listed = ", ".join(f"/* {column} of Δ{table} */" for table, column in keys.columns)
    return f"{test.tested} IN ({listed})"


def shown(plan: Relation) -> str:
    assert text.parse(text.show(plan)) == plan
    return text.show(plan)


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_golden(file: Path) -> None:
    given = sections(file)
    golden = Golden(given["schema"], given["query"])
    made = {n: golden.output(n) if n not in ("schema", "query") else body for n, body in given.items()}
    if REWRITE:
        file.write_text("\n".join(f"== {name}\n{body}\n" for name, body in made.items()))
    assert made == given or REWRITE


def test_every_rule_has_a_positive_and_a_negative_golden() -> None:
    stems = {f.stem for f in FILES}
    rules = {"expand_views", "flatten_unions", "merge_blocks", "prune_columns", "isolate_keyed", "restrict"}
    rules |= {"sink_time", "sink_filters", "gather_single_rows"}
    assert {r for r in rules if any(s.startswith(r) and not s.startswith(f"{r}_not") for s in stems)} == rules
    assert {r for r in rules if any(s.startswith(f"{r}_not") for s in stems)} == rules
