"""Every condition, provoked through the front door: class, parameters, place, hint; and nothing else ever escapes."""

from __future__ import annotations

import inspect
import logging
import random
import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import tidings
from tidings import Database, errors
from tidings.errors import Place, TidingsError, functional
from tidings.ir.text import parse

Act = Callable[[Database], object]


NOW = "SELECT now() AS n FROM quantity"


def sql(text: str) -> Act:
    return lambda db: db.sql(text)


def insert(table: str, rows: Any) -> Act:
    def act(db: Database) -> None:
        with db.transaction() as tx:
            tx.insert(table, rows)

    return act


def delete(table: str, rows: Any) -> Act:
    def act(db: Database) -> None:
        with db.transaction() as tx:
            tx.delete(table, rows)

    return act


def after_the_end(db: Database) -> None:
    tx = db.transaction()
    tx.commit()
    tx.commit()


LOADED = pa.table({"item": pa.array([1], pa.int64()), "qty": pa.array([1], pa.int32())})


def opened(**settings: Any) -> Database:
    return tidings.open(**({"engine": "duckdb"} | settings))


def load_in_another_order(db: Database) -> None:
    db.load("quantity", LOADED)
    db.load("quantity", LOADED, sorted_by="qty")


# condition, act, parameters that must be so, caret line below the marked text (None: no place), hint needed
CASES: list[tuple[type[TidingsError], Act, dict[str, object], tuple[int, int, str] | None, bool]] = [
    (errors.InvalidSyntax, sql("SELECT item FROM quantity WHERE item = = 1"), {}, (1, 40, "^"), False),
    (errors.InvalidSyntax, sql("SELECT item\nFROM quantity\nWHERE )"), {}, (3, 7, "^"), False),
    (errors.InvalidSyntax, sql("SELECT 'open"), {}, (1, 8, "^"), False),
    (errors.UnknownRelation, sql("SELECT * FROM\n  quantty"), {"name": "quantty"}, (2, 3, "^^^^^^^"), True),
    (errors.UnknownRelation, sql("DROP TABLE nosuch"), {"name": "nosuch"}, None, True),
    (errors.UnknownRelation, insert("nosuch", [(1, 2)]), {"name": "nosuch"}, None, True),
    (errors.UnknownColumn, sql("SELECT itm FROM quantity"), {"name": "itm"}, (1, 8, "^^^"), True),
    (errors.UnknownColumn, sql("SELECT q.zzz FROM quantity q"), {"name": "q.zzz"}, (1, 8, "^^^^^"), True),
    (errors.UnknownField, sql("SELECT s.z FROM odd"), {"name": "z", "value": "s"}, (1, 8, "^^^"), True),
    (
        errors.AmbiguousColumn,
        sql("SELECT\n\titem FROM quantity, threshold"),
        {"name": "item", "candidates": "quantity.item, threshold.item"},
        (2, 2, "^^^^"),
        True,
    ),
    (errors.DuplicateAlias, sql("SELECT 1 FROM quantity x, threshold x"), {"name": "x"}, (1, 27, "^^^^^^^^^^^"), True),
    (errors.DuplicateColumn, sql("CREATE VIEW v AS SELECT 1 AS a, 2 AS A"), {"name": "A"}, (1, 25, "^"), True),
    (errors.DuplicateColumn, sql("CREATE TABLE x (a INT, A INT)"), {"name": "A"}, (1, 14, "^"), True),
    (errors.DuplicateRelation, sql("CREATE TABLE LOW (a INT)"), {"name": "LOW"}, None, True),
    (
        errors.DependentObjects,
        sql("DROP TABLE quantity"),
        {"name": "quantity", "dependents": "low"},
        None,
        True,
    ),
    (errors.ReservedName, sql("SELECT item AS __x FROM quantity"), {"name": "__x"}, (1, 16, "^^^"), True),
    (errors.ReservedName, sql("CREATE TABLE __x (a INT)"), {"name": "__x"}, (1, 14, "^^^"), True),
    (
        errors.UnsupportedConstruct,
        sql("SELECT item FROM quantity\nSORT BY item"),
        {"construct": "SORT BY"},
        (2, 9, "^^^^"),
        True,
    ),
    (
        errors.UnsupportedConstruct,
        sql("SELECT item FROM quantity TABLESAMPLE (10 PERCENT)"),
        {"construct": "TABLESAMPLE"},
        (1, 18, "^^^^^^^^"),
        True,
    ),
    (errors.UnsupportedType, sql("CREATE TABLE x (a INT, b INTERVAL DAY)"), {}, (1, 24, "^"), True),
    (errors.UnsupportedType, sql("CREATE TABLE x (a INT UNSIGNED)"), {"type": "uint"}, (1, 17, "^"), True),
    (errors.InvalidSyntax, sql("SELECT CAST(item AS UBIGINT) FROM quantity"), {}, (1, 21, "^^^^^^^"), True),
    (errors.UnsupportedStatement, sql("ANALYZE TABLE quantity"), {}, (1, 15, "^^^^^^^^"), True),
    (errors.KeyNeeded, lambda db: db.transaction().update("quantity", [(1, 2)]), {"table": "quantity"}, None, True),
    (errors.NonDeterministic, sql("SELECT rand() AS r FROM quantity"), {"function": "rand()"}, (1, 8, "^^^^"), True),
    (errors.NonDeterministic, lambda db: db.changes(NOW), {"function": "now()"}, (1, 8, "^^^"), True),
    (errors.UnknownFunction, sql("SELECT nosuch(item) FROM quantity"), {}, (1, 8, "^^^^^^^^^^^"), True),
    (errors.SparkNeeded, sql("SELECT soundex('x') AS s FROM quantity"), {}, (1, 8, "^^^^^^^^^^^"), True),
    (errors.InvalidExpression, lambda db: db.query("DROP TABLE quantity"), {}, None, False),
    (errors.InvalidPlanText, lambda db: parse("heap t"), {"line": 1}, None, False),
    (errors.InvalidRow, insert("quantity", [(1, 2), ("x", 3)]), {"row": 2, "table": "quantity"}, None, False),
    (errors.InvalidRow, insert("quantity", [{"itm": 3}]), {"row": 1, "table": "quantity"}, None, True),
    (errors.InvalidRow, load_in_another_order, {"table": "quantity"}, None, False),
    (errors.MissingRow, delete("quantity", [(1, 2)]), {"table": "quantity", "row": {"item": 1, "qty": 2}}, None, True),
    (errors.UnknownTransactionState, after_the_end, {}, None, False),
    (errors.InvalidInterval, lambda db: db.changes("low", since=2, until=1), {"since": 2, "until": 1}, None, False),
    (errors.EngineFailed, sql("SELECT CAST('x' AS INT) AS n"), {"engine": "duckdb"}, None, False),
    (errors.UnknownEngine, lambda db: opened(engine="sparc"), {"name": "sparc"}, None, True),
    (errors.UnknownStrategy, lambda db: opened(strategy="best"), {"name": "best"}, None, True),
    (errors.UnknownExecution, lambda db: opened(execution="fast"), {"name": "fast"}, None, True),
]
ELSEWHERE = {
    errors.StatementTooDeep: "tests/unit/lang/sql/test_long_statements.py",
    errors.StatementTooLarge: "tests/unit/lang/sql/test_long_statements.py",
    errors.StatementTimeout: "tests/unit/test_running_statements.py",
    errors.StatementInterrupted: "tests/unit/test_running_statements.py",
    errors.InvalidTimeout: "tests/unit/test_running_statements.py",
    errors.InvalidTransactionId: "tests/unit/store/rules/test_applied.py",
    errors.BackupRefused: "tests/unit/store/catalog/test_backup.py",
    errors.NotABackup: "tests/unit/store/catalog/test_backup.py",
    errors.InvalidIsolation: "tests/unit/write/test_serializable.py",
    errors.SerializationConflict: "tests/unit/write/test_serializable.py",
    errors.TransactionRepeated: "tests/unit/store/rules/test_applied.py",
    errors.InvalidName: "tests/unit/store/test_odd_names.py",
    errors.FolderInUse: "tests/unit/store/test_open.py",
    errors.CatalogLost: "tests/unit/store/test_damage.py",
    errors.CatalogOfAnother: "tests/unit/store/test_damage.py",
    errors.CatalogBehind: "tests/unit/store/test_damage.py",
    errors.DatabaseForked: "tests/unit/test_interruptions.py",
    errors.ClockTooFarAhead: "tests/unit/test_clock_steps.py",
    errors.DatabaseInDoubt: "tests/unit/test_interruptions.py",
    errors.InvalidContinuousQuery: "tests/unit/continuous/test_statements.py",
    errors.UnknownContinuousQuery: "tests/unit/continuous/test_statements.py",
    errors.InternalError: "tests/unit/errors/test_unexpected.py",
    errors.InvalidArgument: "tests/unit/errors/test_arguments.py",
    errors.InvalidInstant: "tests/unit/test_clock_instants.py",
    errors.InvalidParameter: "tests/unit/lang/sql/test_parameters.py",
    errors.WrongKind: "tests/unit/front/test_mistakes.py",
    errors.InvalidName: "tests/unit/store/test_odd_names.py",
    errors.UnknownSilence: "tests/unit/rules/test_silence.py",
    errors.InexactDelta: "tests/unit/algebra/calculus/test_facts.py",
    errors.FunctionNotRegistered: "tests/unit/front/test_functions.py",
    errors.InvalidFragmentation: "tests/unit/algebra/fragments/test_fragmentation.py",
    errors.FragmentHasOtherRows: "tests/unit/define/test_fragments.py",
    errors.NoFragment: "tests/unit/algebra/fragments/test_fragmentation.py",
    errors.InvalidFunction: "tests/unit/front/test_functions.py",
    errors.WrongKind: "tests/unit/front/test_mistakes.py",
    errors.InvalidName: "tests/unit/store/test_odd_names.py",
    errors.DuplicateTid: "tests/unit/algebra/expressions/test_sources.py",
    errors.DuplicateTuple: "tests/unit/algebra/expressions/test_sources.py",
    errors.InvalidDeltaRelation: "tests/papers/test_hipac_algebra.py",
    errors.WrongIncrementalForm: "tests/unit/front/test_incremental_forms.py",
    errors.SeveralSites: "tests/unit/algebra/fragments/test_federation.py",
    errors.PartlyApplied: "tests/unit/algebra/fragments/test_federation.py",
    errors.InvalidOperator: "tests/unit/algebra/expressions/test_nodes.py",
    errors.NotComposable: "tests/papers/test_hipac_algebra.py",
    errors.TransformationRefused: "tests/laws/test_algebra.py",
    errors.NotATable: "tests/unit/write/test_statements.py",
    errors.NullNotAllowed: "tests/unit/constraints/test_enforce.py",
    errors.CheckViolated: "tests/unit/constraints/test_enforce.py",
    errors.DuplicateKey: "tests/unit/constraints/test_enforce.py",
    errors.AppendOnly: "tests/unit/constraints/test_enforce.py",
    errors.AmbiguousMerge: "tests/unit/write/test_statements.py",
    errors.AmbiguousUpsert: "tests/unit/write/test_upsert.py",
    errors.MissingPackage: "tests/unit/engine/test_frames.py",
    errors.SessionNeeded: "tests/unit/engine/test_frames.py",
    errors.SparkStopped: "tests/spark/test_stopped.py",
    errors.InvalidReadOption: "tests/unit/test_spark.py",
    errors.SessionRelation: "tests/spark/test_session_relations.py",
    errors.JavaMissing: "tests/unit/engine/test_java.py",
    errors.RecomputeRefused: "tests/unit/waves/test_strategy.py",
    errors.HistoryGone: "tests/unit/store/test_storage.py",
    errors.CatalogTooNew: "tests/unit/store/test_storage.py",
    errors.CatalogFailed: "tests/unit/store/test_storage.py",
    errors.DatabaseLocked: "tests/unit/store/test_storage.py",
    errors.DatabaseMissing: "tests/unit/store/test_storage.py",
    errors.DiskFull: "tests/crash/full_disk.py",
    errors.NotWritable: "tests/crash/somebody.py",
    errors.DamagedFile: "tests/unit/store/test_storage.py",
    errors.StorageFailed: "tests/unit/store/test_filesystem.py",
    errors.UnknownFileSystem: "tests/unit/store/test_filesystem.py",
    errors.CatalogRequired: "tests/cluster/test_object_store.py",
    errors.InvalidMemory: "tests/unit/engine/test_memory.py",
    errors.LateRow: "tests/unit/store/relation/test_history.py",
    errors.StaleWriter: "tests/unit/store/test_catch_up.py",
    errors.DatabaseClosed: "tests/unit/front/test_background_runner.py",
    errors.ReadOnly: "tests/unit/store/test_catch_up.py",
    errors.ReaderBehind: "tests/unit/store/test_catch_up.py",
    errors.MustRefetch: "tests/unit/read/test_subscriptions.py",
    errors.SubscriptionExists: "tests/unit/read/test_subscriptions.py",
    errors.BreaksViews: "tests/unit/define/test_replacement.py",
    errors.ColumnInUse: "tests/unit/define/test_tables.py",
    errors.CircularView: "tests/unit/define/test_replacement.py",
    errors.UnknownEvent: "tests/unit/rules/event/test_occurrence.py",
    errors.EmptySignal: "tests/unit/rules/event/test_occurrence.py",
    errors.UnknownGroup: "tests/unit/rules/test_silence.py",
    errors.UnknownRule: "tests/unit/rules/test_statements.py",
    errors.DuplicateRule: "tests/unit/rules/test_statements.py",
    errors.InvalidRule: "tests/unit/rules/test_statements.py",
    errors.UnknownProcedure: "tests/unit/rules/test_agenda.py",
    errors.InvalidProcedure: "tests/unit/rules/action/test_procedures.py",
    errors.NestedTransaction: "tests/unit/rules/action/test_procedures.py",
    errors.RuleFailed: "tests/unit/rules/test_failure.py",
    errors.RuleRaised: "tests/unit/rules/test_agenda.py",
    errors.CascadeTooLong: "tests/unit/rules/test_agenda.py",
    errors.InvalidContinuousQuery: "tests/unit/continuous/test_statements.py",
    errors.UnknownContinuousQuery: "tests/unit/continuous/test_statements.py",
    errors.FixpointTooLong: "tests/unit/lang/datalog/test_programs.py",
    errors.InvalidDatalog: "tests/unit/lang/datalog/test_programs.py",
    errors.NotStratified: "tests/unit/lang/datalog/test_programs.py",
    errors.TypeConflict: "tests/unit/lang/datalog/test_programs.py",
    errors.UnsafeVariable: "tests/unit/lang/datalog/test_programs.py",
    errors.WrongArity: "tests/unit/lang/datalog/test_programs.py",
    **{getattr(errors, name): "tests/unit/lang/amosql/test_refusals.py" for name in functional.__all__},
}


