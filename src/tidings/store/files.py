"""Files that are there when a crash is over: written, synced, and only then named by the catalog.

Their names begin with the branch of history that their writer has begun, which the catalog knows.  So a file that no
catalog has ever named is still known to be of this database, or not to be.
"""

from __future__ import annotations

import os
import re
import uuid
import zlib
from collections.abc import Container, Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.engine.location import Location
from tidings.errors import DamagedFile
from tidings.store.fault_points import point
from tidings.store.filesystem import entries, make_folder, make_private, storage_failures, sync_path
from tidings.store.write_failures import writing


def log_file(relation: int, time: int, branch: str) -> str:
    """A new name for a log entry of a relation."""
    return f"log/{relation}/{branch}-{time}-{uuid.uuid4().hex[:8]}.parquet"


def snapshot_folder(relation: int, branch: str) -> str:
    """A new name for the folder of a snapshot of a relation."""
    return f"base/{relation}/{branch}-{uuid.uuid4().hex[:12]}"


_OWN = re.compile(
    r"log/\d+/(?P<log>\w+)-\d+-[0-9a-f]{8}\.parquet|"
    r"base/\d+/(?P<base>\w+)-[0-9a-f]{12}/(_temporary/.*|\.?(part-|_SUCCESS)[^/]*)"
)


def is_own(name: str, branches: Container[str]) -> bool:
    """Whether a file was made by a writer of these branches.

    >>> name = log_file(1, 5, "5c1f")
    >>> is_own(name, {"5c1f"}), is_own(name, {"77aa"}), is_own("log/notes.txt", {"5c1f"})
    (True, False, False)
    """
    match = _OWN.fullmatch(name)
    return match is not None and (match["log"] or match["base"]) in branches


def write_parquet(rows: pa.Table, root: Location, name: str) -> None:
    """Write rows to a new file of the database and make it durable."""
    file = root / name
    with writing(file):
        make_folder(root / name.rpartition("/")[0], inherits=True)
        pq.write_table(rows, file.path, filesystem=file.filesystem, compression="zstd", write_page_checksum=True)
        point("file.written")
        sync(file)


def read_parquet(root: Location, name: str) -> pa.Table:
    """Read a file of the database, or say what is wrong with it."""
    file = root / name
    try:
        with storage_failures(file):
            return pq.read_table(
                file.path, filesystem=file.filesystem, page_checksum_verification=True, partitioning=None
            )
    except FileNotFoundError:
        raise DamagedFile(path=str(file), reason="it is not there") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise DamagedFile(path=str(file), reason=str(error).splitlines()[0]) from None


def check_files(root: Location, folder: str, sizes: Mapping[str, int]) -> None:
    """Refuse a folder some of whose files are missing or not as long as they were."""
    try:
        present = entries(root / folder)
    except OSError as error:
        raise DamagedFile(path=str(root / folder), reason=error.strerror or str(error)) from None
    for name, size in sizes.items():
        file = present.get(name.removeprefix(f"{folder}/"))
        if file is None:
            raise DamagedFile(path=str(root / name), reason="it is not there")
        if file.size != size:
            raise DamagedFile(path=str(root / name), reason=f"it has {file.size} bytes and should have {size}")


def checksum(file: Location) -> int | None:
    """The CRC-32 of a file of this machine; object stores have checksums of their own."""
    if not file.is_local:
        return None
    value = 0
    with open(file.path, "rb", buffering=0) as stream:
        while block := stream.read(_BLOCK):
            value = zlib.crc32(block, value)
    return value


def verify_checksum(file: Location, expected: int) -> None:
    """Refuse a file whose bytes are not those that were written."""
    try:
        found = checksum(file)
    except FileNotFoundError:
        raise DamagedFile(path=str(file), reason="it is not there") from None
    except OSError as error:
        raise DamagedFile(path=str(file), reason=str(error)) from None
    if found is not None and found != expected:
        raise DamagedFile(path=str(file), reason="its bytes are not those that were written")


_BLOCK = 1 << 20


def sync(file: Location) -> None:
    """Force a file, and its name in the folder, onto the disk; elsewhere it is durable once it is written."""
    if file.is_local:
        make_private(file.path)
        for path in (file.path, os.path.dirname(file.path) or "."):
            sync_path(path)


def sync_folder(folder: Location) -> None:
    """Force all files of a folder onto the disk, and let them be read by those who may read what it is in."""
    if folder.is_local:
        make_private(folder.path)
        for name in sorted(os.listdir(folder.path)):
            make_private(f"{folder.path}/{name}")
            sync_path(f"{folder.path}/{name}")
        sync(folder)


def pack(rows: pa.Table) -> bytes:
    """Rows as Arrow IPC."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue().to_pybytes())


def unpack(data: bytes) -> pa.Table:
    """The inverse of :func:`pack`."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_all()
