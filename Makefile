# Everything that is done with this tree, by name. `make help` prints the
# targets. What a target says about its progress goes to stderr, so that
# `make run ARGS="--exit --json" | jq` reads JSON and nothing else.

GO       ?= go
ARGS     ?=
BIN      := bin/dialler
SHELL    := /bin/bash
MAKEFLAGS += --no-print-directory

# Pinned, so that a new release of a linter cannot break an old commit.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# The tests of one package may take this long; two packages at a time leave a
# machine of two cores able to keep the time that the SIP and RTP tests need.
TEST_TIMEOUT  ?= 15m
TEST_PARALLEL ?= 2
BENCH         ?= .
SIM_CHECKS    ?= 20000
FUZZTIME      ?= 10s

# What has to be on the machine beside Go. PostgreSQL 14 or newer: the dialler
# starts a private one from the installed binaries. A C compiler: the race
# detector needs it. SIPp: an independent SIP peer for the tests.
PG_LEAST := 14

.DEFAULT_GOAL := help
.PHONY: help deps deps-run need-go build run serve load test check fmt vet lint bench sim fuzz docs clean

help: ## Print this list.
	@awk 'BEGIN { FS = ":[^#]*## " } /^[a-z][a-z-]*:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo '  ARGS="…" is passed to the program by run and serve, for example'
	@echo '  make run ARGS="--exit --json"'

# test_dirs prints the folders whose test files match a pattern.
test_dirs = grep -rl --include='*_test.go' --exclude-dir=node_modules '$(1)' . | sed 's,/[^/]*$$,,' | sort -u

## What the machine needs

# newest_pg prints the highest major version of the PostgreSQL servers that are
# installed, or nothing; it looks where persistence/private looks.
define newest_pg
{ for b in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin \
	/opt/local/lib/postgresql*/bin /usr/local/pgsql/bin "$$(dirname "$$(command -v postgres || echo /none/x)")"; do \
	[ -x "$$b/initdb" ] && [ -x "$$b/postgres" ] && "$$b/postgres" --version; \
done | sed -nE 's/^[^0-9]*([0-9]+).*/\1/p' | sort -rn | head -n 1; }
endef

# install_missing installs the Debian packages named in $$want, or says what is
# missing. A server package of Debian makes a system cluster when it is
# installed; ours asks it not to, since the dialler starts its own.
define install_missing
[ -n "$$want" ] || exit 0; \
if ! command -v apt-get >/dev/null; then \
	echo "Missing on this machine:$$need" >&2; \
	echo "Install it with the package manager of your system and run make again." >&2; exit 1; \
fi; \
if [ "$$(id -u)" = 0 ]; then sudo=; elif command -v sudo >/dev/null; then sudo=sudo; else \
	echo "Missing on this machine:$$need" >&2; \
	echo "As root: apt-get update && apt-get install -y --no-install-recommends$$want" >&2; exit 1; \
fi; \
echo "make deps: installing$$want" >&2; \
no_cluster=/etc/postgresql-common/createcluster.d/dialler-make-deps.conf; \
case "$$want" in *postgresql*) \
	$$sudo mkdir -p "$${no_cluster%/*}"; \
	echo "create_main_cluster = false" | $$sudo tee "$$no_cluster" >/dev/null; \
	trap '$$sudo rm -f "$$no_cluster"' EXIT;; \
esac; \
install="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends$$want"; \
if apt-cache show $$want >/dev/null 2>&1 && $$install >&2; then exit 0; fi; \
$$sudo apt-get update -q >&2 && $$install >&2
endef

define want_postgresql
pg=$$($(newest_pg)); \
if [ -z "$$pg" ]; then want="$$want postgresql"; need="$$need PostgreSQL >= $(PG_LEAST) (server);"; \
elif [ "$$pg" -lt $(PG_LEAST) ]; then \
	echo "PostgreSQL $$pg is installed; the dialler needs $(PG_LEAST) or newer (https://www.postgresql.org/download/)." >&2; exit 1; fi
endef

deps: need-go ## Install what is missing: PostgreSQL server binaries, SIPp, a C compiler (Debian, Ubuntu; as root or with sudo).
	@want=; need=; $(want_postgresql); \
	command -v sipp >/dev/null || { want="$$want sip-tester"; need="$$need SIPp (package sip-tester);"; }; \
	command -v "$$($(GO) env CC)" >/dev/null && [ -e /usr/include/stdlib.h -o "$$(uname)" = Darwin ] || \
		{ want="$$want gcc libc6-dev"; need="$$need a C compiler;"; }; \
	$(install_missing)

