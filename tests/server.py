"""A static server for a built site, as a careful host would have it: MIME types, caching, the policy as a header."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from macros.security import policy

PREFIX = "/guide/"  # the site stands below the root of its host, as on GitHub Pages


class Handler(SimpleHTTPRequestHandler):
    """Serves one folder under `PREFIX`."""

    protocol_version = "HTTP/1.1"
    extensions_map = SimpleHTTPRequestHandler.extensions_map | {".mjs": "text/javascript", ".wasm": "application/wasm"}

    def translate_path(self, path: str) -> str:
        """Return the file for an address; nothing outside the prefix exists."""
        return super().translate_path("/" + path.removeprefix(PREFIX) if path.startswith(PREFIX) else "/none/none")

    def end_headers(self) -> None:
        """Add what a careful host sends."""
        place = Path(self.translate_path(self.path))
        page = place / "index.html" if place.is_dir() else place
        html = page.read_text(encoding="utf-8") if page.suffix == ".html" and page.exists() else ""
        self.send_header("Content-Security-Policy", policy(html))
        self.send_header("Cache-Control", "max-age=600")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the library's name)
        """Stay quiet."""


@contextmanager
def serving(folder: Path, port: int = 0) -> Iterator[str]:
    """Serve a folder while the context is open; gives the address of the site."""

    def handler(*args: object) -> Handler:
        return Handler(*args, directory=str(folder))  # type: ignore[arg-type]

    server = ThreadingHTTPServer(("127.0.0.1", port), handler)  # type: ignore[arg-type]
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{PREFIX}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
