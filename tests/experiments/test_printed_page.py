"""The table of best printed scores: which of them ours reach."""

from experiments.pages import printed


def result(*rows):
    return [{"title": "T", "command": "python x", "commit": "abc", "hardware": "a machine", "rows": list(rows)}]


def row(label, **values):
    figures = {name: {"value": value, "used": 1, "total": 1} for name, value in values.items()}
    return {"label": label, "seed": None, "provenance": {}, "scores": {"all": figures}}


def test_scores_that_reach_the_printed_one_are_bold_and_the_others_are_named(monkeypatch):
    plain, *with_lexicons = printed.OURS
    scores = {"wordsim353": 78.9, "google": 76.29, "simlex999": 60.0}
    texts = {
        printed.TABLE: result(row(plain, **scores)),
        printed.WITH_LEXICONS: result(*(row(label, google=80.0) for label in with_lexicons)),
    }
    monkeypatch.setattr(printed, "by_text", lambda: texts)
    first, _, _, _, *lines = printed.page().splitlines()
    assert first.startswith(f"`still` reaches 2 of {len(lines)}; not reached: RG-65, WS-S, ")
    (google,) = [line for line in lines if line.startswith("| Google |")]
    assert google == (
        "| Google | 76.3 | Context-to-Vec, retrofitted (Zheng et al. 2022, Table 1) | 76.3 | **80.0** | **80.0** |"
    )
    (pairs,) = [line for line in lines if line.startswith("| WS-353 |")]
    assert pairs.endswith("| **78.9** | – | – |")
