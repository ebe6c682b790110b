"""The tables of experiments/meaning.md: how a measurement was made, and what is above the raw mean."""

from experiments.pages import meaning

TRANSLATOR = {"pairs": 9000, "held out": 100, "seconds": 10.4, "steps": 50, "bleu": 12.34, "signature": "s"}


def figures(usim, wic, scws, sts):
    return {"usim": usim, "wic": wic, "scws": scws, "sts-mean": sts}


def content(**changed):
    diagnosis = {"meaning_positive": 0.9, "meaning_negative": 0.5, "meaning_others": 0.1, "told_apart": 0.875}
    encoder = {"steps": 1234, "diagnosis": {**diagnosis, "degenerate": False}}
    return {
        "title": "T",
        "command": "python x",
        "commit": "abc",
        "hardware": "h",
        "conditions": ["Nothing else ran."],
        "seconds": {"triples per second": 250.4, "an epoch, paper": 2.04},
        "translators": [],
        "triples": {
            "mode": "substituted",
            "triples": 300,
            "targets": 2000,
            "dropped": {"a name": 1700},
            "masked_model": {"name": "m"},
            "config": {"targets": {"seed": 3}},
        },
        "development": {
            "correlations": {"wic": {"raw": 0.3}},
            "gains": {"meaning (paper)": {"wic": 2.04}},
            "shares": {"meaning (paper)": 1.0},
        },
        "chosen kind": "meaning",
        "encoding, beside reading the states": {"paper": 1.199},
        "chosen": "paper",
        "encoders": {"paper": encoder, "paper, without negatives": encoder},
        "figures": {
            "raw": {**figures(0.3, 0.58, 0.6, 0.5), "cosine-common-P": 0.9},
            "meaning (paper)": figures(0.321, 0.58, 0.59, 0.51),
            "meaning (paper, without negatives)": figures(0.2, 0.5, 0.5, 0.5),
        },
        **changed,
    }


def test_what_is_above_the_raw_mean_is_counted():
    shown = meaning.section(content())
    assert "h; seed 3; commit abc; the teacher is m." in shown
    assert "- Nothing else ran.\n- Triples" in shown
    assert "| raw | 30.0 | 58.0 | – | – | 60.0 |" in shown
    assert "| vectors | WiC, development | chosen in | USim | WiC | SCWS | mean STS | above raw |" in shown
    assert "| meaning (paper), chosen | +2.0 σ | 100% | +2.1 | +0.0 | -1.0 | +1.0 | 2 of 4 |" in shown
    assert "| meaning (paper, without negatives) | – | – | -10.0 | -8.0 | -10.0 | +0.0 | 0 of 4 |" in shown
    assert "| paper | 1,234 | 2.0 | 1.20 | 0.90 | 0.50 | 0.10 | 87.5 % | no |" in shown
    assert "300 of 2,000 targets, 250 per second; targets without one: 1,700 'a name'." in shown
    assert "| raw | 0.900 | – | – | – |" in shown


def test_what_the_choice_rested_on_is_shown():
    centred = "meaning-centred (paper)"
    made = content(
        development={
            "chosen": centred,
            "correlations": {"wic": {"raw": 0.3}, "men-dev": {"raw": 0.7}},
            "gains": {"meaning (paper)": {"wic": 2.04, "men-dev": -1.0}, centred: {"wic": 1.5, "men-dev": 2.5}},
            "shares": {"meaning (paper)": 0.126, centred: 0.874},
        }
    )
    made["chosen kind"] = "meaning-centred"
    made["figures"][centred] = figures(0.321, 0.59, 0.61, 0.51)
    shown = meaning.section(made)
    assert "in points; on development data in standard deviations" in shown
    assert "| vectors | WiC, development | MEN | chosen in | USim |" in shown
    assert "| meaning (paper) | +2.0 σ | -1.0 σ | 13% | +2.1 | +0.0 | -1.0 | +1.0 | 2 of 4 |" in shown
    assert "| meaning-centred (paper), chosen | +1.5 σ | +2.5 σ | 87% | +2.1 | +1.0 | +1.0 | +1.0 | 4 of 4 |" in shown
    assert "| meaning (paper, without negatives) | – | – | – | -10.0 |" in shown


def test_triples_of_two_modes_are_counted_each():
    made = content()
    part = {"mode": "substituted", "triples": 300, "targets": 2000, "dropped": {"a name": 1700}}
    trip = {"mode": "round-trip", "triples": 700, "targets": 1000, "dropped": {"no match": 300}}
    trip["positives"] = {"round-trip": 600, "replaced": 100}
    made["triples"] |= {"mode": "round-trip and substituted", "triples": 1000, "parts": [trip, part]}
    made["seconds"] = {"triples per second, round-trip": 400.4, "triples per second, substituted": 200.2}
    shown = meaning.section(made)
    assert "- Triples (round-trip): 700 (100 replaced) of 1,000 targets, 400 per second; " in shown
    assert "- Triples (substituted): 300 of 2,000 targets, 200 per second; " in shown


def test_translators_are_listed_whether_they_were_used_or_not():
    shown = meaning.section(content())
    assert "Translator" not in shown
    used = meaning.section(content(translators=[{"name": "en-de", **TRANSLATOR}]))
    assert "- Translator en-de: 9,000 pairs, 50 steps in 10 s, BLEU 12.34 on 100 held-out lines (`s`).\n" in used
    plain = meaning.section(content(translators=[{"name": "en-de"}]))
    assert "- Translator en-de.\n" in plain
    refused = meaning.section(content(**{"translators refused": [{"name": "de-en", **TRANSLATOR}]}))
    assert "lines (`s`); rejected, because too few words of a sentence came back.\n" in refused
