from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from wordstill.core.resume import CheckpointFile, stop_requested
from wordstill.distillation.engine import Engine, Progress, Stage
from wordstill.errors import DataError, Interrupted, TrainingError

RECIPE = '{"seed": 0}'


class Numbers:
    """Batches that hold a number each, in windows of two."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.starts: list[tuple[int, int]] = []

    def since(self, position: tuple[int, int]) -> Iterator[tuple[tuple[int, int], SimpleNamespace]]:
        self.starts.append(position)
        for number in range(position[0] + position[1], self.count):
            after = (number - number % 2, 1) if number % 2 == 0 and number + 1 < self.count else (number + 1, 0)
            yield after, SimpleNamespace(number=number, n_words=10, n_truncated=number % 2)


@dataclass
class Echo:
    """A teacher that gives a batch's number, and does something before a certain one."""

    when: int = -1
    act: object = None
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    calls: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    threads: int = 1

    def to_device(self, batch: SimpleNamespace) -> SimpleNamespace:
        return batch

    def verify(self, layers: tuple[int, ...]) -> None:
        assert layers

    def readers(self) -> int:
        return self.threads

    def encode(self, batch: SimpleNamespace, layers: tuple[int, ...]) -> int:
        self.calls.append((batch.number, layers))
        if batch.number == self.when and self.act is not None:
            self.act()
        return batch.number


class Recorder:
    """A method that keeps all it sees in a tensor."""

    def __init__(self, *layers: int) -> None:
        self.layers = layers
        self.seen = torch.zeros(0, dtype=torch.int64)
        self.isolated = torch.zeros(0, dtype=torch.int64)
        self.name, self.sick = f"recorder-{layers[0]}", False

    def status(self) -> str:
        return f"seen {len(self.seen)}"

    def verify(self) -> None:
        if self.sick:
            raise TrainingError("diverged")

    def observe(self, states: int) -> None:
        self.seen = torch.cat([self.seen, torch.tensor([states])])

    def observe_isolated(self, states: int) -> None:
        self.isolated = torch.cat([self.isolated, torch.tensor([states])])

    def state_dict(self) -> dict[str, torch.Tensor]:
        return {"seen": self.seen, "isolated": self.isolated}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        assert state.keys() == {"seen", "isolated"}
        self.seen, self.isolated = state["seen"], state["isolated"]


