"""Where files are: on this machine, or on a file system that Spark and Arrow both know, each by its own name.

A location is data.  Engines read and write there; what else happens to files is in :mod:`tidings.store`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from pyarrow.fs import FileSystem, LocalFileSystem

_THIS_MACHINE = LocalFileSystem()


@dataclass(frozen=True, slots=True)
class Location:
    """A file or a folder.

    >>> bucket = Location("s3a://bucket/shop", "bucket/shop", LocalFileSystem())
    >>> str(bucket / "base/1"), (bucket / "base/1").path, (bucket / "base/1").name
    ('s3a://bucket/shop/base/1', 'bucket/shop/base/1', '1')
    """

    address: str
    """What people call it: a path of this machine, or a URL as ``s3a://bucket/shop.tidings``."""
    path: str
    """What its file system calls it."""
    filesystem: FileSystem = field(repr=False, compare=False)

    @classmethod
    def local(cls, path: str | Path) -> Location:
        """A path of this machine, or one that is mounted; it stays where it is if the process moves."""
        return cls(str(path), os.path.abspath(path), _THIS_MACHINE)

    @property
    def is_local(self) -> bool:
        """Whether it is a path of this machine."""
        return self.filesystem is _THIS_MACHINE

    @property
    def url(self) -> str:
        """What Spark calls it, whichever file system is the default of its cluster.

        >>> Location.local("/data/shop").url
        'file:///data/shop'
        """
        return f"file://{self.path}" if self.is_local else self.address

    @property
    def pattern(self) -> str:
        """A pattern of Hadoop's that it alone matches: Spark takes what it reads for one.

        >>> print(Location.local("/data/shop[1]").pattern)
        file:///data/shop\\[1\\]
        """
        return re.sub(r"([\\*?{}\[\]])", r"\\\1", self.url)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    def __truediv__(self, name: str) -> Location:
        return Location(f"{self.address}/{name}", f"{self.path}/{name}", self.filesystem)

    def __str__(self) -> str:
        return self.address
