# Two commands are all you need: `make lab` and `make test`. `make help` lists the others.
# Everything is installed into .venv, with uv where it is present and with pip otherwise.

# Pythons to try, in this order; the first that is 3.11 or newer is taken.
PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11 python

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.ready-benchmarks

SUPPORTED := -c "import sys; sys.exit(sys.version_info < (3, 11))"
HAVE_UV := uv --version >/dev/null 2>&1
comma := ,
# $(call install,EXTRAS): this package, editable, with its extras.
install = if $(HAVE_UV); then uv pip install --quiet --python $(BIN)/python -e '.[$(1)]'; \
	else $(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$(1)]'; fi

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup lab test lint types tests format bench clean

help:  ## List these commands.
	@awk -F ':.*  ## ' '/^[a-z]+:.*  ## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(READY)  ## Install everything into .venv (the other commands do it by themselves).
	@echo "Ready. Next: make lab, or source $(BIN)/activate"

lab: $(READY)  ## Open the course in JupyterLab.
	@$(BIN)/simqueue lab $(ARGS)

test: lint types tests  ## Check everything: lint, types, tests.

lint: $(READY)  ## Check style and formatting, notebooks included.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)  ## Check types (mypy, strict).
	$(BIN)/mypy

# A file's tests stay together, as those in a browser share one JupyterLab; tests/conftest.py says which begin.
tests: $(READY)  ## Run the tests, on every core. ARGS="-k name" chooses some.
	$(BIN)/pytest -n auto --dist loadfile --no-loadscope-reorder $(ARGS)

format: $(READY)  ## Format the code and mend what lint can mend.
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

bench: $(BENCH_READY)  ## Measure speed, memory, import time and slider latency (some minutes).
	$(BIN)/python -m benchmarks $(ARGS)

clean:  ## Remove .venv and everything that the commands above made.
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is older than pyproject.toml when the dependencies may have changed.
$(READY): pyproject.toml
	@found=; for python in $(PYTHON); do \
		if $$python $(SUPPORTED) 2>/dev/null; then found=$$python; break; fi; \
	done; \
	if [ -z "$$found" ]; then \
		echo "simqueue needs Python 3.11 or newer, and none of these is: $(PYTHON). Name one: make lab PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi; \
	if [ "$$($(BIN)/python --version 2>&1)" != "$$($$found --version 2>&1)" ]; then rm -rf $(VENV); fi; \
	echo "Installing into $(VENV) with $$($$found --version) (a minute or two, once)"; \
	if ! $(HAVE_UV); then $$found -m venv $(VENV); \
	elif [ ! -d $(VENV) ]; then uv venv --quiet --python "$$(command -v $$found)" $(VENV); fi && \
	$(call install,tests)
	@touch $@

$(BENCH_READY): $(READY)
	@$(call install,tests$(comma)benchmarks)
	@touch $@


