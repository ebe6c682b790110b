PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
KERNELS := $(VENV)/.kernels

.PHONY: help demo test check format experiments clean

help:
	@echo "make demo         distill the bundled model over the bundled Wikipedia text, and score the vectors"
	@echo "make test         every check and test"
	@echo "make check        lint and types only"
	@echo "make format       format the code"
	@echo "make experiments  measure speed and memory, and rewrite the tables (experiments/README.md)"

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $(READY)

$(KERNELS): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[kernels]'
	touch $(KERNELS)

demo: $(READY)
	HF_HUB_OFFLINE=1 $(BIN)/python -m wordstill.demo --out out/demo

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check $(KERNELS)
	HF_HUB_OFFLINE=1 $(BIN)/python -m pytest -n 2

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

experiments: $(READY)
	HF_HUB_OFFLINE=1 $(BIN)/python -m experiments.speed.cpu_throughput
	HF_HUB_OFFLINE=1 $(BIN)/python -m experiments.speed.memory
	$(BIN)/python -m experiments.tables

clean:
	rm -rf $(VENV) out
