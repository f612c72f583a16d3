"""Random programs of AMOSQL do what a plain interpreter of the functional model does.

Types with subtypes, stored, derived, foreign and overloaded functions, objects that come and go, updates in AMOSQL and
in SQL, rules that are activated and deactivated, commits and rollbacks.  After each step queries are asked, with what
waits for the commit; after each commit the tables and views of SQL are held against the functions.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tidings
from tests.laws.generate_amosql import FOREIGN, SCHEMA, STORED, Generator
from tests.laws.plain_amosql import Interpreter, Resolvent, Rule, text
from tests.laws.seeds import chunks
from tidings.errors import TidingsError

LOGS = {"log1": ("thing",), "log2": ("thing", "box"), "log3": ("integer", "thing")}
TEXTS = ["a", "it's", 'say "x"', "back\\slash", "ö\n", "%_`$"]


def register(db: tidings.Database) -> None:
    for foreign in FOREIGN:
        assert foreign.foreign is not None
        db.foreign(foreign.name)(foreign.foreign)


class Program:
    """A database and its interpreter, driven by one seed."""

    def __init__(self, seed: int, **settings: Any) -> None:
        self.random = Random(seed)
        self.settings = settings
        self.db = tidings.open(**settings)
        self.model = Interpreter()
        self.make = Generator(self.random, self.model)
        self.written: list[str] = []
        self.objects = 0

    def run(self, statement: str) -> tidings.Result | None:
        self.written.append(statement)
        return self.db.amosql(statement)

    # definitions

    def define(self) -> None:
        for type, above in SCHEMA.items():
            self.run(f"create type {type}{f' under {above}' if above else ''};")
            self.model.parents[type] = above
        for log, types in LOGS.items():
            self.run(f"create function {log}({', '.join(types)}) -> set of integer;")
        overloads = self.make.overloads()
        late = overloads if self.random.random() < 0.4 else []
        for resolvent in [*STORED, *(r for r in overloads if r not in late)]:
            self.run(resolvent.text)
            self.model.resolvents.setdefault(resolvent.name, []).append(resolvent)
        register(self.db)
        for resolvent in FOREIGN:
            self.run(resolvent.text)
            self.model.resolvents[resolvent.name] = [resolvent]
        for log, types in LOGS.items():
            self.model.resolvents[log] = [Resolvent(log, types, "integer", many=True)]
        for type in ("thing", "box", "tool", "drill"):
            self.create(type, f"{type}1")
        self.commit()
        for _ in range(self.random.choice([1, 2, 3])):
            resolvent = self.make.derived()
            self.run(resolvent.text)
            self.model.resolvents[resolvent.name] = [resolvent]
        for resolvent in late:
            self.run(resolvent.text)
            self.model.resolvents[resolvent.name].append(resolvent)
        for _ in range(self.random.choice([1, 2])):
            self.rule()

    def rule(self) -> None:
        kind = self.random.random()
        if kind < 0.3:
            rule = self.make.rule("log2", (("thing", "a"),), (("box", "b"),))
        elif kind < 0.6:
            rule = self.make.rule("log3", (("integer", "n"),), (("thing", "a"),))
        else:
            rule = self.make.rule("log1", (), (("thing", "a"),))
        self.run(rule.text)
        self.model.rules[rule.name] = rule
        self.activate(rule)

    def activate(self, rule: Rule) -> None:
        """Activate a rule, or deactivate it; what was done before is committed."""
        self.model.commit()
        active = self.model.active.setdefault(rule.name, set())
        arguments: tuple[int, ...] = ()
        written = ""
        if rule.parameters[:1] == (("integer", "n"),):
            arguments = (self.random.randint(0, 3),)
            written = str(arguments[0])
        elif rule.parameters:
            things = {n: o for n, o in self.model.state.names.items() if self.kind(o) != "box"}
            written, number = self.random.choice(sorted(things.items()))
            arguments, written = (number,), f":{written}"
        if arguments in active:
            active.discard(arguments)
            self.run(f"deactivate {rule.name}({written});")
        else:
            active.add(arguments)
            self.run(f"activate {rule.name}({written});")

    # steps

    def kind(self, number: int) -> str:
        return self.model.state.objects[number]

    def create(self, type: str, name: str) -> None:
        self.objects += 1
        self.run(f"create {type} instances :{name};")
        rows = self.db.amosql(f"select :{name};")
        assert rows is not None
        self.model.create(type, name, rows.rows()[0][name])

    def step(self) -> None:
        match self.random.choice(
            ["set", "set", "set", "add", "remove", "create", "delete", "each", "sql", "rule", "query"]
        ):
            case "create":
                self.create(self.random.choice(list(SCHEMA)), f"o{self.objects}")
            case "delete":
                self.delete()
            case "each":
                self.for_each()
            case "sql":
                self.by_sql()
            case "rule" if self.random.random() < 0.5 and self.model.rules:
                self.activate(self.random.choice(list(self.model.rules.values())))
            case "query" | "rule":
                self.ask()
            case kind:
                self.update(kind)

    def named(self, type: str) -> tuple[str, int]:
        """An interface variable that has an object of a type."""
        fitting = [(n, o) for n, o in self.model.state.names.items() if type in self.model.above(self.kind(o))]
        return self.random.choice(sorted(fitting))

    def update(self, kind: str) -> None:
        many = kind == "add" or (kind == "remove" and self.random.random() < 0.5)
        stored = [r for r in STORED if r.many == many]
        resolvent = self.random.choice(stored)
        arguments = [self.named(type) for type in resolvent.types]
        values = tuple(number for _, number in arguments)
        target = self.model.resolvent(resolvent.name, values)
        if target is None or target.query is not None:
            return
        if resolvent.result in SCHEMA:
            name, value = self.named(resolvent.result)
            written = f":{name}"
        elif resolvent.result == "charstring":
            value = self.random.choice(TEXTS)  # type: ignore[assignment]
            written = "'" + str(value).replace("'", "''") + "'"
        elif resolvent.result == "boolean":
            value = self.random.random() < 0.5
            written = str(value).lower()
        else:
            value = self.random.randint(-1, 5)
            written = str(value)
        call = f"{resolvent.name}({', '.join(f':{n}' for n, _ in arguments)})"
        self.run(f"{kind} {call} = {written};")
        self.model.update(kind, resolvent.name, values, value)

    def for_each(self) -> None:
        """Give all objects for which a condition holds another size."""
        scope = {"v": "thing"}
        condition, plus = self.make.condition(scope, 1), self.random.randint(0, 2)
        test = self.make.condition(scope, 1)
        loop = f"for each thing v where {text(condition)} do"
        self.run(f"{loop} if {text(test)} then set size(v) = size(v) + {plus} else set size(v) = {plus};")
        chosen = [o for o in self.model.extent("thing") if self.model.ways(condition, {"v": o})]
        new = {}
        for number in chosen:
            holds = self.model.ways(test, {"v": number})
            new[number] = [v + plus for v in self.model.call("size", (number,))] if holds else [plus]
        for number, values in new.items():
            for value in values:
                self.model.update("set", "size", (number,), value)

    def delete(self) -> None:
        kept = {"thing1", "box1", "tool1", "drill1"}
        others = sorted((n, o) for n, o in self.model.state.names.items() if n not in kept)
        if others:
            name, number = self.random.choice(others)
            self.run(f"delete :{name};")
            self.model.delete(number)

    def by_sql(self) -> None:
        """A transaction of SQL, between those of the session."""
        self.commit()
        number = self.named("thing")[1]
        value = self.random.randint(-1, 5)
        self.written.append(f"-- SQL: size({number}) = {value}")
        with self.db.transaction() as tx:
            tx.sql(f"DELETE FROM size WHERE p0 = {number}")
            tx.insert("size", [{"p0": number, "value": value}])
        self.model.update("set", "size", (number,), value)
        self.model.commit()

    def commit(self) -> None:
        self.run("commit;")
        self.model.commit()

    # what must agree

    def ask(self) -> None:
        query = self.make.query()
        result = self.run(text(query))
        assert result is not None
        self.same(Counter(tuple(row.values()) for row in result.rows()), Counter(self.model.query(query, {})))

    def check(self) -> None:
        """Types and functions as SQL has them."""
        for type in SCHEMA:
            found = Counter(row["oid"] for row in self.db.query(f"SELECT oid FROM {type}").rows())
            self.same(found, Counter(self.model.extent(type)))
        for name in self.model.resolvents.keys() - {foreign.name for foreign in FOREIGN}:
            rows = Counter(tuple(row.values()) for row in self.db.query(f"SELECT * FROM {name}").rows())
            self.same(rows, self.model.table(name))

    def same(self, found: Counter[Any], expected: Counter[Any]) -> None:
        assert found == expected, "\n".join(
            [*self.written, f"found but not expected: {found - expected}", f"expected: {expected - found}"]
        )

    def play(self, steps: int) -> None:
        self.define()
        for _ in range(steps):
            self.step()
            if self.random.random() < 0.25:
                self.ask()
            if self.random.random() < 0.12:
                self.run("rollback;")
                self.model.rollback()
            elif self.random.random() < 0.3:
                self.commit()
                self.check()
        self.commit()
        self.check()


@pytest.mark.parametrize("seeds", chunks(90, quick=4, size=10))
def test_programs_do_what_the_model_does(seeds: range) -> None:
    for seed in seeds:
        program = Program(seed, engine="duckdb")
        try:
            program.play(14)
        except TidingsError as error:
            raise AssertionError("\n".join([f"seed {seed}", *program.written, str(error)])) from error
        finally:
            program.db.close()


@pytest.mark.parametrize("seeds", chunks(12, quick=2, size=2))
def test_definitions_survive_a_restart(seeds: range, tmp_path: Path) -> None:
    """Types, functions, rules, activations and rows are there again; interface variables are not."""
    for seed in seeds:
        program = Program(seed, path=tmp_path / str(seed), engine="duckdb")
        program.play(5)
        program.db.close()
        program.db = tidings.open(tmp_path / str(seed), engine="duckdb")
        register(program.db)
        program.check()
        for _ in range(3):
            program.by_sql()
            program.check()
        program.db.close()


@pytest.mark.spark
def test_programs_on_spark(spark: Any) -> None:
    for seed in (1, 2):
        program = Program(seed, engine="spark", spark=spark)
        program.play(4)
        program.db.close()
