from __future__ import annotations

import pytest

from wordstill.baselines import read_baselines
from wordstill.corpus.filters import FILTERS
from wordstill.distillation import DistillConfig
from wordstill.errors import UsageError
from wordstill.evaluation.data.catalog import DATASETS
from wordstill.evaluation.protocol import PROTOCOLS
from wordstill.evaluation.suite import IN_CONTEXT
from wordstill.evaluation.tasks.base import TASKS
from wordstill.postprocess.pipeline import TRANSFORMS
from wordstill.postprocess.retrofit import PRESETS
from wordstill.reproduction import find_plan, plan_names
from wordstill.reproduction.meaning_tables import ROWS
from wordstill.reproduction.table_rows import label_of

TEACHERS = ("bert-base-uncased", "roberta-base", "gpt2", "xlnet-base-cased", "all-MiniLM-L6-v2")


TABLES = [name for name in plan_names() if not name.startswith("meaning")]


@pytest.mark.parametrize("name", TABLES)
def test_every_plan_names_what_there_is(name):
    plan = find_plan(name)
    assert plan.text in FILTERS and plan.protocol in PROTOCOLS
    assert set(plan.sets) <= set(DATASETS)
    for system in plan.systems:
        if system.made == "trained":
            assert read_baselines([system.spec])
        elif system.made == "distilled":
            assert DistillConfig(methods=(system.spec,)).requests
        elif system.made == "model":
            assert system.spec in TASKS
        else:
            assert system.spec in TRANSFORMS or system.spec in PRESETS
        assert label_of(system)


@pytest.mark.parametrize("name", TABLES)
def test_every_system_stands_beside_a_printed_row(name):
    plan = find_plan(name)
    for system in plan.systems:
        rows = {plan.row_of(system, family) for family in plan.parents}
        printed = [row for row in map(plan.printed_row, rows) if row is not None]
        assert printed, system
        for row in printed:
            assert set(plan.sets) <= set(row.scores)


def test_baselines_of_x2static_have_the_settings_that_its_search_chose():
    specs = {system.row: read_baselines([system.spec])[0] for system in find_plan("x2static:table3").systems[:3]}
    skipgram, cbow, sent2vec = (specs[row].config for row in ("skip-gram", "CBOW", "Sent2vec"))
    for config, objective in ((skipgram, "skipgram"), (cbow, "cbow")):
        assert (config.objective, config.shortest, config.longest, config.dim) == (objective, 3, 6, 768)
        assert (config.subsample, config.rate) == (1e-5, 0.05)
    assert (skipgram.epochs, sent2vec.epochs, sent2vec.ngrams, sent2vec.dim) == (10, 10, 3, 768)
    assert (sent2vec.subsample, sent2vec.rate) == (5e-6, 0.2)


def test_both_sides_of_skip_gram_are_clustered():
    specs = [system.spec for system in find_plan("context-to-vec:table2").systems]
    assert specs[:3] == ["skipgram", "skipgram:side=contexts", "cbow"]


def test_other_measures_of_a_set_have_their_own_columns():
    classified, tagged = find_plan("x2static:table4"), find_plan("wang:table3")
    assert classified.columns[:3] == ("cr", "cr:macro-f1", "mr") and len(classified.columns) == 12
    sent = classified.printed["BERT2Static sent"].scores
    assert (sent["cr"], sent["cr:macro-f1"]) == (82.0, 80.1)
    assert tagged.columns == ("conll2000", "conll2000:dev")
    assert tagged.printed["BERT + skip-gram"].scores["conll2000:dev"] == 93.96
    frozen = next(system for system in classified.systems if system.spec == "frozen")
    assert classified.row_of(frozen, "roberta-base") == "SRoBERTa-base-NLI, frozen"


def test_the_family_of_a_teacher():
    plan = find_plan("x2static")
    assert plan.name == "x2static:table3"
    assert [plan.parent(teacher) for teacher in TEACHERS] == ["BERT", "RoBERTa", "GPT2", "BERT", "BERT"]
    assert find_plan("context-to-vec").parent("xlnet-base-cased") == "XLNet"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("x2statik", "Unknown paper 'x2statik'. Did you mean 'x2static'"),
        ("wang:table9", "Unknown table of wang 'table9'.*Known: table1, table2, table3"),
        ("meaning:table7", "Unknown table of meaning 'table7'.*Known: table3, table4, table5, table6"),
    ],
)
def test_what_does_not_exist(name, message):
    with pytest.raises(UsageError, match=message):
        find_plan(name)


@pytest.mark.parametrize("name", ["meaning:table3", "meaning:table4", "meaning:table5", "meaning:table6"])
def test_tables_of_meaning_name_tasks_and_printed_rows(name):
    plan = find_plan(name)
    assert set(plan.tasks) <= set(IN_CONTEXT)
    beside = [row for row in ROWS.values() if row in plan.printed]
    assert len(beside) >= 4 and all(set(plan.printed[row].scores) == set(plan.columns) for row in beside)
    assert find_plan("meaning").name == "meaning:table3"