# run and serve need less than the tests do.
deps-run: need-go
	@want=; need=; $(want_postgresql); $(install_missing)

need-go:
	@command -v $(GO) >/dev/null || { \
		echo "go was not found. Install Go 1.26 or newer from https://go.dev/dl/ and put it on the PATH," >&2; \
		echo "or name it: make GO=/path/to/go $(MAKECMDGOALS)" >&2; exit 1; }

## Build and run

build: need-go ## Build bin/dialler.
	@CGO_ENABLED=0 $(GO) build -trimpath $$(git rev-parse -q --verify HEAD >/dev/null 2>&1 || echo -buildvcs=false) -o $(BIN) . >&2

run: deps-run build ## Run the dialler with a model carrier, a model bot and a campaign, all on this machine.
	@$(BIN) sandbox $(ARGS)

serve: deps-run build ## Run the dialler for real trunks and bots.
	@$(BIN) serve $(ARGS)

load: deps-run build ## Measure what a call costs: ARGS="--rate 300 --duration 20s", --find-max, --sipp, --media, --json; see docs/load.md.
	@$(BIN) bench load $(ARGS)

## Check

test: deps ## Run every test, with the race detector and in random order.
	$(GO) test -race -shuffle=on -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) ./...

check: fmt vet lint test ## Run what a change must pass: format, vet, linters, tests (they also compare generated files).

fmt: need-go ## Fail when a Go file is not gofmt-ed.
	@out=$$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	[ -z "$$out" ] || { echo "not gofmt-ed (gofmt -w mends it):" >&2; echo "$$out" >&2; exit 1; }

vet: need-go ## Run go vet.
	$(GO) vet ./...

lint: need-go ## Run the linters of .golangci.yml (staticcheck among them; the first run builds them, some minutes).
	$(GO) run $(GOLANGCI_LINT) run ./...

bench: need-go ## Run the Go benchmarks; BENCH=regexp picks some.
	$(GO) test -run='^$$' -bench='$(BENCH)' -benchmem -p 1 ./...

# Property tests of the core and the tree draw random input from a seed and
# print the seed that fails. In `make test` each draws some hundred; here each
# draws SIM_CHECKS.
sim: need-go ## Run the seeded property tests with SIM_CHECKS draws each; a failure prints how to replay it.
	@set -e; pkgs=$$($(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}' ./engine/... ./actors/... | sort -u); \
	[ -n "$$pkgs" ] || { echo "no property tests in the tree" >&2; exit 1; }; \
	$(GO) test -count=1 -p $(TEST_PARALLEL) -timeout 60m $$pkgs -rapid.checks=$(SIM_CHECKS)

fuzz: need-go ## Fuzz every Fuzz… function for FUZZTIME each.
	@set -e; $(call test_dirs,^func Fuzz) | while read -r dir; do \
		for f in $$($(GO) test -list '^Fuzz' "$$dir" | grep '^Fuzz'); do \
			echo "fuzz $$dir $$f"; \
			$(GO) test -run='^$$' -fuzz="^$$f\$$" -fuzztime=$(FUZZTIME) "$$dir"; \
		done; \
	done

## Generate

# The test that compares a generated page with its source writes it when it is
# given -update.
docs: need-go ## Write the generated files again: state machines in docs/, openapi.json.
	@set -e; pkgs=$$($(call test_dirs,flag.Bool."update")); \
	[ -n "$$pkgs" ] || { echo "nothing in the tree is generated" >&2; exit 0; }; \
	for p in $$pkgs; do $(GO) test -count=1 "$$p" -update; done

clean: ## Remove what was built; data folders stay.
	rm -rf bin

## Kill

CHAOS_KILLS ?= $(if $(CHAOS_SEED),4,20)

.PHONY: chaos
chaos: deps ## Kill -9 the engine CHAOS_KILLS times in campaigns, judged by the carrier; CHAOS_SEED=n replays one, CHAOS_RACE=1.
	CHAOS_KILLS=$(CHAOS_KILLS) $(GO) test -race -count=1 -v -timeout 2h ./bench/scenario/chaos
