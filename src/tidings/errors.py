"""Error conditions: a class each, whose docstring is the sentence shown to the user, with ``{parameters}``."""

from __future__ import annotations

from tidings.continuous_errors import InvalidContinuousQuery as InvalidContinuousQuery
from tidings.continuous_errors import UnknownContinuousQuery as UnknownContinuousQuery
from tidings.engine_errors import *  # noqa: F403
from tidings.error_base import InternalError as InternalError
from tidings.error_base import Place as Place
from tidings.error_base import TidingsError as TidingsError
from tidings.error_base import closest as closest
from tidings.error_datalog import *  # noqa: F403
from tidings.functional_errors import *  # noqa: F403


class InvalidSyntax(TidingsError):
    """The statement cannot be read: {reason}"""


class UnknownRelation(TidingsError):
    """There is no table or view named {name}"""

    hint_template = "create it first, or check the spelling"


class UnknownColumn(TidingsError):
    """There is no column named {name} here"""


class UnknownField(TidingsError):
    """The value {value} of type {type} has no field named {name}"""


class AmbiguousColumn(TidingsError):
    """The name {name} fits several columns: {candidates}"""

    hint_template = "say which one, as in alias.{name}"


class DuplicateAlias(TidingsError):
    """The name {name} stands for two relations in one FROM or WITH clause"""

    hint_template = "give one of them another alias"


class DuplicateColumn(TidingsError):
    """The result has two columns named {name}"""

    hint_template = "name one of them with AS"


class DuplicateRelation(TidingsError):
    """There is a table or view named {name} already"""

    hint_template = "drop it first, or choose another name"


class DependentObjects(TidingsError):
    """{name} cannot be {change}, for it is needed by {dependents}"""

    hint_template = "drop those first, or say CASCADE to drop them with it"


class ReservedName(TidingsError):
    """The name {name} begins with two underscores, which Tidings keeps for itself"""

    hint_template = "choose a name that does not begin with __"


class InvalidName(TidingsError):
    """The name {name} has a character in it that is none: NUL, or half of one"""

    hint_template = "choose a name of characters that can be written"


class UnsupportedConstruct(TidingsError):
    """{construct} cannot be part of a view"""


class UnsupportedType(TidingsError):
    """Values of type {type} cannot be stored or reported"""

    hint_template = "cast to a number, text, date, timestamp, array, struct or map"


class UnsupportedStatement(TidingsError):
    """The statement {statement} is not known to Tidings"""

    hint_template = (
        "known: CREATE, ALTER, DROP, TRUNCATE TABLE, CREATE, DROP VIEW, INSERT, UPDATE, DELETE, MERGE, queries"
    )


class NonDeterministic(TidingsError):
    """The result of {function} is not determined by the rows, so its changes have no meaning"""


class RecomputeRefused(TidingsError):
    """To follow {view} over this batch would take a recompute, because of {operator}"""

    hint_template = "ask without strict, over fewer transactions at a time, or give the operator a key"


class InvalidExpression(TidingsError):
    """The query is not valid: {reason}"""


class InexactDelta(TidingsError):
    """The changes of {relation} do not fit its rows: {reason}"""

    hint_template = "what is gained is new, what is lost was there, and all rows are of one width"


class InvalidPlanText(TidingsError):
    """The plan text cannot be read at line {line}: {reason}"""


class InvalidRow(TidingsError):
    """Row {row} of {table} is not valid: {reason}"""


class NotATable(TidingsError):
    """{name} is a view: its rows follow from those of others and cannot be changed"""

    hint_template = "change the tables that it reads"


class WrongKind(TidingsError):
    """{name} is {kind}, not {expected}"""


class MissingRow(TidingsError):
    """A row of {table} that is to go or to change is not there: {row}"""

    hint_template = "rows go by all their values or by their key; perhaps another transaction was there first"


class NullNotAllowed(TidingsError):
    """Row {row} of {table} has no value for {column}, which may not be NULL: {values}"""

    hint_template = "give it a value, or the column a DEFAULT"


class CheckViolated(TidingsError):
    """Row {row} of {table} breaks CHECK ({check}), where {found}: {values}"""


class DuplicateKey(TidingsError):
    """Row {row} of {table} has the key {key}, which another row has: {values}"""

    hint_template = "update the row that is there, or say ON CONFLICT; tx.upsert(table, rows) does both"


class AppendOnly(TidingsError):
    """{table} is append-only, so no row of it can be changed or deleted: {values}"""


