# make up: set up what is missing, then start Sightglass and print its address.
# make test: set up what is missing, then run every check and test.
# make test-fast: the same without what needs started processes, a browser or long computing.
# make kernels: test every family, format and form of models. Do so after a change in inference/kernels or inference/models.
# make scoreboard: kill and hold real workers for an hour at most, and write docs/reliability.md.
PYTHON ?= python3

.PHONY: up test test-fast lint kernels scoreboard
up:
	@$(PYTHON) scripts/bootstrap.py
	@exec .venv/bin/python manage.py up

test:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --all

test-fast:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --fast

lint:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py

kernels:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m tests.inference.models.combinations

scoreboard:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python -m tests.scoreboard