@pytest.fixture
def shop(db: Database) -> Database:
    db.sql("CREATE TABLE odd (s STRUCT<a: INT>, `two words` ARRAY<INT>, t STRING); INSERT INTO threshold VALUES (1, 5)")
    return db


def contents(db: Database) -> tuple[object, ...]:
    rows = {name: sorted(map(str, db.query(name).rows())) for name in ("quantity", "threshold", "odd", "low")}
    return rows, db.time


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].__name__)
def test_condition(shop: Database, case: tuple[Any, ...]) -> None:
    condition, act, parameters, mark, hinted = case
    with pytest.raises(condition) as refused:
        act(shop)
    error = refused.value
    assert type(error) is condition
    assert {k: error.parameters[k] for k in parameters} == parameters
    assert error.place is None if mark is None else mark_of(error.place) == (mark[0], mark[1])
    assert mark is None or mark[2] in str(error)
    assert bool(error.hint) or not hinted
    check_readable(error)


def mark_of(place: Place | None) -> tuple[int, int] | None:
    return None if place is None else (place.line, place.column)


def check_readable(error: TidingsError) -> None:
    """A sentence, a caret, a hint: no class names, no stack, nothing chained."""
    text = str(error)
    assert text.startswith(f"{type(error).__name__}: ")
    assert not re.search(r"Traceback|sqlglot|<class|<Token|File \"|duckdb\.\w+Exception", text)
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    if error.place is not None:
        assert 0 <= error.place.start <= error.place.end
        caret = error.place.caret().splitlines()
        assert len(caret) == 3
        assert "^" in caret[2]


