"""A small table from a small text, from beginning to end, with a tiny teacher of random weights."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from wordstill.distillation.engine import Engine
from wordstill.errors import DataError, TeacherError, UsageError
from wordstill.evaluation import evaluate
from wordstill.reproduction import ReproduceConfig, find_plan, reproduce, reproducing, results
from wordstill.reproduction.plans import BEST_BY_F1, BEST_OVERALL, BEST_PER_SET, System
from wordstill.reproduction.results import KeptScore
from wordstill.reproduction.table_rows import chosen_scores, rows_of
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

pytestmark = pytest.mark.usefixtures("models_read_once")

SYSTEMS = (
    System("skip-gram", "skipgram:dim=8,epochs=1", "trained"),
    System(f"ASE of {{parent}}-12, {BEST_PER_SET}", "ase:layer=all", select=BEST_PER_SET),
    System(f"ASE of {{parent}}-12, {BEST_OVERALL}", "ase:layer=all", select=BEST_OVERALL),
    System("{parent}2Static sent", "x2static:preset=paper,subsample=0"),
    System("{parent}2Static para", "x2static:preset=paper,subsample=0", unit="paragraph"),
    System("{parent}2Static sent", "faruqui", "retrofitted", source="x2static:preset=paper,subsample=0"),
)


@pytest.fixture(scope="module")
def plan():
    return replace(find_plan("x2static:table3"), text="lower", min_count=1, systems=SYSTEMS, sets=("simlex999",))


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory):
    path = tmp_path_factory.mktemp("lexicon") / "words.txt"
    path.write_text("old small\nriver house\n")
    return str(path)


@pytest.fixture
def config(saved_teacher, lexicon):
    return ReproduceConfig(TeacherConfig(str(saved_teacher), "cpu", "float32"), seeds=2, lexicon=lexicon)


@pytest.fixture(autouse=True)
def own_pairs(monkeypatch, tmp_path):
    """A set of the text's own words in the place of a registered one."""
    path = tmp_path / "pairs.tsv"
    words = ["old", "still", "stands", "small", "house", "river", "nobody", "moved", "heat", "text", "cool", "absent"]
    path.write_text("\n".join(f"{a}\t{b}\t{number % 7}" for number, (a, b) in enumerate(itertools.pairwise(words))))
    monkeypatch.setattr(reproducing, "available", lambda: ["simlex999"])

    def score(tables, sets, *rest, **more):
        evaluation = evaluate(tables, [path], *rest, **more)
        scores = {table: dict.fromkeys(sets, found[str(path)]) for table, found in evaluation.scores.items()}
        return replace(evaluation, scores=scores)

    monkeypatch.setattr(results, "evaluate", score)


def test_a_table_from_beginning_to_end(plan, config, short_text, tmp_path, monkeypatch):
    told = []
    found = reproduce(plan, [short_text], tmp_path / "out", config, say=told.append)
    assert len(found.rows) == len(SYSTEMS)
    by = {row.system: row for row in found.rows}
    (sent,) = [row for name, row in by.items() if name.startswith("sentence x2static-paper")]
    assert (sent.printed_row, sent.printed) == ("BERT2Static sent", 54.61)
    assert sent.interval is not None and sent.deviation is not None and (sent.used, sent.total) == (10, 11)
    best = by[f"sentence ase-layer-all ({BEST_PER_SET})"]
    assert best.printed == 52.16 and best.deviation is None and best.layer in range(4)
    tables = {path.name: WordVectors.load(path) for path in (tmp_path / "out" / "sentence").iterdir()}
    layers = [name for name in tables if name.startswith("ase")]
    assert len(layers) == 4
    own = evaluate({name: tables[name] for name in layers}, [tmp_path / "pairs.tsv"], plan.protocol)
    assert best.ours == pytest.approx(max(scores[str(tmp_path / "pairs.tsv")].value for scores in own.scores.values()))
    saved = json.loads((tmp_path / "out" / "table3.json").read_text())
    assert saved["table"] == "x2static:table3" and len(saved["rows"]) == len(found.rows)
    # What is there is not made again.
    monkeypatch.setattr(reproducing, "distill", None)
    monkeypatch.setattr(reproducing, "train", None)
    monkeypatch.setattr(results, "evaluate", None)
    assert reproduce(plan, [short_text], tmp_path / "out", config).rows == found.rows
    corpus = reproducing.open_text(plan, [short_text], tmp_path / "out", progress=False)
    assert reproducing.expected_seconds(plan, corpus, config, tmp_path / "out") == 0
    assert reproducing.expected_seconds(plan, corpus, replace(config, seeds=3), tmp_path / "out") > 0
    with pytest.raises(DataError, match=r"made with other settings: teacher was .* another --out"):
        other = replace(config, teacher=TeacherConfig("other", "cpu"))
        reproduce(plan, [short_text], tmp_path / "out", other)
    with pytest.raises(DataError, match=r"filter was 'lower', now 'none'.* choose another --out"):
        reproduce(replace(plan, text="none"), [short_text], tmp_path / "out", config)
    # Nor for another table of the paper.
    assert len(reproduce(replace(plan, number=4), [short_text], tmp_path / "out", config).rows) == len(found.rows)
    assert (tmp_path / "out" / "table4.json").exists()
    with pytest.raises(DataError, match=r"paper was 'x2static', now 'wang'"):
        reproduce(replace(plan, paper="wang"), [short_text], tmp_path / "out", config)


