# make up: set up what is missing, then start Sightglass and print its address.
# make test: set up what is missing, then run every check and test.
# make test-fast: ruff, mypy, and the tests that touch neither database, Redis, model nor process. Two minutes.
# make test-changed: the tests downstream of what changed since main. BASE=REF: since REF. SUITES="browser faults": these too.
# make test-whole: the suites of which `make test` runs a part: those on PostgreSQL, and the calls that are made up.
# make pythons: the tests that are not marked slow, under each Python from 3.11 to 3.13 that is found here.
# make kernels: test every family, format and form of models. Do so after a change in inference/kernels or inference/models.
# make scoreboard: kill and hold real workers for an hour at most, and write docs/reliability.md.
PYTHON ?= python3

.PHONY: up test test-fast test-changed test-whole pythons lint kernels scoreboard
up:
	@$(PYTHON) scripts/bootstrap.py
	@exec .venv/bin/python manage.py up

test:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m scripts.check --lane all

test-fast:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m scripts.check --lane fast --base "$(BASE)"

test-changed:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m scripts.check --lane changed --base "$(BASE)" --suites "$(SUITES)"

test-whole: export SIGHTGLASS_TEST_WHOLE = 1
test-whole:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m pytest tests/postgres/test_suites.py tests/conformance/test_schemathesis.py

pythons:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m scripts.pythons

lint:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m scripts.check

kernels:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m tests.inference.models.combinations

scoreboard:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m tests.scoreboard
