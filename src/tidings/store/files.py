"""Files that are there when a crash is over: written, synced, and only then named by the catalog."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.parquet as pq

from tidings.engine.location import Location
from tidings.errors import DamagedFile
from tidings.store.fault_points import point
from tidings.store.filesystem import entries, make_folder, make_private, storage_failures, sync_path
from tidings.store.write_failures import writing


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
    present = entries(root / folder)
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
