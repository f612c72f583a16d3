"""Conditions of engines, their settings and what they need."""

from __future__ import annotations

from tidings.errors.base import TidingsError


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


class SparkStopped(TidingsError):
    """The Spark session that the database works in was stopped"""

    hint_template = "what was committed is there: open the database again, with a session that runs"


class StatementTimeout(TidingsError):
    """The statement was ended after {seconds} seconds, its time limit"""

    hint_template = "nothing of it was done; give it more time by timeout=, or let it read less"


class StatementInterrupted(TidingsError):
    """The statement was interrupted"""

    hint_template = "nothing of it was done, and the database goes on"


class InvalidTimeout(TidingsError):
    """{value} is no time limit"""

    hint_template = "give a number of seconds above 0, and at most a year of them"


class UnknownEngine(TidingsError):
    """There is no engine named {name}"""

    hint_template = "the engines are 'spark' and 'duckdb'"


class MissingPackage(TidingsError):
    """{package} is not installed"""

    hint_template = "pip install {package}"


class SessionNeeded(TidingsError):
    """Rows become a Spark DataFrame in a Spark session, and the engine of this database is {engine}"""

    hint_template = "give a session: to_spark(session)"


class InvalidReadOption(TidingsError):
    """A read by the format tidings is not clear: {reason}"""

    hint_template = "spark.read.format('tidings').option('path', …).option('table', …)"


class UnknownStrategy(TidingsError):
    """There is no strategy named {name}"""

    hint_template = "the strategies are 'auto', 'differential' and 'recompute'"


class InvalidMemory(TidingsError):
    """{memory!r} is not an amount of memory that a database can work in"""

    hint_template = "give a number of bytes or a text such as '2GB', at least '64MiB'"


class UnknownExecution(TidingsError):
    """There is no way to execute waves named {name}"""

    hint_template = "waves run on 'spark', or with 'auto' in this process where they are small"
