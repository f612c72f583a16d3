"""The options of a rule: what stands after ``WITH``, and which couplings of condition and action go together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from croniter import croniter

from tidings.errors import InvalidSyntax, Place
from tidings.lang.sql.statements.action import Action, Call, Modify, Raise, Send
from tidings.lang.sql.statements.token_reader import TokenReader

CatchUp: TypeAlias = Literal["none", "last", "all"]
"""Which ticks of an ``EVERY`` count when several have passed since the rule was judged."""

Judged: TypeAlias = Literal["state", "change"]
"""Whether all that holds when the event happens fires, or what begins to hold."""

EventContext: TypeAlias = Literal["recent", "chronicle", "continuous", "cumulative"]
"""Which of several happenings of a part a composed event is made of."""

Coupling: TypeAlias = Literal["immediate", "deferred", "detached", "detached independent"]


@dataclass(frozen=True, slots=True)
class Gather:
    """``group_by``, ``group_wait``, ``group_interval`` and ``group_at``: instances told together, in one message."""

    by: tuple[str, ...]
    """The columns whose values say which group a row is of; with none all rows are one."""
    wait: int
    """How many microseconds the first message of a group waits for more."""
    interval: int
    """How far messages of a group are apart, at least."""
    at: str | None = None
    """The cron text whose instants messages wait for, if they do."""


@dataclass(frozen=True, slots=True)
class Options:
    """What stands after ``WITH``."""

    priority: int = 0
    nervous: bool = False
    condition: Coupling = "deferred"
    names_condition: bool = field(default=False, kw_only=True, compare=False)
    """Whether the coupling of the condition is written, not the usual one."""
    action: Coupling = "detached"
    initial: bool = False
    enabled: bool = True
    group: str | None = None
    effective: str | None = None
    expires: str | None = None
    hold: int = 0
    """For how many microseconds an instance has to hold before it fires: ``for = INTERVAL …``."""
    key: tuple[str, ...] = ()
    """The columns that say which instance a row is; all of them if there are none."""
    keep_alive: int = 0
    """For how many microseconds an instance may be away without being gone."""
    resolved: bool = False
    """Whether it is also told that instances are gone."""
    gather: Gather | None = None
    """How what is sent is gathered, if it is."""
    catch_up: CatchUp = "last"
    context: EventContext = "chronicle"
    when: Judged | None = None
    """What of the condition fires; None if the event and the condition decide it."""


_COUPLINGS: dict[str, Coupling] = {
    "immediate": "immediate",
    "deferred": "deferred",
    "detached": "detached",
    "detached independent": "detached independent",
}


_CATCH_UPS: dict[str, CatchUp] = {"none": "none", "last": "last", "all": "all"}
_CONTEXTS: dict[str, EventContext] = {
    "recent": "recent",
    "chronicle": "chronicle",
    "continuous": "continuous",
    "cumulative": "cumulative",
}
_JUDGED: dict[str, Judged | None] = {"state": "state", "change": "change", "": None}


@dataclass(slots=True)
class _WrittenOptions:
    """Options as they are written, taken out one by one as they are understood."""

    values: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def one_of(self, name: str, known: tuple[str, ...], default: str) -> str:
        value = self.values.pop(name, default).lower()
        if value not in known:
            raise InvalidSyntax(self.places[name], f"it is one of: {', '.join(known)}", reason=f"no {name} is {value}")
        return value

    def number(self, name: str) -> int:
        try:
            return int(self.values.pop(name, "0"))
        except ValueError:
            raise InvalidSyntax(self.places[name], reason=f"{name} is a whole number") from None

    def names(self, name: str) -> tuple[str, ...]:
        """Columns, several of them in parentheses."""
        return tuple(k.strip(" `'") for k in self.values.pop(name, "").strip("()").split(",") if k.strip())


_INTERVALS = ("for", "keep_alive", "group_wait", "group_interval")


def read_options(reader: TokenReader, action: Action) -> Options:
    """The options after ``WITH``, with couplings that fit the action."""
    written, intervals = _WrittenOptions(), dict[str, int]()
    reader.expect("(")
    while not reader.accept(")"):
        if written.places:
            reader.expect(",")
        at, name = reader.place(), reader.name("an option").lower()
        if name in written.places:
            raise InvalidSyntax(at, reason=f"the option {name} is given twice")
        written.places[name] = at
        if name in _INTERVALS:
            reader.expect("=")
            intervals[name] = reader.interval()
        elif not reader.accept("="):
            written.values[name] = "true"
        else:
            start, end = reader.until(",")
            written.values[name] = reader.text[start:end].strip().strip("'\"")
    options = Options(
        priority=written.number("priority"),
        nervous=written.one_of("semantics", ("strict", "nervous"), "strict") == "nervous",
        initial=written.one_of("initial", ("true", "false"), "false") == "true",
        enabled=written.one_of("enabled", ("true", "false"), "true") == "true",
        group=written.values.pop("group", None),
        effective=written.values.pop("effective", None),
        expires=written.values.pop("expires", None),
        hold=intervals.get("for", 0),
        key=written.names("key"),
        keep_alive=intervals.get("keep_alive", 0),
        resolved=written.one_of("resolved", ("true", "false"), "false") == "true",
        gather=_gather(written, intervals),
        catch_up=_CATCH_UPS[written.one_of("catch_up", tuple(_CATCH_UPS), "last")],
        context=_CONTEXTS[written.one_of("context", tuple(_CONTEXTS), "chronicle")],
        when=_JUDGED[written.one_of("when", tuple(_JUDGED), "")],
    )
    named = [name for name in ("condition", "action") if name in written.values]
    chosen = {str(name): written.one_of(name, tuple(_COUPLINGS), "") for name in named}
    for name in written.values:
        raise InvalidSyntax(written.places[name], f"known: {', '.join(_KNOWN)}", reason=f"there is no option {name}")
    _check_lifecycle(options, chosen.get("condition"), written.places)
    return _coupled(options, chosen, action, written.places)


def _check_lifecycle(options: Options, condition: str | None, places: dict[str, Place]) -> None:
    """Refuse options that say otherwise than those that give instances a lifecycle."""
    lifecycle = [name for name in ("for", "keep_alive", "resolved") if name in places]
    if not (options.hold or options.keep_alive or options.resolved):
        return
    if options.nervous:
        reason = f"an instance with {lifecycle[0]} fires when it begins, not when it is touched"
        raise InvalidSyntax(places["semantics"], "leave semantics out", reason=reason)
    if condition in ("immediate", "deferred"):
        reason = f"a condition with {lifecycle[0]} is judged after commits, so it is detached"
        raise InvalidSyntax(places["condition"], "leave condition out", reason=reason)


def _gather(written: _WrittenOptions, intervals: dict[str, int]) -> Gather | None:
    if not written.places.keys() & {"group_by", "group_wait", "group_interval", "group_at"}:
        return None
    at = written.values.pop("group_at", None)
    if at is not None and not croniter.is_valid(at):
        hint = "minute, hour, day, month and weekday, as in '0 8 * * *'"
        raise InvalidSyntax(written.places["group_at"], hint, reason=f"{at!r} is no cron text")
    wait, interval = intervals.get("group_wait", 0), intervals.get("group_interval", 0)
    return Gather(written.names("group_by"), wait, interval, at)


_KNOWN = (
    *("priority", "semantics", "condition", "action", "key", "initial", "enabled", "group", "effective", "expires"),
    *("for", "keep_alive", "resolved", "catch_up", "context", "when", "group_by", "group_wait", "group_interval"),
    "group_at",
)


def default_options(action: Action) -> Options:
    """The options of a rule that names none."""
    return _coupled(Options(), {}, action)


def _coupled(
    options: Options,
    couplings: dict[str, str],
    action: Action,
    places: dict[str, Place] | None = None,
) -> Options:
    """Options with couplings that go together; an action is never before its condition.

    What is detached and immediate is judged after the commit, and acts at once, in the same transaction.
    """
    at = (places or {}).get("action") or (places or {}).get("condition")
    condition = _COUPLINGS[couplings.get("condition", "deferred")]
    usual = condition if isinstance(action, Raise) else "detached"
    coupled = _COUPLINGS[couplings.get("action", usual)]
    order = ("immediate", "deferred", "detached", "detached independent")
    together = (condition, coupled) == ("detached", "immediate") and isinstance(action, Call | Modify)
    if order.index(coupled) < order.index(condition) and not together:
        raise InvalidSyntax(at, reason=f"an action cannot be {coupled} when its condition is {condition}")
    if condition == "detached independent":
        raise InvalidSyntax(at, reason="a condition is immediate, deferred or detached")
    if isinstance(action, Raise) and coupled not in ("immediate", "deferred"):
        raise InvalidSyntax(at, reason="RAISE refuses a transaction, so it cannot come after it")
    if isinstance(action, Send) and coupled not in ("detached", "detached independent"):
        raise InvalidSyntax(at, reason="what is sent goes out after the transaction: the action is detached")
    return replace(options, condition=condition, names_condition="condition" in couplings, action=coupled)
