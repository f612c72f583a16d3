"""Which relations and columns statements mention, before they are bound."""

from __future__ import annotations

import pytest

from tidings.lang.sql import statement
from tidings.lang.sql.mentions import first_mention, may_use_column, mentioned
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT INTO t VALUES (1)", True),
        ("INSERT INTO t (a, C) VALUES (1, 2)", True),
        ("INSERT INTO t (a) SELECT a FROM t", False),
        ("INSERT INTO u SELECT t.c FROM t", True),
        ("INSERT INTO u SELECT * FROM t", True),
        ("INSERT INTO u SELECT c FROM v", False),
        ("INSERT INTO u SELECT condition.c FROM condition JOIN t ON t.a = 1", False),
        ("UPDATE T SET c = 1", True),
        ("UPDATE t SET a = c + 1", True),
        ("UPDATE t SET a = 1 WHERE c > 1", True),
        ("UPDATE t SET a = 1 WHERE b > 1", False),
        ("DELETE FROM t WHERE c > 1", True),
        ("DELETE FROM t", False),
        ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED AND c > 1 THEN DELETE", True),
        ("MERGE INTO t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a, c) VALUES (1, 2)", True),
        ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = 1", False),
    ],
)
def test_columns_that_a_change_may_use(text: str, expected: bool) -> None:
    (change,) = statement.read(text)
    assert isinstance(change, statement.Insert | statement.Update | statement.Delete | statement.Merge)
    assert may_use_column(change, "t", "c", {"condition"}) is expected
