# `make` lists the targets. Everything is installed in $(VENV) and nowhere else.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# What the native core is built from: the installation is older than these, or it is current.
SOURCES := setup.cfg pyproject.toml Cargo.toml Cargo.lock \
	$(shell find tcptrace_http/native reference_sim/native -name '*.rs' -o -name Cargo.toml)
# The crates that link against Python are tested through Python.
RUST_TESTS := cargo test --workspace --exclude tcptrace-http-native --exclude reference-sim-native --quiet
# Files of tests that run at a time: no file needs what another one starts.
TEST_WORKERS := 2
# One folder per level: facts, inferences, judgements, presentation.
QUICK_TESTS := tests/unit tests/waits tests/detectors tests/check tests/cli
# Seconds for each fuzz target, and where new inputs go: the corpora in tests/fuzz are kept small.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS := decoder reassembler http http2 tls tls_keys end_to_end
FUZZ_FOUND := target/fuzz-corpus
# Programs that the tests compare with or start, by their Debian packages (package:program where they differ).
TOOLS := tshark tcptrace tcpdump nginx apache2 lighttpd haproxy caddy openssl curl iproute2:ip procps:sysctl ethtool zstd ns2:ns nghttp2-client:nghttp nghttp2-server:nghttpd chromium xvfb:Xvfb \
	xplot-xplot.org:xplot.org x11-apps:xwd zsh fish valgrind
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
# A folder with more captures (public/ and kernel/), see CONTRIBUTING.md.
export TCPTRACE_HTTP_CAPTURES

.DEFAULT_GOAL := help
.PHONY: help build development tools test test-all check quick-test wheel first-commands lint fmt gen bench bench-simulator bench-whatif fuzz properties notebooks docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Editable: the native core is built into the clone, so that Python in the clone imports what is installed.
$(VENV)/.installed: $(SOURCES)
	@$(PYTHON) -m venv $(VENV)
	@.ci/install $(BIN)/pip
	@touch $@

# The package is there: its extras bring their libraries alone.
$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/pip install --disable-pip-version-check 'tcptrace-http[test,lint,docs]'
	@touch $@

build: $(VENV)/.installed ## install the package in .venv, and the native core in the clone

development: $(VENV)/.tested ## the same, with the tools of tests and linters

tools: ## install from Debian what the tests compare with, where it is missing
	@missing=; for tool in $(TOOLS); do \
		command -v $${tool#*:} >/dev/null || missing="$$missing $${tool%:*}"; done; \
	if [ -n "$$missing" ]; then \
		echo "From Debian:$$missing" && $(AS_ROOT) apt-get update -qq && \
		$(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	fi

test: development tools ## the tests of every day: Rust, then Python
	$(RUST_TESTS)
	$(BIN)/pytest --numprocesses $(TEST_WORKERS) --dist loadfile -m "not slow"

test-all: development tools ## every test, the slow ones too
	$(RUST_TESTS)
	$(BIN)/pytest

# What a change breaks most often, in under three minutes once Rust is compiled; needs nothing from Debian.
check: lint quick-test ## the linters and a quick part of the tests, for before a commit

quick-test: development ## the quick part
	$(BIN)/pytest --quiet --numprocesses $(TEST_WORKERS) --dist loadfile -m "not slow" $(QUICK_TESTS)

lint: development ## ruff, mypy --strict, rustfmt, clippy, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest tcptrace_http._native reference_sim._native
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/python tests/generate/rows.py --check
	$(BIN)/python tests/generate/catalogue.py --check

fmt: development ## format Python and Rust
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	cargo fmt --all

gen: development ## write the generated files anew
	$(BIN)/python tests/generate/rows.py
	$(BIN)/python tests/generate/catalogue.py
	$(BIN)/python tests/generate/readme.py
	$(BIN)/python tests/generate/documentation.py

notebooks: development ## run the notebooks and store what they show
	$(BIN)/python -m tests.notebooks.execution

wheel: ## build the wheel and the sdist in dist/, audit them, and run the first report without Rust
	PYTHON=$(PYTHON) .ci/wheel

first-commands: ## run the README's commands, as printed, on a fresh clone
	.ci/first-commands

docs: development ## the documentation site, in build/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b dirhtml docs build/docs
	@echo "read it: $(BIN)/python -m http.server --directory build/docs"

# An editable installation starts slower than the one that users have.
bench: ## speed and memory against tcptrace, tshark and Zeek
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check .
	.venv-bench/bin/python tests/bench/bench.py

bench-simulator: development tools ## CPU time of the simulator against ns-2
	$(BIN)/python tests/bench/bench_simulator.py

bench-whatif: build ## time of whatif with all fixes and strategies on a page of 50 objects
	$(BIN)/python tests/bench/bench_whatif.py

fuzz: ## each fuzz target for FUZZ_SECONDS (needs a nightly Rust)
	command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p $(FUZZ_FOUND)/$$target && \
		cargo +nightly fuzz run --fuzz-dir tests/fuzz $$target $(FUZZ_FOUND)/$$target tests/fuzz/corpus/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -timeout=10 -dict=tests/fuzz/http.dict || exit 1; \
	done

properties: development ## the property tests with many more examples, and new ones each time
	$(BIN)/pytest tests/properties --hypothesis-profile=fuzz

clean: ## remove what was built
	rm -rf $(VENV) .venv-bench .venv-wheel build dist target .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find tcptrace_http reference_sim -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
