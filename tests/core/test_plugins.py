from __future__ import annotations

import subprocess
import sys

import pytest

from wordstill.core.plugins import Registry
from wordstill.errors import PluginError, UsageError

GROUP = "wordstill.test-plugins"


class Shape:
    pass


class Square(Shape):
    pass


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Put packages on the path, each a module and the record that an installer leaves of its entry points."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(package: str, points: dict[str, str], code: str = "") -> None:
        (tmp_path / f"{package}.py").write_text(code)
        record = tmp_path / f"{package}-1.0.dist-info"
        record.mkdir()
        (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {package}:{attribute}" for name, attribute in points.items()]
        (record / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]))

    yield install
    for name in [name for name in sys.modules if name.startswith("shapes_")]:
        del sys.modules[name]


@pytest.fixture
def shapes():
    return Registry("shape", GROUP, {"square": Square, "lazy": f"{__name__}:Square"}, Shape)


CIRCLE = f"import sys\nShape = sys.modules[{__name__!r}].Shape\nclass Circle(Shape): pass\nnumber = 3\n"


def test_built_in_rows_need_no_search(shapes):
    assert shapes["square"] is shapes.find("lazy") is Square
    assert "square" in shapes and shapes.built_in == {"square": Square, "lazy": Square}
    assert "plugins" not in vars(shapes)


def test_a_plug_in_is_listed_and_imported_on_use(shapes, install):
    install("shapes_round", {"circle": "Circle"}, CIRCLE)
    assert list(shapes) == ["square", "lazy", "circle"] and len(shapes) == 3
    assert "shapes_round" not in sys.modules
    assert shapes.find("circle").__name__ == "Circle"
    assert issubclass(shapes["circle"], Shape)


def test_an_unknown_name_lists_plug_ins_too(shapes, install):
    install("shapes_round", {"circle": "Circle"}, CIRCLE)
    with pytest.raises(UsageError, match=r"Unknown shape 'circl'. Did you mean 'circle'\? Known: circle, lazy, "):
        shapes.find("circl")
    assert shapes.get("circl") is None


@pytest.mark.parametrize(
    ("points", "code", "message"),
    [
        ({"square": "Circle"}, CIRCLE, "package 'shapes_a' adds a shape 'square', but wordstill itself has one"),
        ({"circle": "Circle"}, "import nothing_such", "shape 'circle' of the package 'shapes_a' cannot be imp"),
        ({"circle": "Circle"}, "1 / 0", "from shapes_a:Circle: ZeroDivisionError: division by zero. Repair"),
        ({"circle": "Missing"}, CIRCLE, "AttributeError: module 'shapes_a' has no attribute 'Missing'"),
        ({"circle": "number"}, CIRCLE, "must be a subclass of Shape; got 3 from shapes_a:number"),
        ({"circle": "sys"}, CIRCLE, "must be a subclass of Shape; got <module 'sys'"),
    ],
)
def test_a_plug_in_that_cannot_be_used_is_named(shapes, install, points, code, message):
    install("shapes_a", points, code)
    with pytest.raises(PluginError, match=message):
        shapes.find("circle")


def test_two_packages_with_one_name(shapes, install):
    install("shapes_a", {"circle": "Circle"}, CIRCLE)
    install("shapes_b", {"circle": "Circle"}, CIRCLE)
    with pytest.raises(PluginError, match=r"'shapes_[ab]' adds a shape 'circle', but 'shapes_[ab]' has one"):
        list(shapes)


def test_rows_that_are_instances(install):
    shapes = Registry("shape", GROUP, {"square": Square()}, Shape, instances=True)
    install("shapes_round", {"circle": "one", "kind": "Circle"}, f"{CIRCLE}one = Circle()\n")
    assert isinstance(shapes.find("circle"), Shape)
    with pytest.raises(PluginError, match=r"must be a Shape; got <class 'shapes_round\.Circle'>"):
        shapes.find("kind")


def test_the_package_is_imported_without_a_search():
    code = "import sys, wordstill; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["False"], done.stderr
