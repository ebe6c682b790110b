"""``wordstill explore`` and ``wordstill plot`` as a user meets them."""

import json
import re
import signal
import socket
import urllib.request

import numpy as np
import pytest

from wordstill import WordVectors

pytest.importorskip("uvicorn")


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(0)
    words = ["king", "queen", "man", "woman", "son", "daughter", *(f"word{number}" for number in range(30))]
    rows = random.normal(size=(len(words), 8)).astype(np.float32)
    WordVectors(words, rows, counts=np.arange(len(words), 0, -1)).save(tmp_path / "vectors")
    return tmp_path / "vectors"


def test_the_page_is_served_until_it_is_interrupted(start, table):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = start("explore", table, "--no-browser", "--layout", "pca", "--port", port)
        line = process.stdout.readline()
    address = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert int(address[1]) != port
    with urllib.request.urlopen(f"{address[0]}api/tables", timeout=10) as response:
        assert json.load(response)["tables"][0]["words"] == 36
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert f"Port {port} is in use; using {address[1]}." in err


def test_one_file_and_what_it_replaces(cli, table, tmp_path):
    page = tmp_path / "page.html"
    result = cli("explore", table, "--layout", "pca", "--html", page)
    assert result.code == 0, result.err
    assert page.read_text().startswith("<!doctype html>")
    assert "exists already" in cli("explore", table, "--html", page).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--text", "nothing"), "nothing is not a prepared text. Prepare it first: wordstill prepare nothing"),
        (("--layout", "tnse"), "Unknown map 'tnse'. Did you mean 'tsne'?"),
        (("--scores", "nothing"), "Cannot read nothing: No such file"),
    ],
)
def test_bad_input_gets_one_line(cli, table, arguments, message):
    result = cli("explore", table, "--no-browser", *arguments)
    assert result.code in (1, 2)
    assert message in result.err
    assert len(result.err.strip().splitlines()) == 1


def test_figures(cli, table, tmp_path):
    for arguments in (
        ("map", table, "--layout", "pca"),
        ("relation", table, "--pairs", "king:queen,man:woman,son:daughter"),
        ("heat", table, "--words", "king,queen"),
    ):
        out = tmp_path / f"{arguments[0]}.svg"
        result = cli("plot", *arguments, "--out", out)
        assert result.code == 0, result.err
        assert out.read_text().startswith("<svg")
    assert "Unknown figure 'heatmap'. Did you mean 'heat'" in cli("plot", "heatmap", table, "--out", "x.svg").err
    assert "needs two words or more, got 0" in cli("plot", "heat", table, "--out", tmp_path / "x.svg").err
    assert "king, queen" not in cli("plot", "change", table, "--out", tmp_path / "x.svg").out
    assert "two tables, got 1" in cli("plot", "change", table, "--out", tmp_path / "x.svg").err
