"""The options of a rule."""

from __future__ import annotations

import pytest

from tidings.errors import InvalidSyntax
from tidings.lang.sql import statement
from tidings.lang.sql.statements.action import Call, Raise, Send
from tidings.lang.sql.statements.rule import CreateRule
from tidings.lang.sql.statements.rule_options import Gather, Options, default_options


def options(text: str, action: str = "NOTIFY 'x'") -> Options:
    (rule,) = statement.read(f"CREATE RULE r WHEN SELECT a FROM t DO {action} WITH ({text})")
    assert isinstance(rule, CreateRule)
    return rule.options


def test_couplings_that_follow_from_the_action() -> None:
    assert default_options(Send("notify", "x")).action == "detached"
    assert default_options(Raise("no")).action == "deferred"
    assert default_options(Call("f", ())).condition == "deferred"


def test_intervals_and_groups() -> None:
    read = options("for = INTERVAL 1 SECOND, keep_alive = INTERVAL 2 SECONDS, group_by = (a, b), resolved = true")
    assert (read.hold, read.keep_alive, read.resolved) == (1_000_000, 2_000_000, True)
    assert read.gather == Gather(("a", "b"), 0, 0)
    assert options("group_at = '0 8,20 * * *'").gather == Gather((), 0, 0, "0 8,20 * * *")
    with pytest.raises(InvalidSyntax):
        options("group_at = 'eight'")
    assert options("priority = 1").gather is None


def test_a_detached_condition_may_act_at_once() -> None:
    read = options("condition = 'detached', action = 'immediate'", "CALL f(a)")
    assert (read.condition, read.action) == ("detached", "immediate")


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("priority = high", "CALL f(a)"),
        ("semantics = 'calm'", "CALL f(a)"),
        ("nosuch = 1", "CALL f(a)"),
        ("condition = 'deferred', action = 'immediate'", "CALL f(a)"),
        ("condition = 'detached independent'", "CALL f(a)"),
        ("action = 'detached'", "RAISE 'x'"),
        ("action = 'deferred'", "NOTIFY 'x'"),
        ("priority = 1, Priority = 2", "NOTIFY 'x'"),
        ("for = INTERVAL 1 MINUTE, for = INTERVAL 2 MINUTES", "NOTIFY 'x'"),
        ("semantics = 'nervous', for = INTERVAL 1 MINUTE", "NOTIFY 'x'"),
        ("semantics = 'nervous', keep_alive = INTERVAL 1 MINUTE", "NOTIFY 'x'"),
        ("semantics = 'nervous', resolved", "NOTIFY 'x'"),
        ("condition = 'immediate', for = INTERVAL 1 MINUTE", "NOTIFY 'x'"),
        ("condition = 'deferred', keep_alive = INTERVAL 1 MINUTE", "NOTIFY 'x'"),
        ("condition = 'immediate', resolved", "NOTIFY 'x'"),
    ],
)
def test_refusals(text: str, action: str) -> None:
    with pytest.raises(InvalidSyntax):
        options(text, action)


def test_an_option_that_is_given_twice_is_shown() -> None:
    with pytest.raises(InvalidSyntax) as refused:
        options("initial, priority = 1, initial")
    at = refused.value.place
    assert at is not None
    assert at.start == at.text.rindex("initial")


def test_options_that_say_the_same_go_together() -> None:
    assert options("for = INTERVAL 1 MINUTE, condition = 'detached', semantics = 'strict'").condition == "detached"
    assert options("semantics = 'nervous', resolved = false, condition = 'immediate'").nervous
    assert not options("priority = 1").names_condition
    assert options("condition = 'deferred'").names_condition
