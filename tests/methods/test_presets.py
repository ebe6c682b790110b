"""Every setting of every preset, with the reason of each number: a table in which no cell can slip unnoticed.

Reasons are those of ``paper``, as ``fixed`` is ours: (T1) is Table 1 of X2Static, (p) the text or an equation
of a paper, (c) what the authors' code does where nothing is printed, (o) ours.
Context-to-Vec prints no more than its equations, dim and window; the rest of its column is that of the paper
on which it builds, BERT + skip-gram.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any, NamedTuple

import numpy as np
import pytest

from wordstill.methods import METHODS, read_specs

LAYER = 3


class Row(NamedTuple):
    """What the presets make of one setting."""

    fixed: Any
    paper: Any


X2STATIC = {
    "layer": Row(LAYER, LAYER),
    "negatives": Row(10, 10),  # (T1)
    "shared": Row(1024, 0),  # (c) each target has its own draw
    "corrected": Row(True, False),  # (p) Eq. 1: plain inner products
    "subsample": Row(1e-4, 5e-6),  # (T1)
    "noise_power": Row(1.0, 0.5),  # (c) square roots of counts, as in sent2vec
    "noise_source": Row("subsampled", "counts"),  # (c)
    "mask_hits": Row(True, False),  # (c) the target can be its own negative
    "optimiser": Row("sgd", "lazy-adam"),  # (p) section 4.1
    "rate": Row(0.05, 1e-3),  # (T1)
    "final_rate": Row(1.0, 1.0),  # (c) with Adam the rate stays
    "balance": Row(1.0, 0.0),  # (p) one rate for all words
    "batch": Row(2048, 128),  # (T1)
    "batch_of": Row("targets", "texts"),  # (c) lines of the text
    "averaged": Row("subwords", "words"),  # (p) Eq. 3 and 4 are over words
    "leave_out": Row(False, False),
    "masked": Row(0, 0),  # (p) Eq. 3 and 4 have the target among its context
    "whiten": Row(0.5, None),  # (p) contexts are as the teacher gives them
    "start": Row("zeros", "uniform"),  # (c) within 1 / width
}

WINDOWS = {
    "layer": Row(LAYER, LAYER),
    "dim": Row(300, 300),  # (p)
    "window": Row(5, 5),  # (p)
    "right": Row(None, None),  # (p) as many as to the left
    "self_weight": Row(6.0, 0.0),  # (p) neighbours are 1 to 5 words away
    "negatives": Row(5, 5),  # (p)
    "drawn_for": Row("window", "centre"),  # (p) Eq. 15, Eq. 7: k for each centre
    "shared": Row(1024, 0),
    "corrected": Row(True, False),  # (p) plain inner products
    "subsample": Row(1e-5, 0.0),  # (p) "cannot be directly used in our method"
    "noise_power": Row(1.0, 0.75),  # (p) unigrams to the 3/4
    "noise_source": Row("subsampled", "counts"),  # (p)
    "mask_hits": Row(True, False),  # (c) neither centre nor neighbour is left out
    "optimiser": Row("sgd", "sgd"),  # (p)
    "rate": Row(0.05, 0.025),  # (p)
    "final_rate": Row(1.0, 0.0),  # (p) an initial rate; (c) it falls evenly to nothing
    "balance": Row(1.0, 0.0),  # (p) one rate for all words
    "batch": Row(512, 64),  # (o) centers; not printed
    "start": Row("orthogonal", "xavier"),  # (c)
    "projection_optimiser": Row("adam", "sgd"),  # (p)
    "projection_rate": Row(1e-4, None),  # (p) one rate for all
    "clip": Row(None, 5.0),  # (p) gradients are clipped at norm 5
    "whiten": Row(0.25, None),  # (p) states are as the teacher gives them
    "centre_table": Row(True, False),  # (p) the table V' itself is the result
}

BERT_SKIPGRAM = WINDOWS | {
    "objective": Row("pairwise", "attended")  # (p) Eq. 13-15
}

CONTEXT_TO_VEC = WINDOWS | {
    "objective": Row("pairwise", "summed"),  # (p) Eq. 5: a sum in one sigmoid
    "centre": Row(0.5, 0.5),  # (p) "lambda 1 and lambda 2 are the same"
    "neighbours": Row(0.5, 0.5),
    "tied": Row(True, False),  # (p) Eq. 4 has W1 and W2
    "semantic": Row(1.0, 1.0),  # (o) no eta is printed
    "contextualised": Row(0.0, 1.0),  # (p) Eq. 6 and 8
    "contrastive": Row(1.0, 1.0),
    "printed_sign": Row(False, False),  # (c) Eq. 7 as printed has no lower bound
    "around": Row(None, None),  # (p) "the value of w'_s is the same as that of w_s"
    "divisor": Row("present", "window"),  # (p) Eq. 4
    "nonlinearity": Row("none", "none"),  # (p) "optional"
    "contextualised_by": Row("query", "query"),  # (p) "u_i can be directly used as V_context"
    "normalized": Row(False, False),  # (p) "can be used"
}

TABLE = {"x2static": X2STATIC, "bert-skipgram": BERT_SKIPGRAM, "context-to-vec": CONTEXT_TO_VEC}


def settings(spec: str) -> dict[str, Any]:
    (found,) = read_specs([spec], METHODS, LAYER)
    return asdict(found.config)


def expected(name: str, preset: str) -> dict[str, Any]:
    return {key: getattr(row, preset) for key, row in TABLE[name].items()}


@pytest.mark.parametrize("preset", Row._fields)
@pytest.mark.parametrize("name", TABLE)
def test_presets_are_those_of_the_table(name, preset):
    assert settings(f"{name}:preset={preset}") == expected(name, preset)


def test_attention_that_is_held_is_all_that_differs():
    printed = expected("bert-skipgram", "paper")
    assert settings("bert-skipgram:preset=paper-held") == printed | {"objective": "attended-held"}


@pytest.mark.parametrize("name", TABLE)
def test_the_default_is_fixed(name):
    assert settings(name) == expected(name, "fixed")


def test_the_table_has_every_preset_and_every_setting():
    with_presets = {name: method for name, method in METHODS.items() if method.presets}
    assert with_presets.keys() == TABLE.keys()
    for name, method in with_presets.items():
        assert sorted(method.presets) == sorted([*Row._fields, *(["paper-held"] if name == "bert-skipgram" else [])])
        assert TABLE[name].keys() == {field.name for field in fields(method.config_type)}


@pytest.mark.parametrize("preset", Row._fields)
@pytest.mark.parametrize("name", TABLE)
def test_what_is_set_beside_a_preset_has_the_last_word(name, preset):
    given = settings(f"{name}:preset={preset},negatives=7,rate=0.5")
    assert given == expected(name, preset) | {"negatives": 7, "rate": 0.5}


@pytest.mark.parametrize("preset", Row._fields)
@pytest.mark.parametrize("name", TABLE)
def test_settings_reach_what_is_built(name, preset, hand_made_run):
    """Where a setting is handed on to another part, the part has it."""
    (found,) = read_specs([f"{name}:preset={preset}"], METHODS, LAYER)
    method, table = found.build(hand_made_run([1, 16], 4)), expected(name, preset)
    assert method.rows.optimizer.kind == table["optimiser"]
    # A word sixteen times as frequent is drawn 16^power times as often.
    shares = np.diff(method.sampler.cumulative.numpy(), prepend=0.0)
    assert shares[1] / shares[0] == pytest.approx(16 ** table["noise_power"])
    assert method.rows.rates.tolist() == pytest.approx([1.0, 16.0 ** -table["balance"]])
    assert (method.score_offsets is not None) == table["corrected"]
    assert (method.whitener is not None) == (table["whiten"] is not None)
    assert method.scheduled_rate == table["rate"]
    method.clock.counts[1] = method.run.words
    assert method.scheduled_rate == pytest.approx(table["rate"] * table["final_rate"])
