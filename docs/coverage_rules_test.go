package docs

// The rulebook: what holds where the specification is silent.

func ruleChapters() []chapter {
	return []chapter{
		{"Rules of campaigns", campaignRules()},
		{"Rules of contacts", contactRules()},
		{"Rules of attempts", attemptRules()},
		{"Answer classification", amdRules()},
		{"Pacing and abandons", pacingRules()},
		{"Numbers and trunks", numberRules()},
		{"Windows", windowRules()},
		{"Callbacks", callbackRules()},
		{"Rules of dialout, trigger and exclude", interfaceRules()},
		{"Errors, keys and users", accessRules()},
	}
}

func campaignRules() []sentence {
	return []sentence{
		proven("preflight.blockers", "Before Start and Resume preflight refuses with a list of codes and sentences.", "engine/campaign.TestBlockersOfPreflight",
			"engine/campaign.TestACampaignThatCanDialHasNeitherBlockersNorWarnings", "http.TestLifecycleCommands"),
		proven("preflight.warnings", "Warnings do not refuse.", "engine/campaign.TestWarningsOfPreflightDoNotRefuse",
			"actors.TestPreflightKnowsDownTrunksTakenSeatsAndBarredNumbers"),
		proven("preflight.ahead", "Preflight says how many are dialled, how many are not and why, and estimates duration and abandons.",
			"actors.TestPreflightSaysWhatIsAheadAndStartsNothing", "engine/campaign.TestTheEstimateSpansTheWindows",
			"engine/campaign.TestEveryDialWithASeatAbandonsNobody", "persistence.TestStore/what is ahead of a campaign is counted"),
		proven("failed.reasons", "A campaign fails when its bot is deleted, or its configuration cannot be had at Start; all else holds new dials and says why.",
			"actors.TestAConfigURLThatCannotBeUsedFailsTheCampaignAndNobodyIsCalled", "engine/campaign.TestAFailureCancelsRingingLegsAndConversationsFinish",
			"actors.TestACampaignWhoseBotIsDeletedFailsAndItsConversationsFinish", "actors.TestABotThatIsInactiveHoldsNewDialsAndSaysSo",
			"actors.TestAPausedCampaignWhoseBotWentWhileTheProcessWasDownFails"),
		proven("single_day.end", "When its window ends a single-day campaign completes, paused ones too, and who waits is window_closed.",
			"engine/campaign.TestTheEndOfASingleDayWindowCompletesPausedOnesToo", "engine/contact.TestWaitingContactsBecomeManuallyStoppedOrWindowClosed",
			"actors.TestASingleDayEndsBeforeTheWindowOfAContactFarWestOpens"),
		proven("always_on.multi_day", "Always-on requires multi-day.", "engine/campaign.TestValidateNamesTheField", "http.TestCreateNamesEveryMistakeInOneAnswer"),
		proven("pause.calls", "Pause: ringing legs ring to their end, conversations finish.", "actors.TestPauseLetsCallsFinishAndStopCompletesAtOnce"),
		proven("stop.calls", "Stop cancels ringing legs; conversations finish, unless the option ends them.", "engine/campaign.TestStopCompletesAtOnce",
			"engine/attempt.TestStopCancelsRingingLegsAndConversationsFinish"),
		proven("stop.draining", "While calls of an ended run live, Restart and Delete are refused with calls_in_progress.",
			"engine/campaign.TestRestartAndDeleteAnswerCallsInProgressWhileLegsLive"),
		proven("restart.reset", "Restart resets the contacts there and then; older attempts stay with their run.", "engine/contact.TestContactsResetThereAndThen",
			"persistence.TestStore/a restart resets the contacts and its cancelling brings them back", "actors.TestRestartWhileContactsWaitForTheirResults"),
		proven("restart.only_unreached", "Restart may take only contacts that were not reached.", "engine/contact.TestARunForTheUnreachedLeavesOutWhoWasConnected",
			"actors.TestARestartForTheUnreachedDialsOnlyThem", "engine/campaign.TestARestartMayBeForTheUnreachedOnly"),
		proven("add.states", "Files add contacts to a draft that never ran and to a running campaign; else 409.",
			"engine/campaign.TestAddContactsToADraftThatNeverRanAndToARunningCampaign", "actors.TestAFileIsNotReadWhenTheCampaignTakesNoContacts"),
		proven("edit.version", "An edit carries the version it was made from; a conflict shows the current one.",
			"engine/campaign.TestEditsCarryAVersionAndAConflictShowsTheCurrentOne", "http.TestAVersionConflictShowsWhatHoldsNow"),
		proven("activity.filter", "The log shows start, pause, resume and stop; the rest is behind a filter.",
			"http.TestTheActivityLogShowsStartPauseResumeAndStopUnlessAskedForMore", "http.TestWhatIsConfiguredForAllHasALogOfItsOwn"),
		proven("runs.history", "Older runs are shown with their counters and who did what.", "http.TestTheHistoryOfRunsHasTheirCountersAndWhoDidWhat"),
		proven("import.switch", "The rows of a file become contacts by one switch, or none does.",
			"persistence.TestStore/the rows of an import become contacts by one switch, and none before", "actors.TestAFileThatBreaksOffLeavesNothing",
			"main.TestAnUploadThatBreaksOffLeavesNothing", "main.TestAPostgreSQLThatDiesInTheMiddleOfAnImport"),
		proven("settings.limits", "Every setting has its limits, and the defaults are what is documented.",
			"engine/campaign.TestEveryLimitOfTheSettingsIsAcceptedAndNothingBeyond", "engine/campaign.TestWhatIsNotSaidIsTheDefault"),
	}
}