def test_every_condition_is_provoked() -> None:
    known = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, TidingsError)}
    assert known - {TidingsError} == {c[0] for c in CASES} | set(ELSEWHERE)


WRONG_FROM_THE_START = [c for c in CASES if c[1] not in (load_in_another_order, after_the_end)]


@pytest.mark.parametrize("case", WRONG_FROM_THE_START, ids=lambda c: c[0].__name__)
def test_nothing_changes(shop: Database, case: tuple[Any, ...]) -> None:
    before = contents(shop)
    with pytest.raises(TidingsError):
        case[1](shop)
    assert contents(shop) == before


def test_statements_before_the_refused_one_stay(db: Database) -> None:
    with pytest.raises(errors.DuplicateRelation):
        db.sql("CREATE TABLE x (a INT); CREATE TABLE x (b INT); CREATE TABLE y (a INT)")
    assert db.query("x").columns == ["a"]
    with pytest.raises(errors.UnknownRelation):
        db.query("SELECT * FROM y")


def test_a_text_that_cannot_be_read_does_nothing_at_all(db: Database) -> None:
    with pytest.raises(errors.InvalidSyntax):
        db.sql("CREATE TABLE x (a INT); SELECT FROM WHERE")
    with pytest.raises(errors.UnknownRelation):
        db.query("SELECT * FROM x")


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (Place("a\tbc", 2, 4), "line 1, column 3\n| a\tbc\n|  \t^^"),
        (Place("ab\ncd\nef", 3, 8), "line 2, column 1\n| cd\n| ^^"),
        (Place("ab", 2, 2), "line 1, column 3\n| ab\n|   ^"),
        (Place("", 0, 0), "line 1, column 1\n| \n| ^"),
    ],
)
def test_caret(place: Place, shown: str) -> None:
    assert place.caret() == shown


