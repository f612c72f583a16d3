"""Functions of texts and binary values."""

from tidings.engine.agreed.signature import FunctionLine as F
from tidings.engine.agreed.term import ELSEWHERE, MUCH

ASCII = f"CASE WHEN strlen({{0}}) = length({{0}}) THEN %s WHEN {{0}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
"""Words that hold for a text of ASCII alone: upper('ß') is 'SS' in Spark only."""
_BOTH_ASCII = (
    "CASE WHEN strlen({0}) = length({0}) AND strlen({1}) = length({1}) THEN %s "
    f"WHEN {{0}} IS NULL OR {{1}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
)
_NOT_NEGATIVE = "CASE WHEN {1} < 0 THEN 0 ELSE {1} END"
_REPEATED = (
    f"CASE WHEN {{1}} <= 0 OR {{0}} = '' THEN CASE WHEN {{0}} IS NOT NULL THEN '' END "
    f"WHEN {{1}} * strlen({{0}}) <= {MUCH} THEN repeat({{0}}, {{1}}) "
    f"WHEN {{0}} IS NULL OR {{1}} IS NULL THEN NULL ELSE {ELSEWHERE} END"
)
_SPACES = f"CASE WHEN {{0}} <= 0 THEN '' WHEN {{0}} > {MUCH} THEN {ELSEWHERE} ELSE repeat(' ', {{0}}) END"
_CAPITALS = "array_to_string(list_transform(string_split(lower({0}), ' '), lambda w: upper(w[1]) || w[2:]), ' ')"
_CHARACTER = "CASE WHEN {0} < 0 THEN '' WHEN {0} & 255 = 0 THEN chr(0) ELSE chr(CAST({0} & 255 AS INTEGER)) END"
_LENGTH = "CAST(length({0}) AS INTEGER)"
_BYTES = "CAST(octet_length({0}) AS INTEGER)"
_FROM_PLACE = (
    "CASE WHEN {2} IS NULL THEN 0 WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN {2} < 1 THEN 0 WHEN {0} = '' THEN 1 "
    "WHEN {2} > length({1}) OR instr(substring({1}, {2}), {0}) = 0 THEN 0 "
    "ELSE CAST(instr(substring({1}, {2}), {0}) + {2} - 1 AS INTEGER) END"
)
_REPLACED = "CASE WHEN {1} = '' AND {2} IS NOT NULL THEN {0} ELSE replace({0}, {1}, {2}) END"
_BASE64 = f"CASE WHEN octet_length({{0}}) > 57 THEN {ELSEWHERE} ELSE %s END"
"""Spark breaks longer ones into lines."""

TEXTS = (
    # how long
    F("length(string)", "int", _LENGTH),
    F("char_length(string)", "int", _LENGTH),
    F("character_length(string)", "int", _LENGTH),
    F("len(string)", "int", _LENGTH),
    F("length(binary)", "int", _BYTES),
    F("octet_length(string)", "int", "CAST(strlen({0}) AS INTEGER)"),
    F("octet_length(binary)", "int", _BYTES),
    F("bit_length(string)", "int", "CAST(strlen({0}) * 8 AS INTEGER)"),
    F("bit_length(binary)", "int", "CAST(octet_length({0}) * 8 AS INTEGER)"),
    # the whole text
    F("upper(string)", "string", ASCII % "upper({0})"),
    F("ucase(string)", "string", ASCII % "upper({0})"),
    F("lower(string)", "string", ASCII % "lower({0})"),
    F("lcase(string)", "string", ASCII % "lower({0})"),
    F("initcap(string)", "string", ASCII % _CAPITALS),
    F("reverse(string)", "string", "array_to_string(list_reverse(string_split({0}, '')), '')"),
    F("repeat(string, int)", "string", _REPEATED),
    F("btrim(string)", "string", "trim({0}, ' ')"),
    F("space(int)", "string", _SPACES),
    # parts
    F("left(string, int)", "string", f"substring({{0}}, 1, {_NOT_NEGATIVE})"),
    F("right(string, int)", "string", f"right({{0}}, {_NOT_NEGATIVE})"),
    F("replace(string, string, string)", "string", _REPLACED),
    F("replace(string, string)", "string", "CASE WHEN {1} = '' THEN {0} ELSE replace({0}, {1}, '') END"),
    F("translate(string, constant, constant)", "string", "translate({0}, {1}, {2})"),
    # what is in it
    F("startswith(string, string)", "boolean", "starts_with({0}, {1})"),
    F("endswith(string, string)", "boolean", "ends_with({0}, {1})"),
    F("contains(string, string)", "boolean", "contains({0}, {1})"),
    F("instr(string, string)", "int", "CAST(instr({0}, {1}) AS INTEGER)"),
    F("locate(string, string)", "int", "CAST(instr({1}, {0}) AS INTEGER)"),
    F("locate(string, string, int)", "int", _FROM_PLACE),
    F("position(string, string)", "int", "CAST(instr({1}, {0}) AS INTEGER)"),
    F("position(string, string, int)", "int", _FROM_PLACE),
    F("levenshtein(string, string)", "int", _BOTH_ASCII % "CAST(levenshtein({0}, {1}) AS INTEGER)"),
    # as numbers and back
    F("ascii(string)", "int", "CAST(ascii({0}) AS INTEGER)"),
    F("chr(bigint)", "string", _CHARACTER),
    F("char(bigint)", "string", _CHARACTER),
    F("hex(whole)", "string", "CASE WHEN {0} IS NULL THEN NULL ELSE upper(hex(CAST({0} AS BIGINT))) END"),
    F("hex(string)", "string", "hex({0})", is_strict=True),
    F("hex(binary)", "string", "hex({0})"),
    F("bin(bigint)", "string", "bin({0})"),
    F("md5(string)", "string", "md5({0})", is_strict=True),
    F("md5(binary)", "string", "md5({0})"),
    F("sha(string)", "string", "sha1({0})", is_strict=True),
    F("sha1(string)", "string", "sha1({0})", is_strict=True),
    F("base64(binary)", "string", _BASE64 % "base64({0})"),
    F("base64(string)", "string", _BASE64.replace("octet_length", "strlen") % "base64(encode({0}))", is_strict=True),
)
