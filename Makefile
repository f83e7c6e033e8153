# `make` lists the targets. Everything is installed in $(VENV) only.
VENV ?= .venv
PYTHON ?= python3
BIN := $(VENV)/bin
# Sources of the native core: the installation is stale if one of them is newer.
SOURCES := setup.cfg pyproject.toml Cargo.toml Cargo.lock \
	$(shell find tcptrace_http/native reference_sim/native -name '*.rs' -o -name Cargo.toml)
# Python tests cover the crates that link against Python.
RUST_TESTS := cargo test --workspace --exclude tcptrace-http-native --exclude reference-sim-native --quiet
# Number of test files that run concurrently: test files are independent.
TEST_WORKERS := 2
# One folder per level: facts, inferences, judgements, presentation.
QUICK_TESTS := tests/unit tests/waits tests/detectors tests/check tests/cli
# These build or install the package, simulate for long, fill disks, or time real servers.
QUICK_WITHOUT := tests/check/test_action.py tests/check/test_pre_commit.py \
	$(patsubst %,tests/cli/test_%.py,diff infer outputs reproduce simulate whatif) \
	$(patsubst %,tests/detectors/test_%.py,tls tls_handshakes)
# Seconds per fuzz target, and the folder of new inputs: the corpora in tests/fuzz stay small.
FUZZ_SECONDS ?= 600
FUZZ_TARGETS := decoder reassembler http http2 tls tls_keys end_to_end
FUZZ_FOUND := target/fuzz-corpus
# Programs that the tests run, by their Debian packages (package:program if they differ).
TOOLS := tshark tcptrace tcpdump nginx apache2 lighttpd haproxy caddy openssl curl iproute2:ip procps:sysctl ethtool zstd ns2:ns nghttp2-client:nghttp nghttp2-server:nghttpd chromium xvfb:Xvfb \
	xplot-xplot.org:xplot.org x11-apps:xwd zsh fish valgrind
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo)
# Folder with additional captures (public/ and kernel/), see CONTRIBUTING.md.
export TCPTRACE_HTTP_CAPTURES

.DEFAULT_GOAL := help
.PHONY: help build development tools test test-all check quick-test wheel first-commands lint fmt gen bench bench-simulator bench-whatif fuzz properties notebooks docs clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Editable: the native core is built into the clone, so that Python in the clone imports the installed core.
$(VENV)/.installed: $(SOURCES)
	@$(PYTHON) -m venv $(VENV)
	@.ci/install $(BIN)/pip
	@touch $@

# The package is installed: the extras only add their libraries.
$(VENV)/.tested: $(VENV)/.installed
	$(BIN)/pip install --disable-pip-version-check 'tcptrace-http[test,lint,docs]'
	@touch $@

build: $(VENV)/.installed ## install the package in .venv, and the native core in the clone

development: $(VENV)/.tested ## build, and install the tools of tests and linters

tools: ## install missing reference programs of the tests from Debian
	@missing=; for tool in $(TOOLS); do \
		command -v $${tool#*:} >/dev/null || missing="$$missing $${tool%:*}"; done; \
	if [ -n "$$missing" ]; then \
		echo "From Debian:$$missing" && $(AS_ROOT) apt-get update -qq && \
		$(AS_ROOT) env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing; \
	fi

test: development tools ## run the everyday tests: Rust, then Python
	$(RUST_TESTS)
	$(BIN)/pytest --numprocesses $(TEST_WORKERS) --dist loadfile -m "not slow"

test-all: development tools ## run every test, including slow tests
	$(RUST_TESTS)
	$(BIN)/pytest

# The most frequent failures, in under three minutes after the Rust build; needs no Debian packages.
check: lint quick-test ## run the linters and a quick part of the tests, before a commit

quick-test: development ## run the quick part of the tests
	$(BIN)/pytest --quiet --numprocesses $(TEST_WORKERS) --dist loadfile -m "not slow" $(QUICK_TESTS) $(addprefix --ignore=,$(QUICK_WITHOUT))

lint: development ## run ruff, mypy --strict, rustfmt and clippy, and check generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest --mypy-config-file .ci/stubtest.ini tcptrace_http._native reference_sim._native
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/python tests/generate/rows.py --check
	$(BIN)/python tests/generate/catalogue.py --check

fmt: development ## format Python and Rust
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .
	cargo fmt --all

gen: development ## rewrite the generated files
	$(BIN)/python tests/generate/rows.py
	$(BIN)/python tests/generate/catalogue.py
	$(BIN)/python tests/generate/readme.py
	$(BIN)/python tests/generate/documentation.py

notebooks: development ## run the notebooks and store their outputs
	$(BIN)/python -m tests.notebooks.execution

wheel: ## build the wheel and the sdist in dist/, audit them, and run the first report without Rust; TARGET=aarch64-unknown-linux-musl: for another Linux
	PYTHON=$(PYTHON) .ci/wheel $(TARGET)

first-commands: ## run the README's commands, as printed, on a fresh clone
	.ci/first-commands

docs: development ## build the documentation site in build/docs
	$(BIN)/python -m sphinx -W --keep-going -q -b dirhtml docs build/docs
	@echo "read it: $(BIN)/python -m http.server --directory build/docs"

# An editable installation starts slower than a user's.
bench: ## compare speed and memory with tcptrace, tshark and Zeek
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/pip install --quiet --disable-pip-version-check .
	.venv-bench/bin/python tests/bench/bench.py

bench-simulator: development tools ## compare the simulator's CPU time with ns-2's
	$(BIN)/python tests/bench/bench_simulator.py

bench-whatif: build ## measure whatif with all fixes and strategies on a page of 50 objects
	$(BIN)/python tests/bench/bench_whatif.py

fuzz: ## run each fuzz target for FUZZ_SECONDS (needs a nightly Rust)
	command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
	for target in $(FUZZ_TARGETS); do \
		mkdir -p $(FUZZ_FOUND)/$$target && \
		cargo +nightly fuzz run --fuzz-dir tests/fuzz $$target $(FUZZ_FOUND)/$$target tests/fuzz/corpus/$$target -- \
			-max_total_time=$(FUZZ_SECONDS) -rss_limit_mb=1024 -timeout=10 -dict=tests/fuzz/http.dict || exit 1; \
	done

properties: development ## run the property tests with many more, always new examples
	$(BIN)/pytest tests/properties --hypothesis-profile=fuzz

clean: ## remove build products
	rm -rf $(VENV) .venv-bench .venv-wheel build dist target .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
	find tcptrace_http reference_sim -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
