# make up: set up what is missing, then start Sightglass and print its address.
# make test: set up what is missing, then run every check and test.
# make test-fast: the same without what needs started processes, a browser or long computing.
# make test-whole: the suites of which `make test` runs a part: those on PostgreSQL, and the calls that are made up.
# make scoreboard: kill and hold real workers for an hour at most, and write docs/reliability.md.
PYTHON ?= python3

.PHONY: up test test-fast test-whole lint scoreboard
up:
	@$(PYTHON) scripts/bootstrap.py
	@exec .venv/bin/python manage.py up

test:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --all

test-fast:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --fast

test-whole: export SIGHTGLASS_TEST_WHOLE = 1
test-whole:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m pytest tests/postgres/test_suites.py tests/conformance/test_schemathesis.py

lint:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py

scoreboard:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m tests.scoreboard
