"""A stand-in for the Hugging Face Hub on the loopback address: as much of its API as uploads and downloads use."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlparse

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class StandIn(ThreadingHTTPServer):
    """Keeps repositories in memory and writes down what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.asked: list[str] = []
        self.private: dict[str, bool] = {}

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def stand_in() -> Iterator[StandIn]:
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self._get(body=False)

    def do_GET(self) -> None:
        self._get(body=True)

    def do_POST(self) -> None:
        path = urlparse(self.path).path
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(f"POST {path}")
        if path == "/api/repos/create":
            asked = json.loads(content)
            name = "/".join(filter(None, (asked.get("organization"), asked["name"])))
            self.server.repositories.setdefault(name, {})
            self.server.private[name] = asked.get("private") is True or asked.get("visibility") == "private"
            return self._json({"url": f"{self.server.address}/{name}"})
        if path == "/api/validate-yaml":
            return self._json({"errors": [], "warnings": []})
        name = "/".join(path.split("/")[3:5])
        if name not in self.server.repositories:
            return self._json({"error": "Repository not found"}, 404)
        if "/preupload/" in path:
            files = json.loads(content)["files"]
            modes = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            return self._json({"files": modes})
        if "/commit/" in path:
            for line in content.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    self.server.repositories[name][value["path"]] = base64.b64decode(value["content"])
            return self._json({"commitUrl": f"{self.server.address}/{name}/commit/{COMMIT}", "commitOid": COMMIT})
        return self._json({"error": f"unknown: {path}"}, 404)

    def _get(self, *, body: bool) -> None:
        address = urlparse(self.path)
        path = unquote(address.path)
        self.server.asked.append(f"{self.command} {path}")
        parts = path.strip("/").split("/")
        if path.startswith("/api/models/"):
            return self._describe(parts, parse_qs(address.query))
        if "resolve" in parts:
            place = parts.index("resolve")
            found = self.server.repositories.get("/".join(parts[:place]), {}).get("/".join(parts[place + 2 :]))
            if found is not None:
                return self._send(found, 200, "application/octet-stream", body=body)
        return self._json({"error": "not found"}, 404, body=body)

    def _describe(self, parts: list[str], query: dict[str, list[str]]) -> None:
        name = "/".join(parts[2:4])
        files = self.server.repositories.get(name)
        if files is None:
            return self._json({"error": "Repository not found"}, 404)
        if "tree" in parts:
            rows = [
                {"type": "file", "path": path, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for path, content in files.items()
            ]
            return self._json(rows)
        siblings = [{"rfilename": path} for path in files]
        return self._json(
            {"id": name, "modelId": name, "sha": COMMIT, "private": False, "tags": [], "siblings": siblings}
        )

    def _json(self, content: Any, code: int = 200, *, body: bool = True) -> None:
        self._send(json.dumps(content).encode(), code, "application/json", body=body)

    def _send(self, content: bytes, code: int, kind: str, *, body: bool = True) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        if code == 404:
            self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()
        if body:
            self.wfile.write(content)