def test_seeds_share_a_pass_however_they_are_asked_for(plan, config, short_text, tmp_path, monkeypatch):
    few = replace(plan, systems=SYSTEMS[1:4])
    passes, run = [], reproducing.distill
    monkeypatch.setattr(
        reproducing, "distill", lambda *given, **more: passes.append(more["config"]) or run(*given, **more)
    )
    reproduce(few, [short_text], tmp_path / "out", replace(config, seeds=3))
    assert [(asked.seed, asked.seeds, len(asked.methods)) for asked in passes] == [(0, 3, 2)]
    reproduce(few, [short_text], tmp_path / "grown", replace(config, seeds=1))
    reproduce(few, [short_text], tmp_path / "grown", replace(config, seeds=3))
    assert [(asked.seed, asked.seeds, len(asked.methods)) for asked in passes[1:]] == [(0, 1, 2), (1, 2, 1)]
    for place in ("out", "grown"):
        assert len([*(tmp_path / place / "sentence").iterdir()]) == 4 + 3


def test_only_the_named_systems_are_made(plan, config, short_text, tmp_path):
    skipgram, sent = SYSTEMS[0].spec, SYSTEMS[3].spec
    named = replace(config, seeds=1, systems=(skipgram,))
    (row,) = reproduce(plan, [short_text], tmp_path / "out", named).rows
    assert row.printed_row == "skip-gram" and not (tmp_path / "out" / "sentence").exists()
    named = replace(named, systems=(skipgram, sent))
    rows = reproduce(plan, [short_text], tmp_path / "out", named).rows
    assert {row.printed_row for row in rows} == {"skip-gram", "BERT2Static sent", "BERT2Static para"}
    with pytest.raises(UsageError, match=r"system of x2static:table3.*word2vec.*skipgram:dim=8"):
        reproduce(plan, [short_text], tmp_path / "out", replace(config, systems=("word2vec",)))
    few = replace(plan, systems=(SYSTEMS[3], System("{parent}-12 itself, fine-tuned", "parent", "model")))
    with pytest.raises(UsageError, match="scored beside the tables"):
        reproduce(few, [short_text], tmp_path / "out", replace(config, systems=("parent",)))


def test_systems_on_trees_are_made_where_there_are_trees(plan, config, short_text, tmp_path):
    deps = System("skip-gram", "deps:dim=4,epochs=1,min_context_count=1", "trained")
    few = replace(plan, systems=(*SYSTEMS[:1], deps))
    config = replace(config, seeds=1)
    assert len(reproduce(few, [short_text], tmp_path / "out", config).rows) == 1
    parsed = tmp_path / "parsed.conllu"
    parsed.write_text("1\tsmall\t_\t_\t_\t_\t2\tamod\t_\t_\n2\thouse\t_\t_\t_\t_\t0\troot\t_\t_\n")
    _, row = reproduce(few, [short_text], tmp_path / "out", replace(config, trees=(str(parsed),))).rows
    assert row.system == "deps-dim-4-epochs-1-min_context_count-1" and (row.used, row.total) == (1, 11)


