"""The page in a real browser: every view, with and without WebGL, from the server and from one file on disk."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wordstill import WordVectors
from wordstill.explore.library import Library
from wordstill.explore.offline import write_page

pytest.importorskip("uvicorn")
playwright = pytest.importorskip("playwright.sync_api")

MARKUP = "<script>alert(1)</script>"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
SOFTWARE_GL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
WAIT = 60_000


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        yield started


def find_browser(driver: Any) -> str | None:
    """The browser of the environment or of this machine, or Playwright's own."""
    own = driver.chromium.executable_path
    found = [os.environ.get("CHROMIUM"), *map(shutil.which, NAMES), own if Path(own).exists() else None]
    return next((path for path in found if path), None)


def launch(driver: Any, *flags: str) -> Any:
    path = find_browser(driver)
    if path is None:
        pytest.skip("no Chromium on this machine; apt-get install chromium, or playwright install chromium")
    # Playwright would switch on a WebGL in software, which users without a GPU do not have.
    return driver.chromium.launch(
        executable_path=path, args=[*FLAGS, *flags], ignore_default_args=["--enable-unsafe-swiftshader"]
    )


@pytest.fixture(scope="module")
def browser(driver: Any) -> Iterator[Any]:
    """A browser without WebGL."""
    started = launch(driver, "--disable-gpu", "--disable-3d-apis")
    yield started
    started.close()


class Tab:
    """A page that must not report an error."""

    def __init__(self, browser: Any, **settings: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}} | settings)
        self.context.set_default_timeout(WAIT)
        self.page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: message.type == "error" and self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.errors.append("a dialog"), dialog.dismiss()))

    def open(self, address: str) -> Any:
        self.page.goto("about:blank")
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")
        return self.page

    def close(self) -> None:
        self.context.close()
        assert self.errors == []


@pytest.fixture
def tab(browser: Any) -> Iterator[Tab]:
    opened = Tab(browser)
    yield opened
    opened.close()


def until(page: Any, expression: str) -> None:
    """Wait for an expression to hold; Playwright's own way needs eval, which the policy forbids."""
    end = time.monotonic() + WAIT / 1000
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


COLORS = """
() => {
  const canvas = document.querySelector("#points");
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size;
}
"""


def test_the_map_is_drawn_without_webgl_and_words_can_be_found(tab, address):
    page = tab.open(f"{address}/#/map?table=first&color=frequency")
    assert page.evaluate("document.createElement('canvas').getContext('webgl')") is None
    assert page.locator("html").get_attribute("data-painter") == "canvas"
    assert page.evaluate(COLORS) > 5
    page.keyboard.press("/")
    page.keyboard.type("riv")
    page.get_by_role("option", name="river").wait_for()
    page.keyboard.press("Enter")
    panel = page.locator("#map-panel")
    panel.get_by_role("heading", name="river").wait_for()
    neighbors = panel.locator(".neighbors .word").all_inner_texts()
    assert set(neighbors[:5]) < {"lake", "sea", "boat", "water", "ocean", "stream", "ship"}
    assert "word=river" in page.url


def test_suggestions_that_come_late_stay_hidden(tab, address):
    page = tab.open(f"{address}/#/map?table=first")
    held = []
    page.route("**/api/search*", lambda route: held.append(route))
    page.locator("#search").fill("river")
    page.locator("#search").press("Enter")
    until(page, "location.hash.includes('word=river')")
    with page.expect_response("**/api/search*"):
        held[0].continue_()
    page.wait_for_timeout(100)
    assert page.locator("#found").is_hidden()


def test_colors_by_group_and_how_sure_neighbors_are(tab, address):
    page = tab.open(f"{address}/#/map?table=first&color=group")
    page.locator("#legend").get_by_text("rivers (8)").wait_for()
    page = tab.open(f"{address}/#/word?word=river&table=first")
    page.locator(".neighbors .range").nth(5).wait_for(state="attached")
    page = tab.open(f"{address}/#/map?table=second&color=group")
    assert page.locator("#color-group").is_hidden()


