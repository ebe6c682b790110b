"""The server of the page: loopback only, its own Host only, GET only, and a strict content security policy."""

from __future__ import annotations

import inspect
import json
import logging
import socket
import types
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass, fields, is_dataclass
from importlib.resources import files
from typing import Any, get_args, get_origin, get_type_hints

from wordstill.errors import MissingExtra, UsageError, WordstillError
from wordstill.explore.answers import Answers
from wordstill.explore.library import Library
from wordstill.explore.meanings import Meanings
from wordstill.explore.score_answers import ScoreAnswers
from wordstill.vectors.oov import UnknownWord, near_in_spelling

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
except ModuleNotFoundError as error:
    raise MissingExtra(str(error.name), "explore", "The page") from error

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
PORT, PORTS_TRIED = 8484, 50
LONGEST_QUERY = 8192
MOST_CONNECTIONS = 100
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
STATIC = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    "/notices.txt": ("notices.txt", "text/plain; charset=utf-8"),
}
ANSWERS = (Answers, Meanings, ScoreAnswers)
"""Every public method of these is an endpoint under ``/api``."""
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Endpoint:
    """An endpoint under ``/api``."""

    name: str
    ask: Callable[..., Any]
    parameters: dict[str, inspect.Parameter]

    @classmethod
    def all_of(cls, library: Library) -> list[Endpoint]:
        """All endpoints of a library, in the order of the classes."""
        asks = [
            (name, getattr(kind(library), name))
            for kind in ANSWERS
            for name, made in vars(kind).items()
            if inspect.isfunction(made) and name[0] != "_"
        ]
        return [cls(name, ask, dict(inspect.signature(ask, eval_str=True).parameters)) for name, ask in asks]

    def arguments(self, given: dict[str, str]) -> dict[str, Any]:
        """The parameters of a request, converted to their types."""
        if strange := sorted(set(given) - set(self.parameters)):
            known = ", ".join(self.parameters) or "none"
            raise UsageError(f"/api/{self.name} has no parameter {strange[0]!r}. Known: {known}.")
        arguments: dict[str, Any] = {}
        for name, parameter in self.parameters.items():
            if name in given:
                arguments[name] = _converted(name, given[name], parameter.annotation)
            elif parameter.default is inspect.Parameter.empty:
                raise UsageError(f"/api/{self.name} needs the parameter {name!r}.")
        return arguments

    def described(self) -> dict[str, Any]:
        """Its description, parameters, and type of reply."""
        reply = inspect.signature(self.ask, eval_str=True).return_annotation
        return {
            "address": f"/api/{self.name}",
            "about": (inspect.getdoc(self.ask) or "").partition("\n")[0],
            "parameters": {
                name: {
                    "type": parameter.annotation.__name__,
                    "required": parameter.default is inspect.Parameter.empty,
                    "default": None if parameter.default is inspect.Parameter.empty else parameter.default,
                }
                for name, parameter in self.parameters.items()
            },
            "reply": reply.__name__,
        }


def describe(library: Library) -> dict[str, Any]:
    """The whole API: endpoints, and the fields of all replies."""
    endpoints = Endpoint.all_of(library)
    shapes: dict[str, dict[str, str]] = {}
    for endpoint in endpoints:
        for kind in _kinds(inspect.signature(endpoint.ask, eval_str=True).return_annotation):
            hints = get_type_hints(kind)
            shapes[kind.__name__] = {field.name: _type_text(hints[field.name]) for field in fields(kind)}
    return {"endpoints": [endpoint.described() for endpoint in endpoints], "replies": shapes}


