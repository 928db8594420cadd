# The commands of this repository; `make` alone lists them. Each does its own set-up on a Debian machine with Rust.
#
# All of them build the whole workspace with one set of features, so that librdkafka and everything else is compiled
# once. The fail points of that set do nothing until a chaos run names one; `demo`, `run` and `bench` build without,
# and without OpenTelemetry.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

cargo := cargo
all := --locked --workspace --features pico-connectors/failpoints,pico-connectors/otel
shipped := --locked --workspace
target := $(or $(CARGO_TARGET_DIR),target)
log := $(target)/make-test.log
services := chaos-tests/services

# Test targets in tests/ that need nothing but the machine, and those that need Kafka or foreign clients.
# The tidy test sees that every target stands in one of the lists.
tests_alone := border main panics tidy tree
tests_with_servers := chaos clients deploy elasticsearch influxdb kafka postgres
# Those whose servers take minutes to make: `make chaos` runs them.
tests_long := influxdb2

# Where property tests begin: `make check` is the same test each time. Another number looks elsewhere, and so does
# `cargo test` without it.
export PROPTEST_RNG_SEED ?= 1
DEMO_SECONDS ?=
CONFIG ?= config.toml
FUZZ_SECONDS ?= 60
# For `make chaos`: how many kills in all its stories together.
KILLS ?= 1000