func contactRules() []sentence {
	return []sentence{
		proven("retry.exhausted", "Attempts used up: failed, attempts_exhausted.", "engine/contact.TestRetriesUsedUpIsFailedWithReasonAttemptsExhausted"),
		proven("retry.forbidden", "An outcome that is not retried: failed with that outcome.", "engine/contact.TestRetryOnSystemRedialsListedOutcomesOnly"),
		proven("result.awaited", "Connected until a result is stored, then completed.", "engine/contact.TestConnectedUntilAResultIsStoredThenCompleted",
			"main.TestAResultIsTakenWithTheCallsTokenWheneverItComes"),
		proven("result.timeout", "Without a result in time: connected_no_result, retried if listed, else failed.",
			"engine/contact.TestAResultThatDoesNotComeWithinTheResultTimeout", "actors.TestAResultThatNeverComesFailsTheContact",
			"actors.TestAResultThatNeverComesTimesOutInAStoppedCampaignToo"),
		proven("result.late", "A late result completes, or queues again while the run is open.", "engine/contact.TestALateResultCompletesOrQueuesAgainWhileTheRunIsOpen",
			"main.TestALateResultCompletesTheContact"),
		proven("abandoned.final", "Abandoned is final in its run.", "engine/contact.TestAbandonedIsFinalInItsRun"),
		proven("abandoned.72h", "Within 72 h of an abandon a number is dialled only with a seat held.",
			"actors.TestANumberThatWasAbandonedAnywhereIsNotAbandonedAgainWithin72Hours", "actors.TestAfter72HoursAnAbandonedNumberIsLikeAnyOther",
			"engine/pacing.TestNumbersThatWereAbandonedAreOnlyDialledWithASeat"),
		proven("order", "Dialled are due callbacks, then triggered contacts, first attempts in list order, due retries.", "actors.TestTheLookAheadKeepsTheOrder",
			"actors.TestTheFirstPassIsTheContactsOfTheRunAndOfTheBatchBeforeAnyRetry", "persistence.TestStore/due contacts come in dialling order"),
		proven("order.always_on", "In always-on campaigns a retry overdue by a Retry Delay goes before newer triggers.",
			"engine/contact.TestInAnAlwaysOnCampaignARetryOverdueByOneRetryDelayGoesBeforeNewerTriggers",
			"actors.TestTriggersComeBeforeTheListAndDoNotStarveRetriesOfAnAlwaysOnCampaign"),
		proven("duplicate.csv", "The same number twice is one contact; the second row of a file is counted as a duplicate.",
			"persistence.TestStore/contacts are added once, in order, with their duplicates counted", "main.TestAFileIsImportedWhileItsCampaignDials"),
		proven("duplicate.trigger", "A trigger merges an open contact and reopens a final one.", "engine/contact.TestTriggerMergesAnOpenContactAndReopensAFinalOne",
			"actors.TestTriggersOfOneNumberAtOnceAreOneContact", "main.TestTheSameContactTriggeredAtOnceIsDialledOnce"),
		proven("exclude.durable", "Exclude answers after the commit and the word of each live attempt; no INVITE leaves from then on.",
			"actors.TestExcludeCancelsARingingLegAndNoInviteLeavesAfterwards", "main.TestExclusionsHoldWhileTheCampaignDials",
			"actors.TestAnExclusionThatAKillCutInTwoIsCompletedByTheNextLife"),
		proven("exclude.races", "It covers look-ahead, rows and triggers that run at the same time.", "actors.TestAnExclusionOvertakesATriggerThatIsUnderWay",
			"actors.TestAnExclusionHoldsForTheRowsOfAFileThatIsBeingActivated", "main.TestExclusionsAndTriggersMeetAnImport"),
		proven("exclude.drops", "It cancels ringing legs and drops retries and callbacks.", "engine/contact.TestExcludeDropsRetriesAndCallbacks",
			"engine/contact.TestExcludeWhileRingingHoldsWhateverTheCallComesTo"),
		proven("exclude.in_call", "A live conversation is left alone; its result is stored, then it is excluded.", "engine/contact.TestExcludedInCallTakesEffectAfterItsResult",
			"main.TestAConversationIsLeftAloneByAnExclusion"),
		proven("exclude.future", "By metadata it matches later additions too while sticky; a number can be excluded in advance.",
			"main.TestExclusionByMetadataAndInAdvance", "actors.TestExclusionByMetadataRefusesATriggerThatDoesNotRepeatIt"),
		proven("suppression.dial", "The suppression list is asked before every INVITE.", "persistence.TestStore/a suppressed number is not dialled",
			"engine/contact.TestASuppressedNumberIsNotTriedAgain", "persistence.TestStore/an import leaves out who is excluded or suppressed"),
		proven("suppression.cancels", "What rings to a number that is suppressed is cancelled; a conversation is left alone.",
			"actors.TestASuppressedNumberThatRingsIsCancelledAndAConversationIsLeftAlone", "actors.TestADialoutThatRingsIsCancelledWhenItsNumberIsSuppressed"),
		proven("suppression.commands", "Triggers and dialouts to a suppressed number are refused.", "actors.TestATriggerAndADialoutToASuppressedNumberAreRefused"),
		proven("suppression.sources", "do_not_call results, opt-out digits and imports fill it; a cap bounds attempts per number and period.",
			"actors.TestADoNotCallResultSuppressesTheNumberWhereverItIsCalledNext", "actors.TestANumberIsCalledAtMostAsOftenAsTheCapAllowsWithinItsPeriod",
			"persistence.TestStore/a number is not called more often than its cap allows, in any campaign", "actors.TestTheOptOutKeyInTheInformationMessageSuppressesTheNumber", "engine/attempt.TestTheOptOutKeyIsHeardOnceAndOnlyDuringTheMessage", "http.TestAFileOfNumbersIsSuppressed", "http.TestNumbersAreSuppressedFoundAndLifted"),
		proven("variables", "Variables are strings; a trigger's scalars are made strings, nested values JSON text; 64 keys of 64 bytes, 16 KiB.",
			"http.TestTriggerAddsOneContact", "http.TestTriggerRefusesBodiesThatFailValidation", "engine/contact.TestTheLimitsOfVariablesAreThoseOfTheRulebook"),
	}
}

func attemptRules() []sentence {
	return []sentence{
		proven("attempt.states", "reserved, dialling, ringing, answered, screening, bridging, connected, ended: every event in every situation.",
			"engine/attempt.TestEveryEventDoesInEverySituationWhatTheRulesSay", "engine/attempt.TestEveryStateAndEventPairDoesWhatTheGoldenFileSays"),
		proven("attempt.ends", "Every attempt ends, and gives all back once.", "engine/attempt.TestEveryExitPathGivesAllLeasesBackAndReachesEndedExactlyOnce",
			"engine/attempt.FuzzAttempt", "engine/campaign.TestCampaignContactAndAttemptAgreeWhateverComes", "actors.TestManySeedsEndWithEqualLedgersAndAbandonsUnderTheCap"),
		proven("attempt.intent", "The intent is durable before the INVITE leaves.", "engine/attempt.TestTheIntentIsDurableBeforeTheInviteLeaves",
			"bench/scenario/chaos.TestTwentyKillsOfTheEngineLoseNothingAndDialNobodyTwice"),
		proven("attempt.send_by", "The send-by time is checked right before the write to the socket.", "sipstack.TestNotSent",
			"sipstack.TestNothingIsRetransmittedAfterTheSendByTime"),
		proven("attempt.dialog", "What a BYE needs is durable before the ACK leaves.", "engine/attempt.TestTheDialogIsDurableBeforeTheAckLeaves",
			"sipstack.TestRepeatedAnswerIsAckedAgainOnlyAfterConfirm"),
		proven("crash.legs", "After a crash ringing legs are cancelled, answered ones ended, late answers ACKed and ended.",
			"main.TestTheNextLifeEndsTheCallsOfAnEarlierOneAndDialsNobodyTwiceAtOnce", "sipstack.TestLaterLifeCancelsARingingLeg",
			"sipstack.TestLaterLifeEndsAnAnsweredLeg", "sipstack.TestLateAnswerIsAckedAndEnded"),
		proven("crash.lost", "The attempt is lost and consumed; answered but not connected counts as abandoned.",
			"engine/attempt.TestAnsweredButNotConnectedAndLostCountsAsAbandoned", "actors.TestAnEarlierLifeIsClosedAsLostAndNobodyIsDialledTwiceAtOnce"),
		proven("crash.hold", "Its number is not dialled before its legs are over, or their time has passed.", "persistence.TestStore/a lost attempt holds its number until its time",
			"actors.TestTheLegsOfALostCallAreWatchedByTheNextLifeToo"),
		proven("number.one_call", "No number has two overlapping calls.", "persistence.TestStore/an intent is refused while the number is held",
			"persistence.TestStore/of many writers one gets the number", "bench/scenario/chaos.TestTwentyKillsOfTheEngineLoseNothingAndDialNobodyTwice"),
		proven("consumed", "An attempt counts once its INVITE left, unless the table of responses says no; at most three in a row do not.",
			"engine/attempt.TestAnAttemptIsConsumedOnceItsInviteLeftUnlessTheTableSaysNo",
			"engine/contact.TestUnconsumedAttemptsGoBackUnchangedWithBackOffAtMostThreeInARow", "engine/attempt.TestAnUnconsumedAttemptIsReportedWithoutANumber"),
		proven("outcome.table", "Every final response and cause has its outcome, retry class and consequence.", "engine/disposition.TestFinalResponseToOutcomeByCode",
			"engine/disposition.TestEveryCodeAndCauseHasAnOutcome", "engine/disposition.TestQ850WinsOverAGenericSIPCode",
			"engine/disposition.TestAdviceToTheOwnersOfTrunksAndNumbers"),
		proven("outcome.next_trunk", "A refusal of the network goes to the next trunk in the same attempt; silence does not.",
			"engine/attempt.TestAFinalRefusalOfTheNetworkGoesToTheNextTrunkInTheSameAttempt", "main.TestACongestedTrunkHandsTheCallToTheNext",
			"main.TestSilenceIsNotTriedOnTheNextTrunkAndALateAnswerIsEnded"),
		proven("retry.custom", "Dispositions are compared trimmed and without regard to case.", "engine/contact.TestRetryOnCustomComparesTrimmedAndWithoutRegardToCase"),
		proven("retry.clip", "Retry Delay counts from the end and is clipped into the next window.", "engine/contact.TestARetryIsClippedIntoTheNextWindow",
			"engine/campaign.TestARetryThatWouldFallOnTheEndOfTheRunsWindowIsNotDialled"),
		proven("ring.timeout", "The ring timeout is 30 s unless said, never under 15 s.", "engine/attempt.TestNoAnswerAfterTheRingTimeout",
			"engine/campaign.TestEveryLimitOfTheSettingsIsAcceptedAndNothingBeyond", "engine/campaign.TestWhatIsNotSaidIsTheDefault"),
		proven("call.limit", "A conversation ends at its limit, 15 min unless said.", "engine/attempt.TestTheCallLimitEndsTheConversation",
			"engine/campaign.TestWhatIsNotSaidIsTheDefault"),
		proven("media.silent", "30 s with neither RTP nor RTCP, not on hold, end the call as media_error.", "engine/attempt.TestNeitherRTPNorRTCPEndsTheCallAsMediaError",
			"media.TestSilentAfterTheRTPTimeout", "media.TestRTCPIsASignOfLife", "media.TestHoldIsNotSilent"),
		proven("attempt.stored", "Every stage's time, the SIP and Q.850 codes, verdict, session and disposition are stored.",
			"persistence.TestStore/an attempt comes back as it was written", "engine/attempt.TestTheTimeOfTheFirstResponseIsStored",
			"engine/attempt.TestTheTimeOfTheFirstBotAudioIsStored", "engine/attempt.TestWhatHappenedIsReportedThoughTheEndWasDecided"),
		proven("report.columns", "The report has the columns of the rulebook, then the variables.", "http.TestTheAttemptReportHasOneRowADial",
			"persistence.TestStore/the attempt report gives every attempt once, in order"),
	}
}

