"""Hostile requests to the page's server, for its tests and its benchmark."""

from __future__ import annotations

import random
import socket
from contextlib import suppress
from urllib.parse import quote, urlsplit

NAMES = ("tables", "map", "search", "neighbors", "word", "sentences", "analogy", "odd", "axis", "compare", "x")
KEYS = ("word", "table", "q", "topn", "limit", "words", "low", "high", "a", "b", "c", "pairs", "offset", "first")
TEXTS = ("", "-1", "9" * 20, "river", "\0", "🜁", "../../etc/passwd", "<script>", "%", "a" * 3000, ",:,:")
FOLDERS = ("/api/", "/", "//", "/static/../", "/%2e%2e/", "/api/../")
HERE = "HERE"
"""Placeholder for the server's address, which is known only when the request is sent."""


def hostile_request(seed: int) -> bytes:
    """Noise, an endless path, a foreign Host, a strange verb, or a question with strange parameters."""
    draw = random.Random(seed)
    path = draw.choice(FOLDERS) + draw.choice(NAMES)
    query = "&".join(f"{draw.choice(KEYS)}={quote(draw.choice(TEXTS))}" for _ in range(draw.randrange(5)))
    kind = draw.randrange(6)
    if kind == 0:
        return draw.randbytes(draw.randrange(200))
    if kind == 1:
        return b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n"
    if kind == 2:
        return f"GET {path}?{query} HTTP/1.1\r\nHost: {draw.choice(TEXTS)[:50]}\r\n\r\n".encode("utf-8", "replace")
    verb = draw.choice(["GET", "GET", "HEAD", "POST", "TRACE", "BREW"])
    body = "Content-Length: 5\r\n\r\nabc" if verb == "POST" else "\r\n"
    return f"{verb} {path}?{query} HTTP/1.1\r\nHost: {HERE}\r\n{body}".encode()


def send(address: str, data: bytes) -> None:
    """Send a request and read whatever comes back."""
    place = urlsplit(address)
    where = (place.hostname or "", place.port or 0)
    with socket.create_connection(where, timeout=10) as connection, suppress(ConnectionError):
        connection.sendall(data.replace(HERE.encode(), place.netloc.encode()))
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass
