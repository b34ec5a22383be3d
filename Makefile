# Everything a contributor needs: make setup, make test, make demo. See `make help`.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
WHEEL_ENV := build/wheel-env
WHEEL_READY := $(WHEEL_ENV)/.ready
TRANSFORMERS := build/transformers
TRANSFORMERS_READY := $(TRANSFORMERS)/.ready
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt

.PHONY: help setup demo tour test lint unit wheel coverage bench fuzz docs release-check clean

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

setup: $(READY) ## Make .venv with the package, its training half and the developers' tools: a minute or two, 2 GB

# Choosing a learning rate for each method would take three times as long.
demo: $(READY) ## Train all nine methods on glyphs at one learning rate and compare them: some minutes on two cores
	$(BIN)/hedgerow study main glyphs-quick --no-tune --jobs 2 -o demo
	for method in softmax-margin flat-softmax; do \
	  [ -e demo/$$method/metrics.json ] || \
	    $(BIN)/hedgerow train glyphs-quick --set method.name=$$method --resume -o demo/$$method; \
	done
	$(BIN)/hedgerow report demo/softmax-margin demo/flat-softmax --title 'Two methods on glyphs' -o demo/report.html
	@echo 'Open demo/report.html in a browser: it has a slider over all trade-offs, the tree and examples.'
	@echo 'Try next: $(BIN)/hedgerow study unseen,levels glyphs-quick --no-tune --jobs 2 -o demo'
	@echo '          $(BIN)/hedgerow train glyphs-quick --set method.name=softmax-margin -o runs/quick'
	@echo '          make tour'

tour: $(READY) ## Show a tree, answers and a trade-off
	$(BIN)/hedgerow doctor examples/garden.csv --tree-format lineages
	$(BIN)/python examples/tour.py

test: $(READY) ## Everything that must pass: lint, tests and doctests, the built wheel alone
	$(MAKE) -j2 lint wheel # each keeps one core busy
	$(MAKE) unit

lint: $(READY) ## Static checks: ruff, format, mypy, import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(READY) $(TRANSFORMERS_READY) ## Tests and doctests, warnings as errors, in two processes
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

wheel: $(READY) $(WHEEL_READY) ## Install the wheel without torch or matplotlib, and test it outside the source tree
	rm -rf build/wheel
	$(BIN)/python -m build --wheel --no-isolation --outdir build/wheel . > build/wheel.log || { cat build/wheel.log; exit 1; }
	$(WHEEL_ENV)/bin/python $(PIP_INSTALL) --no-deps --force-reinstall build/wheel/*.whl
	away=$$(mktemp -d); trap 'rm -rf "$$away"' EXIT; cp -R tests/standalone "$$away"; cd "$$away"; \
	$(CURDIR)/$(WHEEL_ENV)/bin/python -m pytest -W error -ra --durations=5 standalone

coverage: $(READY) $(TRANSFORMERS_READY) ## Run the tests with branch coverage, and list what no test reaches
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

bench: $(READY) ## Run every benchmark in turn
	for file in benchmarks/bench_*.py; do \
	  if [ -e "$$file" ]; then echo "== $$file"; $(BIN)/python -m benchmarks.$$(basename "$$file" .py); fi; \
	done

MINUTES ?= 10
fuzz: $(READY) ## Try every reader with new files for MINUTES, and print what was found
	$(BIN)/python -m tests.fuzz $(MINUTES)

docs: $(READY) $(TRANSFORMERS_READY) ## Draw the pictures, run the tutorials, and build the documentation into site/
	$(BIN)/python docs/draw_architecture.py
	$(BIN)/python docs/draw_answers.py
	PYTHONPATH=$(CURDIR)/$(TRANSFORMERS) $(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -d build/doctrees docs site

release-check: $(READY) ## Build sdist and wheel, check them, and test both with old and new dependencies: about half an hour
	$(BIN)/python .ci/release_check.py

clean: ## Remove what was built, the environment included
	rm -rf .venv build dist site docs/tutorials docs/gallery demo .coverage* .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# torch first and alone: nothing later may pull in another build of it.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("hedgerow needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	[ -x $(BIN)/python ] || $(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) pip
	$(BIN)/python $(PIP_INSTALL) torch==2.13.0
	$(BIN)/python $(PIP_INSTALL) --group dev
	$(BIN)/python $(PIP_INSTALL) --no-build-isolation --editable '.[train,report,dask,onnx]'
	touch $@

# For one tutorial, and kept apart: where torchmetrics finds transformers, every process that trains imports it, and
# starts seconds later.
$(TRANSFORMERS_READY): constraints.txt | $(READY)
	$(BIN)/python $(PIP_INSTALL) --upgrade --target $(TRANSFORMERS) transformers
	touch $@

$(WHEEL_READY): pyproject.toml constraints.txt | $(READY)
	[ -x $(WHEEL_ENV)/bin/python ] || $(PYTHON) -m venv $(WHEEL_ENV)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' \
	  > build/requirements.txt
	$(WHEEL_ENV)/bin/python $(PIP_INSTALL) --requirement build/requirements.txt pytest
	touch $@
