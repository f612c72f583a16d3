"""Functions of arrays, maps and structs.

Those that go through the elements with a function of the user's are in :mod:`tidings.engine.agreed.lambdas`.
"""

from tidings.engine.agreed.signature import FunctionLine as F
from tidings.engine.agreed.term import ELSEWHERE, MUCH

_SIZE = "CAST(len({0}) AS INTEGER)"
_ENTRIES = "CAST(cardinality({0}) AS INTEGER)"
_REPEATED = (
    f"CASE WHEN {{1}} > {MUCH} THEN {ELSEWHERE} ELSE repeat([{{0}}], CASE WHEN {{1}} < 0 THEN 0 ELSE {{1}} END) END"
)

COLLECTIONS = (
    F("size(array<T>)", "int", _SIZE),
    F("cardinality(array<T>)", "int", _SIZE),
    F("array_size(array<T>)", "int", _SIZE),
    F("size(map<K,V>)", "int", _ENTRIES),
    F("cardinality(map<K,V>)", "int", _ENTRIES),
    F("array_join(array<string>, constant)", "string", "array_to_string({0}, {1})"),
    F("array_append(array<T>, T)", "array<T>", "CASE WHEN {0} IS NULL THEN NULL ELSE list_append({0}, {1}) END"),
    F("array_prepend(array<T>, T)", "array<T>", "CASE WHEN {0} IS NULL THEN NULL ELSE list_prepend({1}, {0}) END"),
    F("array_compact(array<T>)", "array<T>", "list_filter({0}, lambda x: x IS NOT NULL)"),
    F("array_repeat(T, int)", "array<T>", _REPEATED, is_strict=True),
    F("reverse(array<T>)", "array<T>", "list_reverse({0})"),
    F("flatten(array<array<T>>)", "array<T>", "CASE WHEN list_count({0}) = len({0}) THEN flatten({0}) END"),
    F("map_keys(map<K,V>)", "array<K>", "map_keys({0})"),
    F("map_values(map<K,V>)", "array<V>", "map_values({0})"),
    F("map_entries(map<K,V>)", "array<struct<key:K,value:V>>", "map_entries({0})"),
    F("map_contains_key(map<K,V>, K)", "boolean", "map_contains({0}, {1})"),
    F("map_from_arrays(array<K>, array<V>)", "map<K,V>", "map({0}, {1})"),
)
