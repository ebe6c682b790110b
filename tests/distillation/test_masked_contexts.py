"""``x2static:masked``: readings of its own, beside other methods that read the text as it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from wordstill.core.resume import CheckpointFile
from wordstill.corpus import VocabularyConfig, prepare
from wordstill.distillation import DistillConfig, distill_from_teacher
from wordstill.distillation.estimate import estimate
from wordstill.distillation.plan import make_plan

CONFIG = DistillConfig(
    methods=("x2static:masked=2,subsample=0", "ase", "x2static:subsample=0"),
    vocabulary=VocabularyConfig(min_count=1),
    epochs=2,
    budget=60,
    length="raw",
)
MASKED, ASE, PLAIN = "x2static-subsample-0.0-masked-2", "ase", "x2static-subsample-0.0"


@pytest.fixture(scope="module")
def teacher(masking_teacher):
    return masking_teacher


@pytest.fixture(scope="module")
def corpus(short_text, tmp_path_factory):
    return prepare(short_text, tmp_path_factory.mktemp("masked") / "store", workers=1)


@pytest.fixture(scope="module")
def tables(teacher, corpus):
    return distill_from_teacher(teacher, corpus, config=CONFIG)


def test_other_methods_read_the_text_as_it_is(teacher, corpus, tables):
    alone = distill_from_teacher(teacher, corpus, config=replace(CONFIG, methods=CONFIG.methods[1:]))
    for label in (ASE, PLAIN):
        assert tables[label].matrix.tobytes() == alone[label].matrix.tobytes()
    assert set(tables[MASKED].words) <= set(tables[PLAIN].words)
    shared = list(tables[MASKED].words)
    assert not np.allclose(tables[MASKED][shared], tables[PLAIN][shared])


def test_the_plan_says_what_it_costs(teacher, corpus):
    plan = make_plan(teacher, corpus, CONFIG)
    titles = [stage.title for stage in plan.engine.stages]
    assert titles[1:3] == [f"text, epoch 1, masked for x2static, {number} of 2" for number in (1, 2)]
    assert [len(stage.methods) for stage in plan.engine.stages] == [2, 1, 1, 1, 1, 1]
    expected = estimate(plan, limit=0.1)
    assert [step.title for step in expected.steps if "masked" in step.title] == [t for t in titles if "masked" in t]
    # The probe has taught the methods of that plan something.
    plan = make_plan(teacher, corpus, CONFIG)
    method = plan.engine.methods[MASKED]
    plan.engine.run()
    assert method.scheduled_rate == method.config.rate * method.config.final_rate
    # Two targets of every sentence in each of two epochs.
    assert int(method.positives.counts.sum()) == 4 * (len(corpus.sentences) - 1)


def test_a_stopped_run_gives_the_same(teacher, corpus, tables, tmp_path, monkeypatch):
    real, calls = CheckpointFile.save, []

    def save_and_stop(self, progress, arrays):
        real(self, progress, arrays)
        calls.append(progress)
        if progress["stage"] == 2 and len(calls) > 6:
            raise KeyboardInterrupt

    config = replace(CONFIG, checkpoint_seconds=0.0)
    with monkeypatch.context() as patched:
        patched.setattr(CheckpointFile, "save", save_and_stop)
        with pytest.raises(KeyboardInterrupt):
            distill_from_teacher(teacher, corpus, config=config, work=tmp_path)
    resumed = distill_from_teacher(teacher, corpus, config=config, work=tmp_path, resume=True)
    for label, table in tables.items():
        assert resumed[label].matrix.tobytes() == table.matrix.tobytes()


def test_a_snapshot_comes_after_the_last_reading_of_its_part(teacher, corpus):
    config = replace(CONFIG, methods=CONFIG.methods[:2], epochs=1, snapshots=(corpus.n_words // 2,))
    plan = make_plan(teacher, corpus, config)
    taken = [isinstance(stage.on_end, partial) for stage in plan.engine.stages]
    assert taken == [False, False, True, False, False, False]
    assert len(plan.run()) == 4
