"""Files of rows that come and go."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidings.engine.location import Location
from tidings.engine.scratch import Scratch

ROWS = pa.table({"x": [1, 2]})


@pytest.mark.parametrize("shared", [False, True])
def test_files_are_there_for_a_while(tmp_path: Path, shared: bool) -> None:
    scratch = Scratch(Location.local(tmp_path / "scratch") if shared else None)
    with scratch.holding(ROWS) as first, scratch.holding(ROWS) as second:
        assert first != second
        assert pq.read_table(first.path) == ROWS
        assert first.path.startswith(str(tmp_path)) is shared
    assert not Path(first.path).exists()
    assert not Path(second.path).exists()
    scratch.close()
    assert not Path(first.path).parent.exists()
    scratch.close()


def test_two_share_a_place_and_no_files(tmp_path: Path) -> None:
    place = Location.local(tmp_path)
    one, other = Scratch(place), Scratch(place)
    with other.holding(ROWS) as kept, one.holding(ROWS):
        one.close()
        assert pq.read_table(kept.path) == ROWS


def test_a_location_is_a_file_a_folder_or_nothing() -> None:
    scratch = Scratch()
    with scratch.location() as file:
        pq.write_table(ROWS, file.path)
    with scratch.location() as folder:
        Path(folder.path).mkdir()
        pq.write_table(ROWS, f"{folder.path}/part")
    with scratch.location() as unused:
        pass
    assert not any(Path(location.path).exists() for location in (file, folder, unused))
    scratch.close()


def test_nothing_is_made_before_it_is_used(tmp_path: Path) -> None:
    Scratch(Location.local(tmp_path / "scratch")).close()
    assert not (tmp_path / "scratch").exists()