func amdRules() []sentence {
	return []sentence{
		proven("amd.parallel", "Parallel: screening with its seat held, connected at the verdict.",
			"engine/attempt.TestParallelTheCallIsScreeningWithItsSeatHeldAndConnectedAtTheVerdict"),
		proven("amd.sequential", "Sequential: no seat while listening.", "engine/attempt.TestSequentialNoSeatWhileListening"),
		proven("amd.live", "human, unknown, silence and screener go to the bot; machine, fax and SIT are torn down.",
			"engine.TestMachineFaxAndSITAreTornDownAndAllElseGoesToTheBot", "engine/attempt.TestMachineFaxAndSITAreTornDownAndGiveTheirSeatBackAtTheVerdict",
			"engine/disposition.TestAVerdictGivesTheOutcomeOfATornDownCall"),
		proven("amd.final", "A machine is final unless listed.", "engine/contact.TestAMachineIsFinalUnlessListed"),
		proven("amd.early_media", "Early media is not listened to.", "media.TestEarlyMediaIsNotHeard", "main.TestEarlyMediaIsNoAnswerOfAPerson"),
		proven("amd.undecided", "Classification that never decides is unknown.", "engine/attempt.TestClassificationThatNeverDecidesIsUnknownAfterSixSeconds",
			"engine/attempt.TestAnAnswerThatClassificationNeverDecidesGoesToTheBot", "media/amd.TestTheTimeoutBoundsEveryDecision"),
		proven("amd.revised", "A later beep revises a verdict before the bot has the call.", "engine/attempt.TestMachineFaxAndSITAreTornDownAndGiveTheirSeatBackAtTheVerdict"),
		open("amd.voicemail", "Voicemail drop plays after the beep and hangs up.", "not in the tree yet"),
	}
}

