"""The file systems that databases are on: this machine's, and those that Spark and Arrow both know.

All files of a database are reached through Arrow, and by the engine under the same names.  On this machine files are
synced (:mod:`tidings.store.files`).  On an object store a file is there as a whole when it has been written, or it is
not there: nothing is renamed, and the catalog names files after they are complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode, urlsplit

import pyarrow as pa
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType, S3FileSystem

from tidings.engine.location import Location
from tidings.errors import StorageFailed, UnknownFileSystem

_S3 = ("s3", "s3a", "s3n")

PRIVATE = 0o700
"""What others may do with a new folder: nothing."""

SCRATCH = "scratch"
"""The folder of a database in which its writer has files for a while; see :mod:`tidings.engine.scratch`."""


def locate(path: str | Path, options: Mapping[str, Any] | None = None) -> Location:
    """The place that a user names by a path or a URL; ``options`` are those of Arrow's file system.

    >>> locate("file:///data/shop.tidings")
    Location(address='/data/shop.tidings', path='/data/shop.tidings')
    >>> locate("s3://shops/berlin/", {"region": "eu-central-1"})
    Location(address='s3a://shops/berlin', path='shops/berlin')
    """
    url = urlsplit(str(path))
    if isinstance(path, Path) or "://" not in path:
        return Location.local(Path(path))
    if url.scheme == "file":
        return Location.local(Path(unquote(url.path)))
    address = path.rstrip("/")
    try:
        if url.scheme in _S3:
            bucket = f"{url.netloc}{url.path}".rstrip("/")
            return Location(f"s3a://{bucket}", bucket, _s3(bucket, dict(options or {})))
        filesystem, inner = FileSystem.from_uri(f"{address}?{urlencode(options)}" if options else address)
    except (pa.ArrowInvalid, TypeError) as error:
        raise UnknownFileSystem(path=path, reason=_sentence(error)) from None
    except OSError as error:
        raise StorageFailed(path=path, reason=_sentence(error)) from None
    return Location(address, inner.rstrip("/"), filesystem)


def _s3(bucket: str, options: dict[str, Any]) -> FileSystem:
    """S3, or what speaks like it at the endpoint that the environment or an option names."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if endpoint:
        options = {"endpoint_override": endpoint} | options
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region or "endpoint_override" in options:
        options = {"region": region or "us-east-1"} | options
    return S3FileSystem(**options) if options else FileSystem.from_uri(f"s3://{bucket}")[0]


@contextmanager
def storage_failures(location: Location) -> Iterator[None]:
    """Raise what a remote file system raises as :class:`tidings.errors.StorageFailed`."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        if location.is_local:
            raise
        raise StorageFailed(path=str(location), reason=_sentence(error)) from None


def is_folder(location: Location) -> bool:
    """Whether there is a folder."""
    with storage_failures(location):
        return bool(location.filesystem.get_file_info(location.path).type == FileType.Directory)


def make_folder(location: Location, *, inherits: bool = False) -> None:
    """Make a folder, and those above it, if they are not there; on this machine durable in its parent.

    There it is private; with ``inherits`` it is for those who may enter the folder that it is in.
    """
    if location.is_local:
        _make_durably(Path(location.path), inherits)
        return
    with storage_failures(location):
        location.filesystem.create_dir(location.path, recursive=True)


def _make_durably(folder: Path, inherits: bool) -> None:
    if folder.is_dir():
        return
    _make_durably(folder.parent, inherits)
    try:
        folder.mkdir(PRIVATE)
    except FileExistsError:
        if not folder.is_dir():
            raise
    if inherits:
        make_private(folder)
    sync_path(folder.parent)


def sync_path(path: str | Path) -> None:
    """Force a file, or the names in a folder, onto the disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_private(path: str | Path) -> None:
    """Let a file or folder of ours be used by those who may use the folder it is in, and by nobody else."""
    with suppress(PermissionError):  # it is another user's, who decides
        allowed = os.stat(os.path.dirname(path) or ".").st_mode & 0o777 | PRIVATE
        os.chmod(path, allowed if os.path.isdir(path) else allowed & 0o666)


def entries(folder: Location, *, recursive: bool = False) -> dict[str, FileInfo]:
    """What is in a folder, files and folders, by their names below it; nothing if it is not there."""
    selector = FileSelector(folder.path, recursive=recursive, allow_not_found=True)
    with storage_failures(folder):
        found = folder.filesystem.get_file_info(selector)
    return {info.path.removeprefix(f"{folder.path}/"): info for info in sorted(found, key=lambda info: info.path)}


def remove(location: Location) -> None:
    """Remove a file, or a folder with all that is in it, if it is there."""
    filesystem = location.filesystem
    with suppress(FileNotFoundError), storage_failures(location):
        match filesystem.get_file_info(location.path).type:
            case FileType.Directory:
                filesystem.delete_dir(location.path)
            case FileType.File:
                filesystem.delete_file(location.path)


def discard(location: Location) -> None:
    """Remove what nobody names yet, so that it takes no room; what cannot be removed is left to a vacuum."""
    with suppress(OSError, StorageFailed):
        remove(location)


def _sentence(error: Exception) -> str:
    return str(error).splitlines()[0]
