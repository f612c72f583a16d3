"""A secret is planted in every place where a user can give one, and nothing that is shown, logged or kept has it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

import tidings
from tests.unit.deliver import certificate
from tests.unit.deliver.test_mail import Server, message, serving
from tests.unit.eventually import eventually
from tidings import Database, DeliverySettings, Mail, ManualClock
from tidings.deliver.channel import Failed
from tidings.deliver.mail import MailChannel
from tidings.deliver.signature import new_secret
from tidings.retry_policy import RetryPolicy

TOKEN = "pLanted-5ecret-77"
SIGNING = new_secret()
URL = f"http://127.0.0.1:9/in/{TOKEN}?key={TOKEN}"
SETTINGS = DeliverySettings(
    [SIGNING],
    secrets_of={URL: [SIGNING]},
    allow=["127.0.0.0/8"],
    mail=Mail("127.0.0.1", "a@b.test", port=9, starttls=True, user="u", password=TOKEN),
    policy=RetryPolicy(attempts=1, rest=0),
)


def is_clean(text: str) -> bool:
    return TOKEN not in text and SIGNING not in text and SIGNING.removeprefix("whsec_") not in text


@contextmanager
def refused() -> Iterator[list[str]]:
    """What an error says, by every way in which it is shown."""
    shown: list[str] = []
    with pytest.raises(tidings.errors.TidingsError) as info:
        yield shown
    error = info.value
    shown += [str(error), repr(error), error.message, str(error.hint), json.dumps(str(error.args))]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0), deliveries=SETTINGS) as made:
        made.sql("CREATE TABLE t (a INT PRIMARY KEY)")
        yield made


SYSTEM = ("tables", "views", "columns", "rules", "firings", "silences", "deliveries", "continuous_queries")


def test_what_a_database_shows(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    db.sql(f"CREATE RULE hooked WHEN SELECT a FROM t DO WEBHOOK '{URL}'")
    db.sql(f"CREATE RULE grouped WHEN SELECT a FROM t DO WEBHOOK '{URL}' WITH (group_by = a, resolved)")
    db.sql("CREATE RULE mailed WHEN SELECT a FROM t DO MAIL 'a@b.test'")
    db.sql("INSERT INTO t VALUES (1)")
    db.advance()
    clock = db._parts.clock
    assert isinstance(clock, ManualClock)
    clock.advance(timedelta(seconds=1))
    db.deliveries.start()
    eventually(lambda: {entry.state for entry in db.deliveries.entries()} == {"dead"})
    shown = [repr(db.query(f"SELECT * FROM tidings.{name}").rows()) for name in SYSTEM]
    shown += [db.explain_rule(name) for name in ("hooked", "grouped", "mailed")]
    shown += [repr(db.rules().rows()), repr(db.status()), repr(db.status().deliveries), repr(db.waves())]
    shown += [repr(SETTINGS), repr(db.deliveries.deliverer.channels), repr(db.sql("SHOW RULES"))]
    shown += [str(entry.error) for entry in db.deliveries.entries()]
    db.deliveries.close()
    shown += [caplog.text, *(repr(record.args) for record in caplog.records)]
    assert [text for text in shown if not is_clean(text)] == []


def test_its_owner_is_shown_the_rule_as_it_was_written(db: Database) -> None:
    db.sql(f"CREATE RULE hooked WHEN SELECT a FROM t DO WEBHOOK '{URL}'")
    assert URL in repr(db.sql("SHOW CREATE RULE hooked").rows())  # type: ignore[union-attr]


MISTAKES = [
    f"CREATE RULE r WHEN SELECT a FROM t WHERE b > 1 DO WEBHOOK '{URL}'",
    f"CREATE RULE r WHEN SELECT a FROM t DO WEBHOOK 'ftp://h.test/?{TOKEN}'",
    f"CREATE RULE r WHEN SELECT a FROM t DO WEBHOOK 'https://me:{TOKEN}@h.test/'",
    f"CREATE RULE r WHEN SELECT a FROM t DO WEBHOOK '{URL}' WITH (nonsense = 1)",
    f"CREATE RULE r WHEN SELECT a FROM t DO WEBHOOK '{URL}' '{URL}'",
    f"CREATE RULE r WHEN SELECT rand() AS a FROM t DO WEBHOOK '{URL}'; SELECT 1",
    f"CREATE RULE r WHEN SELECT a FROM nowhere DO WEBHOOK '{URL}'",
]


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
@pytest.mark.parametrize("how", [Database.sql, Database.explain_rule])
def test_what_errors_of_statements_show(db: Database, text: str, how: Callable[[Database, str], object]) -> None:
    with refused() as shown:
        how(db, text)
    assert [each for each in shown if not is_clean(each)] == []


@pytest.mark.parametrize("mode", ["read", "write"])
def test_a_catalog_that_cannot_be_reached(tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "db").mkdir()
    catalog = f"postgresql+psycopg://shop:{TOKEN}@127.0.0.1:9/shop?application_name={TOKEN}"
    with refused() as shown:
        tidings.open(tmp_path / "db", engine="duckdb", catalog=catalog, read_only=mode == "read")
    assert is_clean("".join(shown) + caplog.text)


@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("s3://shops/berlin", {"secret_key": TOKEN, "access_key": "a"}),
        ("s3://shops/berlin", {"secret_key": TOKEN, "nonsense": TOKEN}),
        ("gs://shops/berlin", {"nonsense": TOKEN}),
        ("abfss://shops@berlin/x", {"account_key": TOKEN, "nonsense": TOKEN}),
        (f"ftp://me:{TOKEN}@shops/berlin", {"key": TOKEN}),
    ],
)
def test_storage_that_cannot_be_used(url: str, options: dict[str, str]) -> None:
    with refused() as shown:
        tidings.open(url, engine="duckdb", storage_options=options)
    assert is_clean("".join(shown))


def test_a_mail_server_that_repeats_what_it_was_told(tmp_path: Path) -> None:
    theirs, ours = certificate.made(tmp_path, "localhost")
    with serving(Server({"AUTH": f"535 not {TOKEN}"}, tls=theirs)) as server:
        assert SETTINGS.mail is not None
        settings = replace(SETTINGS.mail, host="localhost", port=server.port, tls=ours)
        outcome = MailChannel(settings).send(message(), 0)
    assert isinstance(outcome, Failed)
    assert "535" in outcome.reason
    assert is_clean(outcome.reason)


def test_what_is_kept_in_the_folder(tmp_path: Path) -> None:
    """Secrets of the settings are not in it; URLs of rules are, in the catalog alone."""
    with tidings.open(tmp_path / "db", engine="duckdb", clock=ManualClock(0), deliveries=SETTINGS) as db:
        db.sql("CREATE TABLE t (a INT PRIMARY KEY); CREATE RULE mailed WHEN SELECT a FROM t DO MAIL 'a@b.test'")
        db.sql(f"CREATE RULE hooked WHEN SELECT a FROM t DO WEBHOOK 'http://127.0.0.1:9/{TOKEN[::-1]}'")
        db.sql("INSERT INTO t VALUES (1)")
        db.deliveries.step()
        db.fold()
    kept = {file.name: file.read_bytes() for file in (tmp_path / "db").rglob("*") if file.is_file()}
    assert [name for name, data in kept.items() if TOKEN.encode() in data or SIGNING.encode() in data] == []
    with_url = {name for name, data in kept.items() if TOKEN[::-1].encode() in data}
    assert with_url <= {"catalog.sqlite", "catalog.sqlite-wal"}