func pacingRules() []sentence {
	return []sentence{
		proven("pacing.two_seconds", "The bot's path stands within 1.8 s of the answer, or of the greeting's end; else the call is abandoned with its cause.",
			"engine/attempt.TestTheTwoSecondsCountFromThe200OrFromTheEndOfTheGreeting", "engine/attempt.TestALiveAnswerThatNoBotServesInTimeIsAbandoned",
			"engine/attempt.TestABotThatStandsInTimeIsNotLate", "actors.TestABotThatDoesNotConnectInTimeMakesAnAbandonWithTheMessage"),
		proven("pacing.caller_hung_up", "Who hangs up before that is outside the rate.", "engine/attempt.TestACalleeWhoHangsUpBeforeTheBotIsThereIsOutsideTheRate"),
		proven("pacing.strict", "Strict keeps the abandon rate after every event, over run, day and 30 days.",
			"engine/pacing.TestStrictKeepsAbandonsWithinTheCapAfterEveryEvent", "engine/pacing.TestLedgersFollowRunDayAndThirtyDays",
			"engine/pacing.TestTheCapHoldsAcrossMidnight", "actors.TestManySeedsEndWithEqualLedgersAndAbandonsUnderTheCap"),
		proven("pacing.hybrid", "Hybrid holds it at the end of its period.", "engine/pacing.TestHybridOverTheCapPaysBackWithHardlyAnyRisk",
			"engine/pacing.TestHybridCountsOnLessAsTheWindowCloses"),
		proven("pacing.credit", "A dial beyond the free seats needs credit.", "engine/pacing.TestCreditIsExact", "engine/pacing.TestCreditLetsLinesGoBeyondTheFreeWorkers",
			"engine/pacing.TestTheWorstWorldSpendsTheCreditAndNoMore"),
		proven("pacing.zero", "Cap 0 %: every dial holds a seat.", "engine/pacing.TestAtCapZeroNothingIsEverAbandoned", "actors.TestCapZeroNeverAbandons"),
		proven("pacing.message", "The abandoned hear the information message at once, then the call ends.", "main.TestAnAnswerThatNoBotTakesIsAbandonedWithTheMessage",
			"engine/attempt.TestAMessageThatNeverEndsDoesNotKeepTheLine"),
		proven("pacing.explanation", "Every decision names its binding constraint with numbers.", "engine/pacing.TestEveryDecisionNamesItsBindingConstraint",
			"engine/pacing.TestTheExplanationIsASentence", "http/console: why a campaign does not dial is said in words, with its figures"),
		proven("pacing.contact_explained", "Each contact says why not now, and when next.", "engine/campaign.TestEveryContactSaysWhyItIsNotDialledNowAndWhenItIs",
			"http.TestAContactSaysWhyItIsNotDialledNow", "persistence.TestStore/what holds a contact back is told"),
		proven("pacing.shown", "The ledgers of run, day and period and the rolling rates are shown.", "actors.TestTheLedgersShowWhatWasAbandonedAndSurviveARestart",
			"http.TestALiveCampaignShowsItsAbandonLedgersAndTheRollingRates", "engine/pacing.TestARateOfTheLastDayForgetsTheHoursBefore"),
		proven("pacing.capacity", "Seats are shared fairly and conserved.", "engine/fleet.TestSharesAreMaxMinFair", "engine/fleet.TestSeatsAreConservedWhateverHappens",
			"actors.TestAnIdleCampaignGivesItsSeatsToOthers"),
	}
}

