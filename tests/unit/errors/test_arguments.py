"""Every public call refuses arguments that are not what it declares; none of them is taken for a mistake of Tidings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import tidings
from tidings.errors import InternalError, TidingsError

WRONG = [None, 5, 2.5, b"x", object(), [], {}, "nonsense", timedelta(1), True]

CALLS = [
    (owner, name)
    for owner in ("Database", "Transaction", "Deliveries", "FederatedDatabase", "ManualClock")
    for name, method in inspect.getmembers(getattr(tidings, owner), inspect.isfunction)
    if not name.startswith("_")
    and name not in ("close", "commit", "rollback", "start", "stop", "wake", "interrupt", "listen", "unlisten")
    and len(inspect.signature(method).parameters) > 1
]

FITTING: dict[str, Any] = {
    "text": "SELECT a FROM t",
    "table": "t",
    "rows": [(7,)],
    "old": [(1,)],
    "view": "stored",
    "name": "t",
    "rule": "r",
    "event": "e",
    "row": {"a": 1},
    "since": 0,
    "channel": "file",
    "target": "x",
    "takes": ["int"],
    "returns": "int",
    "to": 10**15,
    "by": timedelta(0),
}
"""Arguments that a call takes."""


@pytest.fixture
def db(tmp_path: Path) -> Iterator[tidings.Database]:
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(10**15)) as db:
        db.sql(
            "CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1); CREATE EVENT e (a INT);"
            "CREATE MATERIALIZED VIEW stored AS SELECT a FROM t; CREATE RULE r WHEN SELECT a FROM t DO NOTIFY 'x'"
        )
        yield db


def call(db: tidings.Database, owner: str, name: str, arguments: dict[str, Any]) -> object:
    match owner:
        case "Database":
            answer = getattr(db, name)(**arguments)
            return answer(lambda rows: rows) if name in ("foreign", "function", "operator", "procedure") else answer
        case "Transaction":
            with db.transaction() as tx:
                return getattr(tx, name)(**arguments)
        case "Deliveries":
            return getattr(db.deliveries, name)(**arguments)
        case "ManualClock":
            return getattr(tidings.ManualClock(), name)(**arguments)
    with tidings.federate({"here": db}) as federation:
        return getattr(federation, name)(**arguments)


def refusal(act: Callable[[], object]) -> TidingsError | None:
    """How a call is refused; what is raised beside conditions fails the test."""
    try:
        act()
    except TidingsError as refused:
        return refused
    return None


@pytest.mark.parametrize(("owner", "name"), CALLS, ids=str)
def test_wrong_arguments_are_refused_by_name(owner: str, name: str, db: tidings.Database, tmp_path: Path) -> None:
    """A value that happens to be right is taken; any other leaves as a condition that is no mistake of Tidings."""
    parameters = inspect.signature(getattr(getattr(tidings, owner), name)).parameters
    named = {n: p for n, p in parameters.items() if n != "self" and p.kind is not p.VAR_POSITIONAL}
    fitting = FITTING | {"path": tmp_path / "backup", "since": {"here": 0} if owner == "FederatedDatabase" else 0}
    if name == "datalog":
        fitting["program"] = "p(x) :- t(x)."
    needed = {n: fitting[n] for n, p in named.items() if p.default is p.empty and n in fitting}
    for parameter in named:
        for wrong in WRONG:
            if (parameter, wrong) == ("path", "nonsense"):
                continue
            refused = refusal(lambda: call(db, owner, name, needed | {parameter: wrong}))  # noqa: B023
            assert not isinstance(refused, InternalError), (parameter, wrong, refused)
    for parameter, declared in named.items():
        if declared.annotation == "str" and parameter not in ("isolation",):
            own = tidings.errors.InvalidFunction, tidings.errors.InvalidOperator
            with pytest.raises((tidings.errors.InvalidArgument, *own)):
                call(db, owner, name, needed | {parameter: None})


@pytest.mark.parametrize("parameter", sorted(inspect.signature(tidings.open).parameters))
def test_what_no_database_can_be_opened_with(parameter: str, tmp_path: Path) -> None:
    given = {} if parameter == "path" else {"path": tmp_path / "shop.tidings"}
    for wrong in (5, 2.5, b"x", object(), "nonsense", True):
        if parameter in ("spark", "engine") or (parameter, wrong) in (("path", "nonsense"), ("read_only", True)):
            continue
        settings: dict[str, Any] = {"engine": "duckdb"} | given | {parameter: wrong}
        refused = refusal(lambda: tidings.open(**settings).close())  # noqa: B023
        assert not isinstance(refused, InternalError)


@pytest.mark.parametrize("setting", [{"catalog": "x"}, {"read_only": True}, {"storage_options": {"a": "b"}}], ids=str)
def test_settings_of_a_folder_need_one(setting: dict[str, Any]) -> None:
    with pytest.raises(tidings.errors.InvalidArgument, match="path"):
        tidings.open(engine="duckdb", **setting)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for path in (tmp_path / "notes.txt", tmp_path / "notes.txt" / "inner"):
        with pytest.raises(tidings.errors.NotWritable, match="there is a file"):
            tidings.open(path, engine="duckdb")
    assert (tmp_path / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_a_clock_takes_what_is_an_instant() -> None:
    clock = tidings.ManualClock("2026-03-01")
    assert clock.now() == tidings.micros("2026-03-01") == clock.set("2026-03-01 00:00:00")
    with pytest.raises(tidings.errors.InvalidInstant):
        tidings.ManualClock("yesterday")
    with pytest.raises(tidings.errors.InvalidArgument):
        clock.advance(5)  # type: ignore[arg-type]
