"""``IDENTIFIER('a.b')`` is the name ``a.b``: of a table or a column, by a text that is known when the text is read.

The text may be put together of others by ``||`` and ``concat``, and may be a parameter: ``FROM IDENTIFIER(:name)``.  It
is read as a name and nothing else.
"""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from tidings.errors import InvalidExpression, Place, UnsupportedConstruct
from tidings.ir.dialect import DIALECT
from tidings.ir.expression import Expression


def with_plain_names(tree: Expression, place: Place | None) -> Expression:
    """A statement with names in the place of IDENTIFIER; ``place`` is that of the statement.

    What has a parameter stays until that has a value.

    >>> tree = sqlglot.parse_one("SELECT IDENTIFIER('`a b`.' || 'c') FROM IDENTIFIER('t') AS u", read=DIALECT)
    >>> with_plain_names(tree, None).sql(DIALECT)
    'SELECT `a b`.c FROM t AS u'
    """
    for schema in [n for n in tree.find_all(exp.Schema) if _is_target(n)]:  # INSERT INTO IDENTIFIER('t')
        schema.replace(_table(_parts(schema.expressions[0].name, place)))
    for call in [n for n in tree.find_all(exp.Anonymous) if str(n.this).lower() == "identifier"]:
        if call.find(exp.Placeholder) is not None:
            continue
        name = _text(call.expressions[0]) if len(call.expressions) == 1 else None
        if name is None or isinstance(call.parent, exp.Aliases):
            what = "anything but a text" if name is None else "a function"
            raise UnsupportedConstruct(place, "write the name itself", construct=f"IDENTIFIER of {what}")
        parts = _parts(name, place)
        if isinstance(call.parent, exp.Table) and call.arg_key == "this":
            for arg, part in _table(parts).args.items():
                call.parent.set(arg, part)
        else:
            call.replace(exp.column(*reversed(parts)))
    return tree


def _is_target(schema: exp.Schema) -> bool:
    """Whether this is what is read of ``INSERT INTO IDENTIFIER('t')``: a table and a list of columns."""
    listed, table = schema.expressions, schema.this
    named = isinstance(table, exp.Table) and table.name.lower() == "identifier" and not table.this.args.get("quoted")
    return named and len(listed) == 1 and isinstance(listed[0], exp.Literal) and listed[0].is_string


def _text(node: Expression) -> str | None:
    """The text that an expression of constants is; None if it is none."""
    match node.unnest():
        case exp.Literal(is_string=True) as literal:
            return literal.name
        case exp.DPipe() as pipe:
            texts = [_text(pipe.this), _text(pipe.expression)]
        case exp.Concat() as call:
            texts = [_text(e) for e in call.expressions]
        case _:
            return None
    return None if None in texts else "".join(t for t in texts if t is not None)


def _parts(name: str, place: Place | None) -> list[exp.Identifier]:
    """The parts of a dotted name, those in backticks as they are."""
    try:
        tokens = sqlglot.tokenize(name, read=DIALECT)
    except TokenError:
        tokens = []
    parts, dots = tokens[::2], tokens[1::2]
    well_formed = len(parts) == len(dots) + 1 and all(d.token_type is TokenType.DOT for d in dots)
    if not well_formed or any(not _is_name(t) for t in parts):
        raise InvalidExpression(place, "a name, or several with dots between", reason=f"'{name}' is no name")
    return [exp.to_identifier(t.text, quoted=t.token_type is TokenType.IDENTIFIER or None) for t in parts]


def _is_name(token: Token) -> bool:
    if token.token_type is TokenType.IDENTIFIER:
        return True
    return token.token_type is not TokenType.STRING and token.text.replace("_", "a").isalnum()


def _table(parts: list[exp.Identifier]) -> exp.Table:
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(parts), strict=False)))
