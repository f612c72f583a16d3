"""Random expressions out of the parts on which both engines agree, over the columns of awkward values."""

from __future__ import annotations

import re
from random import Random

_WAYS = {
    "whole": """
        i | j | t | b | 3 | -1 | 0 | 2147483647 | <whole> + <whole> | <whole> - <whole> | <whole> * <whole> |
        <whole> % <whole> | <whole> DIV <whole> | pmod(<whole>, <whole>) | <whole> & <whole> | abs(<whole>) |
        length(<text>) | year(<date>) | dayofweek(<date>) | datediff(<date>, <date>) | instr(<text>, <text>) |
        coalesce(<whole>, <whole>) | IF(<condition>, <whole>, <whole>) | CAST(<decimal> AS BIGINT) |
        floor(<float>) | greatest(<whole>, <whole>) | nullif(<whole>, <whole>) | -(<whole>) | bit_count(<whole>) |
        hour(<instant>) | weekday(<date>) | size(<array>) | element_at(<array>, 1) | get(<array>, <whole>) |
        aggregate(<array>, 0, (total, x) -> total + coalesce(x, 0)) | unix_date(<date>) | factorial(t)""",
    "decimal": """
        d | e | w | z | 1.50 | 0.05 | <decimal> + <decimal> | <decimal> - <decimal> | <decimal> * <decimal> |
        <decimal> / <decimal> | <decimal> / 3 | <decimal> * 2 | <whole> * 0.1 | <decimal> % 7.0 | -(<decimal>) |
        abs(<decimal>) | round(<decimal>, 1) | ceil(<decimal>) | CAST(<decimal> AS DECIMAL(20,3)) | <decimal> + i |
        CASE WHEN <condition> THEN <decimal> ELSE <decimal> END | coalesce(<decimal>, 0) |
        least(<decimal>, <decimal>)""",
    "float": """
        f | g | 1e3 | <float> + <float> | <float> - <float> | <float> * <float> | <float> / <float> |
        sqrt(<float>) | <whole> / <whole> | CAST(<decimal> AS DOUBLE) | CAST(<whole> AS DOUBLE) | round(<float>) |
        -(<float>) | IF(<condition>, <float>, <float>) | <float> + <decimal> | coalesce(<float>, <whole>) |
        abs(<float>) | round(<float>, 2) | signum(<float>) | nanvl(<float>, <float>)""",
    "text": """
        s | x | 'a' | '' | 'é😀' | <text> || <text> | trim(<text>) | substring(<text>, 2, 3) | left(<text>, 2) |
        replace(<text>, 'a', <text>) | upper(<text>) | lower(<text>) | lpad(<text>, 4, '*') | reverse(<text>) |
        CAST(<whole> AS STRING) | CAST(<decimal> AS STRING) | CAST(<date> AS STRING) |
        concat_ws('-', <text>, <text>) | coalesce(<text>, <text>) | IF(<condition>, <text>, <text>) |
        split_part(<text>, 'a', 1) | repeat(<text>, 2) | CAST(<float> AS STRING) | array_join(split(<text>, 'a'), '-') |
        concat(<text>, <whole>) | dayname(<date>) | hex(<text>) | typeof(<whole>)""",
    "date": """
        day | due | DATE '2024-02-29' | date_add(<date>, t) | add_months(<date>, t) | last_day(<date>) |
        trunc(<date>, 'MM') | CAST(<instant> AS DATE) | <date> + INTERVAL 1 MONTH | coalesce(<date>, <date>)""",
    "instant": """
        at | TIMESTAMP '2024-02-29 12:00:00' | <instant> + INTERVAL 1 DAY | date_trunc('HOUR', <instant>) |
        CAST(<date> AS TIMESTAMP) | <instant> - INTERVAL 3 HOURS | least(<instant>, <instant>)""",
    "array": """
        tags | array(<whole>, <whole>) | sort_array(<array>) | reverse(<array>) | slice(<array>, 1, 2) |
        transform(<array>, (x, n) -> x + n) | filter(<array>, x -> x > 0) | sequence(1, t) | array_compact(<array>) |
        IF(<condition>, <array>, <array>) | <array> || <array> | greatest(<array>, <array>) | least(<array>, <array>) |
        sort_array(array(<array>, <array>))[0]""",
    "condition": """
        p | r | <whole> < <whole> | <decimal> >= <decimal> | <float> = <float> | <text> < <text> |
        <date> <= <date> | NOT (<condition>) | (<condition>) AND (<condition>) | (<condition>) OR (<condition>) |
        (<text>) IS NULL | <whole> BETWEEN <whole> AND <whole> | <text> IN ('a', <text>) | <text> LIKE '%a_' |
        <decimal> <=> <whole> | startswith(<text>, <text>) | contains(<text>, <text>) | <instant> > <instant> |
        <float> > <decimal> | array_contains(<array>, <whole>) | <array> = <array> | exists(<array>, x -> x > 0) |
        <array> < <array> | <array> BETWEEN <array> AND <array> |
        n = <whole> | isnan(<float>)""",
}
"""Kinds of values with the ways to make one: columns, constants, and functions of parts that are in ``<…>``."""

PARTS = {kind: [way.strip() for way in re.split(r" \|\s", ways)] for kind, ways in _WAYS.items()}

_PART = re.compile(r"<(\w+)>")


def expression(rng: Random, kind: str | None = None, depth: int = 3) -> str:
    """A random expression of a kind, nested at most so deep."""
    ways = PARTS[kind or rng.choice(list(PARTS))]
    if depth == 0:
        ways = [way for way in ways if not _PART.search(way)]
    way = rng.choice(ways)
    return _PART.sub(lambda part: f"({expression(rng, part[1], depth - 1)})", way)