def test_the_model_itself_is_scored_by_its_task(plan, config, short_text, tmp_path, monkeypatch):
    few = replace(plan, systems=(SYSTEMS[3], System("{parent}-12 itself, fine-tuned", "parent", "model")))
    asked, score = [], results.evaluate
    monkeypatch.setattr(results, "evaluate", lambda *given, **more: asked.append(given[1]) or score(*given, **more))
    rows = reproduce(few, [short_text], tmp_path / "out", replace(config, seeds=1)).rows
    assert asked == [["simlex999"], ["simlex999:parent"]]
    assert rows[1].system == "the model itself, parent" and rows[1].ours is not None


def test_published_vectors_stand_in_their_row(plan, config, short_text, tmp_path, monkeypatch):
    """Two tables are told apart although the provenance of both is that of their kind of file."""
    load = WordVectors.load

    def load_fasttext(path, *rest):
        table = load(path, *rest)
        return table if table.provenance else table.replace(provenance={"fasttext": {"dim": 2}})

    monkeypatch.setattr(WordVectors, "load", load_fasttext)
    for name, old in (("glove", "1 0"), ("fasttext", "-1 0")):
        rest = "still 1 1\nstands -1 1\nsmall 0 1\nhouse 1 0\nriver 1 2\nnobody 2 1\nmoved -1 3\nheat 1 4\n"
        (tmp_path / f"{name}.txt").write_text(f"old {old}\n{rest}")
    rows = ["GloVe, 650 times the text", "fastText, 12 times the text"]
    own = tuple(zip(rows, (str(tmp_path / "glove.txt"), str(tmp_path / "fasttext.txt"))))
    config = replace(config, own=own, systems=(SYSTEMS[0].spec,), seeds=1)
    _, glove, fasttext = reproduce(plan, [short_text], tmp_path / "out", config).rows
    assert (glove.system, glove.printed) == ("own GloVe, 650 times the text", 37.64)
    assert glove.ours is not None and fasttext.ours is not None and glove.ours != fasttext.ours
    with pytest.raises(UsageError, match=r"Unknown row of x2static:table3 'glove'. .*GloVe, 650 times the text"):
        reproducing.chosen_systems(plan, replace(config, own=(("glove", "glove.txt"),)))
    with pytest.raises(UsageError, match="--own names a row twice"):
        reproducing.chosen_systems(plan, replace(config, own=(own[0], own[0])))
    with pytest.raises(UsageError, match=r"nowhere.txt does not exist. --own needs"):
        reproducing.check(plan, tmp_path / "out", replace(config, own=((rows[0], "nowhere.txt"),)))
    with pytest.raises(UsageError, match="--vectors"):
        reproducing.check(find_plan("meaning"), tmp_path / "out", config)


def test_macro_f1_and_the_development_part_have_rows_of_their_own():
    plan = replace(find_plan("x2static:table4"), sets=("cr",))
    system = System("BERT2Static sent", "ase")
    score = KeptScore(70.0, None, 1.5, 60.0, 9, 9, None)
    runs = [{"sentence ase": {"cr": score}}, {"sentence ase": {"cr": replace(score, value=72.0, macro_f1=64.0)}}]
    whole, macro = rows_of(plan, system, ReproduceConfig(), {"cr": "cr"}, runs)
    assert (whole.dataset, whole.ours, whole.printed) == ("cr", 71.0, 82.0)
    assert (macro.dataset, macro.ours, macro.printed) == ("cr:macro-f1", 62.0, 80.1)
    plan = find_plan("wang:table3")
    tagged = KeptScore(90.0, None, None, None, 9, 9, None, 91.5)
    _, dev = rows_of(
        plan, System("GloVe", "ase"), ReproduceConfig(), {"conll2000": "t"}, [{"sentence ase": {"t": tagged}}]
    )
    assert (dev.dataset, dev.ours, dev.printed) == ("conll2000:dev", 91.5, 93.86)


