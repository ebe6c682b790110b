"""Agreement of a run in shards with a plain run, with the default teacher in float32.

    python -m experiments.scale.agreement enwiki-a.txt.xz

Sums of shards are added in float64, those of a plain run in float32. Shards of the usual size are read in the batches
of the plain run; shorter ones (``--shard-words``) in others, as with another ``--batch-tokens``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.record import RESULTS, command_line, current_commit, machine, write_json
from wordstill.core.text_io import numbered_lines
from wordstill.corpus import prepare
from wordstill.distillation import DistillConfig, distill
from wordstill.scale import ScaleConfig, distill_in_shards
from wordstill.scale.partition import with_shard_words
from wordstill.teacher import TeacherConfig
from wordstill.vectors import WordVectors

RESULT = RESULTS / "scale" / "agreement.json"
METHODS = ("ase", "still")
SAME = "shards and plain run, same batches"
OTHER = "shards and plain run, different batches"
PLAIN = "two plain runs, different batches"


def main() -> None:
    """Compare runs, and record the largest differences."""
    parser = argparse.ArgumentParser(prog="python -m experiments.scale.agreement", description=__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("--paragraphs", type=int, default=400)
    parser.add_argument("--shard-words", type=int, default=8000)
    given = parser.parse_args()
    config = DistillConfig(METHODS, TeacherConfig(dtype="float32"))
    with tempfile.TemporaryDirectory(prefix="agreement-") as name:
        folder = Path(name)
        lines = (line for _, line in islice(numbered_lines(given.text), given.paragraphs))
        (folder / "text.txt").write_text("\n".join(line.rstrip("\n") for line in lines), encoding="utf-8")
        corpus = prepare(folder / "text.txt", folder / "store", workers=1)
        usual = distill(corpus.path, config=config)
        same = distill(corpus.path, config=with_shard_words(config, given.shard_words))
        other = distill(corpus.path, config=replace(config, budget=1024))
        shards = distill_in_shards(corpus.path, folder / "out", config, ScaleConfig(shard_words=given.shard_words))
        assert shards is not None
        facts = {"words": corpus.n_words, "vocabulary": len(usual["ase"])}
        pairs = {SAME: (shards, same), OTHER: (shards, usual), PLAIN: (other, usual)}
        differences = {
            name: {label: _difference(first[label], second[label]) for label in METHODS}
            for name, (first, second) in pairs.items()
        }
    command = command_line("experiments.scale.agreement", sys.argv[1:])
    record = {"command": command, "commit": current_commit(), "seed": config.seed, "machine": machine()}
    write_json(RESULT, {**record, **facts, "differences": differences})


def _difference(table: WordVectors, other: WordVectors) -> dict[str, float]:
    """Maximum differences of cosines between words, and of values relative to the largest value.

    Axes of `still` with nearly equal variances rotate a little, so values are also compared after the best rotation of
    the table.
    """
    assert table.words == other.words
    np.testing.assert_array_equal(np.asarray(table.counts), np.asarray(other.counts))
    ours, theirs = table.matrix.astype(np.float64), other.matrix.astype(np.float64)
    cosines = np.abs(_cosines(ours) - _cosines(theirs)).max()
    left, _, right = np.linalg.svd(ours.T @ theirs)
    plain, rotated = (np.abs(found - theirs).max() / np.abs(theirs).max() for found in (ours, ours @ (left @ right)))
    return {"cosines": float(cosines), "values": float(plain), "rotated": float(rotated)}


def _cosines(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    product: NDArray[np.float64] = unit @ unit.T
    return product


if __name__ == "__main__":
    main()
