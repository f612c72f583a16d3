"""Runs SHOW, DESCRIBE and EXPLAIN RULE: what is defined, as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

import pyarrow as pa

from tidings.continuous.descriptions import QueryDescriptions
from tidings.errors import UnknownContinuousQuery, UnknownRelation, UnknownRule
from tidings.lang.sql.statements.show import DefinedKind, Describe, ExplainRule, ShowNames, ShowStatement
from tidings.read.descriptions import Descriptions
from tidings.result import Result
from tidings.rules.descriptions import RuleDescriptions
from tidings.rules.explain.explanation import RuleExplanations


@dataclass(frozen=True, slots=True)
class ShowStatements:
    """Shows the definitions of one database."""

    relations: Descriptions
    rules: RuleDescriptions
    explanations: RuleExplanations
    queries: QueryDescriptions

    def run(self, statement: ShowStatement) -> Result:
        """The rows that a statement asks for; a name that is not known is marked in the statement."""
        if isinstance(statement, ShowNames):
            return self._names(statement.kind)
        try:
            if isinstance(statement, Describe):
                return self.relations.schema(statement.name)
            if isinstance(statement, ExplainRule):
                return Result(pa.table({"explanation": [self.explanations.explain(statement.name)]}))
            return Result(pa.table({"statement": [self._create(statement.kind, statement.name)]}))
        except UnknownRelation as unknown:
            raise UnknownRelation(statement.place, unknown.hint, name=statement.name) from None
        except UnknownRule as unknown:
            raise UnknownRule(statement.place, unknown.hint, name=statement.name) from None
        except UnknownContinuousQuery as unknown:
            raise UnknownContinuousQuery(statement.place, unknown.hint, name=statement.name) from None

    def _names(self, kind: DefinedKind) -> Result:
        match kind:
            case "table":
                return self.relations.tables()
            case "view":
                return self.relations.views()
            case "rule":
                return self.rules.rules()
            case "continuous query":
                return self.queries.queries()
            case _:
                assert_never(kind)

    def _create(self, kind: DefinedKind, name: str) -> str:
        match kind:
            case "table":
                return self.relations.create_table(name)
            case "view":
                return self.relations.create_view(name)
            case "rule":
                return self.rules.create_rule(name)
            case "continuous query":
                return self.queries.create_query(name)
            case _:
                assert_never(kind)
