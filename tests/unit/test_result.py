"""Answers: rows of a query, and deltas with their four faces."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tidings.result import Change, Delta, Pair, Result

SCHEMA = pa.schema([("k", pa.int64()), ("v", pa.list_(pa.int64())), ("__t", pa.int64()), ("__w", pa.int64())])


def delta(*entries: tuple[int | None, list[int] | None, int, int]) -> Delta:
    rows = [dict(zip(SCHEMA.names, e, strict=True)) for e in entries]
    return Delta(pa.Table.from_pylist(rows, schema=SCHEMA))


def row(k: int | None, v: list[int] | None = None) -> dict[str, Any]:
    return {"k": k, "v": v}


HISTORY = delta((1, [2], 20, 1), (1, [1], 20, -1), (1, [1], 10, 1), (3, None, 20, 2), (1, [2], 30, -1))


def test_rows_by_instant_what_goes_before_what_comes() -> None:
    assert HISTORY.rows() == [
        Change(row(1, [1]), 10, 1),
        Change(row(1, [1]), 20, -1),
        Change(row(1, [2]), 20, 1),
        Change(row(3), 20, 2),
        Change(row(1, [2]), 30, -1),
    ]


def test_rows_do_not_depend_on_their_order_in_the_table() -> None:
    shuffled = Delta(HISTORY.to_arrow().take([4, 2, 0, 3, 1]))
    assert shuffled.rows() == HISTORY.rows()


def test_additions_and_removals_count_occurrences() -> None:
    assert HISTORY.additions() == [row(1, [1]), row(1, [2]), row(3), row(3)]
    assert HISTORY.removals() == [row(1, [1]), row(1, [2])]


def test_net_folds_all_instants_into_the_last() -> None:
    assert HISTORY.net().rows() == [Change(row(3), 30, 2)]
    assert HISTORY.net().net().rows() == HISTORY.net().rows()


def test_net_of_nothing() -> None:
    assert delta().net().rows() == []
    assert len(delta((1, None, 1, 1), (1, None, 2, -1)).net()) == 0
    assert delta().net().to_arrow().schema == SCHEMA


def test_paired_by_key() -> None:
    assert HISTORY.paired("k") == [
        Pair(None, row(1, [1]), 10),
        Pair(row(1, [1]), row(1, [2]), 20),
        Pair(None, row(3), 20),
        Pair(None, row(3), 20),
        Pair(row(1, [2]), None, 30),
    ]


def test_null_keys_pair_with_each_other() -> None:
    assert delta((None, [1], 1, -1), (None, [2], 1, 1)).paired("k") == [Pair(row(None, [1]), row(None, [2]), 1)]


def test_paired_needs_the_same_instant() -> None:
    assert delta((1, [1], 1, -1), (1, [2], 2, 1)).paired("k") == [
        Pair(row(1, [1]), None, 1),
        Pair(None, row(1, [2]), 2),
    ]


def test_columns_and_length() -> None:
    assert HISTORY.columns == ["k", "v"]
    assert len(HISTORY) == 5


def test_result(capsys: pytest.CaptureFixture[str]) -> None:
    found = Result(pa.table({"k": [1, 2, 3], "v": ["a", None, "c"]}))
    assert (found.columns, len(found)) == (["k", "v"], 3)
    assert found.rows()[1] == {"k": 2, "v": None}
    assert list(found.to_pandas()["k"]) == [1, 2, 3]
    found.show(limit=2)
    shown = capsys.readouterr().out
    assert "NULL" in shown
    assert "1 more" in shown


def test_show_fits_the_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    Result(pa.table({"k": [1], "story": ["[b]long " * 40]})).show()
    cropped = capsys.readouterr().out.splitlines()
    assert max(map(len, cropped)) <= 60
    assert any("…" in line for line in cropped)
    Result(pa.table({f"column{n}": [f"value {n} " * 9] for n in range(12)})).show()
    blocks = capsys.readouterr().out.splitlines()
    assert blocks[0] == "row 1"
    assert len(blocks) == 13
    assert max(map(len, blocks)) <= 60


def test_show_of_a_delta(capsys: pytest.CaptureFixture[str]) -> None:
    delta((1, [1], 1_000_000, -1)).show()
    shown = capsys.readouterr().out
    assert "1970-01-01 00:00:01" in shown
    assert "-1" in shown


def test_results_print_count_and_iterate() -> None:
    result = Result(pa.table({"a": list(range(7)), "b": ["<x>", None, *"cdefg"]}))
    assert repr(result).splitlines()[:3] == ["<Result: 7 rows of a, b>", "  0, <x>", "  1, NULL"]
    assert repr(result).splitlines()[-1] == "  …"
    assert (len(result), [row["a"] for row in result]) == (7, list(range(7)))
    html = result._repr_html_()
    assert "<th>a</th>" in html
    assert "&lt;x&gt;" in html
    assert repr(Result(pa.table({"a": [1]}))) == "<Result: 1 row of a>\n  1"


def test_deltas_print_count_and_iterate() -> None:
    assert repr(HISTORY).startswith("<Delta: 5 changes of k, v>\n  1970-01-01 00:00:00.000010, +1, 1, [1]")
    assert list(HISTORY) == HISTORY.rows()
    assert "<td>+2</td>" in HISTORY._repr_html_()


def test_arrow_streams() -> None:
    assert pa.table(HISTORY) == HISTORY.to_arrow()  # by __arrow_c_stream__
    assert HISTORY.to_polars().shape == (5, 4)
    assert list(HISTORY.to_pandas().columns) == ["k", "v", "__t", "__w"]


def test_a_notebook_shows_some_rows_and_says_how_many_more() -> None:
    html = Result(pa.table({"a": list(range(25))}))._repr_html_()
    assert html.count("<tr>") == 21
    assert "… 5 more" in html
