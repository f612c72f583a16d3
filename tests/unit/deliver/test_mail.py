"""Mail against a small SMTP server on this machine."""

from __future__ import annotations

import base64
import json
import socket
import socketserver
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from email import message_from_bytes
from pathlib import Path
from threading import Thread

import pytest

from tests.unit.deliver import certificate
from tests.unit.deliver.test_webhook import listening
from tidings.deliver.channel import Arrived, Failed, Refused
from tidings.deliver.mail import Mail, MailChannel, as_mail
from tidings.store.rules.messages import Message


@dataclass(slots=True)
class Server:
    """What it answers to some commands, and what it has got."""

    answers: dict[str, str] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    port: int = 0
    got: list[bytes] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)


@contextmanager
def serving(server: Server) -> Iterator[Server]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            stream, secure = self.request, False
            lines = stream.makefile("rb")
            stream.sendall(b"220 here\r\n")
            while line := lines.readline():
                command = line.decode().strip()
                verb = command.split()[0].upper().partition(":")[0]
                server.commands.append(f"{'secure ' if secure else ''}{verb}")
                if verb in server.answers:
                    stream.sendall(f"{server.answers[verb]}\r\n".encode())
                elif verb == "EHLO":
                    offers = ["here", "AUTH PLAIN", *(["STARTTLS"] if server.tls and not secure else [])]
                    told = [f"250{'-' if n < len(offers) - 1 else ' '}{one}" for n, one in enumerate(offers)]
                    stream.sendall("".join(f"{one}\r\n" for one in told).encode())
                elif verb == "STARTTLS" and server.tls is not None:
                    stream.sendall(b"220 go\r\n")
                    lines.close()
                    stream, secure = server.tls.wrap_socket(stream, server_side=True), True
                    lines = stream.makefile("rb")
                elif verb == "AUTH":
                    server.commands.append(base64.b64decode(command.split()[2]).decode())
                    stream.sendall(b"235 yes\r\n")
                elif verb == "DATA":
                    stream.sendall(b"354 go\r\n")
                    data = b""
                    while not data.endswith(b"\r\n.\r\n"):
                        data += lines.readline()
                    server.got.append(data.removesuffix(b".\r\n"))
                    stream.sendall(f"{server.answers.get('.', '250 taken')}\r\n".encode())
                elif verb == "QUIT":
                    stream.sendall(b"221 bye\r\n")
                    break
                else:
                    stream.sendall(b"250 ok\r\n")
            lines.close()
            stream.close()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as tcp:
        server.port = tcp.server_address[1]
        thread = Thread(target=tcp.serve_forever, args=(0.01,))
        thread.start()
        yield server
        tcp.shutdown()
        thread.join()


def mail(server: Server, **options: object) -> MailChannel:
    settings = Mail("127.0.0.1", "tidings@shop.test", server.port, timeout=20, **options)  # type: ignore[arg-type]
    return MailChannel(settings)


def message(target: str = "buyer@shop.test", rule: str = "low stock") -> Message:
    data = {"rule": rule, "when": "begins", "firing": 1, "rows": [{"item": "ü", "qty": 3}]}
    payload = {"type": f"rule.{rule}", "timestamp": "2026-03-01T08:00:00+00:00", "data": data}
    return Message(rule, 1, "mail", target, json.dumps(payload), 0, id="msg_1")


def test_a_message_is_a_mail_with_a_stable_id() -> None:
    with serving(Server()) as server:
        assert mail(server).send(message(), 0) == Arrived()
        assert mail(server).send(message(), 9) == Arrived()
    first, second = server.got
    assert first == second
    found = message_from_bytes(first)
    assert found["To"] == "buyer@shop.test"
    assert found["From"] == "tidings@shop.test"
    assert found["Subject"] == "Tidings: low stock"
    assert found["Message-ID"] == "<msg_1@shop.test>"
    text, attached = (part.get_payload(decode=True) for part in found.walk() if not part.is_multipart())
    assert isinstance(text, bytes)
    assert isinstance(attached, bytes)
    assert "item: ü" in text.decode()
    assert json.loads(attached)["data"]["rows"] == [{"item": "ü", "qty": 3}]


