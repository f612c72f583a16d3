"""What Tidings must know about functions: which aggregate, which make rows, which read the clock.

These lists say which functions cannot stand in a projection or predicate that is maintained row by row.  Which
functions there are, and which are determined by their arguments, is in :mod:`tidings.analysis.spark_functions`.
"""

from __future__ import annotations

from sqlglot import exp

from tidings.analysis.spark_functions import NOT_DETERMINED
from tidings.ir.expression import Expression

_READS_CLOCK = frozenset(
    """now current_timestamp current_date curdate current_time localtimestamp localtime current_datetime
    current_timestamp_ltz systimestamp""".split()
)
_AGGREGATES = frozenset(
    """any some every bool_and bool_or bit_and bit_or bit_xor count_if count_min_sketch try_sum try_avg
    collect_list collect_set array_agg listagg string_agg approx_percentile percentile percentile_cont
    percentile_disc percentile_approx histogram_numeric histogram bitmap_construct_agg bitmap_or_agg
    bitmap_and_agg hll_sketch_agg hll_union_agg schema_of_json_agg regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy skewness kurtosis mean mode median std
    stddev_samp variance var_pop var_samp stddev stddev_pop first_value last_value any_value max_by min_by
    grouping grouping_id corr covar_pop covar_samp approx_count_distinct theta_sketch_agg theta_union_agg
    theta_intersection_agg kll_sketch_agg_bigint kll_sketch_agg_float kll_sketch_agg_double approx_top_k
    approx_top_k_accumulate approx_top_k_combine collect_union vector_avg vector_sum schema_of_variant_agg
    kll_merge_agg_bigint kll_merge_agg_float kll_merge_agg_double tuple_sketch_agg_integer tuple_sketch_agg_double
    tuple_union_agg_integer tuple_union_agg_double tuple_intersection_agg_integer tuple_intersection_agg_double
    """.split()
)
_WINDOWS = frozenset(
    """row_number rank dense_rank percent_rank cume_dist ntile lag lead nth_value counter_diff window
    session_window""".split()
)
_GENERATORS = frozenset(
    """explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode
    variant_explode_outer""".split()
)

_ORDER_DEPENDENT = frozenset(
    "first last any_value first_value last_value percentile_approx approx_percentile approx_quantile".split()
)
_TELLS_TIES_APART = frozenset("row_number ntile lag lead first_value last_value nth_value first last any_value".split())
_RANKS = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})


_SPARK_NAMES = {
    "approx_quantile": "percentile_approx",
    "arg_max": "max_by",
    "arg_min": "min_by",
    "_explode_outer": "explode_outer",
    "array_agg": "collect_list",
    "array_unique_agg": "collect_set",
    "group_concat": "listagg",
    "quantile": "percentile",
}
"""Functions the parser knows by another name than Spark."""


def function_name(node: Expression) -> str | None:
    """The lower-case name of a function call, as users know it."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.Func):
        name = node.sql_name().lower()
        return _SPARK_NAMES.get(name, name)
    return None


def written_name(node: Expression) -> str | None:
    """The name by which a user has called a function; None for what is a form of the language."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return str(node.this)
    written = node.meta.get("written") if isinstance(node, exp.Func) else None
    return None if written is None else str(written)


def is_non_deterministic(node: Expression) -> bool:
    """Whether a function of Spark is not determined by its arguments; those that Spark has not are refused by name."""
    return function_name(node) in NOT_DETERMINED


def reads_clock(node: Expression) -> bool:
    return function_name(node) in _READS_CLOCK


def is_aggregate(node: Expression) -> bool:
    return isinstance(node, exp.AggFunc) or function_name(node) in _AGGREGATES


def is_window(node: Expression) -> bool:
    return isinstance(node, exp.Window) or function_name(node) in _WINDOWS


def is_generator(node: Expression) -> bool:
    return isinstance(node, exp.UDTF) or function_name(node) in _GENERATORS


def depends_on_order(node: Expression) -> bool:
    """Whether an aggregate's answer depends on the order in which it meets the rows."""
    return function_name(node) in _ORDER_DEPENDENT


def needs_order(node: Expression) -> bool:
    """Whether a window function says nothing without an order: it ranks rows or tells them apart."""
    return depends_on_ties(node) or function_name(node) in _RANKS


def depends_on_ties(node: Expression) -> bool:
    """Whether a window function tells rows apart that its order does not."""
    while isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        node = node.this
    return function_name(node) in _TELLS_TIES_APART