@dataclass
class Rig:
    """An engine with two methods: both read the text, one of them also isolated words."""

    path: Path | None
    teacher: Echo = field(default_factory=Echo)
    recipe: str = RECIPE

    def __post_init__(self) -> None:
        self.first, self.second = Recorder(2), Recorder(1, 3)
        self.words, self.text = Numbers(3), Numbers(7)
        methods = {"a": self.first, "a-b": self.second}
        stages = [
            Stage("isolated words", self.words, [self.second], isolated=True, words=30),
            Stage("text", self.text, [self.first, self.second], isolated=False, words=70),
        ]
        checkpoint = CheckpointFile(self.path, self.recipe) if self.path else None
        self.engine = Engine(self.teacher, methods, stages, checkpoint)

    def check_complete(self) -> None:
        assert self.first.seen.tolist() == self.second.seen.tolist() == list(range(7))
        assert self.first.isolated.tolist() == []
        assert self.second.isolated.tolist() == [0, 1, 2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def test_every_method_observes_each_batch_once_from_one_pass(path):
    rig = Rig(path)
    done = rig.engine.run()
    rig.check_complete()
    assert rig.teacher.calls == [(number, (1, 3)) for number in range(3)] + [(n, (1, 2, 3)) for n in range(7)]
    assert done == Progress(stage=2, cut=1 + 3)


def test_batches_that_are_read_side_by_side_come_in_order(path):
    rig = Rig(path, Echo(threads=2))
    rig.engine.run()
    rig.check_complete()


def test_a_stop_while_batches_are_read_side_by_side(path):
    rig = Rig(path, Echo(when=4, act=lambda: os.kill(os.getpid(), signal.SIGINT), threads=2))
    with pytest.raises(Interrupted):
        rig.engine.run()
    assert len(rig.first.seen) < 7
    again = Rig(path, Echo(threads=2))
    again.engine.run(resume=True)
    again.check_complete()


def test_the_end_of_a_long_run_is_saved_so_that_nothing_need_be_read_again(path):
    long = Rig(path)
    long.engine.every = 0.0
    long.engine.run()
    again = Rig(path)
    assert again.engine.run(resume=True) == Progress(stage=2, cut=4)
    assert again.teacher.calls == []
    again.check_complete()


def test_without_a_checkpoint_resuming_starts_anew(path):
    rig = Rig(path)
    rig.engine.run(resume=True)
    rig.check_complete()


def test_a_saved_state_is_ignored_when_not_resumed(path):
    long = Rig(path)
    long.engine.every = 0.0
    long.engine.run()
    again = Rig(path)
    again.engine.run()
    assert len(again.teacher.calls) == 10


def test_a_run_without_a_place_saves_nothing(tmp_path):
    rig = Rig(None, Echo(2, lambda: os.kill(os.getpid(), signal.SIGINT)))
    with pytest.raises(Interrupted, match="nothing is saved"):
        rig.engine.run()
    rig = Rig(None)
    rig.engine.run(resume=True)
    rig.check_complete()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("when", [0, 2, 3, 6])
def test_signals_stop_after_a_batch_and_the_rest_is_read_later(path, number, when):
    teacher = Echo(when, lambda: os.kill(os.getpid(), number))
    before = signal.getsignal(number)
    stopped = Rig(path, teacher)
    with pytest.raises(Interrupted) as caught:
        stopped.engine.run()
    assert signal.getsignal(number) is before
    stage, done, total = ("isolated words", when + 1, 3) if when < 3 else ("text", when + 1, 7)
    assert str(caught.value).startswith(f"Stopped while reading {stage}: {10 * done} of {10 * total} words done and")
    again = Rig(path)
    finished = again.engine.run(resume=True)
    again.check_complete()
    assert finished == Progress(stage=2, cut=4)
    # The batch during which the signal came is not read again.
    assert len(stopped.teacher.calls) + len(again.teacher.calls) == 10


def test_a_signal_after_the_last_batch_still_stops(path):
    rig = Rig(path)
    rig.engine.stages[-1].on_end = lambda cut: os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Interrupted, match="text: 70 of 70 words done and saved"):
        rig.engine.run()
    again = Rig(path)
    again.engine.run(resume=True)
    assert again.teacher.calls == []


def test_states_are_saved_while_reading(path):
    saved = []
    rig = Rig(path)
    rig.engine.every = 0.0
    real = rig.engine.checkpoint.save
    rig.engine.checkpoint.save = lambda progress, states: (saved.append(progress), real(progress, states))
    rig.engine.run()
    assert [(each["stage"], each["position"], each["words"]) for each in saved] == [
        (0, (0, 1), 10), (0, (2, 0), 20), (0, (3, 0), 30),
        (1, (0, 1), 10), (1, (2, 0), 20), (1, (2, 1), 30), (1, (4, 0), 40), (1, (4, 1), 50), (1, (6, 0), 60),
        (1, (7, 0), 70), (2, (0, 0), 0),
    ]  # fmt: skip


@pytest.mark.parametrize("error", [DataError("no space left"), KeyboardInterrupt()])
def test_a_state_is_saved_when_it_is_time_or_what_follows_fails(path, error):
    saved = []
    rig = Rig(path)
    save = rig.engine.checkpoint.save
    rig.engine.checkpoint.save = lambda progress, states: (saved.append(progress), save(progress, states))
    rig.engine.run()
    with rig.engine.save_on_failure():
        assert saved == []
    with pytest.raises(type(error)), rig.engine.save_on_failure(), rig.engine.save_on_failure():
        raise error
    assert saved == [asdict(Progress(stage=2, cut=4))]
    again = Rig(path)
    again.engine.run(resume=True)
    again.check_complete()
    assert again.teacher.calls == []


