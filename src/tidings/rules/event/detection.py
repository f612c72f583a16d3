"""Detects the events that rules wait for, in an open transaction and in what is committed.

Most events are found by looking at a transaction, or at the clock, alone.  Others remember what happened earlier.  What
one remembers at an instant follows from the log since the rule began.  It is cached, and recorded in the catalog from
time to time, so that no more of the log is read than what came since.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tidings.lang.sql.statements.rule_options import CatchUp
from tidings.rules.event.detector import Detector, is_local
from tidings.rules.event.happening import Happening
from tidings.rules.event.memory import EventMemory
from tidings.rules.event.occurrence import Present, has_happened, instants
from tidings.rules.rule import Rule
from tidings.waves.scheduler import Scheduler


@dataclass(slots=True)
class _Remembered:
    """A detector that has been told everything up to an instant, of a rule with this text that began at another."""

    text: str
    began: int
    until: int
    detector: Detector


@dataclass(slots=True)
class EventDetection:
    """Detects the events of the rules of one database."""

    scheduler: Scheduler
    _remembered: dict[int, _Remembered] = field(init=False, default_factory=dict)

    def now(self, rule: Rule, present: Present) -> list[Happening]:
        """What of a rule's event ends in the slice of an open transaction that is judged."""
        assert rule.event is not None
        detector = rule.new_detector()
        if detector.remembers:
            detector = self._at(rule, present.tx_slice.at).copy()
        local = [n for n, event in enumerate(detector.simple) if is_local(event)]
        in_slice = {n for n in local if has_happened(detector.simple[n], present)}
        in_transaction = set(in_slice)
        if present.tx_slice.start:
            earlier = Present(present.scheduler, present.before, present.statement_ends, present.now)
            in_transaction |= {n for n in local if has_happened(detector.simple[n], earlier)}
        at, ended = present.instant, detector.step(present.instant, in_transaction)
        return [each for each in ended if any((number, at) in each.parts for number in in_slice)]

    def committed(self, rule: Rule, since: int, until: int, catch_up: CatchUp = "all") -> list[Happening]:
        """What of a rule's event ended in ``(since, until]``; ``catch_up`` is for ticks that nothing else waits for."""
        detector = rule.new_detector()
        if not detector.remembers:
            return self._run(detector, since, until, catch_up)
        detector = self._at(rule, since).copy()
        found = self._run(detector, since, until)
        self._remembered[rule.id] = _Remembered(rule.record.text, rule.record.began, until, detector)
        return found

    def loaded(self, rule: Rule, since: int, until: int) -> list[Happening]:
        """What of a rule's event ends in ``(since, until]`` by a history that is about to be committed."""
        detector = rule.new_detector()
        return self._run(self._at(rule, since).copy() if detector.remembers else detector, since, until)

    def replayed(self, rule: Rule, since: int, until: int) -> list[Happening]:
        """What of a rule's event would have ended in ``(since, until]``, had the rule been there since then."""
        return self._run(rule.new_detector(), since, until)

    def _at(self, rule: Rule, instant: int) -> Detector:
        """The detector of a rule, as it is at an instant."""
        known, record = self._remembered.get(rule.id), rule.record
        if known is None or (known.text, known.began) != (record.text, record.began) or known.until > instant:
            known = self._recorded(rule, instant)
        if known.until < instant:
            self._run(known.detector, known.until, instant)
            known.until = instant
        self._remembered[rule.id] = known
        return known.detector

    def _recorded(self, rule: Rule, instant: int) -> _Remembered:
        """What the catalog has of what a rule remembers, unless that is later than an instant."""
        detector, record = rule.new_detector(), rule.record
        if record.remembered is not None:
            memory = EventMemory.read(record.remembered)
            if record.began <= memory.until <= instant:
                detector.restore(memory.nodes)
                return _Remembered(record.text, record.began, memory.until, detector)
        return _Remembered(record.text, record.began, min(record.began, instant), detector)

    def _run(self, detector: Detector, since: int, until: int, catch_up: CatchUp = "all") -> list[Happening]:
        happened: dict[int, list[int]] = {}
        for number, event in enumerate(detector.simple):
            for at in instants(event, self.scheduler, since, until, catch_up):
                happened.setdefault(at, []).append(number)
        return list(detector.run(since, until, happened))

    def to_record(self, rule: Rule, until: int) -> EventMemory | None:
        """What the catalog is to have of what a rule remembers at an instant; None if it remembers nothing."""
        if rule.event is None or not rule.new_detector().remembers:
            return None
        detector = self._at(rule, until)
        oldest = detector.oldest() if rule.condition.event_rows else None
        return EventMemory(until, until if oldest is None else min(until, oldest - 1), detector.as_json())

    def due(self, rule: Rule, after: int) -> int | None:
        """The first instant after another at which what a detached rule remembers becomes an event by itself."""
        if rule.event is None or not rule.new_detector().remembers:
            return None
        return self._at(rule, rule.cursor).due(after)
