"""Which relations a query mentions, before it is bound."""

from __future__ import annotations

import pytest

from tidings.lang.sql.mentions import first_mention, mentioned
from tidings.lang.sql.parse import statements


def test_the_first_mention_and_its_place() -> None:
    text = "SELECT * FROM t WHERE n IN (SELECT n FROM Tidings.Rules)"
    (query,) = statements(text)
    mention = first_mention(query, text, {"tidings.rules", "tidings.firings"})
    assert mention is not None
    assert mention.written == "Tidings.Rules"
    assert mention.place is not None
    assert mention.place.text == text
    assert first_mention(query, text, {"rules"}) is None
    assert first_mention(query, text, {"t"}) is not None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT a FROM T JOIN u USING (a) WHERE a IN (SELECT b FROM tidings.Rules)", {"t", "u", "tidings.rules"}),
        ("WITH w AS (SELECT a FROM t) SELECT a FROM W", {"t"}),
        ("WITH t AS (SELECT a FROM t) SELECT a FROM t", {"t"}),
        ("WITH v AS (SELECT a FROM w), w AS (SELECT a FROM v) SELECT a FROM w", {"w"}),
        ("SELECT a FROM (WITH w AS (SELECT a FROM t) SELECT a FROM w), w", {"t", "w"}),
        ("SELECT (WITH w AS (SELECT 1 AS a) SELECT max(a) FROM w) AS m", set()),
    ],
)
def test_what_is_mentioned(text: str, names: set[str]) -> None:
    assert mentioned(statements(text)) == names
