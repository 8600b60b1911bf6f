# Everything that is done with this tree, by name. `make help` prints the targets that are used every day and the
# names of the others. What a target says about its progress goes to stderr, so that
# `make run ARGS="--exit --json" | jq` reads JSON and nothing else.

GO       ?= go
ARGS     ?=
BIN      := bin/dialler
SHELL    := /bin/bash
MAKEFLAGS += --no-print-directory

# Pinned, so that a new release of a linter cannot break an old commit.
GOLANGCI_LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

BENCH         ?= .
SIM_CHECKS    ?= 20000
SIM_CAMPAIGNS ?= 2000
FUZZTIME      ?= 10s

# The tree is three modules, the dialler, the lab and what makes releases: each runs go in all of them.
each = status=0; for module in . bench/lab deploy/release; do $(GO) -C $$module $(1) || status=1; done; exit $$status
# test_dirs prints the folders whose test files match a pattern.
test_dirs = grep -rl --include='*_test.go' --exclude-dir=node_modules '$(1)' . | sed 's,/[^/]*$$,,' | sort -u

.DEFAULT_GOAL := help
include deps/tests.mk http/console/console.mk bench/lab/lab.mk
.PHONY: $(shell sed -nE 's/^([a-z][a-z-]*):( .*|)$$/\1/p' $(MAKEFILE_LIST))

help: ## Print this list.
	@awk 'BEGIN { FS = ":[^#]*## " } /^[a-z][a-z-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 } \
		/^[a-z][a-z-]*:.*#: / { split($$0, a, ":"); more = more " " a[1] } \
		END { print "\nMore, explained in the Makefile:"; print more }' \
		$(MAKEFILE_LIST) | fold -s -w 110
	@echo; echo '  ARGS="…" is passed to the program by run, serve, cluster, load and soak:' \
		'make run ARGS="--exit --json"'

## What the machine needs beside Go

deps: need-go ## Install what is missing on Debian or Ubuntu, as root or with sudo.
	@GO="$(GO)" deps/install tests

need-go:
	@command -v $(GO) >/dev/null || { \
		echo "go was not found. Install Go 1.26 or newer from https://go.dev/dl/ and put it on the PATH," >&2; \
		echo "or name it: make GO=/path/to/go $(MAKECMDGOALS)" >&2; exit 1; }

deps-run deps-etcd: need-go
	@deps/install $(@:deps-%=%)

## Build and run

build: need-go ## Build bin/dialler, with the console where Node.js and npm are installed.
	@if deps/node --version >/dev/null 2>&1 && command -v npm >/dev/null; then \
		$(MAKE) -s console || echo "make build: the console was not built; going on without a new one" >&2; \
	else echo "make build: without the console, which needs Node.js 20.19 or newer and npm" \
		"(make deps installs them)" >&2; fi
	@CGO_ENABLED=0 $(GO) build -trimpath \
		$$(git rev-parse -q --verify HEAD >/dev/null 2>&1 || echo -buildvcs=false) -o $(BIN) . >&2

verifier: need-go ## Build bin/dialler-verify, the small program that checks a record of a run.
	@CGO_ENABLED=0 $(GO) build -trimpath -ldflags=-s -o bin/dialler-verify ./command/verifier/dialler-verify

# With KEY=FILE, an SSH key, the digests are signed.
release: need-go console #: Make the files of the tagged commit's release: VERSION=v0.1.0, OUT=dist, KEY.
	@$(GO) -C deploy/release build -o ../../bin/release . >&2
	@bin/release -version '$(VERSION)' -out '$(or $(OUT),dist)' $(KEY:%=-key '%')

run: deps-run build ## Run the dialler with a model carrier, a model bot and a campaign.
	@$(BIN) sandbox $(ARGS)

serve: deps-run build ## Run the dialler for real trunks and bots.
	@$(BIN) serve $(ARGS)

