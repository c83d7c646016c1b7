# SPDX-License-Identifier: Apache-2.0
#
# A thin front for CMake. `make demo`, `make check` and `make test` work on a bare Debian 12: they say which packages are
# missing and install them (root or sudo); OPSCOPE_NO_INSTALL=1 stops that.

BUILD       ?= build
PREFIX      ?= /usr/local
DESTDIR     ?=
JOBS        ?= $(shell nproc 2>/dev/null || echo 2)
CMAKE_FLAGS ?=
BENCH_FLAGS ?=
PYTHON       = $(if $(wildcard /usr/bin/python3),/usr/bin/python3,python3)
GENERATOR    = $(if $(shell command -v ninja),-G Ninja)

# What was missing when the build folder was made may have been installed since.
FIND_AGAIN = ! grep -qs '=\(OPSCOPE_NPM\|CMOCKA_.*\|OPENCL_.*\|TORCH_.*\)-NOTFOUND' $(BUILD)/CMakeCache.txt || cmake -S . -B $(BUILD) >/dev/null

.DEFAULT_GOAL := all
.PHONY: all demo check test test-long test-gpu bench lint format docs setup install uninstall cross fuzz fuzz-coverage clean help \
        setup-build setup-test setup-bench setup-lint

all: ## build into build/
	@[ -f $(BUILD)/CMakeCache.txt ] || scripts/setup.sh --check build
	@[ -f $(BUILD)/CMakeCache.txt ] || cmake -S . -B $(BUILD) $(GENERATOR) $(CMAKE_FLAGS)
	@$(FIND_AGAIN)
	@cmake --build $(BUILD) -j $(JOBS)

demo: setup-build ## profile an example, show its zones and its live page
	@$(MAKE) --no-print-directory all
	@scripts/demo.sh $(BUILD)

check: setup-build ## before a commit: build, unit tests, lint, documents, golden (a minute or two; what is missing is named)
	@$(MAKE) --no-print-directory all
	@$(PYTHON) tests/run.py --build $(BUILD) --jobs $(JOBS) --only unit,lint,docs,golden

test: setup-test ## every test: gcc, clang, sanitizers, aarch64, lint, system, golden, fuzz (about half an hour)
	@$(MAKE) --no-print-directory all
	@$(PYTHON) tests/run.py --build $(BUILD) --jobs $(JOBS)

test-long: setup-test ## the same with long fuzzing and repeated stress
	@$(MAKE) --no-print-directory all
	@$(PYTHON) tests/run.py --build $(BUILD) --jobs $(JOBS) --long

test-gpu: all ## what only a GPU can show (tests/gpu; says so and skips where there is none)
	@cd tests/gpu && OPSCOPE_TEST_BUILD=$(abspath $(BUILD)) $(PYTHON) -m unittest discover -v -p "test_*.py"

bench: setup-bench ## print the speed table of docs/benchmarks.md
	@$(MAKE) --no-print-directory all
	@scripts/bench.sh $(BUILD) $(BENCH_FLAGS)

lint: setup-lint ## formatting, banned functions, file and function length, layering, shell scripts
	@scripts/lint.sh

format: setup-lint ## let clang-format rewrite the C and C++ sources
	@scripts/lint.sh --format

docs: all ## rewrite docs/commands/ from the program's own help
	@$(PYTHON) scripts/check_docs.py --build $(BUILD) --write

setup: setup-build ## install the Debian packages that the build needs

install: all ## install below PREFIX (/usr/local); DESTDIR is honoured; COMPAT=1 adds the names of other tools
	@COMPAT="$(COMPAT)" DESTDIR="$(DESTDIR)" scripts/install.sh $(BUILD) "$(PREFIX)"

uninstall: all ## remove what `make install` with the same PREFIX and DESTDIR put there
	@DESTDIR="$(DESTDIR)" scripts/install.sh --remove $(BUILD) "$(PREFIX)"

cross: setup-test ## build for aarch64 and run the unit tests under qemu-user
	@$(PYTHON) tests/run.py --build $(BUILD) --jobs $(JOBS) --only aarch64

fuzz: setup-test ## look for news: each fuzz target for FUZZ_SECONDS (ten minutes; half an hour for what strangers send)
	@$(PYTHON) tests/run.py --build $(BUILD) --jobs $(JOBS) --only fuzz --fuzz-seconds $(or $(FUZZ_SECONDS),0)

fuzz-coverage: setup-test ## print which lines each fuzz target reaches, and what none does
	@$(PYTHON) tests/run.py --build $(BUILD) --jobs $(JOBS) --only fuzz-coverage

clean: ## remove build/
	rm -rf $(BUILD)

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile
	@echo "  variables: BUILD=build PREFIX=/usr/local DESTDIR= JOBS=$(JOBS) CMAKE_FLAGS= BENCH_FLAGS=--quick OPSCOPE_NO_INSTALL=1"

setup-build:
	@BUILD=$(BUILD) scripts/setup.sh build
setup-test:
	@BUILD=$(BUILD) scripts/setup.sh build test lint
setup-bench:
	@BUILD=$(BUILD) scripts/setup.sh build bench
setup-lint:
	@BUILD=$(BUILD) scripts/setup.sh lint