@pytest.mark.parametrize(
    ("answers", "kind"),
    [
        ({"RCPT": "550 nobody"}, Refused),
        ({"RCPT": "450 later"}, Failed),
        ({".": "554 no"}, Refused),
        ({".": "451 later"}, Failed),
        ({"MAIL": "530 who are you"}, Failed),
        ({"EHLO": "421 busy", "HELO": "421 busy"}, Failed),
    ],
)
def test_refusals(answers: dict[str, str], kind: type) -> None:
    with serving(Server(answers)) as server:
        assert isinstance(mail(server).send(message(), 0), kind)


def test_what_is_said_to_the_good_bye_does_not_count() -> None:
    with serving(Server({"QUIT": "500 what"})) as server:
        assert mail(server).send(message(), 0) == Arrived()


@pytest.mark.parametrize("target", ["", "nobody", "a@b\r\nBcc: c@d", "a@b, c@d", "@", "a b@c"])
def test_what_is_no_address_is_refused(target: str) -> None:
    with serving(Server()) as server:
        assert isinstance(mail(server).send(message(target), 0), Refused)
    assert server.commands == []


def test_a_rule_name_cannot_add_headers() -> None:
    with serving(Server()) as server:
        assert mail(server).send(message(rule="x\r\nBcc: c@d"), 0) == Arrived()
    assert message_from_bytes(server.got[0])["Bcc"] is None


def test_nobody_there() -> None:
    with serving(Server()) as server:
        pass
    outcome = mail(server).send(message(), 0)
    assert isinstance(outcome, Failed)
    assert outcome.unreachable


def test_starttls_and_a_password(tmp_path: Path) -> None:
    theirs, ours = certificate.made(tmp_path, "localhost")
    with serving(Server(tls=theirs)) as server:
        channel = MailChannel(Mail("localhost", "a@shop.test", server.port, True, "me", "secret", tls=ours))
        assert channel.send(message(), 0) == Arrived()
    assert server.commands[:2] == ["EHLO", "STARTTLS"]
    assert all(c.startswith("secure") or "\0" in c for c in server.commands[2:])
    assert "\0me\0secret" in server.commands
    assert "secret" not in repr(channel)


def test_starttls_or_nothing() -> None:
    with serving(Server()) as server:
        assert isinstance(mail(server, starttls=True).send(message(), 0), Failed)
        assert isinstance(mail(server, user="me", password="x").send(message(), 0), Failed)
    assert server.got == []
    assert "AUTH" not in server.commands


@pytest.mark.parametrize(
    "name", ["a\r\nBcc: evil@example.com", "=?utf-8?q?=0d=0aBcc:_evil=40example.com=0d=0a?=", "x" * 2000]
)
def test_a_name_of_a_rule_stays_in_its_header(name: str) -> None:
    mail = as_mail(replace(message(), rule=name), "s@d.e")
    headers = mail.as_bytes().partition(b"\r\n\r\n")[0]
    assert message_from_bytes(mail.as_bytes())["Bcc"] is None
    assert not any(line.lower().startswith(b"bcc") for line in headers.splitlines())
    assert len(str(mail["Subject"])) < 300


@pytest.mark.parametrize("target", ["=?utf-8?q?a=0d=0aBcc:_x?=@b.c", "a\r\n@b.c"])
def test_a_target_stays_in_its_header(target: str) -> None:
    with pytest.raises(ValueError, match="no address"):
        as_mail(replace(message(), target=target), "s@d.e")


def dripping(connection: socket.socket) -> None:
    """Greet without end, a line now and then."""
    connection.settimeout(0.02)
    with suppress(OSError):
        while True:
            connection.sendall(b"220-wait\r\n")
            with suppress(TimeoutError):
                if not connection.recv(1):
                    return


def test_a_server_that_drips_has_its_time() -> None:
    with listening(dripping) as url:
        port = int(url.rstrip("/").rpartition(":")[2])
        outcome = MailChannel(Mail("127.0.0.1", "s@d.e", port, timeout=0.2)).send(message(), 0)
    assert isinstance(outcome, Failed)
    assert outcome.unreachable
    assert "within 0.2 seconds" in outcome.reason


def test_a_mail_that_was_taken_arrived_though_the_server_hangs_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidings.deliver.mail._GOODBYE", 0.1)
    with serving(Server({"QUIT": "221-wait"})) as server:
        assert mail(server).send(message(), 0) == Arrived()
    assert len(server.got) == 1
