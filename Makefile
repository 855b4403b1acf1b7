# make up: set up what is missing, then start Sightglass and print its address.
# make test: set up what is missing, then run every check and test.
PYTHON ?= python3

.PHONY: up test lint
up:
	@$(PYTHON) scripts/bootstrap.py
	@exec .venv/bin/python manage.py up

test:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py --all

lint:
	@$(PYTHON) scripts/bootstrap.py --dev
	@exec .venv/bin/python scripts/check.py
