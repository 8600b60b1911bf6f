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
TEST_TIMEOUT  ?= 28m
TEST_PARALLEL ?= 2
# What is compiled while npm fetches the console's libraries: it does not embed the console.
WITHOUT_CONSOLE := ./actors/... ./engine/... ./media/... ./persistence/... ./sipstack/...
BENCH         ?= .
SIM_CHECKS    ?= 20000
SIM_CAMPAIGNS ?= 2000
FUZZTIME      ?= 10s

# What has to be on the machine beside Go. PostgreSQL 14 or newer: the dialler
# starts a private one from the installed binaries. A C compiler: the race
# detector needs it. SIPp, Kamailio and baresip: independent SIP peers for the
# tests; etcd: membership of clusters, in tests. Node.js and npm: they build the
# console. Chromium: the tests use the console in it. promtool of Prometheus and
# systemd-analyze of systemd: they check what lies in deploy/. curl: tests type
# what the pages say.
PG_LEAST := 14

# Node.js as the console's build needs it: 20.19, 22.12 or newer. Where the
# system's is older (Debian 12 and Ubuntu 24.04 have 18), `make deps` puts this
# one, with an npm for it, from the npm registry into bin/node; nothing outside
# the tree changes.
NODE_IS_NEW := const [a, b] = process.versions.node.split(".").map(Number); process.exit((a == 20 && b >= 19) || (a == 22 && b >= 12) || a > 22 ? 0 : 1)
NODE_PACKAGE := 22.23.3
NPM_PACKAGE  := 10.9.4

CONSOLE       := http/console
CONSOLE_INDEX := $(CONSOLE)/dist/site/index.html
# What npm writes last when it has installed everything.
CONSOLE_LIBRARIES := $(CONSOLE)/node_modules/.package-lock.json

.DEFAULT_GOAL := help
.PHONY: help deps deps-run deps-etcd need-go build run serve load soak test test-elsewhere contract check fmt vet lint console console-check console-picture console-shots bench sim fuzz docs clean

help: ## Print this list.
	@awk 'BEGIN { FS = ":[^#]*## " } /^[a-z][a-z-]*:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
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
# missing. A server package of Debian makes a system cluster, or starts a
# service, when it is installed; ours asks it not to, since the dialler and the
# tests start their own.
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
no_cluster=/etc/postgresql-common/createcluster.d/dialler-make-deps.conf; no_start=/usr/sbin/policy-rc.d; undo=; \
trap '[ -z "$$undo" ] || $$sudo rm -f $$undo' EXIT; \
case "$$want" in *postgresql*) \
	$$sudo mkdir -p "$${no_cluster%/*}"; \
	echo "create_main_cluster = false" | $$sudo tee "$$no_cluster" >/dev/null; \
	undo="$$no_cluster";; \
esac; \
case "$$want" in *kamailio*|*prometheus*|*etcd*) [ -e "$$no_start" ] || { \
	printf '#!/bin/sh\nexit 101\n' | $$sudo tee "$$no_start" >/dev/null; \
	$$sudo chmod 755 "$$no_start"; \
	undo="$$undo $$no_start"; };; \
esac; \
install="$$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends$$want"; \
{ apt-cache show $$want >/dev/null 2>&1 && $$install >&2; } || { $$sudo apt-get update -q >&2 && $$install >&2; } || exit 1; \
case "$$want" in *" kamailio "*) ! command -v systemctl >/dev/null || $$sudo systemctl -q disable kamailio >&2 || true;; esac; \
case "$$want" in *" prometheus "*) ! command -v systemctl >/dev/null || $$sudo systemctl -q disable prometheus >&2 || true;; esac; \
case "$$want" in *" etcd-server"*) ! command -v systemctl >/dev/null || $$sudo systemctl -q disable etcd >&2 || true;; esac
endef

define want_postgresql
pg=$$($(newest_pg)); \
if [ -z "$$pg" ]; then want="$$want postgresql"; need="$$need PostgreSQL >= $(PG_LEAST) (server);"; \
elif [ "$$pg" -lt $(PG_LEAST) ]; then \
	echo "PostgreSQL $$pg is installed; the dialler needs $(PG_LEAST) or newer (https://www.postgresql.org/download/)." >&2; exit 1; fi
