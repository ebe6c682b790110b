"""The page of reproduced tables: each row below the printed one, and what was not made is named."""

import json

from experiments.pages import reproduction


def row(system, dataset, ours, printed_row="BERT2Static sent", **more):
    facts = {"deviation": None, "interval": [ours - 1, ours + 1], "used": 999, "layer": None}
    return {"system": system, "dataset": dataset, "printed_row": printed_row, "ours": ours, **facts, **more}


def record(rows, **more):
    table = {
        "table": "x2static:table3",
        "teacher": "tiny",
        "protocol": "muse",
        "words": 5000,
        "seconds": 7.0,
        "rows": rows,
    }
    origin = {"title": "A text", "hardware": "a machine", "commit": "abc", "command": "python -m x", "seeds": 3}
    return {**origin, "tables": [{**table, **more}]}


def test_ours_stand_below_the_printed_row(tmp_path, monkeypatch):
    folder = tmp_path / "reproduction"
    folder.mkdir()
    sent = row("sentence x2static-paper", "simlex999", 40.0, deviation=0.26)
    (folder / "a.json").write_text(json.dumps(record([sent])))
    best = row("sentence ase-layer-all (best)", "rg65", 70.0, "ASE of BERT-12, best overall layer", layer=3)
    (folder / "b.json").write_text(json.dumps(record([best], teacher="other")))
    skipgram = row("fasttext-dim-768", "simlex999", 30.0, "skip-gram")
    (folder / "c.json").write_text(json.dumps(record([skipgram])))
    own = row("own GloVe, 650 times the text", "rareword", 41.0, "GloVe, 650 times the text")
    (folder / "d.json").write_text(json.dumps(record([own])))
    monkeypatch.setattr(reproduction, "RESULTS", tmp_path)
    page = reproduction.page()
    lines = page.splitlines()
    printed = next(number for number, line in enumerate(lines) if line.startswith("| **BERT2Static sent**, printed"))
    assert "54.6" in lines[printed]
    assert lines[printed + 1] == ("| `sentence x2static-paper`, tiny | – | – | 40.0 ± 0.3 [39.0, 41.0] (999) | – | – |")
    assert "70.0 [69.0, 71.0] (999, layer 3)" in page
    assert "| `fasttext-dim-768` | – | – | 30.0" in page and page.count("No teacher, A text") == 2
    assert "| `own GloVe, 650 times the text` | – | – | – | – | 41.0" in page
    assert "Not reproduced: " in lines[-1] and "Sent2vec" in lines[-1] and "skip-gram" not in lines[-1]