func numberRules() []sentence {
	return []sentence{
		proven("slot.caps", "A number has a concurrent cap and dials per hour and day.", "engine/numberpool.TestASlotRefusesBeyondItsCapsAndSaysWhen",
			"engine/numberpool.TestNoHourHoldsMoreDialsThanTheCap"),
		proven("slot.rest", "It rests after use.", "engine/numberpool.TestANumberRestsAfterUse"),
		proven("slot.strikes", "Refusals of the caller ID quarantine it; an operator ends that.", "engine/numberpool.TestStrikesQuarantineANumber",
			"engine/numberpool.TestAnOperatorEndsAQuarantine"),
		proven("slot.choice", "Chosen is the sticky number, then a local match, then the least recently used.",
			"engine/numberpool.TestTheNumberIsStickyThenLocalThenLeastRecentlyUsed"),
		open("slot.answer_rate", "The answer rate of a number is watched.", "not in the tree yet"),
		proven("trunk.caps", "A trunk has caps of calls a second and channels.", "engine/trunk.TestNoSecondHoldsMoreGrantsThanTheCap", "engine/trunk.TestChannelsAreLeases"),
		proven("trunk.health", "Failures in a row open its breaker, refused credentials hold it, throttling slows it.",
			"engine/trunk.TestTheBreakerOpensOnFailuresInARowAndRecoversByATrial", "engine/trunk.TestRefusedCredentialsHoldTheTrunkUntilItIsMended",
			"engine/trunk.TestThrottlingShrinksTheRateAndItRecovers"),
		proven("trunk.choice", "Trunks are chosen by priority, then weight.", "engine/trunk.TestTrunksAreChosenByPriorityThenWeight"),
	}
}

