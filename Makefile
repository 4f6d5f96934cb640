# `make demo` shows k2tui, `make test` proves it. Each target makes the virtual environment that it needs.
VENV ?= .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.k2tui-ready
PYTEST_ARGS ?=
OTHER_PYTHONS ?= 3.10 3.11 3.13

.PHONY: help demo test check format real bench corpus wheel test-pythons docs clean
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

$(READY): pyproject.toml scripts/venv.sh
	@scripts/venv.sh $(VENV)

demo: $(READY) ## k2tui on a simulated fleet: no GPU, no SSH, no config
	@$(VENV)/bin/k2tui demo

test: check ## format, lint, types, then every test that needs no real engine
	@scripts/need.sh sshd:openssh-server ssh:openssh-client tmux:tmux ps:procps busybox:busybox
	$(PY) -m pytest $(PYTEST_ARGS)

check: $(READY) ## ruff format --check, ruff check, mypy --strict
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy

format: $(READY) ## put the code into its format
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

real: $(READY) ## a real SGLang on the CPU, through a real sshd: start, proof, broken connections, stop; and made to fail
	@scripts/need.sh sshd:openssh-server tmux:tmux ps:procps
	@$(PY) -m tests.real.journey

bench: $(READY) ## what k2tui costs, against its limits
	@$(PY) -m bench

corpus: $(READY) ## how many launch situations are read right, also by kind (CASES=folder: of another folder)
	@$(PY) scripts/corpus.py $(CASES)

wheel: $(READY) ## build the wheel, install it alone, play the demo with it
	@scripts/wheel.sh $(PY)

test-pythons: ## the tests on each of Python 3.10, 3.11 and 3.13 that is installed
	@scripts/need.sh sshd:openssh-server ssh:openssh-client tmux:tmux ps:procps busybox:busybox
	@scripts/test-pythons.sh $(OTHER_PYTHONS)

docs: $(READY) ## write the tables of README.md and the screenshots anew
	$(PY) scripts/tables.py --write
	$(PY) scripts/screenshot.py

clean: ## remove what make made here
	rm -rf .venv .venv-* dist .pytest_cache .mypy_cache .ruff_cache .hypothesis snapshot_report.html
