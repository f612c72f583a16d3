"""Signs of an exception of somebody else in a message: of Python, of the parser, of Arrow, DuckDB or the JVM."""

from __future__ import annotations

import re

FOREIGN = re.compile(
    r"sqlglot|duckdb\.|pyarrow|Arrow(?:Invalid|Type|NotImplemented)|py4j|(?:java|scala|org\.apache)\.\w|Traceback|<class|"
    r"\b(?!Internal)[A-Z]\w*(?:Error|Exception)\b:|\b[A-Z][a-z]+(?: [A-Za-z]+){0,3} Error:"
)
