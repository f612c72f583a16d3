"""The file channel: appends each message to a file as one line of JSON, its payload with its id, and syncs it.

Lines are appended whole, under a lock, so that several processes can write one file.  A line that a crash left
unfinished gets an end of line and stays: nothing is ever removed from a file, except the beginning of a line that did
not fit on the disk.  The message of such a line is written again, whole, under its id.

Paths are relative to a folder, and none leads out of it, nor into the folder of the database, whatever links there are.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from tidings.deliver.attempts import Attempts
from tidings.deliver.channel import Arrived, Failed, Refused, SendOutcome
from tidings.store.rules.messages import Message


@dataclass(frozen=True, slots=True)
class FileChannel:
    """Appends messages to files below a folder."""

    folder: Path
    database: Path | None = None
    """The folder of the database, in which nothing but the database itself writes."""
    timeout: float = 5.0
    """How many seconds a file may be locked by somebody else."""
    attempts: Attempts = field(default_factory=Attempts, repr=False)
    is_instant: bool = field(default=True, init=False)

    def send(self, message: Message, now: int) -> SendOutcome:
        root = self.folder.resolve()
        try:
            path = (root / message.target).resolve()
        except (OSError, ValueError) as error:
            return Refused(f"{message.target} is no path: {error}")
        if not path.is_relative_to(root):
            return Refused(f"{message.target} is not below {root}")
        if self.database is not None and _is_within(path, self.database):
            return Refused(f"{message.target} is in the folder of the database")
        try:
            return self._append(path, (line(message) + "\n").encode())
        except OSError as error:
            return Failed(f"{path}: {error.strerror or error}", unreachable=True)

    def _append(self, path: Path, data: bytes) -> SendOutcome:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
        handle = os.open(path, flags, 0o600)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Refused(f"{path} is not a file")
            self._lock(handle)
            is_new = _append_whole(handle, data)
            if is_new:
                _sync_name(path)
        finally:
            os.close(handle)
        return Arrived()

    def _lock(self, handle: int) -> None:
        """Have the file alone; others who append to it have it for a moment."""
        deadline, pause = monotonic() + self.timeout, 0.001
        while True:
            try:
                return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if monotonic() > deadline or self.attempts.stopping.wait(pause):
                    raise BlockingIOError(errno.EWOULDBLOCK, "somebody else has locked it") from None
                pause = min(2 * pause, 0.05)


def _is_within(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder, by whichever name either is reached."""
    return path.is_relative_to(folder.resolve()) or any(_is_same(parent, folder) for parent in path.parents)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def line(message: Message) -> str:
    """A message as a line of JSON: its id, and what the payload has.

    >>> print(line(Message("low", 7, "file", "out.jsonl", '{"data": {"item": 1}}', 0, id="msg_1")))
    {"id": "msg_1", "data": {"item": 1}}
    """
    payload = json.loads(message.payload)
    return json.dumps({"id": message.id} | (payload if isinstance(payload, dict) else {"data": payload}))


def _append_whole(handle: int, data: bytes) -> bool:
    """Append a line, all of it or nothing; whether the file was empty."""
    size = os.fstat(handle).st_size
    if size and os.pread(handle, 1, size - 1) != b"\n":
        data = b"\n" + data
    try:
        _write(handle, data)
        os.fsync(handle)
    except OSError:
        os.ftruncate(handle, size)
        raise
    return not size


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _sync_name(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
