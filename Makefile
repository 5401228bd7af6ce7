# `make run` and `make test` set everything up themselves. The README gives the same commands without make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
PROFILE ?= quick
# One process for each core, at most eight; a file's tests stay together, so that they share what they trained.
PARALLEL := -n auto --maxprocesses=8 --dist loadfile

.PHONY: run test coverage soak colab site contact-sheet slides teaching lab notebooks dry-run photographs ledger badges bench peers clean
.DEFAULT_GOAL := run

run: $(READY)  ## execute every lesson and write build/
	$(BIN)/python tools/notebooks.py run --profile "$(PROFILE)"

site: run  ## the whole course as a website in build/site, for GitHub Pages or a memory stick
	$(BIN)/python tools/website.py

contact-sheet: $(READY)  ## all figures of build/figures on one sheet, build/contact-sheet.png
	$(BIN)/python tools/contact_sheet.py

test: $(READY)  ## style, types and every test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/python -m pytest $(PARALLEL)

coverage: $(READY)  ## which lines of mialib the tests reach; the page is build/coverage/index.html
	$(BIN)/python -m pytest $(PARALLEL) --cov --cov-report=term --cov-report=html:build/coverage

soak: $(READY)  ## kill the run store 200 times, rehearse every plan, hand in every bad input and damaged files, open six lessons in a browser (make test: a sample)
	MIALIB_KILLS=200 $(BIN)/python -m pytest tests/library/test_store.py -k kill
	MIALIB_REHEARSE=all $(BIN)/python -m pytest tests/library/test_rehearsal.py
	MIALIB_FUZZ=all $(BIN)/python -m pytest $(PARALLEL) tests/library/test_fuzz.py
	MIALIB_BROWSER=all $(BIN)/python -m pytest tests/browser
	MIALIB_MUTATIONS=3000 $(BIN)/python -m pytest tests/library/test_foreign_files.py -k damaged

colab: $(READY)  ## every lesson on the packages that Colab has, in build/colab (needs its Python; some minutes and 6 GB at first)
	$(BIN)/python tools/colab.py run --only $(ONLY)

lab: $(READY)  ## JupyterLab on localhost, opened at lesson 00; it asks nobody for news or updates (tools/lab)
	JUPYTER_CONFIG_PATH=$(CURDIR)/tools/lab $(BIN)/jupyter lab --ip=localhost $(if $(filter 0,$(shell id -u)),--allow-root) --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb

notebooks: $(READY)  ## rebuild the committed notebooks and the README's table (ONLY="00 01" for some)
	$(BIN)/python tools/notebooks.py build --only $(ONLY)

dry-run: $(READY)  ## every configuration of PROFILE builds and takes two steps; nothing is downloaded
	$(BIN)/python tools/dry_run.py "$(PROFILE)"

photographs: $(READY)  ## the README's picture and notebooks/PHOTOGRAPHS.md, from the shipped results
	$(BIN)/python tools/front_door.py
	$(BIN)/python tools/photographs.py

ledger: $(READY)  ## LEDGER.md and the README's totals, from the shipped results
	$(BIN)/python tools/ledger_page.py

badges: $(READY)  ## point badges and set-up cells at REPO=owner/name
	$(BIN)/python tools/badges.py "$(REPO)"

slides: $(READY)  ## a talk for every lesson, from the committed notebooks: build/slides/index.html (ONLY="00 01" for some)
	$(BIN)/python tools/slides.py $(ONLY)

teaching: $(READY)  ## the plans' tables in notebooks/teaching/README.md, and the exercises for TO=nbgrader or TO=otter in build/
	$(BIN)/python tools/plans.py
	$(BIN)/python tools/teaching.py --to "$(or $(TO),nbgrader)" --out "build/$(or $(TO),nbgrader)"

bench: $(READY) $(if $(ONLY),,peers)  ## speed, memory and growth, also beside other toolkits: benchmarks/RESULTS.md (ONLY="past data" prints some)
	PYTHONPATH=tools $(BIN)/python -m bench $(ONLY)

peers: $(READY)  ## the environments of the other toolkits in build/peers, once (some minutes); what cannot be had is left out
	-PYTHONPATH=tools $(BIN)/python -m bench.peers install build/peers

clean:  ## remove the environment and what was built; trained runs under data/ stay
	rm -rf $(VENV) build *.egg-info .coverage* .pytest_cache .ruff_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $(READY)
