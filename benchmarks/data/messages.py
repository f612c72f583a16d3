"""News messages as Tapestry had them, at any number: reply chains, and newsgroups of very unequal size.

A message answers an earlier one with a probability, days later rather than weeks, and goes to the newsgroup in which
its conversation began.  There are as many a year as Tapestry had, so a larger database is an older one.  Identifiers
begin with a number that grows with time, as those of news did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

SCHEMA = """
CREATE TABLE msgs (
  msgid STRING, `from` STRING, subject STRING, `date` DATE, newsgroup STRING, inreplyto STRING, ts TIMESTAMP
) WITH (append_only, time = ts)
"""

BEGIN = 675_734_400_000_000
"""The first of June 1991, in microseconds since the epoch."""
YEAR = 365 * 86_400_000_000

QUERIES = {
    "Q1": "SELECT msgid FROM msgs WHERE newsgroup = 'comp.databases'",
    "Q2": "SELECT msgid FROM msgs WHERE newsgroup LIKE 'comp.sys.%'",
    "Q3": "SELECT m.msgid FROM msgs m, msgs m1 WHERE m1.inreplyto = m.msgid AND m1.newsgroup = 'comp.databases'",
    "Q4": (
        "SELECT m.msgid FROM msgs m WHERE m.ts < now() - INTERVAL 28 DAYS"
        " AND NOT EXISTS (SELECT * FROM msgs m1 WHERE m1.inreplyto = m.msgid)"
    ),
    "Q5": (
        "SELECT m.msgid FROM msgs m, msgs m1, msgs m2"
        " WHERE m.inreplyto = '' AND m1.inreplyto = m.msgid AND m2.inreplyto = m1.msgid"
    ),
}
"""Figure 4 of the paper, in Spark SQL."""

_REPLIES = 0.55
A_YEAR = 380_000
"""So many messages arrive in a year."""
_DELAY = A_YEAR * 2 / 365
"""After how many others a message is answered, on average: in two days."""
_GROUPS = 600
_SYSTEMS = ("amiga", "apple", "atari", "dec", "hp", "ibm.pc", "intel", "mac", "next", "sgi", "sun", "unisys")
_HIERARCHIES = ("alt", "rec", "soc", "talk", "misc", "sci", "news", "comp.lang", "comp.os")

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in the order of their arrival."""

    rows: pa.Table

    def part(self, begin: int, end: int) -> pa.Table:
        return self.rows.slice(begin, end - begin)

    def time(self, count: int) -> int:
        """The instant at which so many messages have arrived, in microseconds since the epoch."""
        return BEGIN if count == 0 else int(self.rows.column("ts")[count - 1].cast(pa.int64()).as_py())


def newsgroups() -> list[str]:
    """Names by falling popularity; comp.databases is the tenth."""
    names = []
    for n in range(_GROUPS):
        if n % 20 == 5 and n // 20 < len(_SYSTEMS):
            names.append(f"comp.sys.{_SYSTEMS[n // 20]}")
        else:
            names.append("comp.databases" if n == 9 else f"{_HIERARCHIES[n % len(_HIERARCHIES)]}.group{n}")
    return names


def messages(count: int, seed: int = 1992) -> Messages:
    """So many messages, the same for the same seed."""
    rng = np.random.default_rng(seed)
    number = np.arange(count, dtype=np.int64)
    parent = _parents(rng, number)
    begun = _beginnings(parent)
    popularity = 1 / np.arange(1, _GROUPS + 1)
    group = np.searchsorted(np.cumsum(popularity / popularity.sum()), rng.random(count)).clip(0, _GROUPS - 1)
    step = YEAR // A_YEAR
    ts = pa.array(BEGIN + number * step + rng.integers(1, max(step, 2), count), pa.int64())
    moment = ts.cast(pa.timestamp("us", tz="UTC"))
    msgid = _join("<", _text(10**10 + number), "@site", _text(number * 7919 % 997), ">")
    answered = pa.array(np.where(parent == number, 0, parent))
    inreplyto = pc.if_else(pa.array(parent == number), "", msgid.take(answered))
    columns = {
        "msgid": msgid,
        "from": _join("user", _text(rng.integers(0, 20_000, count))),
        "subject": _join("topic ", _text(begun % 50_000)),
        "date": moment.cast(pa.date32()),
        "newsgroup": pa.array(newsgroups()).take(pa.array(group[begun])),
        "inreplyto": inreplyto,
        "ts": moment,
    }
    return Messages(pa.table(columns))


def _parents(rng: np.random.Generator, number: Numbers) -> Numbers:
    """Which message each one answers; itself if it begins a conversation."""
    back = 1 + rng.exponential(_DELAY, len(number)).astype(np.int64)
    replies = (rng.random(len(number)) < _REPLIES) & (back <= number)
    return np.where(replies, number - back, number)


def _beginnings(parent: Numbers) -> Numbers:
    """The first message of each one's conversation: pointers followed twice as far in every round."""
    begun = parent
    while True:
        further = begun[begun]
        if np.array_equal(further, begun):
            return begun
        begun = further


def _text(numbers: Numbers) -> pa.Array:
    return pa.array(numbers).cast(pa.string())


def _join(*parts: str | pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")
