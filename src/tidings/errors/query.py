"""Conditions of what queries and other statements say."""

from __future__ import annotations

from tidings.errors.base import Place, TidingsError

NO_UNSIGNED = "Spark SQL has no unsigned types; the next larger one holds all values, as BIGINT does those of 32 bits"
"""A hint for types of other databases."""
UNSIGNED = frozenset("utinyint usmallint uint uinteger ubigint uint128 uhugeint unsigned".split())
"""Names of such types."""


class InvalidSyntax(TidingsError):
    """The statement cannot be read: {reason}"""


class SessionRelation(TidingsError):
    """{name} is a view or table of the Spark session, and what is kept cannot read it: nobody tells when it changes"""

    hint_template = "load its rows into a table of the database, or read it in a query that is asked once"


class StatementTooDeep(TidingsError):
    """What is asked for is nested too deeply, {depth} levels or more: the limit is {limit}"""

    hint_template = "make views of parts of it, or WITH, and write long lists as IN (…) or VALUES"


class StatementTooLarge(TidingsError):
    """The text has {characters} characters, and the limit is {limit}"""

    hint_template = "give rows by tx.insert(table, rows) or db.load(table, rows)"


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

    def __init__(self, place: Place | None = None, hint: str | None = None, **parameters: object) -> None:
        unsigned = str(parameters.get("type")).lower() in UNSIGNED
        super().__init__(place, hint or (NO_UNSIGNED if unsigned else None), **parameters)


class UnsupportedStatement(TidingsError):
    """The statement {statement} is not known to Tidings"""

    hint_template = (
        "known: CREATE, ALTER, DROP and TRUNCATE TABLE, CREATE and DROP VIEW, INSERT, UPDATE, DELETE, MERGE, queries"
    )


class NonDeterministic(TidingsError):
    """The result of {function} is not determined by the rows, so its changes have no meaning"""


class InvalidExpression(TidingsError):
    """The query is not valid: {reason}"""


class InvalidInterval(TidingsError):
    """The interval ({since}, {until}] is not valid: {reason}"""


class InvalidParameter(TidingsError):
    """The parameter {name} cannot be used: {reason}"""


class InvalidArgument(TidingsError):
    """The argument {name} is to be {expected}, and {value} was given"""


class InvalidInstant(TidingsError):
    """{value} is no instant"""

    hint_template = "give microseconds since the epoch, a datetime, a date, or a text such as '2026-01-31 12:00:00'"


class InvalidFunction(TidingsError):
    """The function {name} cannot be registered: {reason}"""


class FunctionNotRegistered(TidingsError):
    """The function {name} is declared in this database, and its code is not registered in this process"""

    hint_template = (
        "register it again with @db.function, @db.operator or @db.foreign; db.functions() shows the text that it had"
    )


class WrongIncrementalForm(TidingsError):
    """The incremental form of the operator {name} is wrong: {reason}"""

    hint_template = "register the operator without incremental=…, or correct the form"


class InvalidOperator(TidingsError):
    """The operator {name} cannot be used like this: {reason}"""
