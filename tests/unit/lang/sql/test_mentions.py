"""Which relations a query mentions, before it is bound."""

from __future__ import annotations

from tidings.lang.sql.mentions import first_mention
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
