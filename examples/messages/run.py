"""Mail from an mbox file through continuous queries, with a digest every morning at eight.

    python run.py [mbox] [--engine duckdb] [--smtp host:port --to reader@example.com]

The messages count from the instants of their Date headers on; they are fetched every morning before eight.  One that
comes too late for its own instant counts from then on.  The digest goes to a file, which is printed; with ``--smtp`` it
goes out as mail, too.
"""

from __future__ import annotations

import argparse
import json
import mailbox
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_binary_file, policy
from email.message import EmailMessage
from email.utils import parseaddr
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tidings

HERE = Path(__file__).resolve().parent
FILTERS = ("on_databases", "answered_by_jones", "unanswered", "discussions", "lively")
DAY = timedelta(days=1)


def messages(path: str) -> Iterator[dict[str, Any]]:
    """The messages of an mbox file, as rows; one without an identifier or a date is passed over."""
    box = mailbox.mbox(path, create=False)
    try:
        for key in box.iterkeys():
            with box.get_file(key) as file:
                mail = message_from_binary_file(file, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            if mail["Message-ID"] and mail["Date"] and mail["Date"].datetime:
                yield as_row(mail)
    finally:
        box.close()


def as_row(mail: EmailMessage) -> dict[str, Any]:
    references = str(mail["References"] or "").split()
    answered = str(mail["In-Reply-To"] or "").split() or references[-1:]
    msgid = str(mail["Message-ID"]).strip()
    return {
        "msgid": msgid,
        "sender": parseaddr(str(mail["From"]))[1],
        "subject": str(mail["Subject"] or ""),
        "list": parseaddr(str(mail["List-Id"] or ""))[1] or None,
        "inreplyto": answered[0] if answered else None,
        "thread": (references or answered or [msgid])[0],
        "ts": mail["Date"].datetime.astimezone(UTC),
    }


def run(args: argparse.Namespace, folder: Path) -> None:
    mails = sorted(messages(args.mbox), key=lambda row: row["ts"])
    begin, end = mails[0]["ts"].replace(hour=7, minute=50, second=0) - DAY, mails[-1]["ts"] + 16 * DAY
    clock = tidings.ManualClock(begin)
    host, _, port = (args.smtp or "").partition(":")
    mail = tidings.Mail(host, "tidings@example.com", port=int(port or 25)) if args.smtp else None
    settings = tidings.DeliverySettings(files=folder, mail=mail)
    with tidings.open(engine=args.engine, clock=clock, deliveries=settings) as db:
        db.sql((HERE / "schema.sql").read_text(encoding="utf-8"))
        db.sql((HERE / "filters.sql").read_text(encoding="utf-8"))
        for name in FILTERS:
            condition = f"SELECT '{name}' AS filter, subject, matched_at FROM {name}"
            db.sql(f"CREATE RULE tell_{name} WHEN {condition} DO FILE 'digest.jsonl' WITH (group_at = '0 8 * * *')")
            if mail is not None:
                db.sql(f"CREATE RULE mail_{name} WHEN {condition} DO MAIL '{args.to}' WITH (group_at = '0 8 * * *')")
        morning = begin
        while morning < end:
            morning += DAY
            clock.set(morning)
            arrived = [row for row in mails if morning - DAY < row["ts"] <= morning]
            if arrived:
                db.load("msgs", arrived, late="present")
            db.advance()
            clock.advance(timedelta(minutes=10))
            db.advance()
            db.deliveries.step()
        print_digest(folder / "digest.jsonl")
        threads = sorted({row["thread"] for row in db.query("top_threads").rows()})
        print("threads that were at the top:", ", ".join(threads))


def print_digest(path: Path) -> None:
    """The digests in their order, a line per row."""
    digests: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        day = datetime.fromisoformat(message["timestamp"])
        for row in message["data"]["rows"]:
            digests.setdefault(f"{day:%d %B}", []).append(f"  {row['filter']}: {row['subject']}")
    for day, lines in digests.items():
        print(day, *sorted(lines), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mbox", nargs="?", default=str(HERE / "lists.mbox"))
    parser.add_argument("--engine", choices=["spark", "duckdb"], default="spark")
    parser.add_argument("--smtp", help="host:port of the mail server that takes the digests")
    parser.add_argument("--to", default="reader@example.com", help="who gets the digests")
    with TemporaryDirectory() as folder:
        run(parser.parse_args(), Path(folder))


if __name__ == "__main__":
    main()
