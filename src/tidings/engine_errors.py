"""Error conditions of engines, of what is stored, and of what users add: functions, operators, deltas."""

from __future__ import annotations

from tidings.error_base import TidingsError


class JavaMissing(TidingsError):
    """Apache Spark needs Java 17 or newer, and {found}"""

    hint_template = (
        "install a JDK 17 (Debian and Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)"
        " or point JAVA_HOME at one"
    )


class EngineFailed(TidingsError):
    """The {engine} engine could not evaluate the plan: {reason}"""


class SparkNeeded(EngineFailed):
    """Only Spark evaluates {expression} as Spark does"""

    hint_template = "open the database with engine='spark'; docs/functions.md lists what DuckDB evaluates too"


class FunctionNotRegistered(TidingsError):
    """The function {name} is declared in this database, and its code is not registered in this process"""

    hint_template = "register it with @db.function({name!r}, …); db.functions() shows the text that it had"


class InvalidFunction(TidingsError):
    """The function {name} cannot be registered: {reason}"""


class UnknownEngine(TidingsError):
    """There is no engine named {name}"""

    hint_template = "the engines are 'spark' and 'duckdb'"


class MissingPackage(TidingsError):
    """{package} is not installed"""

    hint_template = "pip install {package}"


class SessionNeeded(TidingsError):
    """Rows become a Spark DataFrame in a Spark session, and the engine of this database is {engine}"""

    hint_template = "give a session: to_spark(session)"


class UnknownStrategy(TidingsError):
    """There is no strategy named {name}"""

    hint_template = "the strategies are 'auto', 'differential' and 'recompute'"


class InvalidMemory(TidingsError):
    """{memory!r} is not an amount of memory that a database can work in"""

    hint_template = "give a number of bytes or a text such as '2GB', at least '64MiB'"


class UnknownExecution(TidingsError):
    """There is no way to execute waves named {name}"""

    hint_template = "waves run on 'spark', or with 'auto' in this process where they are small"


class DuplicateTid(TidingsError):
    """The tid {tid} of {relation} stands for two tuples: {first} and {second}"""

    hint_template = "a tid identifies one tuple; take a column as tid whose values are all different"


class DuplicateTuple(TidingsError):
    """{relation} has the tuple {row} twice, with the tids {first} and {second}"""

    hint_template = (
        "these operators work on sets: keep the key among the attributes, or project, which leaves one of them"
    )


class InvalidDeltaRelation(TidingsError):
    """The row {row} cannot be part of a delta relation: {reason}"""


class NotComposable(TidingsError):
    """The changes do not fit {relation}: the tuple {row} {reason}"""

    hint_template = "a delta has net changes only: what it removes was there, and what it adds was not"


class InvalidFragmentation(TidingsError):
    """The relation cannot be fragmented like this: {reason}"""


class NoFragment(TidingsError):
    """The tuple {row} cannot be put into one fragment: {reason}"""

    hint_template = "the conditions of horizontal fragments must be true for one of them, whatever the tuple"


class TransformationRefused(TidingsError):
    """Transformation {number} does not apply to {expression}: {reason}"""


class InvalidOperator(TidingsError):
    """The operator {name} cannot be used like this: {reason}"""


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


__all__ = [
    "CatalogBehind",
    "CatalogLost",
    "CatalogOfAnother",
    "DuplicateTid",
    "DuplicateTuple",
    "EngineFailed",
    "FunctionNotRegistered",
    "InvalidDeltaRelation",
    "InvalidFragmentation",
    "InvalidFunction",
    "InvalidMemory",
    "InvalidOperator",
    "JavaMissing",
    "MissingPackage",
    "NoFragment",
    "NotComposable",
    "SessionNeeded",
    "SparkNeeded",
    "TransformationRefused",
    "UnknownEngine",
    "UnknownExecution",
    "UnknownStrategy",
]
