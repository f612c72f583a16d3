"""Lines appended to files: whole, synced, below one folder."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from threading import Thread

import pytest

from tidings.deliver.channel import Arrived, Failed, Refused
from tidings.deliver.file import FileChannel
from tidings.store.rules.messages import Message


def message(number: int = 1, target: str = "out.jsonl") -> Message:
    payload = json.dumps({"firing": number, "text": "a\nb ü"}, indent=1)
    return Message("low", number, "file", target, payload, 0, id=f"msg_{number}")


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def test_each_message_is_a_line(tmp_path: Path) -> None:
    channel = FileChannel(tmp_path)
    assert [channel.send(message(n), 0) for n in (1, 2)] == [Arrived(), Arrived()]
    first, second = map(json.loads, lines(tmp_path / "out.jsonl"))
    assert first == {"id": "msg_1", "firing": 1, "text": "a\nb ü"}
    assert second["id"] == "msg_2"


def test_what_a_crash_left_unfinished_stays_on_a_line_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text('{"id": "ms')
    FileChannel(tmp_path).send(message(), 0)
    torn, whole = lines(tmp_path / "out.jsonl")
    assert torn == '{"id": "ms'
    assert json.loads(whole)["id"] == "msg_1"


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channel, write = FileChannel(tmp_path), os.write
    channel.send(message(), 0)
    before = (tmp_path / "out.jsonl").read_bytes()
    room = [10]

    def full(handle: int, data: bytes) -> int:
        if not room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data[: room.pop()])

    monkeypatch.setattr("tidings.deliver.file.os.write", full)
    outcome = channel.send(message(2), 0)
    monkeypatch.undo()
    assert isinstance(outcome, Failed)
    assert "No space left" in outcome.reason
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert channel.send(message(2), 0) == Arrived()


@pytest.mark.parametrize(
    "target", ["../out.jsonl", "/etc/out.jsonl", "a/../../out.jsonl", "link/out.jsonl", "a\0b", "."]
)
def test_no_path_leads_out_of_the_folder(tmp_path: Path, target: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "link").symlink_to(tmp_path)
    assert isinstance(FileChannel(root).send(message(target=target), 0), Refused | Failed)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_folder_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    assert isinstance(FileChannel(tmp_path).send(message(target="a/out.jsonl"), 0), Failed)


def test_what_is_not_a_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert isinstance(FileChannel(tmp_path).send(message(target="pipe"), 0), Refused)


def test_many_can_append_to_one_file(tmp_path: Path) -> None:
    threads = [Thread(target=lambda: [FileChannel(tmp_path).send(message(n), 0) for n in range(20)]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(json.loads(one)["firing"] for one in lines(tmp_path / "out.jsonl")) == sorted([*range(20)] * 3)


@pytest.mark.parametrize("target", ["db/catalog.sqlite", "db/new.jsonl", "link/new.jsonl", "db/base/x.jsonl"])
def test_nothing_is_written_into_the_folder_of_the_database(tmp_path: Path, target: str) -> None:
    database = tmp_path / "db"
    (database / "base").mkdir(parents=True)
    (database / "catalog.sqlite").write_text("rows")
    (tmp_path / "link").symlink_to(database)
    assert isinstance(FileChannel(tmp_path, database).send(message(target=target), 0), Refused)
    assert isinstance(FileChannel(tmp_path, tmp_path / "link").send(message(target=target), 0), Refused)
    assert sorted(p.name for p in database.rglob("*")) == ["base", "catalog.sqlite"]
    assert (database / "catalog.sqlite").read_text() == "rows"


def test_a_link_to_a_file_of_the_database_is_not_followed(tmp_path: Path) -> None:
    database = tmp_path / "db"
    database.mkdir()
    (database / "identity").write_text("id")
    (tmp_path / "out.jsonl").symlink_to(database / "identity")
    assert isinstance(FileChannel(tmp_path, database).send(message(), 0), Refused)
    assert (database / "identity").read_text() == "id"


def test_beside_the_database_files_are_written_and_are_private(tmp_path: Path) -> None:
    (tmp_path / "db").mkdir()
    assert FileChannel(tmp_path, tmp_path / "db").send(message(), 0) == Arrived()
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_somebody_else_has_locked_is_a_failure_that_is_tried_again(tmp_path: Path) -> None:
    with open(tmp_path / "out.jsonl", "w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        outcome = FileChannel(tmp_path, timeout=0.05).send(message(), 0)
        assert isinstance(outcome, Failed)
        assert outcome.unreachable
        assert "locked" in outcome.reason
        stopped = FileChannel(tmp_path, timeout=3600)
        stopped.attempts.stopping.set()
        assert isinstance(stopped.send(message(), 0), Failed)
    assert FileChannel(tmp_path).send(message(), 0) == Arrived()
    assert len(lines(tmp_path / "out.jsonl")) == 1
