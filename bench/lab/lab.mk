# The lab: what only the makers of the dialler need.

lab: need-go ## Build bin/lab, what only the makers need: train, mutants, pacing.
	@$(GO) -C bench/lab build -o ../../bin/lab . >&2

# MUTANTS=engine/contact picks packages; ARGS=--json.
mutants: lab #: Change every rule and limit a little: do the tests notice?
	@bin/lab mutants $(MUTANTS:%=--packages='%') $(ARGS)

bench-pacing: lab #: Measure pacing into bench/results/<date>-pacing.md; fails when a target is missed.
	bin/lab pacing --out bench/results/$$(date +%F)-pacing.md

CHAOS_SEED    ?= $(shell date +%s)
CHAOS_MINUTES ?= $(if $(filter chaos-long,$@),60,5)
chaos = CHAOS_SEED=$(CHAOS_SEED) CHAOS_MINUTES=$(CHAOS_MINUTES) \
	$(GO) -C bench/lab test -race -count=1 -v -timeout $$(($(CHAOS_MINUTES) + 60))m $(1) ./chaos
CLUSTER_TEST  := ^TestNodesOfACluster
chaos: deps ## Kill -9 the engine and its database for 5 minutes: CHAOS_SEED, CHAOS_REPORT=FILE.
chaos-long: deps #: The same for CHAOS_MINUTES, 60.
chaos chaos-long:
	$(call chaos,-skip '$(CLUSTER_TEST)')
# With CHAOS_LASTING=1 in long calls.
chaos-cluster: deps #: Kill, stop, drain, upgrade and cut off the nodes of a cluster for 5 minutes; likewise.
	$(call chaos,-tags cluster -run '$(CLUSTER_TEST)')
