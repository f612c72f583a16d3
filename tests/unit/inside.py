"""The inner parts of an open database, for tests that look at them."""

from __future__ import annotations

from tidings import Database
from tidings.compiled import CompiledPlans
from tidings.define.binder import ViewBinder
from tidings.ir.relation import Relation
from tidings.read.answers import Answers
from tidings.read.bound_plans import BoundPlans
from tidings.store.relation.view import StoredView
from tidings.waves.in_process.runner import InProcessRunner
from tidings.waves.scheduler import Scheduler


def scheduler_of(db: Database) -> Scheduler:
    return db._parts.scheduler


def plans_of(db: Database) -> BoundPlans:
    return db._parts.plans


def answers_of(db: Database) -> Answers:
    return db._parts.answers


def binder_of(db: Database) -> ViewBinder:
    return db._parts.maintenance.views.binder


def compiled_of(db: Database) -> CompiledPlans:
    return scheduler_of(db).planner.compiled


def in_process_of(db: Database) -> InProcessRunner:
    """What runs small waves in this process; the database was opened with ``execution="auto"``."""
    runner = scheduler_of(db).engines.in_process
    assert runner is not None
    return runner


def plan_of(db: Database, text: str) -> Relation:
    return plans_of(db).plan(text)


def stored_view(db: Database, name: str) -> StoredView:
    return next(v for v in scheduler_of(db).relations.stored() if v.name == name)