ONCE_ESCAPED = [
    "SELECT map('k',",
    "SELECT (item, 1) AS x FROM quantity",
    "SELECT * GROUP FROM (VALUES (1, 'a')) AS x (i, j)",
    "CREATE VIEW VIEW",
    "INSERT INTO quantity (item, item) VALUES (1, 2)",
    "CREATE VIEW w (k, lAS ) SELECT item, qty FROM quantity",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x (i, ), quantity",
    "CREATE TABLE x (f STRUCT<`a b`: INT>); SELECT f FROM x",
    "CREATE TABLE x (f STRUCT<`a:b`: INT>); SELECT f FROM x",
]


@pytest.mark.parametrize("text", ONCE_ESCAPED)
def test_what_once_escaped(shop: Database, text: str) -> None:
    """Each of these met an exception of Python or of a library."""
    try:
        shop.sql(text)
    except TidingsError as error:
        check_readable(error)


# fuzz

SEEDS = [
    "SELECT item, qty FROM quantity WHERE item > 1 AND qty IN (1, 2)",
    "SELECT q.item + 1 AS n, t.* EXCEPT (lim) FROM quantity q JOIN threshold t USING (item) WHERE q.qty = 2",
    "WITH w (k) AS (SELECT item FROM low) SELECT k FROM w UNION ALL SELECT lim FROM threshold",
    "SELECT CASE WHEN s.a IS NULL THEN 'n' ELSE upper(t) END AS c, `two words`[0] FROM odd",
    "SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS x (i, j), quantity WHERE x.i = quantity.item",
    "CREATE TABLE z (a INT, `b c` ARRAY<STRUCT<x: INT>>)",
    "CREATE VIEW w (k, l) AS SELECT item, qty FROM quantity",
    "INSERT INTO quantity (item, qty) VALUES (1, 2)",
    "CREATE TABLE z (a INT PRIMARY KEY, b STRING NOT NULL DEFAULT 'x' CHECK (b <> 'y')) WITH (append_only)",
    "ALTER TABLE quantity ADD COLUMN note STRING DEFAULT 'none'",
    "ALTER TABLE threshold RENAME COLUMN lim TO top",
    "UPDATE quantity SET qty = qty + 1, item = DEFAULT WHERE item IN (1, 2) AND qty > 3",
    "DELETE FROM threshold AS t WHERE EXISTS (SELECT 1 FROM quantity WHERE quantity.item = t.item)",
    "MERGE INTO quantity q USING threshold t ON q.item = t.item WHEN MATCHED AND lim > 1 THEN UPDATE SET qty = lim "
    "WHEN NOT MATCHED THEN INSERT (item, qty) VALUES (t.item, 0)",
    "INSERT INTO quantity VALUES (1, DEFAULT), (2, 3)",
    "DROP VIEW IF EXISTS low",
    "SELECT * FROM quantity NATURAL JOIN threshold WHERE NOT qty = lim OR lim BETWEEN 1 AND 2",
    "SELECT transform(`two words`, x -> x + 1) AS y, CAST(s.a AS DECIMAL(10, 2)) FROM odd",
    "SELECT DISTINCT item FROM quantity ORDER BY item LIMIT 3",
    "SELECT named_struct('a', 1).a, map('k', 2)['k'] FROM odd",
    "SELECT item, sum(qty) AS s, count(*) AS n FROM quantity GROUP BY item HAVING sum(qty) > 1",
    "SELECT q.item FROM quantity q LEFT JOIN threshold t ON q.item = t.item WHERE t.item IS NULL",
    "SELECT item, rank() OVER (PARTITION BY item ORDER BY qty DESC) AS r FROM quantity QUALIFY r = 1",
    "SELECT item FROM quantity WHERE item IN (SELECT item FROM threshold WHERE lim > quantity.qty)",
    "SELECT item, (SELECT max(lim) FROM threshold t WHERE t.item = q.item) AS m FROM quantity q",
    "SELECT item FROM quantity EXCEPT ALL SELECT item FROM threshold ORDER BY item LIMIT 2 OFFSET 1",
]
WORDS = (
    "item qty quantity low odd s a __w nosuch `q r` 'str' 1 1.5 NULL ( ) , . * + - = < AND OR SELECT FROM WHERE "
    "JOIN ON AS UNION ALL VALUES WITH GROUP BY CASE END IN NOT ; -- /* ` ' \" [ ] { } ? :x @ $ -> => :: <=> INTERVAL "
    "CAST EXCEPT LATERAL EXISTS OVER TABLE CREATE DROP INSERT INTO STRUCT< ARRAY<INT> count( PIVOT USING"
).split(" ")


