"""What a database does, for the ``logging`` of Python: a logger per kind, one record per happening, facts as fields.

Nothing is printed unless whoever uses Tidings sets handlers and levels: the logger ``tidings`` has a ``NullHandler``.
The text of a record is one short sentence; its facts are attributes of the record, set by ``extra``, so that a handler
that writes JSON has them as they are.  ``event`` says which kind it is.  Rows, parameters, texts of statements,
payloads and the tokens of URLs are never in a record.
"""

from __future__ import annotations

import logging
from logging import DEBUG, ERROR, INFO, WARNING, Logger, getLogger

__all__ = ["COMMIT", "DEBUG", "DELIVERY", "ERROR", "FOLD", "INFO", "REFUSAL", "WARNING", "WAVE", "tell"]

getLogger("tidings").addHandler(logging.NullHandler())

COMMIT = getLogger("tidings.commit")
"""Transactions and loads that were committed: INFO."""
WAVE = getLogger("tidings.wave")
"""Changes of a query that were computed: DEBUG for conditions inside transactions, else INFO."""
FOLD = getLogger("tidings.fold")
"""Logs that were folded into their bases: INFO; folds that failed: WARNING."""
DELIVERY = getLogger("tidings.delivery")
"""Attempts to deliver a message: INFO if it arrived, WARNING if it is tried again, ERROR if it was given up."""
REFUSAL = getLogger("tidings.refusal")
"""Calls that ended with an error of Tidings: INFO."""


def tell(logger: Logger, level: int, text: str, event: str, **facts: object) -> None:
    """Write a record, if somebody wants it: a sentence with ``%(name)s`` for facts, and the facts as its attributes.

    >>> with_facts = logging.makeLogRecord({"event": "fold", "table": "t"})
    >>> with_facts.event, with_facts.table
    ('fold', 't')
    """
    if logger.isEnabledFor(level):
        logger.log(level, text, facts, extra={"event": event, **facts}, stacklevel=2)