def make_app(library: Library, hosts: set[str]) -> App:
    """The application, which answers only requests with one of ``hosts`` as their Host header."""
    endpoints = {endpoint.name: endpoint for endpoint in Endpoint.all_of(library)}
    folder = files("wordstill.explore") / "static"
    content = {path: (folder.joinpath(name).read_bytes(), kind) for path, (name, kind) in STATIC.items()}
    about = describe(library)

    async def static(request: Request) -> Response:
        body, kind = content[request.url.path]
        return Response(body, media_type=kind)

    async def index(_: Request) -> Response:
        return reply(about)

    async def ask(request: Request) -> Response:
        endpoint = endpoints.get(request.path_params["name"])
        if endpoint is None:
            return reply({"error": f"There is no /api/{request.path_params['name']}; see /api."}, 404)
        try:
            arguments = endpoint.arguments(dict(request.query_params))
            return await run_in_threadpool(lambda: reply(endpoint.ask(**arguments)))
        except UnknownWord as error:
            words = library.table(request.query_params.get("table", "")).vectors.words
            near = await run_in_threadpool(near_in_spelling, error.word, words)
            return reply({"error": f"{error.word!r} is not in this table.", "near": near}, 404)
        except WordstillError as error:
            return reply({"error": str(error)}, 400)

    routes = [*(Route(path, static) for path in STATIC), Route("/api", index), Route("/api/{name}", ask)]
    return guarded(Starlette(routes=routes), hosts)


def guarded(app: App, hosts: set[str]) -> App:
    """The same application with the server's rules: Host, method, origin, length, headers, no traceback."""

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        started = False

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        refused = _refusal(scope, hosts)
        try:
            await (refused or app)(scope, receive, send_with_headers)
        except Exception:
            log.exception("A request could not be answered: %s", scope.get("path"))
            if not started:
                await reply({"error": "This request could not be answered."}, 500)(scope, receive, send_with_headers)

    return guard


def reply(content: Any, status: int = 200) -> Response:
    """Data as JSON."""
    text = json.dumps(content, default=_plain, ensure_ascii=False, separators=(",", ":"))
    # A word may be a lone surrogate, which cannot be encoded as UTF-8.
    return Response(text.encode("utf-8", "replace"), status, media_type="application/json")


def bind(port: int) -> socket.socket:
    """A socket on the loopback address, with this port or the next free one."""
    for number in range(port, min(port + PORTS_TRIED, 65_536)):
        bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((LOOPBACK, number))
            bound.listen(MOST_CONNECTIONS)
        except OSError:
            bound.close()
            continue
        return bound
    raise UsageError(f"No port from {port} to {port + PORTS_TRIED - 1} is free. Choose another: --port.")


def make_server(library: Library, bound: socket.socket) -> uvicorn.Server:
    """The server on a bound socket; ``run(sockets=[bound])`` serves until it is interrupted."""
    port = bound.getsockname()[1]
    app = make_app(library, {f"{LOOPBACK}:{port}", f"localhost:{port}"})
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        http="h11",
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
    )
    return uvicorn.Server(config)


def _refusal(scope: Scope, hosts: set[str]) -> Response | None:
    headers = {name.lower(): value for name, value in scope["headers"]}
    if headers.get(b"host", b"").decode("latin-1").lower() not in hosts:
        return reply({"error": "This page answers only to its own address."}, 421)
    if scope["method"] not in ("GET", "HEAD"):
        return reply({"error": "This page can only be read."}, 405)
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        return reply({"error": "This page does not answer other pages."}, 403)
    if len(scope.get("query_string", b"")) > LONGEST_QUERY:
        return reply({"error": f"The question is longer than {LONGEST_QUERY} bytes."}, 414)
    return None


def _converted(name: str, text: str, kind: type) -> Any:
    if kind is not int:
        return text
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or abs(number) > 1_000_000_000:
        raise UsageError(f"{name} is {text[:40]!r}, expected a whole number.")
    return number


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    raise TypeError(type(value).__name__)


def _kinds(hint: Any) -> Iterator[type]:
    """The dataclasses in a type, and those in their fields."""
    if isinstance(hint, type) and is_dataclass(hint):
        yield hint
        for inner in get_type_hints(hint).values():
            yield from _kinds(inner)
    for inner in get_args(hint):
        yield from _kinds(inner)


def _type_text(hint: Any) -> str:
    if get_origin(hint) is types.UnionType:
        return " | ".join(_type_text(inner) for inner in get_args(hint))
    if get_args(hint):
        return f"{get_origin(hint).__name__}[{', '.join(_type_text(inner) for inner in get_args(hint))}]"
    return "null" if hint is type(None) else str(getattr(hint, "__name__", hint))