cluster: deps-run deps-etcd build ## Run three nodes with etcd, a PostgreSQL, model peers and campaigns.
	@$(BIN) bench cluster $(ARGS)

load: deps-run build ## Measure what a call costs: docs/load.md.
	@$(BIN) bench load $(ARGS)

soak: deps-run build #: Half an hour of steady calls: does anything grow? docs/load.md.
	@$(BIN) bench load --soak 30m $(ARGS)

## Check

quick: need-go ## Run the tests that take a minute: engine, actors, API, laws; no race detector.
	$(GO) test -p 4 ./engine/... ./actors/... ./http/... ./command ./docs .

contract: deps #: Make 20,000 requests from openapi.yaml: CONTRACT_REQUESTS=20000, CONTRACT_SEED=7.
	CONTRACT_SEED=$${CONTRACT_SEED:-$$(date +%s)} CONTRACT_REQUESTS=$${CONTRACT_REQUESTS:-20000} \
		$(GO) test -count=1 -run TestWhateverIsAskedIsAnsweredAsTheFileSays -v -timeout 30m ./process

check: fmt lint console-check test ## Run what a change must pass: format, linters, vet, tests.

fmt: need-go #: Fail when a Go file is not gofmt-ed.
	@out=$$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	[ -z "$$out" ] || { echo "not gofmt-ed (gofmt -w mends it):" >&2; echo "$$out" >&2; exit 1; }

vet: need-go #: Run go vet.
	@export CGO_ENABLED=0; $(call each,vet -trimpath ./...)

lint: need-go ## Run the linters of .golangci.yml (the first run builds them, some minutes).
	@$(call each,run $(GOLANGCI_LINT) run ./...)

bench: need-go #: Run the Go benchmarks; BENCH=regexp picks some.
	@$(call each,test -run='^$$' -bench='$(BENCH)' -benchmem -p 1 ./...)

# Property tests of the core and the tree draw random input from a seed and print the seed that fails. In `make test`
# each draws some hundred; here each draws SIM_CHECKS. Then SIM_CAMPAIGNS campaigns of random settings and faults.
rapid = {{$$p := .ImportPath}}$\
	{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}$\
	{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}
sim: need-go #: Seeded property tests with SIM_CHECKS draws each, then SIM_CAMPAIGNS simulated campaigns with faults.
	@set -e; pkgs=$$($(GO) list -f '$(rapid)' ./engine/... ./actors/... | sort -u); \
	[ -n "$$pkgs" ] || { echo "no property tests in the tree" >&2; exit 1; }; \
	$(GO) test -count=1 -p $(TEST_PARALLEL) -timeout 60m $$pkgs -rapid.checks=$(SIM_CHECKS)
	$(GO) test -count=1 -timeout 60m ./engine/sim -run '^TestDrawnCampaigns' -campaigns $(SIM_CAMPAIGNS)

fuzz: need-go #: Fuzz every Fuzz… function for FUZZTIME each.
	@set -e; $(call test_dirs,^func Fuzz) | while read -r dir; do \
		for f in $$($(GO) -C "$$dir" test -list '^Fuzz' . | grep '^Fuzz'); do \
		echo "fuzz $$dir $$f"; $(GO) -C "$$dir" test -run='^$$' -fuzz="^$$f\$$" -fuzztime=$(FUZZTIME) .; done; done

## Generate

# The tests that compare a generated page with its source write it when they are given -update.
docs: need-go ## Write the generated files again: pages in docs/, openapi.json, the console's types.
	$(GO) test -count=1 ./http ./docs ./persistence/table -run 'InStep|NamesTheTestsThatProveIt' -update
	@if [ -e $(CONSOLE_LIBRARIES) ] && deps/node --version >/dev/null 2>&1; then cd $(CONSOLE) && $(SCHEMA); fi

clean: ## Remove what was built; data folders stay.
	rm -rf bin $(CONSOLE)/dist/site $(CONSOLE)/node_modules