class KeyNeeded(TidingsError):
    """{table} has no primary key by which its rows could be found"""

    hint_template = "give whole rows: tx.delete(table, rows), tx.update(table, old, new)"


class AmbiguousMerge(TidingsError):
    """More than one row of the source matches this row of {table}, so what becomes of it is open: {values}"""

    hint_template = "make the source have one row per row of the table, or the clauses more particular"


class AmbiguousUpsert(TidingsError):
    """Two rows for {table} have the same key, so what ON CONFLICT makes of it is open: {values}"""

    hint_template = "give one row per key"


class UnknownTransactionState(TidingsError):
    """The transaction is over: {reason}"""


class HistoryGone(TidingsError):
    """The state of {table} at {at} is gone: its history begins at {since}"""

    hint_template = "changes are retained for the period the database was opened with"


class CatalogTooNew(TidingsError):
    """The catalog is of version {found}, this Tidings knows versions up to {known}"""

    hint_template = "open it with a newer Tidings"


class CatalogFailed(TidingsError):
    """The catalog could not be read or written: {reason}"""


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


class LateRow(TidingsError):
    """Row {row} for {table} is late: its time {time} is not after {last}, the last that is settled"""

    hint_template = "load history in order, or let late rows take the present with late='present'"


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


class ReadOnly(TidingsError):
    """The database was opened for reading only"""

    hint_template = "open it without read_only to change it"


class ReaderBehind(TidingsError):
    """The writer has forgotten what was to be read since this reader last looked"""

    hint_template = "ask again"


class MustRefetch(TidingsError):
    """The changes of {name} since {since} cannot be told any more: {reason}"""

    hint_template = "subscribe without a position: that begins with the rows there are now"


class SubscriptionExists(TidingsError):
    """The subscription {name} follows another query: {query}"""

    hint_template = "choose another name, or end it first with unsubscribe"


class BreaksViews(TidingsError):
    """{name} cannot be replaced or altered so: {dependents} would break: {reason}"""

    hint_template = "keep the columns they read, or drop them first"


class ColumnInUse(TidingsError):
    """{column} of {table} cannot be dropped or renamed: it is used by {users}"""

    hint_template = "drop or change what uses it first"


class CircularView(TidingsError):
    """{name} would read itself: {path}"""


class InvalidInterval(TidingsError):
    """The interval ({since}, {until}] is not valid: {reason}"""


class InvalidParameter(TidingsError):
    """The parameter {name} cannot be used: {reason}"""


class InvalidInstant(TidingsError):
    """{value} is no instant"""

    hint_template = "give microseconds since the epoch, a datetime, a date, or a text such as '2026-01-31 12:00:00'"


class UnknownEvent(TidingsError):
    """There is no event named {name}"""

    hint_template = "CREATE EVENT {name} (columns) makes one"


class EmptySignal(TidingsError):
    """The event {name} was signalled without a row"""

    hint_template = "a signal has a row at least"


class UnknownRule(TidingsError):
    """There is no rule named {name}"""


class UnknownGroup(TidingsError):
    """There is no rule in the group {name}"""


class DuplicateRule(TidingsError):
    """There is a rule named {name} already"""

    hint_template = "CREATE OR REPLACE RULE {name} puts another in its place"


class UnknownSilence(TidingsError):
    """There is no silence number {number}"""

    hint_template = "SELECT * FROM tidings.silences lists them"


class InvalidRule(TidingsError):
    """The rule {name} cannot be: {reason}"""


class UnknownProcedure(TidingsError):
    """There is no procedure named {name}"""

    hint_template = "register it after the database is opened: @db.procedure({name!r})"


class InvalidProcedure(TidingsError):
    """The procedure {name} cannot be registered: {reason}"""

    hint_template = "it takes the rows and, as tx, the transaction; its other parameters have defaults"


class NestedTransaction(TidingsError):
    """{method} cannot be called in the procedure {procedure}, which runs in a transaction"""

    hint_template = "give the procedure a parameter tx: that is the transaction it runs in"


class RuleRaised(TidingsError):
    """{message} (rule {rule}, {count} rows)"""


class RuleFailed(TidingsError):
    """The {part} of the rule {rule} failed: {reason}"""


class CascadeTooLong(TidingsError):
    """Rules kept triggering each other, {bound} times: {cycle}"""

    hint_template = "let an action make its rule's condition false, or raise the bound"
