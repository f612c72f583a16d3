"""Transactions of the catalog: who may write, and what others see of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from tidings.errors import CatalogFailed, ReadOnly, StaleWriter
from tidings.store.catalog import schema
from tidings.store.catalog.session import Session


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'catalog.sqlite'}"


@pytest.fixture
def writer(url: str) -> Iterator[Session]:
    session = Session(url)
    yield session
    session.close()


def write(session: Session, *rules: int) -> None:
    """Rows of a table in one transaction; no two may be the same."""
    with session.writing() as connection:
        for rule in rules:
            connection.execute(insert(schema.followed).values(rule=rule))


def rules(connection: Connection) -> list[int]:
    return list(connection.execute(select(schema.followed.c.rule).order_by(schema.followed.c.rule)).scalars())


def test_each_transaction_raises_the_revision(writer: Session) -> None:
    before = writer.revision()
    write(writer, 1)
    write(writer, 2)
    assert writer.revision() == before + 2
    with writer.reading() as connection:
        assert rules(connection) == [1, 2]


def test_a_transaction_that_fails_leaves_nothing(writer: Session) -> None:
    write(writer, 1)
    before = writer.revision()
    with pytest.raises(CatalogFailed):
        write(writer, 2, 1)
    assert writer.revision() == before
    with writer.reading() as connection:
        assert rules(connection) == [1]
    write(writer, 3)
    assert writer.revision() == before + 1


def test_a_later_writer_keeps_the_first_one_out(writer: Session, url: str) -> None:
    second = Session(url)
    assert second.epoch == writer.epoch + 1
    with pytest.raises(StaleWriter):
        write(writer, 1)
    write(second, 2)
    with second.reading() as connection:
        assert rules(connection) == [2]
    second.close()


def test_a_reader_writes_nothing(writer: Session, url: str) -> None:
    reader = Session(url, read_only=True)
    with pytest.raises(ReadOnly):
        write(reader, 1)
    assert reader.revision() == writer.revision()
    reader.close()


def test_frozen_reads_are_of_one_moment(writer: Session, url: str) -> None:
    reader = Session(url, read_only=True)
    write(writer, 1)
    with reader.frozen():
        before = reader.revision()
        write(writer, 2)
        assert reader.revision() == before
        with reader.reading() as connection:
            assert rules(connection) == [1]
    assert reader.revision() == before + 1
    reader.close()
