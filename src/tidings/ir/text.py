"""Plans as text, and back.

One node per line, inputs indented below.  ``parse(show(plan)) == plan`` for every plan, so golden files and bug
reports are plan in, plan out::

    project low [item bigint := q.item]
      join [q.item = t.item, q.qty < t.threshold]
        scan delta quantity q [item bigint, qty int]
        scan old threshold t [item bigint, threshold int]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import assert_never

import sqlglot
from sqlglot.tokenizer_core import Token, TokenType

from tidings.errors import InvalidPlanText
from tidings.ir import expression as e
from tidings.ir.dialect import DIALECT
from tidings.ir.relation import (
    Aggregate,
    Column,
    Consolidate,
    During,
    Filter,
    Fixpoint,
    Item,
    Join,
    OuterJoin,
    Project,
    Relation,
    Repeat,
    Restrict,
    Scan,
    SemiJoin,
    SetKind,
    SetOperation,
    Union,
    Unnest,
    Values,
    Version,
    Window,
)
from tidings.ir.rule import Member, read_rule, rule_expression
from tidings.ir.traverse import children


def show(plan: Relation) -> str:
    """The plan as indented text."""
    return "\n".join(_lines(plan, 0))


def _lines(node: Relation, depth: int) -> Iterable[str]:
    yield "  " * depth + head(node)
    for child in children(node):
        yield from _lines(child, depth + 1)


def head(node: Relation) -> str:
    """The line of one node."""
    match node:
        case Scan():
            version = "" if node.version is Version.CURRENT else f"{node.version.value} "
            return f"scan {version}{_names(node.relation, node.alias)} {_columns(node.columns)}"
        case Values():
            rows = (f"({', '.join(map(e.show, row))})" for row in node.rows)
            return f"values {e.show_name(node.alias)} {_columns(node.columns)} {_list(rows)}"
        case Filter():
            return f"filter {_list(map(e.show, node.conditions))}"
        case Project():
            return f"project {e.show_name(node.alias)} {_items(node.items)}"
        case Join():
            return f"join {_list(map(e.show, node.conditions))}"
        case Union():
            return f"union {e.show_name(node.alias)} {_columns(node.columns)}"
        case Aggregate():
            return f"aggregate {e.show_name(node.alias)} {_items(node.keys)} {_items(node.aggregates)}"
        case Window():
            return f"window {e.show_name(node.alias)} {_items(node.items)}"
        case Unnest():
            return f"unnest {e.show_name(node.alias)} [{_column(node.element)} := {e.show(node.array)}]"
        case During():
            return f"during [{e.show(node.condition)}] {_list(map(e.show, node.instants))}"
        case OuterJoin():
            return f"outer_join {_list(map(e.show, node.conditions))}"
        case SemiJoin():
            return f"{'anti' if node.anti else 'semi'}_join {_list(map(e.show, node.conditions))}"
        case SetOperation():
            every = "all " if node.all else ""
            return f"{node.kind.value} {every}{e.show_name(node.alias)} {_columns(node.columns)}"
        case Repeat():
            return f"repeat [{e.show(node.times)}]"
        case Restrict():
            return f"restrict{' null_safe' if node.null_safe else ''} [{e.show(node.expression)}]"
        case Consolidate():
            return f"consolidate {e.show_name(node.alias)}"
        case Fixpoint():
            members, rules = map(_member, node.members), (e.show(rule_expression(r)) for r in node.rules)
            names = _list(map(e.show_name, node.names))
            return f"fixpoint {_names(node.alias, node.group, node.output)} {_list(members)} {names} {_list(rules)}"
        case _:
            assert_never(node)


def _member(member: Member) -> str:
    return f"{e.show_name(member.name)} {member.extreme or 'set'} ({', '.join(map(_column, member.columns))})"


def _names(*names: str) -> str:
    return " ".join(map(e.show_name, names))


def _columns(columns: Iterable[Column]) -> str:
    return _list(map(_column, columns))


def _items(items: Iterable[Item]) -> str:
    return _list(f"{_column(i)} := {e.show(i.expression)}" for i in items)


def _column(column: Column | Item) -> str:
    """A name and its type; a nested type in double quotes, so that its commas stay inside."""
    return (
        f'{e.show_name(column.name)} "{column.type}"'
        if "<" in column.type
        else f"{e.show_name(column.name)} {column.type}"
    )


def _list(parts: Iterable[str]) -> str:
    return f"[{', '.join(parts)}]"


def parse(text: str) -> Relation:
    """Read a plan back from its text."""
    lines = [_Line.of(number, raw) for number, raw in enumerate(text.splitlines(), 1) if raw.strip()]
    if not lines:
        raise InvalidPlanText(line=1, reason="there is no plan")
    plan, rest = _node(lines)
    if rest:
        raise InvalidPlanText(line=rest[0].number, reason="a second plan begins here")
    return plan


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    depth: int
    words: tuple[str, ...]
    lists: tuple[tuple[str, ...], ...]

    @staticmethod
    def of(number: int, raw: str) -> _Line:
        try:
            words, lists = _split(raw)
        except sqlglot.errors.SqlglotError as error:
            raise InvalidPlanText(line=number, reason=str(error)) from None
        return _Line(number, (len(raw) - len(raw.lstrip(" "))) // 2, words, lists)


def _node(lines: list[_Line]) -> tuple[Relation, list[_Line]]:
    line, rest = lines[0], lines[1:]
    inputs: list[Relation] = []
    while rest and rest[0].depth == line.depth + 1:
        child, rest = _node(rest)
        inputs.append(child)
    try:
        return _build(line, tuple(inputs)), rest
    except (ValueError, IndexError, sqlglot.errors.SqlglotError) as error:
        raise InvalidPlanText(line=line.number, reason=str(error)) from None


def _build(line: _Line, inputs: tuple[Relation, ...]) -> Relation:
    kind, names = line.words[0], line.words[1:]
    match kind:
        case "scan":
            version = Version(names[0]) if len(names) == 3 else Version.CURRENT
            return Scan(names[-2], names[-1], _read_columns(line.lists[0]), version)
        case "values":
            rows = tuple(tuple(map(e.read, _parts(row[1:-1]))) for row in line.lists[1])
            return Values(names[0], _read_columns(line.lists[0]), rows)
        case "filter":
            return Filter(inputs[0], tuple(map(e.read, line.lists[0])))
        case "project":
            return Project(inputs[0], names[0], tuple(map(_read_item, line.lists[0])))
        case "join":
            return Join(inputs, tuple(map(e.read, line.lists[0])))
        case "union":
            return Union(inputs, names[0], _read_columns(line.lists[0]))
        case "aggregate":
            keys, aggregates = (tuple(map(_read_item, items)) for items in line.lists)
            return Aggregate(inputs[0], names[0], keys, aggregates)
        case "window":
            return Window(inputs[0], names[0], tuple(map(_read_item, line.lists[0])))
        case "unnest":
            element = _read_item(line.lists[0][0])
            return Unnest(inputs[0], names[0], Column(element.name, element.type), element.expression)
        case "during":
            return During(inputs[0], e.read(line.lists[0][0]), tuple(map(e.read, line.lists[1])))
        case "outer_join" | "semi_join" | "anti_join" | "except" | "intersect":
            return _build_two_sided(line, inputs[0], inputs[1])
        case "repeat" | "restrict" | "consolidate" | "fixpoint":
            return _build_special(line, inputs)
        case _:
            raise ValueError(f"no node is called {kind}")


def _build_special(line: _Line, inputs: tuple[Relation, ...]) -> Relation:
    kind, names = line.words[0], line.words[1:]
    match kind:
        case "repeat":
            return Repeat(inputs[0], e.read(line.lists[0][0]))
        case "restrict":
            return Restrict(inputs[0], e.read(line.lists[0][0]), inputs[1], names == ("null_safe",))
        case "consolidate":
            return Consolidate(inputs[0], names[0])
        case _:
            members, predicates, rules = line.lists
            return Fixpoint(
                inputs,
                tuple(_tokens(p)[0].text for p in predicates),
                tuple(map(_read_member, members)),
                tuple(read_rule(e.read(r)) for r in rules),
                names[2],
                names[1],
                names[0],
            )


def _build_two_sided(line: _Line, left: Relation, right: Relation) -> Relation:
    kind, names = line.words[0], line.words[1:]
    match kind:
        case "outer_join":
            return OuterJoin(left, right, tuple(map(e.read, line.lists[0])))
        case "except" | "intersect":
            every = names[0] == "all" and len(names) == 2
            return SetOperation(SetKind(kind), every, left, right, names[-1], _read_columns(line.lists[0]))
        case _:
            return SemiJoin(left, right, tuple(map(e.read, line.lists[0])), kind == "anti_join")


def _read_columns(parts: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(*_read_column(p)) for p in parts)


def _read_column(text: str) -> tuple[str, str]:
    first = _tokens(text)[0]
    return first.text, text[first.end + 1 :].strip().strip('"')


def _read_member(text: str) -> Member:
    name, extreme = (t.text for t in _tokens(text)[:2])
    columns = text[text.index("(") + 1 : text.rindex(")")]
    return Member(name, _read_columns(_parts(columns)), None if extreme.lower() == "set" else extreme.lower())


def _read_item(text: str) -> Item:
    sign = next((t for t in _tokens(text) if t.token_type is TokenType.COLON_EQ), None)
    if sign is None:
        raise ValueError(f"{text} has no := and no expression")
    return Item(*_read_column(text[: sign.start]), e.read(text[sign.end + 1 :]))


def _split(raw: str) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """The words of a line before its first list, and the parts of its lists."""
    words: list[str] = []
    lists: list[tuple[str, ...]] = []
    start = 0
    for token, depth in _nested(raw):
        if depth == 0 and token.token_type is TokenType.R_BRACKET:
            lists.append(_parts(raw[start : token.start]))
        elif depth == 0:
            words.append(token.text)
        elif depth == 1 and token.token_type is TokenType.L_BRACKET:
            start = token.end + 1
    return tuple(words), tuple(lists)


def _parts(text: str) -> tuple[str, ...]:
    """Split at the commas outside brackets."""
    commas = [t.start for t, depth in _nested(text) if depth == 0 and t.token_type is TokenType.COMMA]
    bounds = zip([0, *(c + 1 for c in commas)], [*commas, len(text)], strict=True)
    return tuple(text[a:b].strip() for a, b in bounds) if text.strip() else ()


_OPEN = {TokenType.L_BRACKET, TokenType.L_PAREN}
_CLOSE = {TokenType.R_BRACKET, TokenType.R_PAREN}


def _nested(text: str) -> Iterator[tuple[Token, int]]:
    """Each token with the number of brackets open after it."""
    depth = 0
    for token in _tokens(text):
        depth += (token.token_type in _OPEN) - (token.token_type in _CLOSE)
        yield token, depth


def _tokens(text: str) -> list[Token]:
    return sqlglot.tokenize(text, read=DIALECT)
