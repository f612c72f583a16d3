"""One writer per folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tidings.errors import DatabaseLocked, NotWritable
from tidings.store.catalog.writer_lock import WriterLock


def test_the_second_is_told_who_was_first(tmp_path: Path) -> None:
    first, second = WriterLock(tmp_path), WriterLock(tmp_path)
    first.take()
    with pytest.raises(DatabaseLocked) as refused:
        second.take()
    assert f"process {os.getpid()}" in refused.value.message
    first.release()
    first.release()
    second.take()
    second.release()


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotWritable):
        WriterLock(tmp_path / "nosuch").take()
