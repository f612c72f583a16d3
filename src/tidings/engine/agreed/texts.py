"""Functions of texts whose words depend on constants among their arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from tidings.engine.agreed.numeric import common_type
from tidings.engine.agreed.signature import fitted
from tidings.engine.agreed.table.texts import ASCII
from tidings.engine.agreed.term import ELSEWHERE, MUCH, NotAgreed, TypedExpression, converted, quoted_text, words
from tidings.engine.agreed.written import written_text, written_whole
from tidings.ir.expression import Expression

if TYPE_CHECKING:
    from tidings.engine.agreed.expression import Translator

_LINE_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"
_PATTERN = re.compile(r"\^?([A-Za-z0-9 _,;:@#%&=<>~/-]|\[[A-Za-z0-9_ -]+\]|[.()|]|(?<=[^(|^*+?])[*+?](?![*+?]))*\$?")
_LITERALLY = re.compile(r"[A-Za-z0-9 _,;:@#%&=<>~/!'\"-]+")
_SIMPLE_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def substring(translator: Translator, node: Expression) -> TypedExpression:
    """Characters from a place on that is counted from the beginning, or with a minus from the end."""
    text, start = translator.of(node.this, "string"), written_whole(node, node.args.get("start"))
    length = None if node.args.get("length") is None else written_whole(node, node.args["length"])
    if length is not None and length < 0:
        return TypedExpression(words("substring({0}, 1, 0)", text), "string")
    if start >= 0:
        until = "" if length is None else f", {length}"
        return TypedExpression(words(f"substring({{0}}, {max(start, 1)}{until})", text), "string")
    first = f"(length({{0}}) - {-start})"
    if length is None:
        return TypedExpression(words(f"substring({{0}}, greatest({first}, 0) + 1)", text), "string")
    size = f"greatest({first} + {length} - greatest({first}, 0), 0)"
    return TypedExpression(words(f"substring({{0}}, greatest({first}, 0) + 1, {size})", text), "string")


def trim(translator: Translator, node: exp.Trim) -> TypedExpression:
    text = translator.of(node.this, "string")
    characters = written_text(node, node.expression) if node.expression else " "
    position = str(node.args.get("position") or "BOTH").upper()
    function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position]
    if not characters:
        raise NotAgreed(node)
    return TypedExpression(words(f"{function}({{0}}, {quoted_text(characters)})", text), "string")


def pad(translator: Translator, node: exp.Pad) -> TypedExpression:
    filling = node.args.get("fill_pattern")
    padding = " " if filling is None else written_text(node, filling)
    width = written_whole(node, node.expression)
    if not padding or not 0 <= width <= MUCH:
        raise NotAgreed(node)
    function = "lpad" if node.args.get("is_left") else "rpad"
    text = f"{function}({{0}}, {width}, {quoted_text(padding)})"
    return TypedExpression(words(text, translator.of(node.this, "string")), "string")


def split_part(translator: Translator, node: exp.SplitPart) -> TypedExpression:
    delimiter, part = written_text(node, node.args.get("delimiter")), written_whole(node, node.args.get("part_index"))
    if not delimiter or part == 0:
        raise NotAgreed(node)
    text = f"split_part({{0}}, {quoted_text(delimiter)}, {part})"
    return TypedExpression(words(text, translator.of(node.this, "string")), "string")


def split(translator: Translator, node: exp.RegexpSplit) -> TypedExpression:
    """The parts of a text between others; these are a regular expression that stands for itself."""
    between = written_text(node, node.expression)
    if node.args.get("limit") is not None or not _LITERALLY.fullmatch(between):
        raise NotAgreed(node)
    text = translator.of(node.this, "string")
    return TypedExpression(words(f"string_split({{0}}, {quoted_text(between)})", text), "array<string>")


def regexp_replace(translator: Translator, node: exp.RegexpReplace) -> TypedExpression:
    """A text with others in the place of some that are found; what is looked for stands for itself."""
    found, other = written_text(node, node.expression), written_text(node, node.args.get("replacement"))
    more = any(node.args.get(name) for name in ("position", "occurrence", "modifiers"))
    if more or not _LITERALLY.fullmatch(found) or "$" in other or "\\" in other:
        raise NotAgreed(node)
    text = translator.of(node.this, "string")
    return TypedExpression(words(f"replace({{0}}, {quoted_text(found)}, {quoted_text(other)})", text), "string")


def concat(translator: Translator, node: exp.Concat) -> TypedExpression:
    if node.args.get("coalesce"):
        raise NotAgreed(node)
    terms = [translator.term(e) for e in node.expressions]
    text = " || ".join(f"{{{n}}}" for n in range(len(terms)))
    if terms and all(t.type.startswith("array<") for t in terms):
        type = common_type([t.type for t in terms])
        if type is None:
            raise NotAgreed(node)
        terms = [converted(t, type) for t in terms]
        nulls = " OR ".join(f"{{{n}}} IS NULL" for n in range(len(terms)))
        return TypedExpression(words(f"CASE WHEN {nulls} THEN NULL ELSE {text} END", *terms), type)
    texts = [fitted(node, term, "string") for term in terms]
    if not texts or any(t is None for t in texts):
        raise NotAgreed(node)
    return TypedExpression(words(text, *(t for t in texts if t is not None)), "string")


def joined(translator: Translator, node: exp.DPipe) -> TypedExpression:
    """``a || b``: of texts, or of arrays."""
    return concat(translator, exp.Concat(expressions=[node.this, node.expression]))


def concat_ws(translator: Translator, node: exp.ConcatWs) -> TypedExpression:
    texts = [translator.of(e, "string") for e in node.expressions]
    if len(texts) < 2:
        raise NotAgreed(node)
    return TypedExpression(words(f"concat_ws({', '.join(f'{{{n}}}' for n in range(len(texts)))})", *texts), "string")


def like(translator: Translator, node: exp.Like | exp.ILike) -> TypedExpression:
    """A text held against a pattern; without regard to case only texts of ASCII."""
    text, pattern = translator.of(node.this, "string"), written_text(node, node.expression)
    if "\\" in pattern or node.args.get("escape"):
        raise NotAgreed(node)
    word = "NOT LIKE" if node.args.get("negate") else "LIKE"
    if isinstance(node, exp.Like):
        return TypedExpression(words(f"{{0}} {word} {quoted_text(pattern)}", text), "boolean")
    if not pattern.isascii():
        raise NotAgreed(node)
    return TypedExpression(words(ASCII % f"lower({{0}}) {word} {quoted_text(pattern.lower())}", text), "boolean")


def regexp_like(translator: Translator, node: exp.RegexpLike) -> TypedExpression:
    """A text searched for a regular expression of the forms that Java and RE2 read alike."""
    text, pattern = translator.of(node.this, "string"), written_text(node, node.expression)
    if node.args.get("flag") or not _PATTERN.fullmatch(pattern):
        raise NotAgreed(node)
    try:
        re.compile(pattern)
    except re.error:
        raise NotAgreed(node) from None
    body, ends = (pattern[:-1], True) if pattern.endswith("$") else (pattern, False)
    translated = re.sub(r"\[[^\]]*\]|\.", lambda m: f"[^{_LINE_ENDS}]" if m[0] == "." else m[0], body)
    if ends:
        translated = rf"(?:{translated})(?:\r\n|[{_LINE_ENDS}])?\z"
    return TypedExpression(words(f"regexp_matches({{0}}, {quoted_text(translated)})", text), "boolean")


def json_value(translator: Translator, node: exp.JSONExtractScalar) -> TypedExpression:
    """The text, whole number or boolean at a path into JSON; for other values Spark is asked."""
    if not isinstance(node.expression, exp.JSONPath):
        raise NotAgreed(node)
    path = "$"
    for step in node.expression.expressions[1:]:
        match step:
            case exp.JSONPathKey(this=str(key)) if _SIMPLE_KEY.fullmatch(key):
                path += f".{key}"
            case exp.JSONPathSubscript(this=int(place)) if place >= 0:
                path += f"[{place}]"
            case _:
                raise NotAgreed(node)
    kind, value = f"json_type({{0}}, '{path}')", f"json_extract_string({{0}}, '{path}')"
    text = (
        f"CASE WHEN {{0}} IS NULL THEN NULL WHEN NOT json_valid({{0}}) THEN {ELSEWHERE} "
        f"WHEN {kind} IS NULL THEN NULL "
        f"WHEN {kind} IN ('VARCHAR', 'BIGINT', 'UBIGINT', 'BOOLEAN') THEN {value} ELSE {ELSEWHERE} END"
    )
    return TypedExpression(words(text, translator.of(node.this, "string")), "string")
