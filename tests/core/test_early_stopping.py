"""Early stopping: the best score, and when to stop."""

from __future__ import annotations

from dataclasses import asdict

from wordstill.core.early_stopping import Patience


def test_small_gains_do_not_count():
    stopping = Patience(2, min_delta=0.1)
    assert [stopping.update(score, step) for step, score in enumerate((0.5, 0.6, 0.55), 1)] == [True, False, False]
    assert (stopping.best, stopping.should_stop) == (0.5, True)


def test_no_score_at_all_is_patience_too():
    stopping = Patience(1)
    assert not stopping.update(float("nan"), 1)
    assert stopping.should_stop


def test_a_restored_one_goes_on():
    whole, first = Patience(2), Patience(2)
    for step, score in enumerate((0.3, 0.2), 1):
        whole.update(score, step)
        first.update(score, step)
    again = Patience(**asdict(first))
    for each in (whole, again):
        each.update(0.1, 3)
    assert again == whole and again.should_stop
