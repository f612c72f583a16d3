"""The inside of a transaction: what it has done, who watches it, and how it ends."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tidings import Database
from tidings.engine.changes import as_changes
from tidings.errors import MissingRow, UnknownEvent, UnknownTransactionState, UnsupportedStatement
from tidings.write.hooks import CommitHook
from tidings.write.workspace import Workspace, WriteParts


class Watching:
    """A hook that notes what it is called for; it refuses what it is told to."""

    def __init__(self, refuse: str = "") -> None:
        self.refuse = refuse
        self.calls: list[str] = []

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.refuse == name:
            raise RuntimeError(name)

    def after_statement(self) -> None:
        self._called("statement")

    def read_by_statements(self) -> list[str]:
        return []

    def before_commit(self) -> CommitHook | None:
        self._called("commit")
        return None

    def rolled_back(self) -> None:
        self._called("rolled back")


@pytest.fixture
def parts(db: Database) -> WriteParts:
    return db._parts.transactions.write_parts


def rows(*values: tuple[int, int]) -> pa.Table:
    items, quantities = zip(*values, strict=True)
    return pa.table({"item": pa.array(items, pa.int64()), "qty": pa.array(quantities, pa.int32())})


def test_what_is_done_is_netted(db: Database, parts: WriteParts) -> None:
    workspace = Workspace(parts)
    table = workspace.target("QUANTITY")
    assert workspace.pending(table) is None
    workspace.add(table, rows((1, 2), (3, 4)), 1)
    workspace.add(table, rows((1, 2)), -1)
    workspace.add(table, rows((9, 9)).slice(0, 0), 1)
    net = workspace.pending(table)
    assert net is not None
    assert list(net.counts.values()) == [1]
    assert [(t.name, r.num_rows, w) for t, r, w in workspace.done] == [("quantity", 2, 1), ("quantity", 1, -1)]
    assert workspace.commit() == workspace.time == db.time
    assert db.query("quantity").rows() == [{"item": 3, "qty": 4}]


def test_answers_have_what_was_done_on_top(db: Database, parts: WriteParts) -> None:
    workspace = Workspace(parts)
    workspace.add(workspace.target("quantity"), rows((1, 2)), 1)
    plan = parts.plans.plan("quantity")
    assert workspace.result(plan).rows() == [{"item": 1, "qty": 2}]
    replaced = workspace.answer(plan, workspace.now(), {"quantity": rows((7, 7))})
    assert replaced.to_pylist()[0] == {"item": 7, "qty": 7}
    workspace.rollback()
    assert len(db.query("quantity")) == 0


def test_the_hook_is_made_when_it_is_first_needed(parts: WriteParts) -> None:
    hook, made = Watching(), list[Workspace]()

    def hook_for(workspace: Workspace) -> Watching:
        made.append(workspace)
        return hook

    with Workspace(parts, hook_for) as workspace:
        assert made == []
        workspace.statement_done()
        workspace.statement_done()
    assert made == [workspace]
    assert hook.calls == ["statement", "statement", "commit"]


@pytest.mark.parametrize("refuse", ["statement", "commit"])
def test_a_hook_that_refuses_ends_the_transaction(db: Database, parts: WriteParts, refuse: str) -> None:
    hook = Watching(refuse)

    def run() -> None:
        with workspace:
            workspace.add(workspace.target("quantity"), rows((1, 2)), 1)
            workspace.statement_done()

    workspace = Workspace(parts, lambda _: hook)
    with pytest.raises(RuntimeError, match=refuse):
        run()
    assert hook.calls[-1] == "rolled back"
    assert hook.calls.count("rolled back") == 1
    with pytest.raises(UnknownTransactionState):
        workspace.commit()
    assert len(db.query("quantity")) == 0


def test_a_commit_that_fails_ends_the_transaction(db: Database, parts: WriteParts) -> None:
    hook = Watching()
    workspace = Workspace(parts, lambda _: hook)
    workspace.add(workspace.target("quantity"), rows((1, 2)), -1)
    with pytest.raises(MissingRow):
        workspace.commit()
    assert hook.calls == ["commit", "rolled back"]
    for end in (workspace.commit, workspace.rollback):
        with pytest.raises(UnknownTransactionState):
            end()
    assert hook.calls == ["commit", "rolled back"]


def test_an_action_shares_the_work_and_cannot_end_it(db: Database, parts: WriteParts) -> None:
    hook = Watching()
    workspace = Workspace(parts, lambda _: hook)
    condition = as_changes(
        parts.relations.table("threshold").columns, rows((5, 6)).rename_columns(["item", "lim"]), [1]
    )
    action = workspace.for_action(local_relations={"threshold": condition})
    action.add(action.target("quantity"), rows((1, 2)), 1)
    action.statement_done()
    assert action.result(parts.plans.plan("threshold")).rows() == [{"item": 5, "lim": 6}]
    for end in (action.commit, action.rollback):
        with pytest.raises(UnknownTransactionState):
            end()
    assert hook.calls == []
    workspace.commit()
    assert len(db.query("quantity")) == 1


def test_targets(db: Database, parts: WriteParts) -> None:
    db.sql("CREATE EVENT e (n INT)")
    workspace = Workspace(parts)
    assert workspace.event("E").name == "e"
    with pytest.raises(UnsupportedStatement):
        workspace.target("e")
    with pytest.raises(UnknownEvent):
        workspace.event("quantity")


def test_rows_that_are_not_there_cannot_go(parts: WriteParts) -> None:
    workspace = Workspace(parts)
    workspace.add(workspace.target("quantity"), rows((1, 2)), -1)
    with pytest.raises(MissingRow):
        workspace.check_present()
