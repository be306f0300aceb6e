"""An HTTP proxy in front of an S3 server that fails as it is told."""

import os
import re
import socket
import struct
import time
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from urllib.parse import urlsplit

PAUSE = 0.6
"""Seconds of silence; have clients wait for less."""


@dataclass
class Fault:
    """What happens to requests whose method, path and query, and access key match.

    The first `after` of them pass, the next `times` of them are hit. `method` and `path` are
    regular expressions, the first for all of it.
    """

    act: Callable[["Exchange"], None]
    method: str
    path: str
    access_key: str
    after: int
    times: float

    def hits(self, request):
        if not (
            re.fullmatch(self.method, request.command)
            and re.search(self.path, request.path)
            and f"Credential={self.access_key}" in request.headers["Authorization"]
        ):
            return False
        if self.after > 0:
            self.after -= 1
            return False
        self.times -= 1
        return self.times >= 0


class Exchange(BaseHTTPRequestHandler):
    """One connection: requests are passed on to the server, or hit by a fault."""

    protocol_version = "HTTP/1.1"

    def handle(self):
        with suppress(ConnectionError):
            super().handle()

    def exchange(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.server.proxy.fault_for(self)
        if fault:
            fault.act(self)
        else:
            self.answer(*self.forward())

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = exchange  # noqa: N815

    def forward(self):
        """Status, headers and body that the server answers."""
        connection = HTTPConnection(self.server.proxy.target, timeout=30)
        try:
            connection.request(self.command, self.path, self.body, dict(self.headers))
            response = connection.getresponse()
            return response.status, dict(response.headers), response.read()
        finally:
            connection.close()

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in {"connection", "transfer-encoding", "content-length"}:
                self.send_header(name, value)
        length = headers.get("Content-Length", len(body))
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def drop(self):
        """Close the connection."""
        self.close_connection = True

    def reset(self):
        """Close the connection by a TCP reset, which loses what was not received yet."""
        without_lingering = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, without_lingering)
        os.close(self.connection.detach())
        self.drop()

    def log_message(self, format, *args):  # noqa: A002
        pass


def refuse(status, code, message="told to fail", **elements):
    """Answer with an S3 error instead of asking the server."""
    told = {"Code": code, "Message": message} | elements
    body = "".join(f"<{name}>{text}</{name}>" for name, text in told.items())

    def act(exchange):
        exchange.answer(
            status, {"Content-Type": "application/xml"}, f"<Error>{body}</Error>".encode()
        )

    return act


def reset(exchange):
    """Reset the connection before the server hears of the request."""
    exchange.reset()


def lose_response(exchange):
    """Let the server do what is asked, and lose its answer."""
    exchange.forward()
    exchange.drop()


def cut_short(exchange):
    """Send half of the body that the headers promise."""
    status, headers, body = exchange.forward()
    exchange.answer(status, headers | {"Content-Length": len(body)}, body[: len(body) // 2])
    exchange.drop()


def break_off(exchange):
    """Send half of the body, then reset the connection."""
    cut_short(exchange)
    time.sleep(0.05)
    exchange.reset()


def shorten(exchange):
    """Send half of the body, and headers that promise no more."""
    status, headers, body = exchange.forward()
    headers.pop("Content-Length", None)
    exchange.answer(status, headers, body[: len(body) // 2])


def stall(exchange):
    """Say nothing for longer than anybody waits."""
    time.sleep(PAUSE)
    exchange.drop()


def stall_midway(exchange):
    """Send half of the body, and no more for longer than anybody waits."""
    cut_short(exchange)
    time.sleep(PAUSE)


@dataclass
class FaultyProxy:
    """The faults to come, and the requests that were made."""

    target: str
    url: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def fail(self, act, method, path="", *, access_key="", after=0, times=1):
        self.faults.append(Fault(act, method, path, access_key, after, times))

    def fault_for(self, request):
        with self._lock:
            self.requests.append((request.command, request.path))
            return next((fault for fault in self.faults if fault.hits(request)), None)

    def count(self, method, path):
        return sum(command == method and path in asked for command, asked in self.requests)


@contextmanager
def faulty_proxy(endpoint):
    """A proxy in front of the server at `endpoint`."""
    proxy = FaultyProxy(urlsplit(endpoint).netloc)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    server.proxy = proxy
    proxy.url = "http://{}:{}".format(*server.server_address)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
