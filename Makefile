# Two commands do all the set-up on a fresh Debian or Ubuntu machine: `make demo` and `make test`.
.PHONY: help setup engine host-tools browser node-image screenshots demo test test-quick lint format lock clean
SHELL := /bin/bash
PYTHON := .venv/bin/python

help: ## Show the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: .venv/.installed ## Make the environment in .venv

.venv/.installed: requirements/all.lock pyproject.toml scripts/setup.sh
	@scripts/setup.sh
	@touch $@

engine: ## See to a running Docker engine
	@infra/engine.sh

host-tools: ## Install what bootstrapping a base image needs
	@infra/host-tools.sh

browser: ## Install the browser in which tests open pages
	@infra/browser.sh

demo: setup engine host-tools ## Run the demo trial (REAL=1: against the real providers)
	@scripts/demo.sh $(if $(REAL),--real)

test: setup engine browser ## Run all tests
	@infra/host-tools.sh --tests
	$(PYTHON) -m pytest $(PYTEST_ARGS)

test-quick: setup ## Run the tests that need neither an engine nor patience
	$(PYTHON) -m pytest -m "not slow and not engine" $(PYTEST_ARGS)

lint: setup ## Check format, style, types and imports
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/lint-imports

node-image: setup engine host-tools ## Build infra/node.Dockerfile and see it work as a node (minutes)
	$(PYTHON) scripts/check_node_image.py

screenshots: setup browser ## Take the pictures of docs/img anew
	$(PYTHON) scripts/screenshots.py

format: setup ## Format the code
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

lock: ## Write requirements/all.lock anew (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
	  --python-version 3.11 --all-extras --group dev --group bench pyproject.toml -o requirements/all.lock

clean: ## Remove the environment and caches of this checkout
	rm -rf .venv .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist
