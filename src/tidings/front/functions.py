"""Registering functions for SQL: checked, declared in the journal with their text, and made known to the engine.

A stored view has rows that a function computed.  So while a stored view calls it, a function keeps its types and its
text; what is only formatted otherwise is the same text.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tidings.compiled import CompiledPlans
from tidings.errors import DependentObjects, InvalidFunction
from tidings.ir import types
from tidings.ir.operator_calls import RESERVED
from tidings.lang.sql.function_names import is_known_to_sql
from tidings.result import Result
from tidings.store.catalog.functions import FunctionRecord
from tidings.store.relation.view import StoredView, View
from tidings.store.storage import Storage

_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Functions:
    """Registers the functions of one database."""

    storage: Storage
    compiled: CompiledPlans
    texts: Callable[[], Mapping[str, str]]
    """What rules and continuous queries say, by their names."""

    def register(
        self,
        record: FunctionRecord,
        code: Callable[..., Any],
        written: Callable[..., Any],
        form: Callable[..., Any] | None = None,
        *,
        each: bool,
    ) -> None:
        """Let SQL call a function; the journal keeps its declaration and its text.

        ``written`` is the code as its user has written it, ``form`` the incremental form of an operator.
        """
        declared = self.storage.functions
        if record.kind != "foreign":
            self._check(record, written)
        before = declared.records.get(record.name)
        if before is not None and before != record:
            self._require_unused(before, record)
        if before != record and not self.storage.is_reader:
            self._record(record)
        declared.register(record, code, form, each=each)
        self.compiled.forget()

    def declare(self, record: FunctionRecord) -> None:
        """Let a function be bound whose code is not known; one that is declared like this already stays as it is."""
        declared = self.storage.functions
        before = declared.records.get(record.name)
        if before is not None:
            if before.declaration == record.declaration:
                return
            self._require_unused(before, record)
        if not self.storage.is_reader:
            self._record(record)
        declared.forget(record.name)
        declared.declare(record.definition(declared.ids.get(record.name, 0)))
        self.compiled.forget()

    def describe(self) -> Result:
        """The functions: name, types, whether their code is known in this process, and its text."""
        declared = self.storage.functions
        rows = [
            {
                "name": record.shown_name,
                "kind": record.kind,
                "takes": ", ".join(record.takes),
                "returns": record.returns,
                "registered": record.name in declared.registered,
                "text": record.text,
            }
            for record in sorted(declared.records.values(), key=lambda record: record.name)
        ]
        fields = [("name", pa.string()), ("kind", pa.string()), ("takes", pa.string()), ("returns", pa.string())]
        return Result(
            pa.Table.from_pylist(rows, pa.schema([*fields, ("registered", pa.bool_()), ("text", pa.string())]))
        )

    def _check(self, record: FunctionRecord, code: Callable[..., Any]) -> None:
        name = record.shown_name
        if not _NAME.fullmatch(name):
            raise InvalidFunction(name=name, reason="its name is not a word of letters, digits and _")
        if name.startswith(RESERVED):
            raise InvalidFunction(name=name, reason=f"names that begin with {RESERVED} are those of Tidings")
        if is_known_to_sql(name) or self.storage.backend.has_function(name):
            raise InvalidFunction(None, "choose another name", name=name, reason="SQL has one of this name")
        if not record.takes:
            raise InvalidFunction(name=name, reason="it takes no arguments, and would be a constant")
        try:
            inspect.signature(code).bind(*record.takes)
        except ValueError:  # a function of C, of which nothing is known
            return
        except TypeError:
            reason = f"its code cannot be called with {len(record.takes)} arguments"
            raise InvalidFunction(name=name, reason=reason) from None

    def _require_unused(self, before: FunctionRecord, record: FunctionRecord) -> None:
        """Refuse another function in the place of one that stored views have called, or others are bound to."""
        call = re.compile(rf"\b{record.called_name}\s*\(", re.IGNORECASE)
        relations = self.storage.relations
        hint = "the rows of stored views were computed by it; drop them first, or choose another name"
        if before.declaration != record.declaration:
            users = [view.name for view in relations.views() if self._calls(view, call)]
            users += [name for name, text in self.texts().items() if call.search(text)]
            hint = "drop them first, or choose another name"
        elif "" in (before.text, record.text):
            return
        else:
            users = [view.name for view in relations.stored() if self._calls(view, call)]
        if users:
            needed = ", ".join(sorted(users))
            raise DependentObjects(None, hint, name=record.shown_name, change="replaced", dependents=needed)

    def _calls(self, view: View | StoredView, call: re.Pattern[str]) -> bool:
        """Whether a stored view has a call in its query, or in that of a view that it reads."""
        relations = self.storage.relations
        read = [relations.find(name) for name in relations.below(view.plan)]
        query = view.view.query if isinstance(view, StoredView) else view.query
        queries = [query, *(v.query for v in read if isinstance(v, View))]
        return any(call.search(query) for query in queries)

    def _record(self, record: FunctionRecord) -> None:
        declared, journal = self.storage.functions, self.storage.journal
        if record.name in declared.ids:
            journal.redefine(record.definition(declared.ids[record.name]))
        else:
            declared.ids[record.name] = self.storage.ids.next()
            journal.define([record.definition(declared.ids[record.name])], [])


def declared_function(name: str, takes: str | Sequence[str], returns: str, code: Callable[..., Any]) -> FunctionRecord:
    """The declaration of a function from what its user says of it."""
    inputs: list[Any] = list(takes) if isinstance(takes, list | tuple) else [takes]
    if not all(isinstance(text, str) for text in (name, *inputs, returns)):
        raise InvalidFunction(name=name, reason="its name and its types are texts")
    canonical = [types.canonical(types.parse(text)) for text in (*inputs, returns)]
    unsupported = next((type for type in canonical if not types.is_supported(type)), None)
    if unsupported is not None:
        raise InvalidFunction(name=name, reason=f"{unsupported} is not a type that columns can have")
    return FunctionRecord(name.lower(), tuple(canonical[:-1]), canonical[-1], text_of(code))


def text_of(code: Callable[..., Any]) -> str:
    """The text of a function without decorators and comments; nothing if it cannot be found, as in a shell."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, TypeError, SyntaxError):
        return ""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    return ast.unparse(tree)