def test_the_map_moves_and_a_lasso_chooses_words(tab, address):
    page = tab.open(f"{address}/#/map?table=first")
    stage = page.locator("#stage")
    box = stage.bounding_box()
    stage.focus()
    page.keyboard.press("ArrowLeft")
    until(page, "location.hash.includes('at=')")
    page.mouse.move(box["x"] + 600, box["y"] + 300)
    page.mouse.wheel(0, -300)
    page.keyboard.press("0")
    page.get_by_role("button", name="Lasso").click()
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98)]
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 2)
    page.mouse.down()
    for x, y in corners:
        page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y)
    page.mouse.up()
    page.locator("#map-panel").get_by_role("heading", name="words").wait_for()
    assert page.locator("#map-panel li").count() > 20


def test_the_camera_follows_a_word_while_the_map_is_computed(tab, address):
    found: dict[str, Any] = {}

    def answer(route: Any) -> None:
        reply = route.fetch().json()
        if "places_only" in route.request.url:
            reply |= {"x": [-x for x in reply["x"]], "done": True}
        else:
            found.update(zip(reply["words"], reply["x"]))
            reply |= {"done": False, "progress": 0.5}
        route.fulfill(json=reply)

    tab.page.route("**/api/map*", answer)
    page = tab.open(f"{address}/#/map?table=first&word=castle")
    assert abs(found["castle"]) > 0.1
    shown = "Number(decodeURIComponent(location.hash).match(/at=([-.0-9]+)/)?.[1])"
    until(page, f"Math.abs({shown} - {found['castle']}) < 0.01")
    until(page, f"Math.abs({shown} + {found['castle']}) < 0.01")


def test_the_map_is_drawn_with_webgl_under_the_strict_policy(driver, address):
    browser = launch(driver, *SOFTWARE_GL)
    tab = Tab(browser)
    page = tab.open(f"{address}/#/map?table=first&color=frequency&painter=webgl")
    if page.evaluate("document.createElement('canvas').getContext('webgl') === null"):
        pytest.skip("this Chromium has no WebGL, not even in software")
    assert page.locator("html").get_attribute("data-painter") == "webgl"
    until(page, f"({COLORS})() > 5")
    tab.close()
    browser.close()


def test_a_word_shows_its_tables_and_sentences(tab, address):
    page = tab.open(f"{address}/#/word?word=river&table=first")
    page.get_by_text("Nearest in second").wait_for()
    page.locator(".kwic li").first.wait_for()
    assert "The old river runs past the town." in " ".join(page.locator(".kwic").inner_text().split())
    page.get_by_label("Sentences behind river and lake").first.click()
    page.get_by_role("heading", name="Most alike sentences").wait_for()
    assert "People cross the lake by boat in summer." in page.locator(".pairs").inner_text()


def test_a_word_shows_its_senses_and_groups(tab, address):
    page = tab.open(f"{address}/#/word?word=castle&table=first")
    page.get_by_role("heading", name="2 senses").wait_for()
    assert "A dog chased the cat around the castle." in page.locator(".senses .use").first.inner_text()
    page.get_by_role("heading", name="In each group").wait_for()
    assert page.locator(".timeline .groups > li").count() == 2
    assert page.locator(".distances .whisker").count() == 1
    page.goto(f"{address}/#/ask?ask=changed&table=first")
    page.locator(".changed tbody tr").nth(20).wait_for()
    assert page.get_by_text("too small for a p-value").is_visible()


