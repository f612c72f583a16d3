"""The calls of a database by which its files are kept: folds, vacuums, checks, backups."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tidings.errors.arguments import checked
from tidings.exclusive import Mutex, exclusive, reading
from tidings.front.assembly import Parts
from tidings.front.check import Finding
from tidings.store.catalog.backup import BackedUp
from tidings.store.vacuum import GRACE, Vacuumed


class Maintainable:
    """How a database is kept; see :class:`tidings.database.Database`."""

    _parts: Parts
    _mutex: Mutex

    @exclusive
    def reload(self) -> int:
        """Take in what the writer has committed, where this database was opened for reading; when that was.

        Every question does so by itself.
        """
        return self._parts.maintenance.reload()

    @exclusive
    def fold(self) -> int:
        """Fold the logs of all tables and stored views into their bases now; how many there were.

        This happens by itself, in the background, when a log has grown long.
        """
        return self._parts.maintenance.fold()

    @exclusive
    @checked
    def vacuum(self, grace: timedelta = GRACE) -> Vacuumed:
        """Remove files that nobody names and that no reader opened within the last while can be reading."""
        return self._parts.maintenance.vacuum(grace)

    @reading
    def check(self) -> list[Finding]:
        """Read everything, compare stored views with their queries, and say what is wrong; nothing is changed.

        The same as ``VACUUM CHECK``.  It takes as long as reading all rows and computing all stored views.
        """
        return self._parts.statements.check()

    @checked
    def backup(self, path: str | Path) -> BackedUp:
        """Copy the database as it is after its last commit into a folder that is empty or not there.

        Others go on meanwhile: only the catalog is copied under the lock.  :func:`tidings.restore` makes a database of
        the copy.
        """
        maintenance = self._parts.maintenance
        with self._mutex:
            backup = maintenance.begin_backup(path)
        try:
            return backup.copy()
        finally:
            maintenance.end_backup(backup)
