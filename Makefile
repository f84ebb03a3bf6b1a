# The LLM Kitchen. `make help` lists what there is.
#
#   PYTHON=python3.12    the Python to make the environment with (3.11 to 3.13)
#   ARGS="..."           more for the command behind a target:  make test ARGS="-k roofline"

PYTHON ?= python3
PY := .venv/bin/python
# JupyterLab asks root to say so. In a container root is the only user there is.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

.DEFAULT_GOAL := help
.PHONY: help lab test notebooks figures lint format bench clean study dev

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

lab: study  ## study: open the collection in JupyterLab
	$(PY) -m jupyterlab $(AS_ROOT) --LabApp.default_url=/lab/tree/notebooks/00_welcome.ipynb $(ARGS)

test: dev  ## every test, every notebook run again and compared, the pages in a browser
	$(PY) -m pytest $(ARGS)

notebooks: dev  ## build notebooks/ and notebooks/solutions/ from notebooks/source/, and run them
	$(PY) -m tools.notebooks $(ARGS)

figures: dev  ## draw figures/ from kitchenlib/plots/
	$(PY) -m tools.figures

lint: dev  ## check style and types
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: dev  ## put the code in style
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

bench: study  ## time the library on this machine
	$(PY) -m kitchenlib.bench $(ARGS)

clean:  ## remove the environment, caches and test pictures (your answers stay)
	rm -rf .venv artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +

study dev:
	@[ "$$("$(PYTHON)" -c 'import sys; print(sys.version_info >= (3, 6))' 2>&1)" = True ] || { \
	    echo "$(PYTHON) is no Python 3 that runs here. Install Python 3.11 to 3.13, or name the" \
	    "one you have: make PYTHON=/path/to/python $(MAKECMDGOALS)" >&2; exit 1; }
	@"$(PYTHON)" tools/environment.py $@ "$(MAKECMDGOALS)"