endef

# new_node prints the path of a Node.js that is new enough, or nothing.
define new_node
{ for n in "$$(command -v node)" $(CURDIR)/bin/node/node_modules/node-linux-*/bin/node; do \
	[ -x "$$n" ] && "$$n" -e '$(NODE_IS_NEW)' 2>/dev/null && { echo "$$n"; break; }; \
done; }
endef

define want_node
{ command -v node >/dev/null || [ -n "$$($(new_node))" ]; } || { want="$$want nodejs"; need="$$need Node.js 20.19 or newer;"; }; \
command -v npm >/dev/null || { want="$$want npm"; need="$$need npm;"; }
endef

# A Node.js that is too old still runs npm, which fetches one that is not. It
# would leave out of the console's libraries what does not run on itself, hence
# the npm beside it.
define upgrade_node
[ -n "$$($(new_node))" ] || ! command -v npm >/dev/null || { \
	case "$$(uname -sm)" in "Linux x86_64") arch=x64;; "Linux aarch64") arch=arm64;; \
	*) echo "Node.js here is older than 20.19; install a newer one (https://nodejs.org)." >&2; exit 1;; esac; \
	echo "make deps: Node.js $$(node --version) is older than 20.19; putting $(NODE_PACKAGE) into bin/node" >&2; \
	npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix bin/node "node-linux-$$arch@$(NODE_PACKAGE)" npm@$(NPM_PACKAGE) >&2; }
endef

