# make up: set up what is missing, then start Sightglass and print its address.
# make test: set up what is missing, then run every check and test.
# make test-fast: the same without what needs started processes, a browser or long computing.
# make pythons: the tests of test-fast under each Python from 3.11 to 3.13 that is found here.
# make scoreboard: kill and hold real workers for an hour at most, and write docs/reliability.md.
PYTHON ?= python3

.PHONY: up test test-fast pythons lint scoreboard
up:
	@$(PYTHON) scripts/bootstrap.py
	@exec .venv/bin/python manage.py up

test:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --all

test-fast:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --fast

pythons:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/pythons.py

lint:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py

scoreboard:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m tests.scoreboard
