"""The server: only its own address, only reading, and nothing brings it down."""

import http.client
import json
import re
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("uvicorn")

from experiments.speed.hostile import hostile_request, send
from wordstill.explore.server import POLICY, bind, describe


def get(address, path, method="GET", headers=None):
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    connection.request(method, path, headers=headers or {})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_page_and_script_come_with_a_strict_policy(address):
    for path, kind in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
        response, body = get(address, path)
        assert response.status == 200
        assert response.headers["content-type"].startswith(kind)
        assert response.headers["content-security-policy"] == POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert body
    assert "unsafe" not in POLICY
    assert "'none'" in POLICY


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_there_is_no_write_verb(address, method):
    response, _ = get(address, "/api/tables", method)
    assert response.status == 405


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil.example"])
def test_other_hosts_are_refused(address, host):
    response, body = get(address, "/api/tables", headers={"Host": host})
    assert response.status == 421
    assert b"own address" in body


def test_other_pages_are_refused(address):
    response, _ = get(address, "/api/tables", headers={"Sec-Fetch-Site": "cross-site"})
    assert response.status == 403


def test_it_listens_on_the_loopback_address_only():
    bound = bind(31_700)
    assert bound.getsockname()[0] == "127.0.0.1"
    bound.close()


def test_a_port_in_use_takes_the_next():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        bound = bind(port)
        assert port < bound.getsockname()[1] < port + 50
        bound.close()


def test_answers_are_json_and_errors_are_one_line(address):
    response, body = get(address, "/api/neighbors?word=river&table=first&topn=2")
    assert response.status == 200
    assert [set(near) for near in json.loads(body)["neighbors"]] == [{"word", "score", "count"}] * 2
    for path, status, text in (
        ("/api/neighbors?word=quean", 404, "is not in this table"),
        ("/api/neighbors", 400, "needs the parameter 'word'"),
        ("/api/neighbors?word=river&topn=x", 400, "topn is 'x', expected a whole number"),
        ("/api/neighbors?word=river&many=3", 400, "no parameter 'many'"),
        ("/api/neighbors?word=river&table=third", 400, "Unknown table 'third'"),
        ("/api/secrets", 404, "There is no /api/secrets"),
    ):
        response, body = get(address, path)
        assert response.status == status, path
        assert text in json.loads(body)["error"]


def test_the_api_describes_itself(address, library):
    about = json.loads(get(address, "/api")[1])
    assert about == json.loads(json.dumps(describe(library)))
    assert {endpoint["reply"] for endpoint in about["endpoints"]} <= set(about["replies"])
    assert about["replies"]["Near"] == {"word": "str", "score": "float", "count": "int | null"}


def test_hostile_requests_leave_it_up(address):
    for seed in range(300):
        send(address, hostile_request(seed))
    response, body = get(address, "/api/neighbors?word=river")
    assert response.status == 200
    assert json.loads(body)["word"] == "river"


def test_the_documents_name_every_address(library):
    page = (Path(__file__).parents[2] / "docs" / "explore.md").read_text()
    rows = dict(re.findall(r"^\| `(/api/\w+)` \|([^|]*)\|", page, flags=re.MULTILINE))
    for endpoint in describe(library)["endpoints"]:
        assert re.findall(r"`(\w+)`", rows.pop(endpoint["address"])) == list(endpoint["parameters"])
    assert not rows
