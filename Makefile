.PHONY: help lock lint types test fast

help: ## what can be done here
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

lock: ## recompile both lock files from pyproject.toml
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra airflow pyproject.toml -o requirements.txt --custom-compile-command 'make lock'
	uv pip compile --universal --python-version 3.11 --generate-hashes --extra airflow --extra dev pyproject.toml -c requirements.txt -o requirements-dev.txt --custom-compile-command 'make lock'

lint: ## ruff and the rooms
	.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/lint-imports

types: ## mypy, strict
	.venv/bin/mypy

test: ## everything, with real servers
	bin/test

fast: ## the tests that need no server
	bin/test --fast