def mutated(seed: int) -> str:
    rng = random.Random(seed)
    text = rng.choice(SEEDS)
    for _ in range(rng.randint(1, 3)):
        tokens = re.findall(r"'[^']*'|`[^`]*`|\w+|\s+|[^\w\s]", text) or [""]
        n = rng.randrange(len(tokens))
        match rng.randrange(6):
            case 0:
                tokens = [text[: rng.randrange(len(text) + 1)]]
            case 1:
                tokens.insert(n, tokens[n] + " ")
            case 2:
                tokens[n] = rng.choice(WORDS)
            case 3:
                tokens.insert(n, f" {rng.choice(WORDS)} ")
            case 4:
                del tokens[n]
            case _:
                other = rng.randrange(len(tokens))
                tokens[n], tokens[other] = tokens[other], tokens[n]
        text = "".join(tokens)
    return text


@pytest.mark.parametrize("block", range(10))
def test_only_conditions_escape(shop: Database, block: int, caplog: pytest.LogCaptureFixture) -> None:
    """Mutated texts either run or are refused by a condition, never by anything else; nothing is logged."""
    refused = 0
    for seed in range(block * 60, block * 60 + 60):
        text = mutated(seed)
        for act in (shop.query, shop.explain, shop.changes, shop.sql):
            try:
                act(text)
            except TidingsError as error:
                check_readable(error)
                refused += 1
            except Exception as error:
                pytest.fail(f"seed {seed}: {text!r}: {type(error).__name__}: {error}")
    assert refused > 60
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []
