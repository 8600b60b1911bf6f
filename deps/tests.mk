# The tests: which run under the race detector, and which beside each other.

# The tests of one package may take this long. The jobs of `make test` take one package at a time, so that a
# machine of two cores is able to keep the time that the SIP and RTP tests need.
TEST_TIMEOUT  ?= 90m
TEST_PARALLEL ?= 1
# Vet runs once, for every package, and not again for what is compiled anew under the race detector.
TEST := test -shuffle=on -vet=off -ldflags=-s -p $(TEST_PARALLEL) -timeout $(TEST_TIMEOUT)
RACE := $(GO) $(TEST) -race
# Built as the program is shipped, so that tests which build and start that compile nothing twice; what they
# run go for is told by the environment.
SHIPPED := CGO_ENABLED=0 GOFLAGS="$$($(GO) env GOFLAGS) -trimpath" $(GO)
PLAIN := $(SHIPPED) $(TEST)
# The detector sees what goroutines share: it runs where a package, or a test of it, has any of what they
# share things by. The core has none (imports_test.go); the models of peers in bench are raced by the BUSY
# tests, the ear of media/amd, which shares its weights alone, by those of media.
SHARES := "sync(/atomic)?"|\bgo func|make\(chan
NOT_RACED := ^dialler( |/(engine|bench|process |deploy |command |docs |media/amd ))
raced = { $(GO) list -f '{{.ImportPath}} {{.Dir}}' ./... | grep -vE '$(NOT_RACED)' | while read -r p dir; do \
	! grep -qE '$(SHARES)' $$dir/*.go || echo $$p; done; echo dialler/engine/memstore; }
# So have they what the LONG tests run: hours of calls by a clock of their own, one scene at each of many
# moments, megabytes of numbers to read, and the simulations that the API is asked for. These run beside the core's.
LONG := ^Test(ARunThatCrashesWhileAFileIsActivated|ATriggerThatIsUnderWayIsStoredBeforeTheSwitch|$\
	ADatabaseThatGoesAwayInTheMiddleOfAFile|ACampaignAtRestTellsOfAChangeWithinASecond|$\
	ARowThatWasReadBeforeTheCallIsReadAgain|ATriggerOfANumberAtItsCapIsQueuedUntilItMayBeCalled|$\
	TheDialsOfANumberCountAcrossARestart|AContactOfZonesThatShareNoHourDoesNotHoldTheCampaign|$\
	ListsOfContactsMayHave20MiB|ABatchMayHaveTwentyMebibytes|$\
	TheAbandonCapIsKeptAnewInEveryRun|TheForecastKeepsSeatsBusierThanOneLineASeat|AFileMeetsTheEndOfTheRun|$\
	TheFiguresAreTheSameThreeWaysWhateverHappens|AnExclusionHoldsForTheRowsOfAFileThatIsBeingActivated|$\
	ANumberThatWasAbandonedAnywhereIsNotAbandonedAgainWithin72Hours|After72HoursAnAbandonedNumberIsLikeAnyOther|$\
	ManySeedsEndWithEqualLedgersAndAbandonsUnderTheCap|WhoWaitsForASeatStandsAside|NoINVITELeavesAfterTheWindowHasClosed|$\
	ACallbackIsClippedIntoTheContactsWindow|EveryContactIsCalledByItsOwnClock|AStepOfTheWallClockChangesWhoIsDue|$\
	ANumberIsCalledAtMostAsOftenAsTheCapAllowsWithinItsPeriod|ASimulationShowsACampaignAsItIsAndByOtherSettings|$\
	ASimulationBeginsWhenTheWindowOpensAndWithoutABody|WhatCannotBeSimulatedIsNamed|$\
	BackTestsAreShownAndTellHowFarToTrustAForecast|ACallAllocatesNoMoreThanItDid)$$
# The tests of whole programs wait for browsers, time-outs, builds and other processes. Of process's, those
# that have the most at once run under the detector instead: calls of every kind, nodes, faults, ends.
BUSY := ^Test(TheInputsOfARunReplayToTheSameEffects|ADialoutIsCommandedThroughAnyNode|NothingIsLeftOfCallsOfEveryKind|$\
	FaultsOfTheDatabaseStopNewCallsAndNothingElse|ACampaignIsDialledThroughTwoNodes|SlowAndManyClientsHarmNobody|$\
	NodesThatWereStoppedLeaveNoGoroutine|EveryFinalResponseComesToItsOutcome|AnAnsweredCallIsServedAndEndedByItsBot|$\
	AStandbyThatTakesOverIsGoneOnWithAndHasAllThatWasAcknowledged|DrainingPlacesNoCallAndWaitsForTheLiveOnes|$\
	IntegratorsAreToldAndTheirLibrariesVerifyIt|APersonIsErasedOnEveryNode|ACallOverTLSWithSRTPIsHeardAtBothEnds|$\
	AnAnswerThatCrossesTheCancelOfAnExclusionIsEndedAndServedByNobody|ADiallerThatWasKilledIsFollowedAtOnce)$$
# Those of process that open a browser, one at a time, have Console in their names (process/e2e_console_test.go): in a
# job of their own, no other test waits for one that waits for the browser.
BROWSED := Console
# ./persistence asks PostgreSQL one question after another; under the detector run its tests whose goroutines share a
# store. The rest runs plain.
SHARED := ^Test(Store|QueriesDoNotWaitForADatabaseThatSaysNothing|EachDialIsLearnedFromOnce|$\
	AMessageThatIsBeingMadeIsErasedToo|LeasesAreRenewedWhileEveryOtherConnectionIsBusy|$\
	OfManyStartsAtTheSameInstantOneIsAdmitted|WhoTakesAPlaceWaitsForTheEndOfTheOthersCalls|TooManySearchesAreRefused|$\
	OfTwoFirstStartsOneMakesTheGenesis|ProcessesThatStartAtOnceMigrateOnce|SeveralNodesDeliverEachMessageOnce|$\
	CallsAreWrittenWhileTheSchemaIsBroughtUpToDate|AnEndpointThatHangsHoldsUpNobodyElse|$\
	NoEventIsMissedWhileManyCommitAtOnceAndTwoRead)$$
# What is compiled while npm fetches the console's libraries: it does not embed the console.
WITHOUT_CONSOLE := ./actors/... ./engine/... ./media/... ./persistence/... ./sipstack/...

# Two jobs at a time: with three, tests of SIP and of several nodes no longer keep their time on two processors. The
# longest begin first, but not at once the two that ask PostgreSQL most, process and store; those that follow find
# compiled what they share with them. The lab, which mostly waits, is beside those that compute.
test: deps ## Run every test in random order, what goroutines share under the race detector; the console's in a browser.
	@{ $(GO) build -race $(WITHOUT_CONSOLE) && $(SHIPPED) build $(WITHOUT_CONSOLE); } & \
		$(MAKE) -s console console-schema; status=$$?; wait; exit $$status
	@$(MAKE) -k -j2 test-process test-actors test-browser test-store test-raced test-busy test-lab test-plain vet \
		test-release test-console test-long

test-process:
	$(PLAIN) -skip '$(BUSY)|$(BROWSED)' ./process
test-browser:
	$(PLAIN) -parallel 2 -run '$(BROWSED)' ./process
test-actors:
	$(RACE) -skip '$(LONG)' ./actors
test-raced:
	$(RACE) -skip '$(LONG)' $$($(raced) | grep -vxE 'dialler/(actors|persistence)')
test-store:
	@status=0; $(RACE) -run '$(SHARED)' ./persistence || status=1; \
		$(PLAIN) -skip '$(SHARED)' ./persistence || status=1; exit $$status
test-plain:
	$(PLAIN) $$($(GO) list ./... | grep -vxF "$$($(raced))" | grep -vx dialler/process)
test-lab:
	cd bench/lab && $(PLAIN) ./...
test-console:
	@cd $(CONSOLE) && ../../deps/node node_modules/vitest/vitest.mjs run
test-release:
	cd deploy/release && $(PLAIN) ./...
test-long:
	$(PLAIN) -run '$(LONG)' ./actors ./http
test-busy:
	$(RACE) -run '$(BUSY)' ./process

test-elsewhere: need-go #: The actors' tests with every call carried by another node over a bad network: minutes.
	$(GO) test -count=1 -timeout 20m ./actors -args -elsewhere
	$(GO) test -count=1 -timeout 5m -run TestNodesThatWereStopped ./process
