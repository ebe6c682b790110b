from __future__ import annotations

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from wordstill.teacher.tokenizer import SubwordTokenizer


def changed(tokenizer, change):
    """Whether a tokenizer still splits at spaces after a change."""
    backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    change(backend)
    return SubwordTokenizer(PreTrainedTokenizerFast(tokenizer_object=backend), "changed").splits_at_spaces()


def test_kinds_that_split(space_splitting, tiny_teacher):
    assert tiny_teacher(space_splitting).tokenizer.splits_at_spaces()


def test_kinds_that_join(space_joining, tiny_teacher):
    assert not tiny_teacher(space_joining).tokenizer.splits_at_spaces()


def test_no_pre_tokenizer_is_never_believed(tiny_tokenizer):
    def change(backend):
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)

    assert not changed(tiny_tokenizer("gpt2"), change)


@pytest.mark.parametrize(
    "step",
    [
        pre_tokenizers.Punctuation(),
        pre_tokenizers.Digits(),
        pre_tokenizers.Metaspace(split=False),
        pre_tokenizers.Split(Regex(r"\d+"), "isolated"),
        pre_tokenizers.Split("x", "isolated"),
    ],
    ids=["punctuation", "digits", "metaspace without split", "a pattern without spaces", "another string"],
)
def test_steps_that_promise_nothing(step, tiny_tokenizer):
    def change(backend):
        backend.pre_tokenizer = step

    assert not changed(tiny_tokenizer("t5"), change)


def test_an_experiment_finds_what_the_construction_hides(tiny_tokenizer):
    def strip(backend):
        backend.normalizer = normalizers.Strip(left=True, right=False)

    def pattern_that_mentions_spaces_only(backend):
        steps = [
            pre_tokenizers.Split(Regex(r"\s*[\r\n]+"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
        backend.pre_tokenizer = pre_tokenizers.Sequence(steps)

    assert not changed(tiny_tokenizer("gpt2"), strip)
    assert not changed(tiny_tokenizer("swallowing"), pattern_that_mentions_spaces_only)


@pytest.mark.parametrize(
    ("token", "splits"),
    [
        (AddedToken("widget", rstrip=True, normalized=False), False),
        (AddedToken("new york", normalized=False), False),
        (AddedToken("widget", lstrip=True, normalized=False), True),
        (AddedToken("<mask>", rstrip=True, special=True), True),
    ],
    ids=["takes the space after it", "has a space inside", "takes the space before it", "special"],
)
def test_added_tokens_that_reach_over_a_space(token, splits, tiny_tokenizer):
    assert changed(tiny_tokenizer("gpt2"), lambda backend: backend.add_tokens([token])) is splits
