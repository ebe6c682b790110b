"""What the documents say is true: their code runs, and their links lead somewhere."""

import ast
import functools
import importlib
import re
from pathlib import Path

import pytest

from wordstill.methods import blocks
from wordstill.teacher import Teacher

ROOT = Path(__file__).parents[1]
SENTENCES = (
    "The language of the island is spoken by few people. They teach the language to their children at home.\n"
    "A river runs through the old town. People cross the river by boat, and the town lives by the river.\n"
)


def python_blocks(name):
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)


def test_code_of_the_tutorials_compiles_and_imports_what_there_is():
    pages = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
    assert pages
    for page in pages:
        cells = re.findall(r"```\{code-cell\} python\n(.*?)```", page.read_text(), flags=re.DOTALL)
        script = "\n".join(re.sub(r"^:tags:.*$", "", cell, flags=re.MULTILINE) for cell in cells)
        tree = ast.parse(script, filename=page.name)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("wordstill"):
                module = importlib.import_module(node.module)
                assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == [], page.name


@pytest.fixture(scope="module")
def done_once():
    """Examples distill the same sentences again and again: teachers are loaded, and covariances decomposed, once."""
    decomposed, real = {}, blocks.principal_axes

    def principal_axes(covariance, count):
        key = (covariance.numpy().tobytes(), count)
        if key not in decomposed:
            decomposed[key] = real(covariance, count)
        return decomposed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "principal_axes", principal_axes)
        patch.setattr(Teacher, "from_config", functools.cache(Teacher.from_config))
        yield


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["README.md", "docs/guide.md", "docs/python.md", "docs/associations.md", "docs/change.md"]
)
@pytest.mark.filterwarnings("default")
@pytest.mark.usefixtures("done_once")
def test_python_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("corpus.txt").write_text(SENTENCES * 6)
    script = "\n".join(python_blocks(name))
    assert script
    exec(compile(script, name, "exec"), {"__name__": "__main__"})


def test_links_lead_somewhere():
    lost = []
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/*.md")):
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", page.read_text()):
            file = page.parent / target if target else page
            if not file.exists() or (anchor and anchor not in anchors(file)):
                lost.append(f"{page.name}: {target}#{anchor}")
    assert lost == []


def test_the_tour_names_every_room_and_where_to_start_reading():
    source = ROOT / "src" / "wordstill"
    rows = re.findall(r"^\| `(\w+)/` \|.*\| ([^|]*) \|$", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    assert {room for room, _ in rows} == {path.parent.name for path in source.glob("*/__init__.py")}
    named = [source / room / file for room, files in rows for file in re.findall(r"`([\w/]+\.py)`", files)]
    assert [str(path) for path in named if not path.exists()] == []


def anchors(page):
    """The names that a page's headings have on GitHub."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}