func windowRules() []sentence {
	return []sentence{
		proven("window.half_open", "Windows are half-open in an IANA zone.", "engine/window.TestTheWindowIsHalfOpenOnWorkingDays"),
		proven("window.midnight", "One that crosses midnight belongs to the day it opened.", "engine/window.TestAWindowAcrossMidnightBelongsToTheDayItOpened"),
		proven("window.all_day", "Equal start and end is the whole day.", "engine/window.TestEqualStartAndEndIsTheWholeDay"),
		proven("window.dst", "Right over daylight saving time, both ways.", "engine/window.TestDaylightSavingTimeBothWays"),
		proven("window.zones", "Unknown zones are refused.", "engine/window.TestValidateSaysWhichFieldsAreWrong", "engine/window.TestAnUnknownZoneNeverOpens"),
		proven("window.contact_zone", "With the contact's zone a number of several zones is called when all are open.",
			"engine/window.TestNumbersOfSeveralZonesAreCalledWhenAllAreOpen", "actors.TestEveryContactIsCalledByItsOwnClock"),
		proven("window.live_calls", "Live calls are not cut; no INVITE leaves after the closing.", "actors.TestNoINVITELeavesAfterTheWindowHasClosed"),
		proven("window.clock_step", "A step of the wall clock over 2 s re-evaluates windows and queues.",
			"engine/window.TestAStepOfTheWallClockIsWhatTheBootTimeClockDoesNotShow", "actors.TestAStepOfTheWallClockOpensAndClosesTheWindowAtOnce",
			"actors.TestAStepOfTheWallClockChangesWhoIsDue", "actors.TestAStepBackTakesContactsThatAreNotDueYetOutOfTheLookAhead"),
	}
}

func callbackRules() []sentence {
	return []sentence{
		proven("callback.enabled", "Only when enabled on the campaign.", "engine/contact.TestCallbacksOnlyWhenEnabledOnTheCampaign"),
		proven("callback.default", "Without a time it comes after one Retry Delay.", "engine/contact.TestACallbackWithoutATimeComesAfterOneRetryDelay"),
		proven("callback.offset", "Its time needs an offset.", "http.TestResultsComeWithTheCallsTokenOrAKey"),
		proven("callback.clip", "It is clipped into the window.", "engine/contact.TestACallbackIsClippedIntoTheWindow"),
		proven("callback.cancelled", "Horizon, closing window, end of the run and exclusion cancel it.", "engine/contact.TestACallbackIsCancelled"),
		proven("callback.one", "One is active per contact, the newest wins.", "engine/contact.TestOneActiveCallbackPerContactTheNewestWins"),
		proven("callback.open", "A contact with an active one is not final.", "engine/contact.TestAContactWithAnActiveCallbackIsNotFinal"),
		proven("callback.beyond", "It may exceed Max Attempts by one.", "engine/contact.TestACallbackMayExceedMaxAttemptsByOne"),
	}
}

