"""The golden run: hashes of all outputs that a refactoring must not change.

``python -m experiments.golden OUT`` prepares the demo text, distills it in float32 on one thread with every kind of
method, trains baselines, transforms, converts and evaluates. It uses only the command line, so that two checkouts can
be compared even if modules were renamed. ``OUT/golden.json`` has the hashes; ``--against FILE`` compares them with
those of another checkout, made on the same machine, because bytes depend on the CPU.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

METHODS = (
    "still",
    "ase",
    "principal",
    "x2static",
    "x2static:preset=paper",
    "bert-skipgram",
    "bert-skipgram:preset=paper",
    "context-to-vec",
    "context-to-vec:preset=paper",
    "decontextual",
)
BASELINES = ("skipgram", "glove", "sent2vec")
SETS = ("wordsim353", "simlex999", "google", "sts12", "ap", "semeval2012")


def main() -> None:
    """Run, write the hashes, and compare them if requested."""
    parser = argparse.ArgumentParser(prog="python -m experiments.golden", description=__doc__)
    parser.add_argument("out", type=Path, help="folder for the results")
    parser.add_argument("--against", type=Path, help="golden.json of another checkout")
    parser.add_argument("--masked", type=Path, help="masked language model, to include the meaning commands")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    hashes = golden(arguments.out.resolve(), arguments.masked)
    (arguments.out / "golden.json").write_text(json.dumps(hashes, indent=2, sort_keys=True) + "\n")
    if arguments.against is None:
        return
    before = json.loads(arguments.against.read_text())
    changed = sorted(name for name in before.keys() | hashes.keys() if before.get(name) != hashes.get(name))
    sys.exit(f"changed: {', '.join(changed)}" if changed else 0)


def golden(out: Path, masked: Path | None = None) -> dict[str, str]:
    """Hashes by name: the store, each table's vectors and words, the evaluation."""
    store, vectors, trained = out / "store", out / "vectors", out / "trained"
    _wordstill("prepare", _demo_text(), "--out", store, "--overwrite")
    _wordstill(
        *("distill", store, "--out", vectors, "--overwrite", "--dtype", "float32", "--device", "cpu"),
        *("--min-count", "2", "--seed", "3"),
        *(part for method in METHODS for part in ("--method", method)),
    )
    _wordstill(
        *("train", store, "--out", trained, "--overwrite", "--device", "cpu", "--seed", "3", "--epochs", "2"),
        *("--dim", "50"),
        *(part for method in BASELINES for part in ("--method", method)),
    )
    tables = sorted(folder for folder in (*vectors.iterdir(), *trained.iterdir()) if folder.is_dir())
    _wordstill(
        *("evaluate", *tables, *(part for name in SETS for part in ("--set", name))),
        *("--out", out / "evaluation.json", "--overwrite"),
    )
    _wordstill(
        *("transform", vectors / "still", "--out", out / "transformed", "--overwrite"),
        *("--chain", "centre,whiten:exponent=0.3,abtt:directions=2,pca:dim=100,unit"),
    )
    for format, file in (("word2vec-binary", "still.bin"), ("glove-text", "still.txt")):
        _wordstill("convert", vectors / "still", out / file, "--to", format, "--overwrite")
    hashes = {"store": json.loads((store / "meta.json").read_text())["hash"]}
    for file in ("still.bin", "still.txt"):
        hashes[file] = _sha256((out / file).read_bytes())
    for table in (*tables, out / "transformed"):
        for name in ("vectors.safetensors", "words.txt"):
            hashes[f"{table.name}/{name}"] = _sha256((table / name).read_bytes())
    evaluation = (out / "evaluation.json").read_text().replace(str(out), "OUT")
    hashes["evaluation.json"] = _sha256(evaluation.encode())
    if masked is not None:
        hashes |= _meaning(out, masked)
    return hashes


def _meaning(out: Path, masked: Path) -> dict[str, str]:
    """Hashes of triples, and of distillers trained on them."""
    _wordstill(
        *("meaning", "pairs", out / "store", "--masked", masked, "--vectors", out / "vectors" / "still"),
        *("--out", out / "triples.jsonl", "--count", "400", "--similarity", "0.3", "--device", "cpu"),
        *("--dtype", "float32", "--overwrite"),
    )
    _wordstill(
        *("meaning", "train", out / "triples.jsonl", "--out", out / "encoder", "--device", "cpu"),
        *("--dtype", "float32", "--max-epochs", "3", "--overwrite"),
    )
    names = sorted(path.name for path in (out / "encoder").iterdir() if path.suffix == ".safetensors")
    files = {"triples.jsonl": out / "triples.jsonl", **{f"encoder/{name}": out / "encoder" / name for name in names}}
    return {name: _sha256(path.read_bytes()) for name, path in files.items()}


def _wordstill(*arguments: object) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "wordstill", *(str(argument) for argument in arguments)]
    subprocess.run(command, check=True, env=environment)


def _demo_text() -> str:
    from gensim.test.utils import datapath

    return str(datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


if __name__ == "__main__":
    main()
