"""What users touch is exported from ``tidings``, has a docstring, and is what the docs import."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import tidings
from tidings import Change, ChangeBatch, Database, Delta, Pair, Transaction

ROOT = Path(__file__).resolve().parents[2]
INNER = {"architecture.md", "semantics.md"}
"""Pages about the inside, which may name inner modules."""
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in INNER),
    *sorted((ROOT / "examples").rglob("*.py")),
]
PUBLIC_MODULES = {"algebra", "errors", "spark"}


def test_everything_exported_is_there_and_documented() -> None:
    assert sorted(tidings.__all__) == sorted(set(tidings.__all__))
    for name in tidings.__all__:
        exported = getattr(tidings, name)
        if inspect.isclass(exported) or inspect.isfunction(exported):
            assert (exported.__doc__ or "").strip(), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_docs_import_only_what_is_exported(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    modules = set(re.findall(r"(?:from|import) tidings\.(\w+)", text))
    assert modules <= PUBLIC_MODULES
    for names in re.findall(r"from tidings import ([\w, ]+)", text):
        assert {name.strip() for name in names.split(",")} <= set(tidings.__all__)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_docs_name_only_what_is_exported(page: Path) -> None:
    named = set(re.findall(r"\btidings\.([A-Z]\w+)", page.read_text(encoding="utf-8")))
    assert named <= set(tidings.__all__)


@pytest.mark.parametrize(
    "owner", [Database, Transaction, Delta, tidings.Result, tidings.Deliveries, tidings.Subscription]
)
def test_public_methods_are_documented(owner: type) -> None:
    undocumented = [
        name
        for name, method in inspect.getmembers(owner, callable)
        if not name.startswith("_") and name in vars(owner) and not inspect.getdoc(method)
    ]
    assert undocumented == []


def test_a_transaction_shows_only_what_users_need() -> None:
    shown = {name for name in dir(Transaction) if not name.startswith("_")}
    names = "commit delete insert query repeated rollback signal sql time update upsert"
    assert shown == set(names.split())


def test_open_documents_every_parameter() -> None:
    documented = set(re.findall(r":param (\w+):", tidings.open.__doc__ or ""))
    assert documented == set(inspect.signature(tidings.open).parameters)


def test_instants_of_changes() -> None:
    at = datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert Change({}, 1_000_000, 1).instant == Pair(None, {}, 1_000_000).instant == at
    with tidings.open(engine="duckdb", clock=tidings.ManualClock(1_000_000)) as db:
        db.sql("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)")
        batch = next(db.subscribe("t"))
        assert isinstance(batch, ChangeBatch)
        assert (batch.time, batch.instant) == (1_000_000, at)


def test_an_import_loads_nothing_of_what_databases_need() -> None:
    heavy = ["duckdb", "lark", "numpy", "pandas", "pyarrow", "pyspark", "rich", "sqlalchemy", "sqlglot"]
    text = f"import sys, tidings; print([name for name in {heavy} if name in sys.modules], len(tidings.__all__))"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", str(len(tidings.__all__))]


def test_a_star_import_has_every_name_and_a_misspelt_one_is_an_error() -> None:
    names: dict[str, object] = {}
    exec("from tidings import *", names)
    assert set(tidings.__all__) <= names.keys()
    assert set(tidings.__all__) <= set(dir(tidings))
    with pytest.raises(AttributeError, match="opne"):
        getattr(tidings, "opne")  # noqa: B009