func interfaceRules() []sentence {
	return []sentence{
		proven("dialout.answer", "201 with call, attempt, bot, numbers and time; the call can be looked at.", "http.TestDialoutPlacesOneCall", "http.TestStateAndOutcomeOfACall"),
		proven("dialout.seat", "A dialout holds a seat first; without one 503 with Retry-After.", "actors.TestDialoutHoldsASeatFirst",
			"actors.TestADialoutThatIsRefusedGivesItsSeatBackAtOnce", "http.TestDialoutPassesOnWhatTheEngineSays"),
		proven("dialout.refusals", "404 unknown bot, 409 inactive or suppressed, 422 body.", "http.TestDialoutPassesOnWhatTheEngineSays",
			"main.TestARefusedRequestSaysWhyAndWritesNothing"),
		proven("destinations.countries", "Only countries of the allow-list are dialled, without one those of our own numbers.",
			"engine/destination.TestOnlyCountriesOfTheListAreDialled", "engine/destination.TestWithoutAListTheCountriesOfOurOwnNumbersAreAllowed",
			"actors.TestADialoutAbroadIsRefusedAtTheIntent", "actors.TestAContactAbroadIsFailedWithoutACall", "http.TestDestinationsThatAreNotCalledAreRefused"),
		proven("destinations.never", "Premium and emergency numbers are never dialled.", "engine/destination.TestPremiumAndEmergencyNumbersAreRefusedWhateverIsAllowed"),
		proven("destinations.key_cap", "A key may have a daily cap of dialouts.", "http.TestAKeyHasADailyCapOfDialouts",
			"actors.TestAKeyPlacesNoMoreDialoutsWithinADayThanItMay", "persistence.TestStore/a key places no more dialouts a day than its cap allows"),
		proven("trigger.commit", "Contact, intent, idempotency key and answer commit together.", "persistence.TestStore/a stored reply commits with contact and intent or not at all"),
		proven("trigger.order", "Checked in the order 401, 403, 422, 404, 409.", "http.TestScopesAndCampaignsOfAKey", "main.TestARefusedRequestSaysWhyAndWritesNothing"),
		proven("trigger.states", "Running and paused accept; draft, completed and failed refuse.", "actors.TestTriggerDialsQueuesMergesAndReopens",
			"main.TestTriggersWaitForTheWindowOfAMultiDayCampaignAndForAPausedOne"),
		proven("command.deadline", "A command past its deadline is answered 503 and not carried out.", "http.TestPastItsDeadlineACommandIsAnswered503"),
		proven("exclude.answer", "Exclude tells matched, excluded, cancelled_ringing and in_call.", "http.TestExcludeByNumberOrByUpToTwoMetadataKeys",
			"main.TestAnExcludedContactsRingingLegIsCancelledAndNoInviteFollows"),
		proven("exclude.selector", "Exactly one of mobile and match; match is an object or a list of pairs.", "http.TestExcludeRefusesBodiesThatFailValidation",
			"http.TestExcludeByNumberOrByUpToTwoMetadataKeys"),
		proven("idempotency.syntax", "Bare or quoted, 1–255 printable characters.", "http.TestIdempotencyKeySyntax", "http.FuzzIdempotencyKey"),
		proven("idempotency.replay", "A finished repeat is replayed; another body 422; still running 409; 5xx are not kept.",
			"http.TestARepeatedRequestIsAnsweredWithTheFirstAnswer", "http.TestRefusalsAreReplayedAndServerErrorsAreNot", "http.TestARepeatWhileTheFirstStillRuns"),
		proven("idempotency.day", "It is kept for 24 h.", "persistence.TestStore/a reply is kept for a day"),
	}
}

func accessRules() []sentence {
	return []sentence{
		proven("error.problem", "Errors are problem+json with a stable code and the fields.", "http.TestWhatIsNotHTTPIsAnsweredWithAProblem",
			"http.TestCreateNamesEveryMistakeInOneAnswer", "engine.TestErrorsAreComparedByTheirStableCode"),
		proven("error.no_internals", "No stack, no SQL.", "http.TestPanicsAreAnswered500AndTheConnectionLives", "http.TestTriggerPassesOnWhatTheCampaignSays"),
		proven("key.one_401", "One 401 for missing, malformed, unknown, inactive and expired keys.", "http.TestEveryBadKeyGetsTheSame401"),
		proven("key.deactivation", "A deactivation answers after every node dropped the key.", "http.TestWithSharedKeysADeactivationWaitsForTheOtherNodes",
			"http.TestDeactivatingAKeyTakesEffectWithItsAnswer"),
		proven("key.scopes", "Keys may have scopes, campaigns and a rate.", "http.TestScopesAndCampaignsOfAKey", "http.TestRateLimitOfAKey"),
		proven("user.login", "E-mail and argon2id; a token as Bearer; log-ins are throttled.", "http.TestLogIn", "http.TestPasswordHashes", "http.TestLogInsAreThrottled"),
		proven("user.roles", "Administrators, operators and viewers.", "http.TestAccessInTheOpenAPIFileIsThatOfTheRoutes"),
		proven("user.sessions", "Cookies are HttpOnly, SameSite, guarded against CSRF, and revocable.", "http.TestLogInWithACookie",
			"http.TestWithoutTheCSRFTokenACookieOnlyReads", "http.TestRevokingASessionHoldsWithinASecond"),
		proven("log.personal", "Numbers, variables and secrets do not reach the log.", "main.TestTheLogOfARunGivesNoNumberVariableOrSecretAway",
			"http.TestNothingPersonalIsLogged", "engine.TestAPhoneNumberIsMaskedWhereverItIsPrinted"),
		proven("input.limits", "Every input is bounded.", "http.TestBodiesOverOneMebibyteAreRefused", "http.TestMalformedBodies", "http.FuzzParseJSON", "http.FuzzEdit",
			"engine/contactlist.FuzzReader", "engine/number.FuzzParse", "engine/window.FuzzJSON"),
	}
}
