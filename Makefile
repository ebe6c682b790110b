PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
KERNELS := $(VENV)/.kernels
DOCS := $(VENV)/.docs
INSTALL := -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# The demo has a small environment of its own, unless the developers' is there already.
DEMO := $(if $(wildcard $(READY)),$(VENV),.venv-demo)
# Only files are taken from this wheel: text and three sets. gensim has no wheel for Python 3.14.
GENSIM := gensim==4.4.0

# Tests start many processes, which load the package from its bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test check format docs experiments fuzz faults kill clean

help:
	@echo "make demo         distill the bundled model over a Wikipedia excerpt, score the vectors, draw a map"
	@echo "make test         every check and test"
	@echo "make docs         build the site into out/site"
	@echo "make check        lint and types only"
	@echo "make format       format the code"
	@echo "make fuzz         mutated files for every reader, for SECONDS=600"
	@echo "make faults       every system call on files fails once"
	@echo "make kill         KILLS=100 random kills, resumed"
	@echo "make experiments  measure speed and memory, and rewrite the tables (experiments/README.md)"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python $(INSTALL) --editable '.[dev]'
	touch $(READY)

$(KERNELS): $(READY)
	$(BIN)/python $(INSTALL) --editable '.[kernels]'
	touch $(KERNELS)

$(DOCS): $(READY)
	$(BIN)/python $(INSTALL) --editable '.[docs]'
	touch $(DOCS)

# Without a compiler, mwparserfromhell is installed as plain Python.
.venv-demo/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-demo
	WITH_EXTENSION=0 .venv-demo/bin/python $(INSTALL) --editable '.[demo]'
	.venv-demo/bin/python -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
		--python-version 3.12 --dest .venv-demo/wheels $(GENSIM)
	touch .venv-demo/.ready

demo: $(DEMO)/.ready
	HF_HUB_OFFLINE=1 $(DEMO)/bin/python -m wordstill.demo --out out/demo --gensim "$$(echo $(DEMO)/wheels/gensim-*.whl)"

docs: $(DOCS)
	HF_HUB_OFFLINE=1 $(BIN)/python -m sphinx -W --keep-going -q -j 2 docs out/site

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check $(KERNELS)
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2 --dist worksteal

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

experiments: $(READY)
	HF_HUB_OFFLINE=1 $(BIN)/python -m experiments.speed.cpu_throughput
	HF_HUB_OFFLINE=1 $(BIN)/python -m experiments.speed.memory
	$(BIN)/python -m experiments.tables

fuzz: $(READY)
	$(BIN)/python -m tests.fuzz.fuzzing --seconds $(or $(SECONDS),600)

faults: $(READY)
	HF_HUB_OFFLINE=1 $(BIN)/python -m tests.fuzz.faults

kill: $(READY)
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz.kills --kills $(or $(KILLS),100)

clean:
	rm -rf $(VENV) .venv-demo out
