"""A receiver of webhooks in a process of its own, with moods: ``python -m tests.unit.deliver.receiver SECRET``.

It prints its port and serves until its input ends.  ``POST /case/mood`` delivers; ``GET /case`` tells every request of
a case, in order.  It takes each id once, as receivers should, and says which request was the one that counted.

==========  ============================================================
ok          200
fails       500 twice for each id, then 200
hangs       no answer to the first request of each id, and it is not taken
late        the first request of each id is taken, but not answered
busy        429 and ``Retry-After: 30`` to the very first, then 200
gone        410
==========  ============================================================
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread

from tidings.deliver.signature import verifies


@dataclass(frozen=True, slots=True)
class Request:
    """One that came: is it signed, was it answered with a status, and did it count?"""

    mood: str
    id: str
    timestamp: int
    body: str
    signed: bool
    status: int | None
    counted: bool


class RequestLog:
    """What came, by case."""

    def __init__(self) -> None:
        self.requests: dict[str, list[Request]] = {}
        self.mutex = Lock()

    def enter(self, case: str, mood: str, headers: dict[str, str], body: bytes) -> Request:
        id, timestamp = headers["webhook-id"], int(headers["webhook-timestamp"])
        with self.mutex:
            known = self.requests.setdefault(case, [])
            before = [r for r in known if r.mood == mood]
            of_id = [r for r in before if r.id == id]
            status: int | None = 200
            match mood:
                case "fails" if len(of_id) < 2:
                    status = 500
                case "hangs" | "late" if not of_id:
                    status = None
                case "busy" if not before:
                    status = 429
                case "gone":
                    status = 410
            is_taken = status == 200 or (mood == "late" and status is None)
            counts = is_taken and not any(r.counted for r in of_id)
            is_signed = verifies(sys.argv[1], headers, body, timestamp)
            known.append(Request(mood, id, timestamp, body.decode(), is_signed, status, counts))
            return known[-1]


REQUESTS = RequestLog()


class Handler(BaseHTTPRequestHandler):
    """Answers by mood."""

    def do_POST(self) -> None:
        _, case, mood = self.path.split("/")
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:  # the sender was killed: what it sent is no request
            self.close_connection = True
            return
        request = REQUESTS.enter(case, mood, {k.lower(): v for k, v in self.headers.items()}, body)
        if request.status is None:
            self.close_connection = True
            self.rfile.read(1)  # until the other side has had enough
            return
        self.send_response(request.status)
        if request.status == 429:
            self.send_header("Retry-After", "30")
        self.end_headers()

    def do_GET(self) -> None:
        with REQUESTS.mutex:
            told = json.dumps([asdict(r) for r in REQUESTS.requests.get(self.path[1:], [])])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(told.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet."""


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_address[1], flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