def test_what_went_wrong_is_told_even_if_the_state_cannot_be_saved(path):
    rig = Rig(path)
    rig.engine.run()
    path.mkdir()
    with pytest.raises(DataError, match="no space left"), rig.engine.save_on_failure():
        raise DataError("no space left")


@pytest.mark.parametrize("every", [0.0, 3600.0])
def test_a_failing_batch_leaves_the_last_state(path, every):
    def fail() -> None:
        raise RuntimeError("out of memory")

    rig = Rig(path, Echo(5, fail))
    rig.engine.every = every
    threads = threading.active_count()
    with pytest.raises(RuntimeError, match="out of memory"):
        rig.engine.run()
    assert threading.active_count() == threads
    assert path.exists() == (every == 0.0)
    again = Rig(path)
    again.engine.run(resume=True)
    again.check_complete()
    assert again.text.starts == [(4, 1) if every == 0.0 else (0, 0)]


def test_errors_of_the_batches_arrive(path):
    rig = Rig(path)

    def broken(position: tuple[int, int]) -> Iterator[object]:
        raise DataError("the store is damaged")
        yield

    rig.text.since = broken
    with pytest.raises(DataError, match="the store is damaged"):
        rig.engine.run()


def test_a_state_of_another_run_is_refused(path):
    long = Rig(path)
    long.engine.every = 0.0
    long.engine.run()
    with pytest.raises(DataError, match="seed was 0, now 1"):
        Rig(path, recipe='{"seed": 1}').engine.run(resume=True)


def test_progress_shows_what_is_left_after_resuming(path, capsys, monkeypatch):
    with pytest.raises(Interrupted):
        Rig(path, Echo(4, lambda: os.kill(os.getpid(), signal.SIGINT))).engine.run()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    Rig(path).engine.run(resume=True, show_progress=True)
    shown = capsys.readouterr().err
    assert "text: 100%" in shown
    assert "70.0/70.0" in shown
    assert "isolated words" not in shown


def test_other_threads_get_no_signals():
    """Handlers can only be set in the main thread; a run in another one goes on without them."""
    found: list[threading.Event] = []

    def work() -> None:
        with stop_requested() as stop:
            found.append(stop)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not found[0].is_set()


def test_a_handler_that_is_not_known_is_reset_to_the_default(monkeypatch):
    set_to: list[object] = []
    monkeypatch.setattr(signal, "signal", lambda number, handler: set_to.append(handler))
    with stop_requested():
        pass
    assert set_to[2:] == [signal.SIG_DFL, signal.SIG_DFL]


def test_a_state_that_has_run_away_is_not_saved(tmp_path):
    """The last good one stays, so that the run can be started again from there with other settings."""
    rig = Rig(tmp_path / "state", Echo(when=4))
    rig.teacher.act = lambda: setattr(rig.first, "sick", True)
    rig.engine.every = 0.0
    with pytest.raises(TrainingError, match="diverged"):
        rig.engine.run()
    saved = CheckpointFile(tmp_path / "state", RECIPE).load(Progress.saved)
    assert saved is not None
    assert saved[1]["a/seen"].tolist() == [0, 1, 2, 3]


def test_progress_says_how_methods_fare(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    rig = Rig(None)
    rig.engine.status_every = 0.0
    rig.engine.run(show_progress=True)
    shown = capsys.readouterr().err
    assert "recorder-2 seen 7" in shown and "recorder-1 seen 7" in shown


def test_a_large_state_is_saved_less_often(path, monkeypatch):
    now, saved = [0.0], []
    monkeypatch.setattr("wordstill.distillation.engine.time", SimpleNamespace(monotonic=lambda: now[0]))

    def pass_time(seconds: float) -> None:
        now[0] += seconds

    rig = Rig(path)
    for stage in rig.engine.stages:
        stage.on_words = lambda before, after: pass_time(1.0)
    rig.engine.every = 2.0
    rig.engine.checkpoint.save = lambda progress, states: (saved.append(now[0]), pass_time(0.5))
    rig.engine.run()
    # Half a second may be spent after five more.
    assert saved == [2.0, 7.5]
