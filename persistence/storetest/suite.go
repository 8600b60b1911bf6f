package storetest

import (
	"testing"

	"dialler/persistence"
)

// testCase is one promise and its proof.
type testCase struct {
	name string
	test func(*testing.T, *world)
}

// portCases are the promises that the tree relies on, for every store.
var portCases = []testCase{
	// Intents and the refusals of the database itself.
	{"an intent is refused while the number is held", heldNumber},
	{"two intents for one number in one group do not overlap", heldInGroup},
	{"of many writers one gets the number", heldByOne},
	{"a lost attempt holds its number until its time", lostHolds},
	{"a proof that is stored together with the end of a lost call frees its number", provenAtOnce},
	{"a number whose call is not proven to be over is held until the bound of its intent", owedHolds},
	{"a number whose call is not proven to be over is held until its session has ended", sessionHolds},
	{"a session that was lengthened is stored", lengthenedSession},
	{"a lost leg that nobody watches any more has an end", unwatchedLegs},
	{"a suppressed number is not dialled", suppressed},
	{"a suppressed number may call, once at a time", incomingIntent},
	{"a new contact has a number that is new", freshContact},
	{"a new contact has a number that nobody has", personFresh},
	{"a number is not called more often than its cap allows, in any campaign", cappedNumber},
	{"a number rests after a conversation or an abandoned call as long as it shall", restedNumber},
	{"a key places no more dialouts a day than its cap allows", cappedKey},
	{"an intent that its owner refuses leaves nothing", barredIntent},
	{"a stale owner is refused", staleEpoch},
	{"taking over waits for no reader and outdates the owner before", takeOver},
	{"one refused write does not affect the others of its group", groupIsolation},

	// Dialouts that wait for their time.
	{"a scheduled dialout is placed once or cancelled, whatever comes again", scheduledDialouts},
	{"of many writers one places or ends a scheduled dialout", scheduledRace},
	{"scheduled dialouts that were put off let others come first", scheduledTurns},
	{"a dialout is scheduled as long as its request waits", scheduledLate},
	{"a scheduled dialout whose intent is refused waits on", scheduledRefused},
	{"no more dialouts wait for their time than may", scheduledCap},
	{"scheduled dialouts come to their turn by priority and time, each for one who asks", scheduledDue},

	// Idempotence.
	{"a repeated group is harmless", repeatedGroup},
	{"an older version of a contact does not replace a newer", olderContact},
	{"an ended attempt stays ended and takes its result later", endedAttempt},
	{"an attempt does not go back", attemptGoesOn},
	{"the last write of a group to a row stands", lastInGroup},
	{"an intent that comes again after the attempt's end holds nothing", lateIntent},

	// Replies.
	{"a stored reply commits with contact and intent or not at all", replyAtomic},
	{"a reply is kept for a day", replyLife},

	// Rows.
	{"a contact comes back as it was written", contactRoundTrip},
	{"an attempt comes back as it was written", attemptRoundTrip},
	{"a campaign comes back as it was written", campaignRoundTrip},
	{"variables are kept, changed and found", variables},
	{"a person is found by each of the numbers", personByNumber},
	{"the store chooses among a person's numbers as the contact does", personSQL},
	{"lists bring several numbers of a person", personLists},
	{"files bring several numbers of a person", personImport},
	{"a file's person is refused when all the numbers are suppressed", personImportSuppressed},
	{"a person who asked not to be called stays so in the next run", personReset},
	{"what pacing has learnt is kept, of the newest owner", pacingKept},

	// Queries used by the tree.
	{"due contacts come in dialling order", dueOrder},
	{"calls back of which the contact has not heard are found", callsBackUntold},
	{"due contacts leave out live, held and excepted ones", dueLeavesOut},
	{"a suppressed number is due, so that its refused intent ends it", dueSuppressed},
	{"the next due time and the open contacts are told", nextDue},
	{"a contact is callable unless it is excluded, final or suppressed", callable},
	{"what is ahead of a campaign is counted", outlook},
	{"contacts are added once, in order, with their duplicates counted", addContacts},
	{"an excluded row is not added while exclusions are sticky", addExcluded},
	{"a list says what became of each row and keeps the reply in the same transaction", addBatch},
	{"adding again after an unknown outcome counts the same", addAgain},
	{"exclusions are kept and lifted", exclusions},
	{"contacts that wait though their number is suppressed are found", suppressedContacts},
	{"the rows of an import become contacts by one switch, and none before", importSwitch},
	{"an import is taken back page by page, but for contacts that something has happened to", importUndo},
	{"an import that is not in the campaign's run is not taken back", importNotUndone},
	{"an import leaves out who is excluded or suppressed", importExcluded},
	{"a dry run says what an import would do, and does nothing", importChecked},
	{"an import that is cancelled ends before its switch or not at all", importCancelled},
	{"an import that its campaign's owner does not let pass leaves nothing", importRefused},
	{"an import holds no commit up", importUnnoticed},
	{"an import ends with its campaign", importOfNobody},
	{"open attempts and open legs are found after a crash", openAttempts},
	{"overdue results are found", overdue},
	{"contacts that expired while they wait are found, and when the next one does", expired},
	{"a list says when its contacts may be called", addTimed},
	{"the end of a run closes the waiting contacts", bulk},
	{"a bulk may be done in parts, and its campaign is active until then", bulkInParts},
	{"an edit of max attempts reaches the contacts", retune},
	{"active campaigns are listed", active},
	{"counters are those of the tally", counters},
	{"every figure is the same however it is counted, after every write", figures},
	{"each callback counts, and so does how a contact ended", callbacks},
	{"a restart resets the contacts and its cancelling brings them back", restart},
	{"a late result changes a contact as its run left it", keptContacts},
	{"a draft is removed whole", remove},

	// Events.
	{"events of a campaign keep its order whatever the order of commits", eventOrder},

	// Lists and configuration.
	{"abandons are found in every campaign", abandons},
}

// ownCases are the promises that only PostgreSQL's store makes.
var ownCases = []testCase{
	{"what is known of a caller is the last call from the number", callIn},
	{"a contact is shown with the calls that return its attempts", callsBack},
	{"events of a dialout are stored once", dialoutEvents},
	{"an import whose staged rows are lost is not activated", importLost},
	{"an import is found by its request until it fails", importRequested},
	// Intents and the refusals of the database itself.
	{"the suppression list is kept, shown and lifted", suppressions},
	{"a write that cannot be stored does not hold up the others", poison},
	{"text from the wire is stored whatever it is", wireText},

	// Queries used by the tree.
	{"an import without its process fails, and another may follow", importOrphaned},
	{"calls are listed by cursor, each once, newest first", callsByCursor},
	{"dialouts that wait for their time are among the calls", scheduledListed},
	{"the outcome of a call is final once its result has come or is given up", outcomeFinal},
	{"the attempt report gives every attempt once, in order", attemptsReport},
	{"a bot in use is deleted only by force", deletedBots},
	{"a clone has the settings, contacts and exclusions", cloned},

	{"a campaign like one that is over is foretold from its record", foretold},
	{"a run that is over is back-tested once", backTested},
	{"how a run stood at a moment is told from its record", stood},

	// Events.
	{"events lie in the partition of their month", partitions},
	{"activity shows who did what, newest first", activity},

	// Lists and configuration.
	{"contacts come in pages with their attempts", contactPages},
	{"contacts are found by number and by callback", contactsFound},
	{"what holds a contact back is told", contactFacts},
	{"campaigns come in pages, newest first", campaignPages},
	{"the rules on how often a number is called are noted when they change", callFrequency},
	{"API keys are stored, found and changed", keys},
	{"users are stored, found and changed", users},
	{"somebody is left who may change users", lastAdmin},
	{"sessions are stored, found, used and ended", sessions},
	{"of a user's sessions the newest are kept", sessionsKept},
	{"sessions end with their user, the password and their time", sessionsEnd},
	{"bots, trunks and numbers are stored and replaced", configured},
	{"the ended calls of a number are told, with its strikes unless they were forgiven", numberEnds},
	{"the dials of capped numbers are counted, and a quarantine is kept", numberDials},

	// Nodes of a cluster.
	{"a node joins, renews its lease and leaves", nodeLife},
	{"a lease that is over does not come back", leaseOver},
	{"an identity is claimed when nobody owns it, its owner left, or has had no lease for the margin", claims},
	{"of nodes that claim at once one gets the identity", claimRace},
	{"in a cluster a campaign is taken over only by its owner", ownedCampaign},
	{"in a cluster a dialout is written about only by its owner", ownedDialouts},
	{"recordings are found by their attempt, and what is noted of them stays", recordingsFound},
	{"a recording has the hash that the history tells", recordingsHashed},
	{"recordings expire as their campaign wants", recordingsExpire},
}

// Run is the conformance suite: every promise of the store, on real PostgreSQL. open returns a
// store on a schema of its own.
func Run(t *testing.T, open func(t testing.TB) *persistence.Store) {
	for _, cases := range [][]testCase{portCases, ownCases} {
		run(t, cases, func(t testing.TB) Port { return open(t) })
	}
}

// RunPort is the part of the suite that a test's store must pass too. open returns an empty one.
func RunPort(t *testing.T, open func(t testing.TB) Port) { run(t, portCases, open) }

func run(t *testing.T, cases []testCase, open func(t testing.TB) Port) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.test(t, newWorld(t, open(t)))
		})
	}
}
