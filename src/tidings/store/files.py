"""Files that are there when a crash is over: written, synced, and only then named by the catalog."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.errors import DamagedFile
from tidings.store.fault_points import point
from tidings.store.write_failures import writing


def write_parquet(rows: pa.Table, path: Path) -> None:
    """Write rows to a new file and make it durable."""
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path, compression="zstd", write_page_checksum=True)
        point("file.written")
        sync(path)


def read_parquet(root: Path, name: str) -> pa.Table:
    """Read a file of the database, or say what is wrong with it."""
    try:
        return pq.read_table(root / name, page_checksum_verification=True, partitioning=None)
    except FileNotFoundError:
        raise DamagedFile(path=str(root / name), reason="it is not there") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise DamagedFile(path=str(root / name), reason=str(error).splitlines()[0]) from None


def check_file(path: Path, size: int) -> None:
    """Refuse a file that is missing or not as long as it was."""
    try:
        actual = path.stat().st_size
    except FileNotFoundError:
        raise DamagedFile(path=str(path), reason="it is not there") from None
    if actual != size:
        raise DamagedFile(path=str(path), reason=f"it has {actual} bytes and should have {size}")


def sync(path: Path) -> None:
    """Force a file, and its name in the folder, onto the disk."""
    for target in (path, path.parent):
        handle = os.open(target, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sync_folder(folder: Path) -> None:
    """Force all files of a folder onto the disk."""
    for path in sorted(folder.iterdir()):
        sync(path)
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