# For `make install`: where to, below which folder (for packages), and more flags for cargo.
PREFIX ?= /usr/local
DESTDIR ?=
# /usr/local/lib is where the daemon looks by itself; any other folder must stand in [plugins] directories.
PLUGINS ?= $(PREFIX)/lib
CARGO_FLAGS ?=
to = $(DESTDIR)$(PREFIX)
completions := $(addprefix share/,bash-completion/completions zsh/site-functions fish/vendor_completions.d)
plugins := $(patsubst plugins/%/Cargo.toml,%,$(filter-out plugins/sdk/%,$(wildcard plugins/*/Cargo.toml)))

.NOTPARALLEL:
.PHONY: help demo run check test install build-packages packages fetch chaos bench mutants fuzz deny

## Lists what can be made.
help:
	@awk '/^## /{text=substr($$0,4)} /^[a-z-]+:/{if(text){split($$1,name,":"); printf "  make %-9s %s\n",name[1],text}; text=""}' $(MAKEFILE_LIST)

## Shows records flowing: random source, broker inside the process. DEMO_SECONDS=N ends by itself.
demo: build-packages
	@echo "— building pico-connectors and the random source (the first time takes some minutes) —"
	$(cargo) build --locked -p pico-connectors -p picomq-connector-random-source
	$(target)/debug/pico-connectors dev $(if $(DEMO_SECONDS),--seconds $(DEMO_SECONDS))

## Runs the daemon, built for speed, on CONFIG=config.toml.
run: build-packages
	$(cargo) build --locked --release -p pico-connectors $(plugins:%=-p picomq-connector-%-source)
	$(target)/release/pico-connectors run --config $(CONFIG)

## Builds for speed and installs binary, plugins, unit, manual and completions under PREFIX=/usr/local.
install: build-packages
	$(cargo) build --locked --release $(CARGO_FLAGS) -p pico-connectors $(plugins:%=-p picomq-connector-%-source)
	install -d $(DESTDIR)$(PLUGINS) $(addprefix $(to)/,bin lib/systemd/system $(completions) share/man/man1)
	install -s -m 0755 $(target)/release/pico-connectors $(to)/bin/
	install -s -m 0644 $(plugins:%=$(target)/release/libpicomq_connector_%_source.so) $(DESTDIR)$(PLUGINS)/
	sed 's#@PREFIX@#$(PREFIX)#' config/deploy/pico-connectors.service > $(to)/lib/systemd/system/pico-connectors.service
	$(to)/bin/pico-connectors man --dir $(to)/share/man/man1
	$(to)/bin/pico-connectors completions bash > $(to)/share/bash-completion/completions/pico-connectors
	$(to)/bin/pico-connectors completions zsh > $(to)/share/zsh/site-functions/_pico-connectors
	$(to)/bin/pico-connectors completions fish > $(to)/share/fish/vendor_completions.d/pico-connectors.fish
	@echo "installed under $(to): try \`pico-connectors plugins\`, then write /etc/pico-connectors/config.toml"

## Format, lints, tests that need no servers, house rules. For while you work.
check: build-packages
	@mkdir -p $(target) && : > $(log)
	@echo "— format —"
	$(cargo) fmt --all --check
	@echo "— lints, with the fail points and as it is shipped —"
	$(cargo) clippy $(all) --all-targets -- -D warnings
	$(cargo) clippy $(shipped) --all-targets -- -D warnings
	@echo "— binaries, plugins, examples —"
	$(cargo) build $(all) --lib --bins --examples
	@echo "— tests without servers —"
	$(cargo) test $(all) --no-fail-fast --lib --bins $(tests_alone:%=--test %) 2>&1 | tee -a $(log)
	$(cargo) test $(all) --no-fail-fast --doc 2>&1 | tee -a $(log)
	@$(sum)

## Everything: installs and fetches what is missing, `make check`, then real Kafka, foreign clients, kill stories.
test: packages check fetch
	@echo "— tests with servers —"
	$(cargo) test $(all) --no-fail-fast $(tests_with_servers:%=--test %) 2>&1 | tee -a $(log)
	@$(sum)

# The closing line: all `test result:` lines of this run in one.
define sum
awk '/^test result:/ { for (i = 1; i < NF; i++) { if ($$(i + 1) ~ /^passed/) p += $$i; if ($$(i + 1) ~ /^failed/) f += $$i; \
  if ($$(i + 1) ~ /^ignored/) s += $$i } } END { printf "%d passed, %d failed, %d skipped\n", p, f, s; exit f > 0 || p == 0 }' $(log)
endef

build-packages:
	@command -v cargo >/dev/null || { echo "Rust is missing: install 1.95 or newer, see https://rustup.rs"; exit 1; }
	@$(services)/install.sh building

packages:
	@$(services)/install.sh

fetch:
	@echo "— Apache Kafka, Debezium, PostgreSQL 18, InfluxDB 1, Python clients and checkers, from the cache or fetched —"
	@$(services)/kafka/fetch.sh
	@$(services)/kafka/fetch.sh connect
	@$(services)/kafka/fetch.sh debezium
	@$(services)/postgres/fetch.sh 18
	@for kind in opensearch elasticsearch7 elasticsearch8; do $(services)/search/fetch.sh $$kind > /dev/null; done
	@$(services)/influxdb/fetch.sh 1
	@$(services)/python.sh

## The kill stories with KILLS=1000 kills instead of some hundred, and InfluxDB 2; about 20 minutes. CHAOS_SEED=N repeats a run.
chaos: packages fetch
	$(cargo) build $(all) --lib --bins --examples
	@$(services)/influxdb/fetch.sh 2
	$(cargo) test $(all) $(tests_long:%=--test %)
	CHAOS_KILLS=$(KILLS) $(cargo) test $(all) --test chaos kills:: -- --nocapture --test-threads=4

## Engine against a bare loop on real Kafka, sources beside their peers, footprint, cost of tree and routing. About an hour.
bench: packages fetch
	$(cargo) build --locked --release -p pico-connectors $(plugins:%=-p picomq-connector-%-source)
	$(cargo) bench --locked -p pico-record -p pico-actors
	$(cargo) bench --locked -p chaos-tests

## Applies each wrong change of chaos-tests/mutants and sees the named test fail.
mutants: packages fetch
	CARGO="$(cargo)" chaos-tests/mutants/run.sh

## Runs each fuzz target for FUZZ_SECONDS=60. Installs cargo-fuzz the first time.
fuzz: build-packages
	chaos-tests/fuzz/run.sh $(FUZZ_SECONDS)

## Licences, bans and sources of all dependencies. Installs cargo-deny the first time, which takes minutes.
deny:
	@$(cargo) deny --version >/dev/null 2>&1 || $(cargo) install cargo-deny --locked --version 0.20.2
	@echo "— licences and sources with every feature, bans as it is shipped —"
	$(cargo) deny --locked --all-features check licenses sources
	$(cargo) deny --locked check bans
