"""Conditions of the folder, the catalog and the life of a database."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class HistoryGone(TidingsError):
    """The state of {table} at {at} is gone: its history begins at {since}"""

    hint_template = "changes are retained for the period the database was opened with"


class CatalogTooNew(TidingsError):
    """The catalog is of version {found}, this Tidings knows versions up to {known}"""

    hint_template = "open it with a newer Tidings"


class CatalogFailed(TidingsError):
    """The catalog could not be read or written: {reason}"""


class FolderInUse(TidingsError):
    """The folder {path} holds other files and no database: {files}"""

    hint_template = "name a folder that is empty or not there yet, such as {path}/my.tidings; nothing has changed"


class BackupRefused(TidingsError):
    """Nothing can be copied to {path}: {reason}"""

    hint_template = "choose a folder of this machine that is empty or not there, and an empty catalog"


class NotABackup(TidingsError):
    """The folder {path} has no backup that is complete"""

    hint_template = "a backup has its catalog.sqlite when it is complete; what was broken off can be removed"


class CatalogLost(TidingsError):
    """The folder {path} has files of a database, and its catalog is gone"""

    hint_template = "put the catalog back from a backup; to begin anew, choose another folder or empty this one"


class CatalogOfAnother(TidingsError):
    """The folder {path} is that of database {expected}, and the catalog is that of {found}"""

    hint_template = "open the folder with its own catalog, or put both back from one backup"


class CatalogBehind(TidingsError):
    """The catalog of {path} has {found} transactions, and {expected} were recorded: some are lost"""

    hint_template = (
        "put the whole folder back from one backup; or remove the file identity in it to go on with what is there"
    )


class DiskFull(TidingsError):
    """There is no room to write {path}: {reason}"""

    hint_template = "make room and try again; nothing has changed"


class NotWritable(TidingsError):
    """This process cannot write {path}: {reason}"""

    hint_template = "let its user write there, or open the database with read_only=True"


class StorageFailed(TidingsError):
    """The storage of {path} could not be read or written: {reason}"""

    hint_template = "look after the connection and the permissions and try again; nothing has changed"


class UnknownFileSystem(TidingsError):
    """No file system is known for {path}: {reason}"""

    hint_template = "name a path of this machine, or a URL with s3a://, hdfs://, abfss:// or gs://"


class CatalogRequired(TidingsError):
    """A database at {path} needs a catalog in PostgreSQL"""

    hint_template = "open it with catalog='postgresql+psycopg://…'; SQLite needs a disk of this machine"


class DamagedFile(TidingsError):
    """The file {path} cannot be read: {reason}"""

    hint_template = "restore it from a backup; tables whose files are whole can still be read"


class DatabaseLocked(TidingsError):
    """The database at {path} is being written by {owner}"""

    hint_template = "open it with read_only=True, or close the writer first"


class DatabaseMissing(TidingsError):
    """There is no database at {path}"""

    hint_template = "open it for writing once; that makes it"


class StaleWriter(TidingsError):
    """This writer (epoch {epoch}) is no longer the writer: another one (epoch {present}) has opened the database"""

    hint_template = "open the database again"


class DatabaseClosed(TidingsError):
    """The database is closed"""

    hint_template = "open it again"


class DatabaseForked(TidingsError):
    """The database was opened by process {opened}, and this one, {forked}, was forked from it"""

    hint_template = "open the database in the process that uses it, after the fork"


class DatabaseInDoubt(TidingsError):
    """Something was recorded on disk, and {reason} came before memory had it"""

    hint_template = "close the database and open it again: it has everything that was committed"


class ClockTooFarAhead(TidingsError):
    """The clock reads {reading}, which is more than {step} after the last instant that is known, {known}"""

    hint_template = "set the clock right; if it is right, run ACCEPT CLOCK, or open with another max_clock_step"


class ReadOnly(TidingsError):
    """The database was opened for reading only"""

    hint_template = "open it without read_only to change it"
