"""The examples print what their page says."""

from __future__ import annotations

import io
import json
import re
import runpy
import sys
from collections import Counter
from contextlib import redirect_stdout
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from tests.unit.deliver.test_mail import Server, serving

HOME = Path(__file__).resolve().parents[2] / "examples"
SCRIPTS = sorted(HOME.glob("*.py"))


def shown(script: str) -> str:
    """The block under the heading of a script."""
    page = (HOME / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(rf"^## {re.escape(script)}$.*?^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return str(found)


def run_messages(monkeypatch: pytest.MonkeyPatch, *options: str) -> str:
    """What the example of mail and news prints."""
    monkeypatch.setattr(sys, "argv", ["run.py", "--engine", "duckdb", *options])
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(HOME / "messages" / "run.py"), run_name="__main__")
    return printed.getvalue()


def test_mail_and_news(monkeypatch: pytest.MonkeyPatch) -> None:
    page = (HOME / "messages" / "README.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert run_messages(monkeypatch) == printed


def test_digests_go_out_by_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Server()) as server:
        run_messages(monkeypatch, "--smtp", f"127.0.0.1:{server.port}", "--to", "ann@example.org")
    digests = [message_from_bytes(mail, policy=policy.default) for mail in server.got]
    assert {str(mail["To"]) for mail in digests} == {"ann@example.org"}
    assert len({str(mail["Message-ID"]) for mail in digests}) == len(digests)
    told = [row for mail in digests for row in _attached(mail)["data"]["rows"]]
    assert Counter(row["filter"] for row in told)["unanswered"] == 9
    assert all(text.startswith("Tidings: ") for text in (str(mail["Subject"]) for mail in digests))
    assert sum(len(re.findall(r"^filter: +unanswered$", _body(mail), re.MULTILINE)) for mail in digests) == 9


def _attached(mail: EmailMessage) -> Any:
    """The payload that a mail carries for programs."""
    (part,) = mail.iter_attachments()
    return json.loads(part.get_content())


def _body(mail: EmailMessage) -> str:
    """What a mail says to people."""
    part = mail.get_body()
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def test_there_are_examples() -> None:
    assert len(SCRIPTS) == 4


@pytest.mark.parametrize("engine", ["duckdb", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_prints_what_its_page_says(script: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [script.name, "--engine", engine])
    with redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    assert printed.getvalue() == shown(script.name)
