# `make demo` and `make test` set up all that they need; everything else is in CONTRIBUTING.md.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
# What counts as changed is what differs from this commit.
SINCE ?= HEAD~1
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

COVER := --cov=verdict_core.context --cov=verdict_core.wire --cov=verdict_core.forbidden \
	--cov=verdict_core.progress --cov-branch --cov-fail-under=100 --cov-report=term-missing:skip-covered

.PHONY: demo test test-long lint types contracts wheel-test mutants mutants-changed mutmut mutmut-changed nightly trace annex lock proofs artefact conformance-node bench frameworks host-claude host-codex host-dsh clean

demo: .venv/.core
	@status=0; $(BIN)/verdict-core check --repo . --record examples/session.jsonl || status=$$?; \
	case $$status in 0|10|20) ;; *) exit $$status ;; esac

# Branch coverage of what decides is counted from tests/ alone, so the properties run apart.
test: .venv/.dev
	$(BIN)/python -m pytest tests -q -n 2 -m "not long" $(COVER)
	$(BIN)/python -m pytest properties -q -n 2

test-long: .venv/.dev
	$(BIN)/python -m pytest tests -q -n 2 -m long

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/.dev .venv/.bench
	$(BIN)/mypy
	$(BIN)/mypy properties

contracts: .venv/.dev
	$(BIN)/lint-imports

wheel-test: .venv/.dev
	.ci/wheel-test $(BIN)/python

mutants: .venv/.dev
	$(BIN)/python -m mutants

# For each run of .ci/run: the faults of what decides, those of what the last commit and the working
# tree change, and an eighth of the others, another one with each commit.
mutants-changed: .venv/.dev
	$(BIN)/python -m mutants --changed-since $(SINCE)

mutmut: .venv/.mutmut
	$(BIN)/python -m mutants.automatic

mutmut-changed: .venv/.mutmut
	$(BIN)/python -m mutants.automatic --changed-since $(SINCE)

# Goes looking: at random, twenty times as long, and with a solver over the rule table.
nightly: .venv/.nightly
	VERDICT_CORE_PROFILE=nightly $(BIN)/python -m pytest properties -q -n 2

trace: .venv/.dev
	$(BIN)/python -m mutants.trace

# What `make trace` compares with: the table in SPEC.md, and the clauses of a version that was raised.
annex: .venv/.dev
	$(BIN)/python -m mutants.trace --write

lock: .venv/.dev
	$(BIN)/python -m mutants.trace --lock

proofs: .venv/.dev
	$(BIN)/python -m proofs

artefact: .venv/.dev
	$(BIN)/python -m artefact

conformance-node: .venv/.dev
	$(BIN)/python examples/node/check.py

bench: .venv/.bench
	$(BIN)/python -m benchmarks

host-dsh: .venv/.dev .venv/host-dsh/.installed
	DSH_HOST=.venv/host-dsh $(BIN)/python -m pytest -q tests/hosts/dsh/drive_dsh.py

# Real programs, from the npm registry and then against a scripted model on the loopback interface.
host-claude: .venv/.dev
	mkdir -p .hosts/claude
	npm install --prefix .hosts/claude --no-audit --no-fund --loglevel=error @anthropic-ai/claude-code@2.1.332
	$(BIN)/python -m pytest tests/hosts/host_claude.py -q

host-codex: .venv/.dev
	mkdir -p .hosts/codex
	npm install --prefix .hosts/codex --no-audit --no-fund --loglevel=error @openai/codex@0.171.0
	$(BIN)/python -m pytest tests/hosts/host_codex.py -q

# Opt-in: downloads the frameworks, each into an environment of its own.
frameworks: .venv/.core
	.ci/frameworks $(BIN)/python

.venv/bin/python:
	$(or $(PYTHON),$(error no Python of 3.11 or later with venv was found)) -m venv .venv

.venv/.core: pyproject.toml | .venv/bin/python
	$(PIP) --editable .
	@touch $@

.venv/.dev: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --constraint constraints.txt --editable '.[dev]'
	@touch $@ .venv/.core

.venv/.bench .venv/.mutmut .venv/.nightly: .venv/.%: pyproject.toml constraints.txt | .venv/bin/python
	$(PIP) --constraint constraints.txt --editable '.[$*]'
	@touch $@

.venv/host-dsh/.installed: tests/hosts/dsh/install.sh | .venv/bin/python
	tests/hosts/dsh/install.sh .venv/host-dsh
	@touch $@

clean:
	rm -rf .venv dist build