# Kamailio's daemon and its TLS module, and a baresip with its modules.
define want_peers
ls /usr/lib/*/kamailio/modules/tls.so >/dev/null 2>&1 || { want="$$want kamailio kamailio-tls-modules"; need="$$need Kamailio with its TLS module;"; }; \
command -v baresip >/dev/null || { want="$$want baresip"; need="$$need baresip;"; }
endef

# What checks alerts and units.
define want_operations
command -v promtool >/dev/null || { want="$$want prometheus"; need="$$need promtool (of Prometheus);"; }; \
command -v systemd-analyze >/dev/null || { want="$$want systemd"; need="$$need systemd-analyze (of systemd);"; }
endef

# etcd, for the tests of clusters. Debian's package would start a service.
define want_etcd
command -v etcd >/dev/null || { want="$$want etcd-server"; need="$$need etcd;"; }
endef

# A network with a NAT, of namespaces, for the tests of RTP; Linux only.
define want_network
[ "$$(uname)" != Linux ] || { command -v ip >/dev/null && PATH="$$PATH:/usr/sbin:/sbin" command -v nft >/dev/null; } || { want="$$want iproute2 nftables"; need="$$need ip and nft (iproute2, nftables);"; }
endef

define want_chromium
[ -n "$$CHROMIUM" ] || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	{ want="$$want chromium"; need="$$need Chromium or Google Chrome (on Ubuntu, whose package is a snap, Chrome from google.com/chrome; CHROMIUM=/path names another);"; }
endef

deps: need-go ## Install what is missing: PostgreSQL server binaries, SIPp, Kamailio, baresip, etcd, nftables, speech synthesisers and sox, a C compiler, Node.js, Chromium, promtool, systemd-analyze (Debian, Ubuntu; as root or with sudo).
	@want=; need=; $(want_postgresql); $(want_node); $(want_chromium); $(want_peers); $(want_operations); $(want_etcd); $(want_network); \
	command -v sipp >/dev/null || { want="$$want sip-tester"; need="$$need SIPp (package sip-tester);"; }; \
	command -v espeak-ng >/dev/null && command -v flite >/dev/null && command -v text2wave >/dev/null && command -v sox >/dev/null || \
		{ want="$$want espeak-ng flite festival festvox-kallpc16k sox libsox-fmt-base"; need="$$need espeak-ng, flite, festival and sox;"; }; \
	command -v curl >/dev/null || { want="$$want curl"; need="$$need curl;"; }; \
	command -v "$$($(GO) env CC)" >/dev/null && [ -e /usr/include/stdlib.h -o "$$(uname)" = Darwin ] || \
		{ want="$$want gcc libc6-dev"; need="$$need a C compiler;"; }; \
	$(install_missing)

	@$(upgrade_node)

# run and serve need less than the tests do; without Node.js there is only no
# console.
deps-run: need-go
	@want=; need=; $(want_postgresql); $(install_missing)
	@want=; need=; $(want_node); ( $(install_missing) ) && ( $(upgrade_node) ) || true

need-go:
	@command -v $(GO) >/dev/null || { \
		echo "go was not found. Install Go 1.26 or newer from https://go.dev/dl/ and put it on the PATH," >&2; \
		echo "or name it: make GO=/path/to/go $(MAKECMDGOALS)" >&2; exit 1; }

## Build and run

build: need-go ## Build bin/dialler, with the console where Node.js 20.19 or newer and npm are installed.
	@if [ -n "$$($(new_node))" ] && command -v npm >/dev/null; then \
		$(MAKE) -s console || echo "make build: the console was not built; going on without a new one" >&2; \
	else echo "make build: without the console, which needs Node.js 20.19 or newer and npm (make deps installs them)" >&2; fi
	@CGO_ENABLED=0 $(GO) build -trimpath $$(git rev-parse -q --verify HEAD >/dev/null 2>&1 || echo -buildvcs=false) -o $(BIN) . >&2

run: deps-run build ## Run the dialler with a model carrier, a model bot and a campaign, all on this machine.
	@$(BIN) sandbox $(ARGS)

serve: deps-run build ## Run the dialler for real trunks and bots.
	@$(BIN) serve $(ARGS)

.PHONY: cluster
cluster: deps-run deps-etcd build ## Run three nodes with etcd, a PostgreSQL, a model carrier, a model bot and campaigns, all on this machine, and say how to break them.
	@$(BIN) bench cluster $(ARGS)

deps-etcd: need-go
	@want=; need=; $(want_etcd); $(install_missing)

load: deps-run build ## Measure what a call costs: ARGS="--rate 300 --duration 20s", --find-max, --sipp, --media, --json; see docs/load.md.
	@$(BIN) bench load $(ARGS)

soak: deps-run build ## Half an hour of steady calls: does anything grow? ARGS="--rate 300", --json; see docs/load.md.
	@$(BIN) bench load --soak 30m $(ARGS)

## Check

test: deps ## Run every test, with the race detector and in random order; the console's in a browser.
	@$(GO) build -race $(WITHOUT_CONSOLE) & $(MAKE) -s console console-schema; status=$$?; wait; exit $$status
	$(GO) test -race -shuffle=on -ldflags=-w -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT) ./process ./...

test-elsewhere: need-go ## Run the tests of the actors with every call carried by another node over a bad network, and stop three nodes of one process (some minutes).
	$(GO) test -count=1 -timeout 20m ./actors -args -elsewhere
	$(GO) test -count=1 -timeout 5m -run TestNodesThatWereStopped ./process

contract: deps ## Make 20,000 requests from openapi.yaml and hold the answers against it: CONTRACT_REQUESTS=20000, CONTRACT_SEED=7.
	CONTRACT_SEED=$${CONTRACT_SEED:-$$(date +%s)} CONTRACT_REQUESTS=$${CONTRACT_REQUESTS:-20000} $(GO) test -count=1 -run TestWhateverIsAskedIsAnsweredAsTheFileSays -v -timeout 30m ./process

check: fmt vet lint console-check test ## Run what a change must pass: format, vet, linters, tests (they also compare generated files).

fmt: need-go ## Fail when a Go file is not gofmt-ed.
	@out=$$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 "$$($(GO) env GOROOT)/bin/gofmt" -l); \
	[ -z "$$out" ] || { echo "not gofmt-ed (gofmt -w mends it):" >&2; echo "$$out" >&2; exit 1; }

vet: need-go ## Run go vet.
	$(GO) vet ./...

lint: need-go ## Run the linters of .golangci.yml (staticcheck among them; the first run builds them, some minutes).
	$(GO) run $(GOLANGCI_LINT) run ./...

## Console

console: $(CONSOLE_INDEX) ## Build the console into http/console/dist, when its sources are newer.

$(CONSOLE_LIBRARIES): $(addprefix $(CONSOLE)/,package.json package-lock.json .npmrc)
	@node=$$($(new_node)); npm=$(CURDIR)/bin/node/node_modules/npm/bin/npm-cli.js; \
	[ "$$node" != "$$(command -v node)" ] || npm=$$(readlink -f "$$(command -v npm)"); \
	[ -n "$$node" ] && [ -e "$$npm" ] || { echo "Node.js 20.19 or newer, or npm, was not found (make deps installs them)" >&2; exit 1; }; \
	echo "make console: fetching its libraries" >&2; \
	cd $(CONSOLE) && "$$node" "$$npm" ci --loglevel=error >&2
	@touch $@

$(CONSOLE_INDEX): $(CONSOLE_LIBRARIES) $(addprefix $(CONSOLE)/,index.html vite.config.ts tsconfig.json) $(shell find $(CONSOLE)/src -type f -not -name '*.test.ts' 2>/dev/null)
	@echo "make console: building" >&2; node=$$($(new_node)); \
	cd $(CONSOLE) && "$$node" node_modules/vite/bin/vite.js build --logLevel warn >&2

.PHONY: console-schema
# The console knows the API by types made from openapi.yaml; they are compared with it in seconds.
console-schema: $(CONSOLE_LIBRARIES)
	@node=$$($(new_node)); cd $(CONSOLE); \
	"$$node" node_modules/openapi-typescript/bin/cli.js ../openapi.yaml --default-non-nullable=false --output src/api/schema.ts --check >&2 || \
		{ echo "$(CONSOLE)/src/api/schema.ts is not what http/openapi.yaml says: make docs writes it anew" >&2; exit 1; }

console-check: $(CONSOLE_LIBRARIES) console-schema ## Check the console: types, linters, the tests of its logic, the types made from openapi.yaml.
	@node=$$($(new_node)); cd $(CONSOLE); set -ex; \
	"$$node" node_modules/typescript/bin/tsc --noEmit; \
	"$$node" node_modules/eslint/bin/eslint.js .; \
	"$$node" node_modules/vitest/vitest.mjs run

console-picture: build ## Take the pictures of README.md and docs/console.md (docs/console*.png) in a model world.
	@node=$$($(new_node)); "$$node" $(CONSOLE)/e2e/shots.mjs $(BIN) docs --pictures

SHOTS ?= bin/shots
console-shots: build ## Take screenshots of every page and dialog of the console into SHOTS, wide and narrow, light and dark; axe judges each in both colours. SHOTS_ONLY=REGEXP takes some.
	@node=$$($(new_node)); "$$node" $(CONSOLE)/e2e/shots.mjs $(BIN) $(SHOTS) $(if $(SHOTS_ONLY),'--only=$(value SHOTS_ONLY)')

.PHONY: console-cost
console-cost: build ## Measure what 100 open consoles cost the engine and a page the browser, while 20 campaigns place 200 dials a second; ARGS="--rounds 2", --json.
	@node=$$($(new_node)); CHROMIUM="$${CHROMIUM:-$$(command -v chromium || command -v chromium-browser || command -v google-chrome)}" \
		$(BIN) bench console --browser "$$node" --browser $(CURDIR)/$(CONSOLE)/e2e/cost.mjs $(ARGS)

bench: need-go ## Run the Go benchmarks; BENCH=regexp picks some.
	$(GO) test -run='^$$' -bench='$(BENCH)' -benchmem -p 1 ./...

# Property tests of the core and the tree draw random input from a seed and
# print the seed that fails. In `make test` each draws some hundred; here each
# draws SIM_CHECKS. Then SIM_CAMPAIGNS whole campaigns of random settings and
# faults are played on a virtual clock (engine/sim), minutes of one core.
sim: need-go ## Run the seeded property tests with SIM_CHECKS draws each and play SIM_CAMPAIGNS campaigns with faults; a failure prints how to replay it.
	@set -e; pkgs=$$($(GO) list -f '{{$$p := .ImportPath}}{{range .TestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}{{range .XTestImports}}{{if eq . "pgregory.net/rapid"}}{{$$p}}{{"\n"}}{{end}}{{end}}' ./engine/... ./actors/... | sort -u); \
	[ -n "$$pkgs" ] || { echo "no property tests in the tree" >&2; exit 1; }; \
	$(GO) test -count=1 -p $(TEST_PARALLEL) -timeout 60m $$pkgs -rapid.checks=$(SIM_CHECKS)
	$(GO) test -count=1 -timeout 60m ./engine/sim -run '^TestDrawnCampaigns' -campaigns $(SIM_CAMPAIGNS)

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
docs: need-go ## Write the generated files again: state machines in docs/, openapi.json, the console's types of it.
	@set -e; pkgs=$$($(call test_dirs,flag.Bool."update")); \
	[ -n "$$pkgs" ] || { echo "nothing in the tree is generated" >&2; exit 0; }; \
	for p in $$pkgs; do $(GO) test -count=1 "$$p" -update; done
	@node=$$($(new_node)); if [ -n "$$node" ] && [ -e $(CONSOLE_LIBRARIES) ]; then cd $(CONSOLE) && \
		"$$node" node_modules/openapi-typescript/bin/cli.js ../openapi.yaml --default-non-nullable=false --output src/api/schema.ts; fi

clean: ## Remove what was built; data folders stay.
	rm -rf bin $(CONSOLE)/dist/site $(CONSOLE)/node_modules

## Mutants

.PHONY: mutants
mutants: need-go ## Change every rule and limit a little: do the tests notice? MUTANTS=engine/contact picks packages, ARGS=--json.
	@$(GO) run ./bench/mutants -packages '$(MUTANTS)' $(ARGS)

## Kill

CHAOS_SEED ?= $(shell date +%s)

.PHONY: chaos chaos-long chaos-cluster
chaos: ## Kill -9 the engine and its database for 5 minutes, judged by carrier, database and API; CHAOS_SEED=n plans the same again, CHAOS_REPORT=FILE, CHAOS_RACE=1.
	@$(MAKE) chaos-long CHAOS_MINUTES=$(or $(CHAOS_MINUTES),5) CHAOS_SEED=$(CHAOS_SEED)

chaos-long: CHAOS_MINUTES ?= 60
chaos-long: deps ## The same for CHAOS_MINUTES, 60.
	CHAOS_SEED=$(CHAOS_SEED) CHAOS_MINUTES=$(CHAOS_MINUTES) $(GO) test -race -count=1 -v -timeout $$(($(CHAOS_MINUTES) + 60))m -skip '$(CLUSTER_TEST)' ./bench/scenario/chaos

CLUSTER_TEST := ^TestNodesOfACluster
chaos-cluster: CHAOS_MINUTES ?= 5
chaos-cluster: deps ## Kill, stop, drain, upgrade and cut off the nodes of a cluster for 5 minutes, judged likewise; CHAOS_SEED, CHAOS_MINUTES, CHAOS_REPORT, CHAOS_RACE.
	CHAOS_SEED=$(CHAOS_SEED) CHAOS_MINUTES=$(CHAOS_MINUTES) $(GO) test -race -count=1 -v -timeout $$(($(CHAOS_MINUTES) + 60))m -tags cluster -run '$(CLUSTER_TEST)' ./bench/scenario/chaos

## Pacing

.PHONY: bench-pacing
bench-pacing: need-go ## Measure pacing in simulated scenarios into bench/results/<date>-pacing.md; fails when a target is missed. One scenario: bin/dialler sim FILE.
	$(GO) run ./bench/scenario/pacing -out bench/results/$$(date +%F)-pacing.md
