"""Java is asked for before Spark fails without it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tidings
from tidings.engine.spark.java import require_java
from tidings.errors import JavaMissing


def fake_java(folder: Path, version: str) -> None:
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


def test_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing) as refused:
        require_java()
    assert str(tmp_path) in str(refused.value.parameters["found"])
    assert refused.value.hint


def test_none_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaMissing):
        require_java()


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.2", "weird"])
def test_too_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaMissing):
        require_java()


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.1"])
def test_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    require_java()


def test_open_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    with pytest.raises(JavaMissing):
        tidings.open()
