"""Places by the names that users give them, and what is done to files there."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow.fs import SubTreeFileSystem

from tidings.engine.location import Location
from tidings.errors import StorageFailed, UnknownFileSystem
from tidings.store.filesystem import discard, entries, is_folder, locate, make_folder, remove


def elsewhere(folder: Path) -> Location:
    """A folder that counts as remote."""
    return Location("far://shop", "shop", SubTreeFileSystem(str(folder), Location.local(folder).filesystem))


@pytest.mark.parametrize("path", ["shop", "/data/shop", Path("/data/shop"), "file:///data/shop", "/data/shop/"])
def test_paths_of_this_machine(path: str | Path) -> None:
    location = locate(path)
    assert location.is_local
    assert str(location) == ("shop" if path == "shop" else "/data/shop")
    assert location.path == (str(Path("shop").absolute()) if path == "shop" else "/data/shop")


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_spark_and_arrow_call_s3_by_different_names(scheme: str) -> None:
    location = locate(f"{scheme}://bucket/shop/", {"region": "eu-central-1"})
    assert not location.is_local
    assert (str(location), location.path) == ("s3a://bucket/shop", "bucket/shop")
    assert str(location / "base/1") == "s3a://bucket/shop/base/1"


def test_the_endpoint_and_the_region_are_those_of_the_environment_or_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    assert locate("s3://bucket/shop").filesystem.region == "eu-north-1"
    assert locate("s3://bucket/shop", {"region": "eu-west-1"}).filesystem.region == "eu-west-1"


def test_azure_is_called_the_same_by_both() -> None:
    address = "abfss://shops@account.dfs.core.windows.net/berlin"
    assert (str(locate(address)), locate(address).path) == (address, "shops/berlin")


@pytest.mark.parametrize("path", ["nosuch://bucket/shop", "s3://bucket/shop"])
def test_what_is_not_known_is_refused(path: str) -> None:
    with pytest.raises(UnknownFileSystem):
        locate(path, {"nosuch": "option"})


@pytest.mark.parametrize("remote", [False, True])
def test_files_and_folders(tmp_path: Path, remote: bool) -> None:
    root = elsewhere(tmp_path) if remote else Location.local(tmp_path / "shop")
    assert entries(root) == {}
    assert not is_folder(root)
    make_folder(root / "base/1")
    assert is_folder(root / "base")
    (tmp_path / "shop" / "base" / "1" / "rows").write_text("rows")
    assert list(entries(root)) == ["base"]
    assert list(entries(root, recursive=True)) == ["base", "base/1", "base/1/rows"]
    assert entries(root / "base/1")["rows"].size == 4
    remove(root / "base/1/rows")
    remove(root / "base/1/rows")
    assert entries(root / "base/1") == {}
    remove(root / "base")
    assert not is_folder(root / "base")


def test_failures_of_remote_storage_are_named(tmp_path: Path) -> None:
    root = elsewhere(tmp_path)
    (tmp_path / "shop").write_text("a file where a folder should be")
    with pytest.raises(StorageFailed) as failure:
        make_folder(root / "base")
    assert failure.value.parameters["path"] == "far://shop/base"
    with pytest.raises(OSError, match="shop"):
        make_folder(Location.local(tmp_path / "shop" / "base"))
    discard(root / "base")