def test_a_phone_shows_answers_where_they_are_seen(browser, address):
    tab = Tab(browser, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = tab.open(f"{address}/#/word?word=king&table=first")
    page.get_by_label("Sentences behind king and queen").first.click()
    page.get_by_role("heading", name="With both words").wait_for()
    until(page, "document.querySelector('.prose li').getBoundingClientRect().bottom < innerHeight")
    assert page.locator(".prose li").first.locator("mark").all_inner_texts() == ["King", "queen"]
    page = tab.open(f"{address}/#/ask?ask=arrows&table=first")
    page.locator("svg.arrows .arrow").nth(2).wait_for(state="attached")
    assert page.locator("svg.arrows text").first.bounding_box()["height"] > 12
    page = tab.open(f"{address}/#/ask?ask=compare&table=first")
    page.locator(".moved-word li").first.wait_for()
    tops = [page.locator(box).first.bounding_box()["y"] for box in (".moved-word", ".moved")]
    assert tops == sorted(tops)
    tab.close()


def test_questions_and_two_tables_compared(tab, address):
    page = tab.open(f"{address}/#/ask?ask=odd&more=words%3Driver%252Clake%252Csea%252Cdog&table=first")
    page.get_by_text("is least like the others").wait_for()
    assert page.locator(".sentence strong").inner_text() == "dog"
    page.get_by_role("link", name="Two tables").click()
    page.locator(".moved li").first.wait_for()
    assert "of the 10 nearest words" in page.locator(".sentence").inner_text()
    shares = page.evaluate(
        "[...document.querySelectorAll('.share')].map(bar => bar.firstChild.offsetWidth / bar.offsetWidth)"
    )
    told = page.locator(".moved small").all_inner_texts()
    assert shares == pytest.approx([int(text.rstrip(" %")) / 100 for text in told], abs=0.03)
    page.get_by_role("link", name="Arrows").click()
    page.locator("svg.arrows .arrow").nth(2).wait_for(state="attached")
    page.get_by_role("link", name="Axis").click()
    page.locator("#ask-low").fill("nonsense")
    page.get_by_role("button", name="Ask").click()
    page.get_by_role("alert").wait_for()
    tab.errors = [text for text in tab.errors if "404" not in text]


def test_a_question_begins_with_an_example_whose_words_the_table_has(tab, tmp_path):
    words = ["france", "french", "spain", "spanish", "year", "film"]
    table = WordVectors(words, np.eye(6, dtype=np.float32))
    write_page(Library({"small": table}, {}, method="pca"), tmp_path / "page.html")
    page = tab.open(f"{(tmp_path / 'page.html').as_uri()}#/ask")
    page.locator(".sentence strong").wait_for()
    assert page.locator("#ask-b").input_value() == "french"
    page.get_by_role("link", name="Odd one out").click()
    page.get_by_text("This table lacks some words of the example").wait_for()


def test_scores_stand_next_to_those_of_papers(tab, address):
    page = tab.open(f"{address}/#/scores")
    page.get_by_role("heading", name="WordSim-353").wait_for()
    assert "61.5" in page.locator(".set").inner_text()
    assert "353 of 353 items scored, 300 of them without back-offs" in page.locator(".set").inner_text()
    page.get_by_text("published rows").click()
    assert page.locator(".set table tr").count() > 10


def test_an_address_shows_the_same_again(tab, address, browser):
    page = tab.open(f"{address}/#/map?table=second")
    page.locator("#search").fill("castle")
    page.keyboard.press("Enter")
    page.locator("#map-panel h2").wait_for()
    page.locator("#color").select_option("frequency")
    until(page, "location.hash.includes('at=')")
    other = Tab(browser)
    again = other.open(page.url)
    again.locator("#map-panel h2").wait_for()
    for selector in ("#map-panel", "#legend"):
        assert again.locator(selector).inner_text() == page.locator(selector).inner_text()
    assert again.locator("#table").input_value() == "second"
    page.go_back()
    until(page, "document.querySelector('#color').value === 'cluster'")
    other.close()


def test_markup_in_a_word_is_text(tab, address):
    page = tab.open(f"{address}/#/word?table=first&word={MARKUP.replace('<', '%3C').replace('/', '%2F')}")
    page.get_by_role("heading", name=MARKUP).wait_for()
    page.locator("#search").fill("<scr")
    page.get_by_role("option", name=MARKUP).wait_for()
    assert page.locator("main script").count() == 0


def test_the_file_works_from_disk_without_a_network(browser, library, address, tmp_path):
    written = write_page(library, tmp_path / "page.html")
    assert written.notes == []
    served = Tab(browser)
    page = served.open(f"{address}/#/word?word=king&table=first")
    page.locator(".neighbors li").nth(14).wait_for()
    expected = page.locator(".neighbors").first.locator(".word").all_inner_texts()
    served.close()
    tab = Tab(browser, offline=True)
    page = tab.open((tmp_path / "page.html").as_uri() + "#/word?word=king&table=first")
    page.locator(".neighbors li").nth(14).wait_for()
    assert page.locator(".neighbors").first.locator(".word").all_inner_texts() == expected
    page.locator(".kwic li").first.wait_for()
    views = {"map?color=group&table=first": "#legend i", "ask?ask=compare": ".moved li", "ask?ask=arrows": ".arrow"}
    views |= {"word?word=castle&table=first": ".senses .use", "ask?ask=changed&table=first": ".changed tbody tr"}
    for view, shown in (*views.items(), ("scores", ".set")):
        page.goto((tmp_path / "page.html").as_uri() + f"#/{view}")
        page.locator(shown).first.wait_for(state="attached")
    assert {request.partition(":")[0] for request in tab.requests} <= {"file", "about", "data", "blob"}
    tab.close()


VIEWS = {
    "map?word=river": "#map-panel h2",
    "word?word=castle": ".timeline .groups li",
    "ask?ask=changed": ".changed tbody tr",
    "ask?ask=analogy": ".neighbors li",
    "ask?ask=compare": ".moved-word h2",
    "scores": ".set",
}
"""Views, and what is there when they are complete."""


@pytest.mark.parametrize(("theme", "views"), [("light", list(VIEWS)), ("dark", list(VIEWS)[:2])])
def test_no_serious_fault_of_access(browser, address, theme, views):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tab = Tab(browser, color_scheme=theme, reduced_motion="reduce")
    for view in views:
        page = tab.open(f"{address}/#/{view}")
        page.locator(VIEWS[view]).first.wait_for()
        found = axe.run(page).response["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(view, one["id"], one["nodes"][0]["html"]) for one in serious] == []
    tab.close()


def test_phones_need_no_sideways_scrolling(browser, address):
    tab = Tab(browser, viewport={"width": 360, "height": 700}, has_touch=True, is_mobile=True)
    for view, shown in VIEWS.items():
        page = tab.open(f"{address}/#/{view}")
        page.locator(shown).first.wait_for()
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, view
        assert page.evaluate("document.querySelector('main').scrollWidth") <= 360, view
    tab.close()


def test_the_page_works_in_the_frame_of_a_notebook(browser, tmp_path):
    # A page of more than two million characters, which browsers refuse as an address.
    words = ["river", *(f"word{number}" for number in range(8000))]
    table = WordVectors(words, np.random.default_rng(0).normal(size=(len(words), 200)).astype(np.float32))
    shown = table.explore()._repr_html_()
    assert len(shown) > 2**21
    (tmp_path / "notebook.html").write_text(f"<!doctype html><p>cell</p>{shown}")
    tab = Tab(browser, offline=True)
    tab.page.goto((tmp_path / "notebook.html").as_uri())
    frame = tab.page.frame_locator("iframe")
    frame.locator("html[data-ready=map]").wait_for(state="attached")
    frame.locator("#search").fill("river")
    frame.locator("#search").press("Enter")
    frame.locator("#map-panel .neighbors li").first.wait_for()
    frame.get_by_role("link", name="Scores").click()
    frame.get_by_text("No evaluation was found").wait_for()
    assert tab.page.url.endswith("notebook.html")
    tab.close()


HOLDER = """
async ([script, page]) => {
  const listeners = new Map();
  const values = { page, height: 600, word: "river", words: [] };
  window.model = {
    values,
    get: (name) => values[name],
    set: (name, value) => (values[name] = value),
    on: (name, listener) => listeners.set(name, listener),
    off: (name) => listeners.delete(name),
    save_changes: () => (window.saved = { word: values.word, words: values.words }),
    choose: (word) => ((values.word = word), listeners.get("change:word")()),
  };
  const { default: widget } = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  widget.render({ model, el: document.body });
}
"""


def test_a_widget_shares_its_word_and_its_lasso(browser, tables):
    script = (files("wordstill.explore") / "static" / "widget.js").read_text()
    tab = Tab(browser)
    tab.page.goto("about:blank")
    tab.page.evaluate(HOLDER, [script, tables["first"].explore().page.decode()])
    frame = tab.page.frame_locator("iframe[title=wordstill]")
    frame.get_by_role("heading", name="river").wait_for()
    tab.page.evaluate("model.choose('king')")
    frame.get_by_role("heading", name="king").wait_for()
    frame.locator("#map-panel .neighbors .word").first.click()
    until(tab.page, "window.saved && saved.word !== 'king'")
    frame.get_by_role("button", name="Lasso").click()
    box = tab.page.locator("iframe").bounding_box()
    tab.page.mouse.move(box["x"] + 330, box["y"] + 80)
    tab.page.mouse.down()
    for x, y in ((1000, 80), (1000, 580), (330, 580)):
        tab.page.mouse.move(box["x"] + x, box["y"] + y, steps=4)
    tab.page.mouse.up()
    until(tab.page, "window.saved && saved.words.length > 0")
    tab.close()
