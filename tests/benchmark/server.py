"""A static server that compresses, allows caching, and can be as slow as a line: the benchmark's end of it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import urlsplit

from macros.security import policy

TYPES = {
    "css": "text/css",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript",
    "json": "application/json",
    "mjs": "text/javascript",
    "svg": "image/svg+xml",
    "wasm": "application/wasm",
    "xml": "application/xml",
}
CHUNK_BYTES = 8192


class Line(NamedTuple):
    """What lies between the server and the browser."""

    bits_per_s: float | None = None
    round_trip_s: float = 0.0


class Server(ThreadingHTTPServer):
    """Answers from `find(path, encoding)`, which gives the bytes to send and how they are encoded, or nothing."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, find: Callable[[str, str], tuple[bytes, str] | None]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.find = find
        self.line = Line()
        self.encoding = "br"
        self.sent_bytes = 0
        self._lock = threading.Lock()
        self._free_at = 0.0

    def pace(self, count: int) -> None:
        """Wait until the line, which all connections share, has carried this many bytes."""
        with self._lock:
            self.sent_bytes += count
            if self.line.bits_per_s is None:
                return
            self._free_at = max(self._free_at, time.monotonic()) + count * 8 / self.line.bits_per_s
            wait = self._free_at - time.monotonic()
        if wait > 0:
            time.sleep(wait)


class Handler(BaseHTTPRequestHandler):
    """Sends a file with the type, the policy and the caching that a careful host would send."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        """Answer one request after the line's round trip."""
        time.sleep(self.server.line.round_trip_s)
        path = urlsplit(self.path).path
        encoding = self.server.encoding if self.server.encoding in self.headers.get("Accept-Encoding", "") else ""
        found = self.server.find(path, encoding)
        if found is None:
            self.send_error(404)
            return
        content, used = found
        kind = path.rpartition(".")[2] if "." in path.rpartition("/")[2] else "html"
        self.send_response(200)
        self.send_header("Content-Type", TYPES.get(kind, "application/octet-stream"))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", self.policy(path) if kind == "html" else policy(""))
        self.send_header("Cache-Control", "no-cache" if kind == "html" else "max-age=31536000, immutable")
        if used:
            self.send_header("Content-Encoding", used)
        self.end_headers()
        for start in range(0, len(content), CHUNK_BYTES):
            part = content[start : start + CHUNK_BYTES]
            self.server.pace(len(part))
            self.wfile.write(part)

    def policy(self, path: str) -> str:
        """Return the policy of a page, which names the scripts that it has inline."""
        content, _ = self.server.find(path, "") or (b"", "")
        return policy(content.decode())

    def log_message(self, *args: object) -> None:
        """Stay quiet."""


@contextmanager
def serving(find: Callable[[str, str], tuple[bytes, str] | None]) -> Iterator[Server]:
    """Serve while the context is open."""
    server = Server(find)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
