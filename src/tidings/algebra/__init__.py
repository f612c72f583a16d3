"""The algebra of changes of HiPAC and Sentinel as a library, and in ``calculus`` that of AMOS.

Relations, expressions and deltas come in; deltas, expressions for deltas, equal ones, SQL and drawings go out.  It is
for users who build conditions by hand, and for teaching; the kernel does not use it.  It imports the IR and errors.
"""

from tidings.algebra.changes.chain_rule import chain_rule, chain_rule_once
from tidings.algebra.changes.first_principle import first_principle
from tidings.algebra.changes.hipac import (
    both_incr_join,
    hipac_changes,
    hipac_incr_join,
    hipac_incr_project,
    hipac_incr_select,
    left_incr_join,
    published_incr_join,
    right_incr_join,
)
from tidings.algebra.changes.incremental import (
    ProjectionSteps,
    delta_of,
    incr_diff,
    incr_join,
    incr_project,
    incr_project_steps,
    incr_select,
    incr_union,
)
from tidings.algebra.changes.nodes import (
    Changes,
    DeltaExpression,
    IncrDiff,
    IncrJoin,
    IncrOperator,
    IncrProject,
    IncrRename,
    IncrSelect,
    IncrUnion,
    StoredDelta,
)
from tidings.algebra.changes.substitution import SubstitutionList
from tidings.algebra.changes.text import show
from tidings.algebra.delta_relations.compose import (
    additions,
    compose,
    delta_difference,
    removals,
    require_composable,
)
from tidings.algebra.delta_relations.instance import RelationInstance
from tidings.algebra.delta_relations.pair import DeltaPair
from tidings.algebra.delta_relations.single import DeltaRelation, DeltaRow
from tidings.algebra.delta_relations.tilde import posttilde, pretilde, untilde
from tidings.algebra.expressions.condition import Condition
from tidings.algebra.expressions.evaluate import evaluate
from tidings.algebra.expressions.from_plan import from_plan
from tidings.algebra.expressions.nodes import (
    AlgebraExpression,
    Applied,
    Joined,
    Projected,
    Renamed,
    Selected,
    Stored,
    Subtracted,
    United,
)
from tidings.algebra.expressions.operators import UserOperator
from tidings.algebra.expressions.plan import to_plan
from tidings.algebra.expressions.sources import instance_of, relation
from tidings.algebra.expressions.sql import to_sql
from tidings.algebra.fragments.federation import FederatedDelta, Federation
from tidings.algebra.fragments.fragmentation import (
    Fragment,
    Fragmentation,
    Horizontal,
    Vertical,
    delta_of_whole,
    fragments,
    routed,
    whole,
)
from tidings.algebra.fragments.sites import Sites
from tidings.algebra.graphs.signal_graph import GraphNode, SignalGraph, signal_graph
from tidings.algebra.transformations.cost import cost
from tidings.algebra.transformations.incremental import TRANSFORMATIONS, Transformation
from tidings.algebra.transformations.optimise import chain_rule_first, push_down, relational_first
from tidings.algebra.transformations.relational import equivalents

__all__ = [
    "TRANSFORMATIONS",
    "AlgebraExpression",
    "Applied",
    "Changes",
    "Condition",
    "DeltaExpression",
    "DeltaPair",
    "DeltaRelation",
    "DeltaRow",
    "FederatedDelta",
    "Federation",
    "Fragment",
    "Fragmentation",
    "GraphNode",
    "Horizontal",
    "IncrDiff",
    "IncrJoin",
    "IncrOperator",
    "IncrProject",
    "IncrRename",
    "IncrSelect",
    "IncrUnion",
    "Joined",
    "Projected",
    "ProjectionSteps",
    "RelationInstance",
    "Renamed",
    "Selected",
    "SignalGraph",
    "Sites",
    "Stored",
    "StoredDelta",
    "SubstitutionList",
    "Subtracted",
    "Transformation",
    "United",
    "UserOperator",
    "Vertical",
    "additions",
    "both_incr_join",
    "chain_rule",
    "chain_rule_first",
    "chain_rule_once",
    "compose",
    "cost",
    "delta_difference",
    "delta_of",
    "delta_of_whole",
    "equivalents",
    "evaluate",
    "first_principle",
    "fragments",
    "from_plan",
    "hipac_changes",
    "hipac_incr_join",
    "hipac_incr_project",
    "hipac_incr_select",
    "incr_diff",
    "incr_join",
    "incr_project",
    "incr_project_steps",
    "incr_select",
    "incr_union",
    "instance_of",
    "left_incr_join",
    "posttilde",
    "pretilde",
    "published_incr_join",
    "push_down",
    "relation",
    "relational_first",
    "removals",
    "require_composable",
    "right_incr_join",
    "routed",
    "show",
    "signal_graph",
    "to_plan",
    "to_sql",
    "untilde",
    "whole",
]
