"""The ledger: every shard counts once, whoever dies or comes late."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from wordstill.errors import DataError
from wordstill.scale.ledger import HELD, Ledger
from wordstill.scale.shared_folder import LocalFolder


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Ledger, Ledger]:
    return Ledger(LocalFolder(tmp_path)), Ledger(LocalFolder(tmp_path))


def stored(ledger: Ledger, name: str) -> str:
    ledger.folder.store(name, lambda path: (path.parent.mkdir(exist_ok=True), path.write_bytes(b"part"))[0])
    return name


def expire(ledger: Ledger, name: str) -> None:
    path = Path(str(ledger.folder)) / HELD / name
    long_ago = time.time() - 2 * ledger.lease
    os.utime(path, (long_ago, long_ago))


def test_a_shard_has_one_holder(pair):
    one, other = pair
    assert one.claim(3, one.held()) is not None
    assert other.claim(3, other.held()) is None
    assert other.claim(3, {}) is None
    assert other.claim(4, other.held()) is not None


def test_of_two_who_finish_a_shard_the_first_counts(pair):
    one, other = pair
    slow = one.claim(3, one.held())
    expire(one, slow.name)
    quick = other.claim(3, other.held())
    assert quick.attempt == 2
    late, early = stored(one, slow.new_part()), stored(other, quick.new_part())
    assert other.commit(quick, early)
    assert not one.commit(slow, late)
    assert one.done == other.done == {3: early}
    assert one.folder.names("parts") == [early]
    assert one.folder.names(HELD) == []


def test_a_holder_that_lives_is_not_given_up(pair):
    one, other = pair
    claim = one.claim(3, {})
    expire(one, claim.name)
    one.renew(claim)
    assert other.claim(3, other.held()) is None


def test_many_claim_at_once_and_one_wins(tmp_path):
    ledgers = [Ledger(LocalFolder(tmp_path)) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda ledger: [ledger.claim(n, {}) is not None for n in range(20)], ledgers))
    assert [sum(column) for column in zip(*won)] == [1] * 20


def test_failures_are_kept_with_their_reason(pair):
    one, other = pair
    for reason in ("first", "second"):
        one.fail(one.claim(3, one.held()), reason)
    assert sorted(other.failures()[3]) == ["first", "second"]
    other.forget_attempts()
    assert one.failures() == {}


def test_another_run_is_refused_by_name(pair):
    one, other = pair
    one.open_plan({"version": "1", "recipe": {"teacher": {"fingerprint": "aa"}}})
    other.open_plan({"version": "1", "recipe": {"teacher": {"fingerprint": "aa"}}})
    with pytest.raises(DataError, match=r"recipe.teacher.fingerprint was 'aa', now 'bb'"):
        other.open_plan({"version": "1", "recipe": {"teacher": {"fingerprint": "bb"}}})
    with pytest.raises(DataError, match=r"version was '1', now '2'"):
        other.open_plan({"version": "2", "recipe": {"teacher": {"fingerprint": "aa"}}})


@pytest.mark.parametrize("remedy", ["start again with --overwrite", "choose another --out"])
def test_a_damaged_record_is_named_with_what_to_do(tmp_path, remedy):
    ledger = Ledger(LocalFolder(tmp_path), remedy=remedy)
    ledger.folder.create("done/2", b'{"part"')
    with pytest.raises(DataError, match=rf"done/2 is damaged.*{remedy[1:]}\."):
        ledger.refresh()
