"""Conditions of rows and the transactions that change them."""

from __future__ import annotations

from tidings.errors.base import TidingsError


class InvalidRow(TidingsError):
    """Row {row} of {table} is not valid: {reason}"""


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


class LateRow(TidingsError):
    """Row {row} for {table} is late: its time {time} is not after {last}, the last that is settled"""

    hint_template = "load history in order, or let late rows take the present with late='present'"


class UnknownTransactionState(TidingsError):
    """The transaction is over: {reason}"""


class InvalidTransactionId(TidingsError):
    """{id} cannot be the id of a transaction: {reason}"""

    hint_template = "give a text such as 'sales-17'"


class TransactionRepeated(TidingsError):
    """The transaction {id} was committed at {time}, while this one of the same id was open"""

    hint_template = "nothing has changed; begin it again, and it is known to be a repetition"


class InvalidIsolation(TidingsError):
    """There is no isolation level {name}"""

    hint_template = "known: read committed, serializable"


class SerializationConflict(TidingsError):
    """What the transaction has read was changed by others before its commit: {relations}"""

    hint_template = "nothing of it was committed: begin it again, and read again"
    retryable = True


class NestedTransaction(TidingsError):
    """{method} cannot be called in the procedure {procedure}, which runs in a transaction"""

    hint_template = "give the procedure a parameter tx: that is the transaction it runs in"
