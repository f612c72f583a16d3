"""Queries of many kinds over two tables, for comparing Tidings with Spark itself."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

SCHEMA = {
    "t": """a INT, b STRING, s STRUCT<x: INT, y: STRUCT<z: STRING>>, arr ARRAY<INT>, structs ARRAY<STRUCT<x: INT>>,
            m MAP<STRING, INT>, d DATE, ts TIMESTAMP, p DECIMAL(10,2), f DOUBLE, l BIGINT, `we ird` INT, ok BOOLEAN""",
    "u": "a INT, c STRING, l BIGINT",
}
_FULL = {
    "a": 1,
    "b": "it's x",
    "s": {"x": 1, "y": {"z": "q"}},
    "arr": [1, 2, None],
    "structs": [{"x": 5}, {"x": None}],
    "m": [("k", 1), ("l", 2)],
    "d": date(2026, 2, 28),
    "ts": datetime(2026, 2, 28, 12, 30, 1, 500, tzinfo=UTC),
    "p": Decimal("12.34"),
    "f": 0.5,
    "l": 5_000_000_000,
    "we ird": 7,
    "ok": True,
}
ROWS: dict[str, list[dict[str, Any]]] = {
    "t": [_FULL, _FULL, {**_FULL, "a": 2, "b": "Y", "p": Decimal("-1.00"), "ok": False}, dict.fromkeys(_FULL)],
    "u": [
        {"a": 1, "c": "one", "l": 1},
        {"a": 1, "c": "uno", "l": 2},
        {"a": 2, "c": None, "l": None},
        dict.fromkeys("acl"),
    ],
}

QUERIES = """
SELECT * FROM t
SELECT A, t.B, T.`we ird` FROM t
SELECT u.*, t.a AS x FROM t JOIN u ON t.a = u.a
SELECT * EXCEPT (m, s) FROM t
SELECT a + 1, a - l, a * p, -a, +a, a % 2 FROM t
SELECT a / 2, l / 3, a div 2, p / 3 FROM t WHERE a IS NOT NULL
SELECT p + p, p - 1, p * p, p / 7, p % 2, p * 1.5 FROM t
SELECT f * 2, f + p, f + a FROM t
SELECT 1L, 2S, 3Y, 1.5D, 2.5F, 4BD, 1e3, 'x', TRUE
SELECT 1, 1.5, 12345678901, -7, 0.50
SELECT DATE'2026-01-01', TIMESTAMP'2026-01-01 00:00:00', X'1F'
SELECT 'it''s', 'a\\'b', "dq", r'raw\\n', 'tab\\t'
SELECT a = 1, a <> 2, a != 3, a <=> NULL, a < 2, a >= l, NOT ok, a = 1 AND ok OR b = 'Y' FROM t
SELECT a IS NULL, a IS NOT NULL, b LIKE '%x', b NOT LIKE 'i%', b RLIKE 'x$', b ILIKE 'y' FROM t
SELECT a IN (1, 2), a NOT IN (1, NULL), a BETWEEN 1 AND 2, a NOT BETWEEN 0 AND 1 FROM t
SELECT CASE WHEN a = 1 THEN 'one' WHEN a = 2 THEN b ELSE NULL END, CASE a WHEN 1 THEN 1 ELSE 2.5 END FROM t
SELECT if(a = 1, 'x', 'y'), coalesce(a, 0), nvl(b, 'n'), ifnull(a, 2), nullif(a, 1), nvl2(a, 1, 2) FROM t
SELECT upper(b), lower(b), length(b), trim(b), substr(b, 1, 2), substring(b, 2), left(b, 1), right(b, 1) FROM t
SELECT concat(b, '-', b), concat_ws(',', b, 'x'), b || 'z', replace(b, 'x', 'y'), lpad(b, 8, '*'), repeat(b, 2) FROM t
SELECT split(b, ' '), regexp_replace(b, 'x', 'y'), regexp_extract(b, '(i.)', 1), instr(b, 'x'), initcap(b) FROM t
SELECT year(d), month(d), day(d), dayofweek(d), weekofyear(d), quarter(d), last_day(d) FROM t
SELECT date_add(d, 1), date_sub(d, 1), datediff(d, DATE'2026-01-01'), add_months(d, 1), trunc(d, 'MM') FROM t
SELECT d + INTERVAL 1 DAY, d - INTERVAL '2' MONTH, ts + INTERVAL 90 MINUTES, d + 1 FROM t
SELECT date_format(ts, 'yyyy-MM'), to_date(b, 'yyyy') IS NULL, date_trunc('HOUR', ts), hour(ts) FROM t WHERE a IS NULL
SELECT extract(YEAR FROM d), extract(HOUR FROM ts), unix_timestamp(ts), to_timestamp(d) FROM t
SELECT CAST(a AS STRING), CAST(l AS STRING), CAST(p AS INT), CAST(d AS TIMESTAMP), f::string, TRY_CAST(b AS INT) FROM t
SELECT CAST(a + 1 AS BIGINT), CAST('7' AS INT), CAST(1 AS DECIMAL(3, 1)) FROM t
SELECT CAST(a AS DECIMAL(5, 1)), CAST(ts AS DATE), CAST(ok AS INT), CAST(NULL AS ARRAY<INT>) FROM t
SELECT s, s.x, t.s.y, s.y.z, t.s.y.z AS deep FROM t
SELECT structs.x, structs[0], structs[0].x FROM t
SELECT arr[0], element_at(arr, 1), size(arr), array_contains(arr, 2), sort_array(arr), array_max(arr) FROM t
SELECT m['k'], m.l, element_at(m, 'k'), map_keys(m), map_values(m), size(m) FROM t
SELECT transform(arr, x -> x + 1), filter(arr, x -> x > 1) FROM t
SELECT exists(arr, x -> x > 1), forall(arr, x -> x > 0), aggregate(arr, 0, (acc, x) -> acc + coalesce(x, 0)) FROM t
SELECT transform(arr, (x, i) -> x + i + a), zip_with(arr, arr, (x, y) -> x * y) FROM t
SELECT array(1, a, 3), array_distinct(array(a, a)), flatten(array(arr, arr)), slice(arr, 1, 2) FROM t
SELECT named_struct('p', a, 'q', b), struct(a, b), named_struct('p', a).p FROM t
SELECT map('x', a), map(a, b)[1] FROM t WHERE a IS NOT NULL
SELECT abs(a), round(f, 1), floor(f), ceil(f), sqrt(f), pow(f, 2), greatest(a, 2), least(a, l), sign(p) FROM t
SELECT round(p, 1), floor(p), ceil(p), bround(p), CAST(p AS DOUBLE) FROM t
SELECT hash(a, b), md5(b), sha2(b, 256), crc32(b), base64(CAST(b AS BINARY)) FROM t
SELECT to_json(s), get_json_object('{"a": 1}', '$.a'), from_json('{"a": 1}', 'a INT') FROM t
SELECT a AS n, n + 1 AS o, o * 2 FROM t
SELECT t.a, u.c FROM t JOIN u ON t.a = u.a WHERE t.ok AND u.c IS NOT NULL
SELECT * FROM t JOIN (SELECT a, c FROM u) AS q USING (a)
SELECT a, t.l, u.l AS r FROM t JOIN u USING (a, l)
SELECT c FROM u NATURAL JOIN (SELECT a, 1L AS l FROM t) AS q
SELECT t.a, u.a AS b FROM t, u WHERE t.a <=> u.a
SELECT t.a FROM t CROSS JOIN u
SELECT x.a, y.a AS other FROM u x JOIN u y ON x.a = y.a AND x.l < y.l
SELECT a FROM t UNION ALL SELECT l FROM u
SELECT a, b FROM t UNION ALL SELECT 1.5, NULL UNION ALL SELECT l, c FROM u
SELECT NULL AS n UNION ALL SELECT d FROM t
WITH w AS (SELECT a, c FROM u WHERE l > 0) SELECT w.c, t.b FROM w JOIN t ON w.a = t.a
WITH w (k, v) AS (SELECT a, c FROM u), x AS (SELECT k FROM w) SELECT K, k + 1 FROM x
SELECT q.p, q.`x y` FROM (SELECT a AS p, b AS `x y` FROM t) AS q
SELECT k FROM u AS q (k, v, w)
SELECT * FROM VALUES (1, 'a'), (2, NULL) AS v (i, j)
SELECT * FROM (VALUES (1, 1.5), (2, 2)) AS v, u WHERE col1 = a
SELECT col1, col2 FROM VALUES (1L, DATE'2026-01-01'), (NULL, NULL)
SELECT a FROM t WHERE b = "it's x" AND p > 12.3 AND d = '2026-02-28'
SELECT a FROM t WHERE a = '1' OR l = '5000000000'
SELECT a FROM u WHERE l IN (1, 2.0) AND c LIKE '_n_'
SELECT (a + 1) * 2, ((a)), (a = 1) = TRUE FROM t
SELECT s.* FROM t
SELECT typeof(a), bigint(a), string(p), bit_count(a), a & 1, a | 2, a ^ 3, ~a FROM t
""".strip().splitlines()
