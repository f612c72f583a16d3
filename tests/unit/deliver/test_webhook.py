"""Webhooks against a real server on this machine."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Thread

import pytest

from tests.unit.deliver import certificate
from tests.unit.deliver.help import SECOND
from tidings.deliver.address import is_allowed
from tidings.deliver.channel import Arrived, Ended, Failed, Refused
from tidings.deliver.signature import InvalidSecret, new_secret, verifies
from tidings.deliver.webhook import Webhook
from tidings.store.rules.messages import Message
from tidings.targets import read_url

SECRET = new_secret()
HERE = [ip_network("127.0.0.0/8")]
NOW = 1_700_000_000 * SECOND


@dataclass(slots=True)
class Receiver:
    """What it answers with, and what it has got."""

    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    port: int = 0
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"


@contextmanager
def serving(receiver: Receiver, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving(Receiver()) as made:
        yield made


def to(target: str) -> Message:
    return Message("low", 1, "webhook", target, '{"item": "ü"}', 0, id="msg_1")


def hook(**options: object) -> Webhook:
    return Webhook([SECRET], allow=HERE, **options)  # type: ignore[arg-type]


def test_a_message_is_posted_and_signed(receiver: Receiver) -> None:
    assert hook().send(to(receiver.url), NOW) == Arrived()
    ((path, headers, body),) = receiver.got
    assert (path, body) == ("/hook?x=1", '{"item": "ü"}'.encode())
    assert headers["webhook-id"] == "msg_1"
    assert headers["webhook-timestamp"] == str(NOW // SECOND)
    assert headers["content-type"] == "application/json"
    assert headers["host"] == f"127.0.0.1:{receiver.port}"
    assert verifies(SECRET, headers, body, NOW // SECOND)
    assert not verifies(SECRET, headers, body, NOW // SECOND + 301)
    assert not verifies(new_secret(), headers, body, NOW // SECOND)
    assert not verifies(SECRET, headers | {"webhook-id": "msg_2"}, body, NOW // SECOND)
    assert not verifies(SECRET, {}, body, NOW // SECOND)


def test_a_target_may_have_secrets_of_its_own_and_two_while_they_change(receiver: Receiver) -> None:
    old, new = new_secret(), new_secret()
    Webhook([SECRET], {receiver.url: [old, new]}, HERE).send(to(receiver.url), NOW)
    ((_, headers, body),) = receiver.got
    assert [verifies(s, headers, body, NOW // SECOND) for s in (old, new, SECRET)] == [True, True, False]


def test_without_a_secret_nothing_is_sent(receiver: Receiver) -> None:
    assert isinstance(Webhook(allow=HERE).send(to(receiver.url), NOW), Failed)
    assert receiver.got == []


@pytest.mark.parametrize("secret", ["x", "whsec_###", "whsec_c2hvcnQ="])
def test_secrets_that_are_none_are_refused(secret: str) -> None:
    with pytest.raises(InvalidSecret):
        Webhook([secret])


def test_secrets_are_not_shown() -> None:
    assert SECRET not in repr(Webhook([SECRET], {"x": [SECRET]}))


@pytest.mark.parametrize("status", [200, 202, 204])
def test_success(receiver: Receiver, status: int) -> None:
    receiver.status = status
    assert hook().send(to(receiver.url), NOW) == Arrived()


def test_gone(receiver: Receiver) -> None:
    receiver.status = 410
    assert hook().send(to(receiver.url), NOW) == Ended("410 Gone")


@pytest.mark.parametrize(
    ("status", "unreachable"), [(400, False), (404, False), (500, False), (429, True), (502, True), (503, True)]
)
def test_failure(receiver: Receiver, status: int, unreachable: bool) -> None:
    receiver.status = status
    outcome = hook().send(to(receiver.url), NOW)
    assert isinstance(outcome, Failed)
    assert (outcome.not_before, outcome.unreachable) == (None, unreachable)


@pytest.mark.parametrize(
    ("status", "told", "not_before"),
    [
        (429, "120", NOW + 120 * SECOND),
        (503, "Tue, 14 Nov 2023 22:14:20 GMT", 1_700_000_060 * SECOND),
        (503, "soon", None),
        (500, "120", None),
    ],
)
def test_when_to_come_back(receiver: Receiver, status: int, told: str, not_before: int | None) -> None:
    receiver.status, receiver.headers = status, {"Retry-After": told}
    outcome = hook().send(to(receiver.url), NOW)
    assert isinstance(outcome, Failed)
    assert outcome.not_before == not_before


def test_redirects_are_not_followed(receiver: Receiver) -> None:
    receiver.status, receiver.headers = 307, {"Location": receiver.url}
    assert isinstance(hook().send(to(receiver.url), NOW), Failed)
    assert len(receiver.got) == 1


@contextmanager
def listening(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does something odd with one connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                answer(connection)

        thread = Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"
        thread.join()


def silent(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def dripping(connection: socket.socket) -> None:
    """A header that never ends, a byte at a time: no single read times out."""
    connection.settimeout(0.02)
    try:
        connection.sendall(b"HTTP/1.1 200 OK\r\nX: ")
        while True:
            connection.sendall(b"x")
            try:
                if not connection.recv(4096):
                    return
            except TimeoutError:
                continue
    except OSError:
        return


def nonsense(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"nonsense\r\n\r\n")


@pytest.mark.parametrize("odd", [silent, dripping, nonsense])
def test_odd_servers_are_failures_in_finite_time(odd: Callable[[socket.socket], None]) -> None:
    with listening(odd) as url:
        outcome = hook(timeout=0.3).send(to(url), NOW)
    assert isinstance(outcome, Failed)
    assert outcome.unreachable
    is_late = "within 0.3 seconds" in outcome.reason or "timed out" in outcome.reason
    assert is_late == (odd is not nonsense)


def test_nobody_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
    outcome = hook().send(to(url), NOW)
    assert isinstance(outcome, Failed)
    assert outcome.unreachable


def test_a_name_that_does_not_resolve_is_a_failure() -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert isinstance(hook(resolve=unknown).send(to("http://hooks.test/"), NOW), Failed)


PRIVATE = [
    *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
    *("224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "::1", "::", "fe80::1", "fe80::1%1", "fc00::1"),
    *("ff02::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:0:7f00:1::"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_refused_and_not_connected_to(address: str) -> None:
    def found(host: str, port: int) -> list[str]:
        return [address]

    outcome = Webhook([SECRET], resolve=found).send(to("http://hooks.test/"), NOW)
    assert isinstance(outcome, Refused)
    assert address in outcome.reason


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:21f::1", "64:ff9b::5db8:d822"])
def test_public_addresses_are_allowed(address: str) -> None:
    assert is_allowed(address)


def test_networks_are_allowed_by_name() -> None:
    assert is_allowed("10.1.2.3", [ip_network("10.0.0.0/8")])
    assert is_allowed("::ffff:10.1.2.3", [ip_network("10.0.0.0/8")])
    assert not is_allowed("10.1.2.3", [ip_network("192.168.0.0/16"), ip_network("::/0")])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f000001", "2130706433", "127.1", "[::1]"])
def test_odd_spellings_of_this_machine_are_refused(host: str) -> None:
    outcome = Webhook([SECRET]).send(to(f"http://{host}:9/"), NOW)
    assert isinstance(outcome, Refused) or (isinstance(outcome, Failed) and "resolved" in outcome.reason)


def test_the_connection_goes_to_the_address_that_was_looked_at(receiver: Receiver) -> None:
    """A name server that answers otherwise the second time is not asked a second time."""
    asked = []

    def changing(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    url = f"http://hooks.test:{receiver.port}/"
    assert hook(resolve=changing).send(to(url), NOW) == Arrived()
    assert asked == ["hooks.test"]
    assert receiver.got[0][1]["host"] == f"hooks.test:{receiver.port}"


def test_addresses_that_are_not_allowed_are_passed_over(receiver: Receiver) -> None:
    def both(host: str, port: int) -> list[str]:
        return ["169.254.169.254", "127.0.0.1"]

    assert hook(resolve=both).send(to(f"http://hooks.test:{receiver.port}/"), NOW) == Arrived()


@pytest.mark.parametrize(
    "target",
    [
        *("ftp://example.com/", "example.com", "http://", "http://user:pw@example.com/", "http://example.com:x/"),
        *("http://example.com/a b", "http://example.com/\r\nHost: x", "http://[::1", ""),
    ],
)
def test_what_is_no_url_is_refused(target: str) -> None:
    assert isinstance(hook().send(to(target), NOW), Refused)


def test_urls_are_made_plain() -> None:
    found = read_url("https://bücher.example/ü?q=ä")
    assert (found.host, found.path) == ("xn--bcher-kva.example", "/%C3%BC?q=%C3%A4")


def test_tls_is_for_the_name_though_the_connection_is_to_the_address(tmp_path: Path) -> None:
    server, client = certificate.made(tmp_path, "hooks.test")
    with serving(Receiver(), server) as receiver:
        options = {"resolve": lambda host, port: ["127.0.0.1"], "tls": client}
        assert hook(**options).send(to(f"https://hooks.test:{receiver.port}/"), NOW) == Arrived()
        wrong = hook(**options).send(to(f"https://other.test:{receiver.port}/"), NOW)
        assert isinstance(wrong, Failed)
        stranger = hook(resolve=options["resolve"]).send(to(f"https://hooks.test:{receiver.port}/"), NOW)
        assert isinstance(stranger, Failed)
    assert len(receiver.got) == 1


def test_what_a_receiver_says_is_cut_and_cleaned() -> None:
    def rude(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 500 no\x1b[2J room for tokenTOKEN12 " + b"x" * 5000 + b"\r\n\r\n")

    with listening(rude) as url:
        outcome = hook().send(to(f"{url}hook/tokenTOKEN12"), NOW)
    assert isinstance(outcome, Failed)
    assert outcome.reason.isprintable()
    assert len(outcome.reason) <= 300
    assert "TOKEN12" not in outcome.reason
    assert outcome.reason.startswith("500 no [2J room for ***")


@pytest.mark.parametrize("address", ["168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254"])
def test_no_connection_is_made_to_the_metadata_of_a_cloud(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def connected(*_: object) -> socket.socket:
        raise AssertionError("a connection was made")

    monkeypatch.setattr("tidings.deliver.attempts.socket.create_connection", connected)
    webhook = Webhook([SECRET], resolve=lambda host, port: [address])
    assert isinstance(webhook.send(to("http://hooks.test/"), NOW), Refused)