def test_what_cannot_be_used_is_refused_before_the_text_is_prepared(config, tmp_path):
    plan, out = find_plan("context-to-vec:table1"), tmp_path / "out"
    unparsed = tmp_path / "unparsed.conllu"
    unparsed.write_text("1\tsmall\t_\t_\t_\t_\t_\t_\t_\t_\n")
    with pytest.raises(DataError, match=r"unparsed.conllu:1: the word 'small' has no head"):
        reproducing.check(plan, out, replace(config, trees=(str(unparsed),)))
    with pytest.raises(DataError, match="No file matches"):
        reproducing.check(plan, out, replace(config, trees=(str(tmp_path / "*.txt"),)))
    with pytest.raises(DataError, match="nowhere"):
        reproducing.check(plan, out, replace(config, lexicon="nowhere"))
    with pytest.raises(TeacherError, match="nowhere/model"):
        reproducing.check(plan, out, replace(config, teacher=TeacherConfig("nowhere/model")))
    with pytest.raises(UsageError, match=r"unparsed.conllu is a file. Name a folder"):
        reproducing.check(plan, unparsed, config)
    with pytest.raises(DataError, match=r"nowhere.txt does not exist"):
        reproduce(plan, [tmp_path / "nowhere.txt"], out, config)
    assert not out.exists()
    # The teacher of these tests predicts no masked words.
    with pytest.raises(TeacherError, match="masked language model"):
        reproducing.check(find_plan("meaning"), out, config)


def test_a_stopped_run_is_resumed(plan, config, short_text, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    few = replace(plan, systems=SYSTEMS[3:5])
    with monkeypatch.context() as patched:
        patched.setattr(Engine, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            reproduce(few, [short_text], tmp_path / "out", config)
    again = reproduce(few, [short_text], tmp_path / "out", config)
    whole = reproduce(few, [short_text], tmp_path / "whole", config)
    assert [row.ours for row in again.rows] == [row.ours for row in whole.rows]
    assert np.isfinite([row.ours for row in again.rows]).all()


def test_scores_of_a_table_are_kept_when_the_next_one_is_stopped(plan, config, short_text, tmp_path, monkeypatch):
    few, score, calls = replace(plan, systems=SYSTEMS[3:5]), results.evaluate, []

    def stop(*given, **more):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return score(*given, **more)

    monkeypatch.setattr(results, "evaluate", stop)
    with pytest.raises(KeyboardInterrupt):
        reproduce(few, [short_text], tmp_path / "out", replace(config, seeds=1))
    again = reproduce(few, [short_text], tmp_path / "out", replace(config, seeds=1))
    assert len(calls) == 3 and len(again.rows) == 2
    assert again.rows == reproduce(few, [short_text], tmp_path / "whole", replace(config, seeds=1)).rows
    (tmp_path / "out" / "scores.json").write_text("{")
    with pytest.raises(DataError, match=r"scores.json is damaged. Delete it"):
        reproduce(few, [short_text], tmp_path / "out", replace(config, seeds=1))


def test_the_layer_of_trained_tasks_is_that_of_the_best_macro_f1(plan):
    """The third layer is best by accuracy, the second one by macro-F1."""
    system = System("ASE of {parent}-12", "ase:layer=all", select=BEST_BY_F1)

    def score(accuracy, macro):
        return KeptScore(accuracy, None, None, macro, 9, 9, None)

    scores = {
        "sentence ase-layer-1": {"cr": score(60.0, 50.0), "mr": score(60.0, 50.0)},
        "sentence ase-layer-2": {"cr": score(70.0, 69.0), "mr": score(60.0, 40.0)},
        "sentence ase-layer-3": {"cr": score(75.0, 55.0), "mr": score(70.0, 50.0)},
    }
    layer, found = chosen_scores(system, "cr", ["cr", "mr"], [scores])
    assert layer == 2 and [one.value for one in found] == [70.0]
    # A set without any score leaves the choice to the others.
    for layers in scores.values():
        layers["sst5"] = score(None, None)
    overall = replace(system, select=BEST_OVERALL)
    layer, _ = chosen_scores(overall, "cr", ["cr", "mr", "sst5"], [scores])
    assert layer == 3
    printed = find_plan("x2static:table4").printed_row("ASE of BERT-12")
    assert printed.model == "ASE of BERT-12, layer 5" and printed.scores["cr"] == 83.0
