package docs

// The specification's tables, row by row.

func specChapters() []chapter {
	return []chapter{
		{"API keys", keySentences()},
		{"Dialout request", dialoutSentences()},
		{"Campaign fields", campaignFieldSentences()},
		{"Contact and attempt fields", contactFieldSentences()},
		{"Campaign states and transitions", campaignSentences()},
		{"Contact, callback and live states", stateSentences()},
		{"Counters and metrics of the specification", counterSentences()},
		{"Trigger and exclude", triggerSentences()},
		{"Console", consoleSentences()},
		{"Errors and limits of the specification", errorSentences()},
	}
}

func keySentences() []sentence {
	return []sentence{
		proven("key.form", "A key is vx_ and 32 random characters.", "http.TestAPIKeysAreShownInFullOnce", "http/wire.TestKeysAreDrawnEvenly"),
		proven("key.shown_once", "The full key is shown once, at its creation; afterwards its masked prefix.", "http.TestAPIKeysAreShownInFullOnce"),
		proven("key.hash", "Only the SHA-256 of a key is stored.", "persistence.TestStore/API keys are stored, found and changed",
			"process.TestADeactivatedKeyIsRefusedAtOnce"),
		proven("key.inactive", "An inactive key is refused.", "http.TestEveryBadKeyGetsTheSame401", "process.TestADeactivatedKeyIsRefusedAtOnce"),
		proven("key.expires", "A key whose expiry is past is refused; without an expiry it never expires.", "http.TestEveryBadKeyGetsTheSame401"),
		proven("key.every_request", "The key is checked on every authenticated request.", "http.TestAKeyIsCheckedOnEveryRequest"),
		proven("key.reactivate", "Active and inactive follow is_active, both ways.", "http.TestDeactivatingAKeyTakesEffectWithItsAnswer",
			"process.TestADeactivatedKeyIsRefusedAtOnce"),
		proven("key.others", "Each key has its own expiry, scopes and state.", "http.TestScopesAndCampaignsOfAKey",
			"persistence.TestStore/API keys are stored, found and changed"),
		proven("key.header", "Dialout, trigger and exclude take the key in X-API-Key.", "http.TestEveryBadKeyGetsTheSame401",
			"http.TestTriggerAddsOneContact", "http.TestExcludeByNumberOrByUpToTwoMetadataKeys", "http.TestDialoutPlacesOneCall"),
		proven("auth.jwt", "Dialout is also open to an administrator's token.", "http.TestDialoutWithAnAdminToken"),
	}
}

func dialoutSentences() []sentence {
	return []sentence{
		proven("dialout.bot_id", "bot_id is required and names an existing, active bot.", "http.TestDialoutRefusesBodiesThatFailValidation",
			"actors.TestDialoutHoldsASeatFirst", "http.TestDialoutPassesOnWhatTheEngineSays"),
		proven("dialout.to_number", "to_number is required, in international format with a leading plus.", "http.TestDialoutRefusesBodiesThatFailValidation",
			"engine/number.TestInterfacesTakeE164Only"),
		proven("dialout.variables", "variables and connected_event mean the same: string keys, string values, for the bot.", "http.TestDialoutPlacesOneCall"),
		proven("dialout.both", "variables and connected_event are not sent together.", "http.TestDialoutRefusesBodiesThatFailValidation"),
		proven("dialout.capacity", "A dialout needs free capacity.", "actors.TestDialoutHoldsASeatFirst"),
		proven("dialout.one_call", "A dialout places one call outside campaigns.", "http.TestDialoutPlacesOneCall", "process.TestAnAnsweredCallIsServedAndEndedByItsBot"),
	}
}

func campaignFieldSentences() []sentence {
	return []sentence{
		proven("campaign.name", "The name is locked after the first run.", "engine/campaign.TestNameAndBotAreLockedAfterTheFirstRun"),
		proven("campaign.bot", "The bot is locked after the first run.", "engine/campaign.TestNameAndBotAreLockedAfterTheFirstRun"),
		proven("campaign.id", "A campaign has a short identifier, the one of the APIs.", "persistence/column.TestIdentifiers", "http.TestCreateACampaign"),
		proven("campaign.status", "Its status is draft, running, paused, completed or failed.",
			"engine/campaign.TestEveryStateTakesTheEventsThatTheSpecificationGivesItAndNoOther"),
		proven("campaign.always_on", "An always-on campaign stays running and takes contacts until it is stopped.",
			"engine/campaign.TestARunThatHasNothingLeftCompletesUnlessAlwaysOn", "actors.TestTriggerDialsQueuesMergesAndReopens"),
		proven("campaign.run", "Run 1 is the original, each restart the next.", "engine/campaign.TestRestartPreparesTheNextRun"),
		proven("campaign.timestamps", "Created, current run, restarted and completed are kept with their times, and who.",
			"engine/campaign.TestRestartPreparesTheNextRun", "http.TestAPreparedRestartNamesItsRunWhoAndWhen",
			"persistence.TestStore/a campaign comes back as it was written"),
		proven("campaign.concurrency", "Concurrency bounds the simultaneous connected calls.", "engine/pacing.TestEveryDecisionNamesItsBindingConstraint",
			"engine/pacing.TestStrictKeepsAbandonsWithinTheCapAfterEveryEvent", "actors.TestManySeedsEndWithEqualLedgersAndAbandonsUnderTheCap"),
		proven("campaign.window", "Calls are placed inside a daily window of a time zone.", "engine/window.TestTheWindowIsHalfOpenOnWorkingDays",
			"actors.TestACampaignOutsideItsWindowHoldsNoSeats", "actors.TestNoINVITELeavesAfterTheWindowHasClosed"),
		proven("campaign.days", "Working days are all seven or a subset.", "engine/window.TestTheWindowIsHalfOpenOnWorkingDays",
			"engine/window.TestJSONIsWhatTheInterfaceShows"),
		proven("campaign.pool", "The number pool may be changed before Start, after a first run too.", "engine/campaign.TestNameAndBotAreLockedAfterTheFirstRun"),
		proven("campaign.max_attempts", "Max Attempts bounds the attempts of a contact.", "engine/contact.TestRetriesUsedUpIsFailedWithReasonAttemptsExhausted",
			"process.TestRetriesFollowTheSettings"),
		proven("campaign.retry_delay", "Retry Delay is the time between attempts.", "engine/contact.TestRetryDelayCountsFromTheEndOfTheAttempt",
			"process.TestRetriesFollowTheSettings"),
		proven("campaign.retry_on_system", "Retry On System lists the outcomes that are redialled; it may be empty.",
			"engine/contact.TestRetryOnSystemRedialsListedOutcomesOnly", "engine/disposition.TestTheDefaultOfRetryOnSystemFollowsFromTheTable"),
		proven("campaign.retry_on_custom", "Retry On Custom lists the dispositions that are redialled; it may be empty.",
			"engine/contact.TestRetryOnCustomComparesTrimmedAndWithoutRegardToCase"),
		proven("campaign.stop_redials_after", "Stop Redials After: a conversation at least that long makes the contact final in this and every later attempt of the run, callbacks apart; it wins.",
			"engine/contact.TestAConversationAsLongAsStopRedialsAfterMakesTheContactFinal",
			"engine/campaign.TestRedialOnlyUnderIsAtMostStopRedialsAfterWhenBothAreSet"),
		proven("campaign.redial_only_under", "Redial Only Under: a shorter conversation is redialled after Retry Delay while attempts remain, whatever its disposition and with none; Retry On Custom decides on a longer one.",
			"engine/contact.TestAConversationShorterThanRedialOnlyUnderIsRedialledWhateverItsDisposition",
			"engine/contact.TestAShortConversationWithoutAResultIsRedialledAfterRetryDelay",
			"actors.TestAShortConversationWithoutAResultIsDialledAgainAfterRetryDelay"),
		proven("campaign.sticky_exclusion", "With sticky exclusion an excluded contact stays so when it is added again; without, it is callable.",
			"engine/contact.TestAddingAnExcludedContactAgainMakesItCallable", "persistence.TestStore/an excluded row is not added while exclusions are sticky",
			"process.TestExclusionByMetadataAndInAdvance"),
		proven("campaign.config_url", "An externally managed configuration is at the Config URL.", "actors.TestAStartWithAConfigURLFetchesItFirstAndAsksNoMore",
			"engine/campaign.TestEverySettingButTheCampaignsOwnCanBeExternal", "process.TestAConfigURLIsFetchedWithinItsLimits"),
		proven("campaign.callback_detection", "Callback detection is on or off.", "engine/contact.TestCallbacksOnlyWhenEnabledOnTheCampaign"),
		proven("campaign.window_kind", "A campaign is single-day or multi-day.", "engine/campaign.TestTheEndOfASingleDayWindowCompletesPausedOnesToo",
			"process.TestTriggersWaitForTheWindowOfAMultiDayCampaignAndForAPausedOne"),
	}
}

func contactFieldSentences() []sentence {
	return []sentence{
		proven("contact.number", "A file's column is phone_number, the trigger's field mobile.", "engine/contactlist.TestRowsOfAFileBecomeContacts",
			"http.TestTriggerRefusesBodiesThatFailValidation"),
		proven("contact.fields", "A contact shows status, attempts of the maximum, trail, last result, variables and callback.",
			"http.TestContactsComeWithTheirAttemptTrail"),
		proven("contact.variables", "Variables of file or trigger reach the bot.", "process.TestAnAnsweredCallIsServedAndEndedByItsBot",
			"persistence.TestStore/variables are kept, changed and found"),
		proven("attempt.fields", "An attempt shows number, outcome, source number, times, session, SIP reason and the last 8 characters of its identifier.",
			"http.TestContactsComeWithTheirAttemptTrail", "engine.TestOperatorsSeeTheLastEightCharactersOfAnAttempt",
			"persistence.TestStore/an attempt comes back as it was written"),
		proven("attempt.raw_code", "The raw SIP code is shown when the failure has no friendly reason.", "http.TestContactsComeWithTheirAttemptTrail",
			"engine/disposition.TestACauseThatTheTableDoesNotListLeavesTheCode"),
		proven("activity.entry", "The activity log has who started, paused, resumed or stopped and when, newest first.",
			"persistence.TestStore/activity shows who did what, newest first", "engine/campaign.TestWhoGaveTheCommandIsRecorded",
			"http.TestTheActivityLogShowsStartPauseResumeAndStopUnlessAskedForMore"),
	}
}

func campaignSentences() []sentence {
	const matrix = "engine/campaign.TestEveryStateTakesTheEventsThatTheSpecificationGivesItAndNoOther"
	return []sentence{
		proven("campaign.draft.start", "Start of a draft: running, dialling begins.", matrix, "engine/campaign.TestStartPauseResume", "actors.TestCampaignRunsToItsEnd"),
		proven("campaign.draft.edit", "A draft can be edited.", matrix, "http.TestAnEditIsAMergePatchOfTheSettings",
			"engine/campaign.TestAnEditIsRecordedFieldByField"),
		proven("campaign.draft.delete", "A draft that never ran can be deleted, with its contacts.", matrix, "engine/campaign.TestDeleteOnlyWhenNeverRun",
			"process.TestADraftIsDeletedAndOneThatRanIsNot", "persistence.TestStore/a draft is removed whole"),
		proven("campaign.running.pause", "Pause: no new call, calls in flight may finish.", matrix, "engine/campaign.TestStartPauseResume",
			"actors.TestPauseLetsCallsFinishAndStopCompletesAtOnce"),
		proven("campaign.paused.resume", "Resume: dialling goes on.", matrix, "engine/campaign.TestStartPauseResume",
			"process.TestACampaignIsCreatedFilledStartedPausedResumedAndStopped"),
		proven("campaign.paused.edit", "A paused campaign can be edited, but for name, bot and contacts.", matrix,
			"engine/campaign.TestNameAndBotAreLockedAfterTheFirstRun", "actors.TestAnEditTakesEffectOnResume",
			"actors.TestFewerAttemptsHoldForContactsThatWaitAndForThoseOnTheLine"),
		proven("campaign.running.stop", "Stop of a running campaign completes the run for good; waiting contacts count as manually stopped.", matrix,
			"engine/campaign.TestStopCompletesAtOnce", "persistence.TestStore/the end of a run closes the waiting contacts"),
		proven("campaign.paused.stop", "Stop of a paused campaign does the same.", matrix, "engine/campaign.TestStopCompletesAtOnce"),
		proven("campaign.running.ends", "A run that is not always-on completes by itself, with the reason recorded.", matrix,
			"engine/campaign.TestARunThatHasNothingLeftCompletesUnlessAlwaysOn", "engine/campaign.TestTheEndOfASingleDayWindowCompletesPausedOnesToo",
			"actors.TestCampaignRunsToItsEnd"),
		proven("campaign.completed.restart", "Restart of a completed campaign prepares the next run; dialling does not start.", matrix,
			"engine/campaign.TestRestartPreparesTheNextRun", "persistence.TestStore/a restart resets the contacts and its cancelling brings them back"),
		proven("campaign.failed.restart", "Restart of a failed campaign does the same.", matrix, "engine/campaign.TestRestartAndDeleteAnswerCallsInProgressWhileLegsLive"),
		proven("campaign.prepared.cancel", "Cancel Restart shows the previous completed run again.", matrix,
			"engine/campaign.TestCancelRestartShowsThePreviousRunAgainAsItWas", "persistence.TestStore/a restart resets the contacts and its cancelling brings them back"),
		proven("campaign.prepared.start", "Start of a prepared restart begins the new run.", matrix, "engine/campaign.TestRestartPreparesTheNextRun"),
		proven("campaign.running.add", "Contacts of a file with a phone_number column join the running pool.", matrix, "process.TestAFileIsImportedWhileItsCampaignDials",
			"engine/contactlist.TestAFileThatCannotBeReadIsRefusedAsAWhole"),
		proven("campaign.clone", "Clone copies settings, pool and contacts into a new campaign.", "http.TestACloneIsANewDraftAndSaysWhereItIs",
			"engine/campaign.TestACopyHasTheSettingsAndNothingOfTheRuns", "persistence.TestStore/a clone has the settings, contacts and exclusions"),
		proven("campaign.failed", "A campaign fails on a failure condition.", matrix, "engine/campaign.TestAFailureCancelsRingingLegsAndConversationsFinish"),
		proven("campaign.reasons", "A completed campaign names its reason: all final, retries done, window ended, stopped, none callable.",
			"engine/campaign.TestARunThatHasNothingLeftCompletesUnlessAlwaysOn", "engine/campaign.TestStopCompletesAtOnce",
			"engine/campaign.TestTheEndOfASingleDayWindowCompletesPausedOnesToo"),
		proven("campaign.prepared.locks", "After Restart name, bot and contacts stay, pool and settings can be changed.",
			"engine/campaign.TestNameAndBotAreLockedAfterTheFirstRun", "engine/campaign.TestRestartPreparesTheNextRun"),
	}
}

func stateSentences() []sentence {
	return []sentence{
		proven("live.indicator", "The indicator is live, idle after about 30 s without a dial, or outside the window.",
			"http/console: the indicator has the words of the specification", "process.TestTriggersWaitForTheWindowOfAMultiDayCampaignAndForAPausedOne"),
		proven("contact.states", "Contacts are pending, unanswered, connected, completed, failed, abandoned, machine-detected, window-closed, manually-stopped or excluded.",
			"engine/contact.TestEveryContactComesToAnEnd", "engine/contact.TestEveryEventDoesInEverySituationWhatTheRulesSay"),
		proven("contact.final", "Final are completed, failed, abandoned, machine-detected, window-closed and manually-stopped.",
			"engine/contact.TestEveryEventDoesInEverySituationWhatTheRulesSay", "http/console: progress counts final outcomes, and leaves the excluded out"),
		proven("callback.states", "A callback is requested, pending, completed or cancelled, for example by a single-day window that closes first.",
			"engine/contact.TestACallbackIsRequestedThenPendingThenCompleted", "engine/contact.TestACallbackIsCancelled",
			"engine/tally.TestCallbacksAreRequestedPendingCompletedAndCancelled"),
	}
}

func counterSentences() []sentence {
	return []sentence{
		proven("counter.total", "Total and Pending.", "engine/tally.TestTotalAndPending", "persistence.TestStore/counters are those of the tally"),
		proven("counter.connected", "Connected, Completed and Unanswered.", "engine/tally.TestConnectedCompletedAndUnansweredCountFactsNotPresentStates"),
		proven("counter.retries_left", "Retries Left is what is still available across the pool.", "engine/tally.TestRetriesLeftIsTheSumOverOpenContacts"),
		proven("counter.abandoned", "Abandoned: answered calls that found no free worker; they count toward the rate.",
			"engine/tally.TestAbandonRateIsOfLiveAnswersMachinesOutside"),
		proven("counter.ends", "AMD Machine, Window Closed and Manually Stopped.", "persistence.TestStore/counters are those of the tally",
			"engine/tally.TestTheFoldOfTheEventsEqualsTheCountOfTheStates"),
		proven("counter.answer_rate", "Answer Rate.",
			"engine/tally.TestAnswerRateIsAnsweredOfTheAttemptsThatCanNoLongerChange"),
		proven("counter.completion_rate", "Completion Rate.", "engine/tally.TestCompletionRateIsConnectedAttemptsWithAResult"),
		proven("counter.abandon_rate", "Abandon Rate.", "engine/tally.TestAbandonRateIsOfLiveAnswersMachinesOutside"),
		proven("counter.aht", "AHT.", "engine/tally.TestAHTIsTheMeanConversation"),
		proven("counter.progress", "Progress counts the processed contacts.", "engine/tally.TestProgressIsProcessedOfAllButTheExcluded"),
		proven("counter.finished", "A finished campaign shows total connected, dials per second, connected per hour and calls per minute.",
			"http.TestAFinishedCampaignShowsItsTotals", "engine/campaign.TestDiallingTimeIsTheTimeOfRunningInsideTheWindow",
			"actors.TestARunningCampaignEstimatesItsEndAndAFinishedOneShowsItsTotals"),
		proven("counter.eta", "An ETA is shown when it can be estimated.", "engine/tally.TestETAIsTheRemainingDialsAtThePresentRate",
			"engine/tally.TestETASkipsTheHoursInWhichTheWindowIsClosed", "engine/tally.TestETAIsAbsentWhenItCannotBeEstimated"),
		proven("counter.live", "Ringing, In Progress, Dials/sec, Connected/hr, Avg Ring Time and Last Dial, -- when idle.",
			"actors.TestAvgRingTimeIsFromTheInviteToTheAnswerAndKnownBeforeTheCallEnds", "actors.TestRatesAreAbsentWhenIdleAndTheIndicatorSaysWhy",
			"actors.TestDialsAreThoseWhoseInviteLeft", "http.TestAStreamBeginsWithWhatGETShows", "http/console: figures"),
		proven("counter.passes", "Passes show attempted of eligible, connected share and time range; pass 1 is everybody's first attempt.",
			"engine/tally.TestPassOneIsTheFirstAttemptForEveryContact", "engine/tally.TestConnectedShareAndRangeOfAPass",
			"http.TestACampaignShowsItsPassesAndWithDetectionOnItsCallbacks"),
		proven("counter.callbacks", "Callbacks requested, pending, completed and their mean delay, with detection on only.",
			"engine/tally.TestTheDelayOfACallbackIsItsDialMinusItsTime", "http.TestACampaignShowsItsPassesAndWithDetectionOnItsCallbacks"),
	}
}

func triggerSentences() []sentence {
	return []sentence{
		proven("trigger.adds", "A trigger adds one contact and dials or queues it.", "actors.TestTriggerDialsQueuesMergesAndReopens", "http.TestTriggerAddsOneContact"),
		proven("trigger.idempotency", "An Idempotency-Key allows a safe retry without a second dial.", "http.TestARepeatedRequestIsAnsweredWithTheFirstAnswer",
			"process.TestTheSameRequestAtOnceIsCarriedOutOnce", "process.TestARepeatedRequestIsAnsweredFromTheDatabaseAlsoAfterARestart"),
		proven("trigger.body", "campaign_id and mobile are required, metadata is not.", "http.TestTriggerRefusesBodiesThatFailValidation",
			"http.TestTriggerAddsOneContact"),
		proven("trigger.status", "The answer's status is dialled or queued.", "actors.TestTriggerDialsQueuesMergesAndReopens"),
		proven("trigger.single_day", "Outside the window of a single-day campaign: 409.", "http.TestTriggerPassesOnWhatTheCampaignSays",
			"process.TestARefusedRequestSaysWhyAndWritesNothing"),
		proven("trigger.multi_day", "Outside the window of a multi-day campaign: queued.", "process.TestTriggersWaitForTheWindowOfAMultiDayCampaignAndForAPausedOne"),
		proven("exclude.by_number", "Exclude takes a number.", "http.TestExcludeByNumberOrByUpToTwoMetadataKeys", "process.TestAnExcludedContactsRingingLegIsCancelledAndNoInviteFollows"),
		proven("exclude.by_match", "Exclude takes one or two metadata keys, and both must match.", "http.TestExcludeByNumberOrByUpToTwoMetadataKeys",
			"process.TestExclusionByMetadataAndInAdvance"),
		proven("exclude.reason", "A reason is recorded with the exclusion.", "http.TestExcludeByNumberOrByUpToTwoMetadataKeys",
			"persistence.TestStore/exclusions are kept and lifted"),
		proven("exclude.matched", "matched counts the contacts of the selector.", "http.TestExcludeByNumberOrByUpToTwoMetadataKeys",
			"process.TestExclusionByMetadataAndInAdvance"),
	}
}

func consoleSentences() []sentence {
	const (
		page = "process.TestTheCampaignPageShowsWhatTheSpecificationSays"
		edit = "process.TestTwoOperatorsEditCloneAndRestartInTheConsole"
	)
	return []sentence{
		proven("console.buttons", "The buttons follow the table of states.", "http/console: buttons follow the table of states and transitions"),
		proven("console.confirm", "Stop, Restart, Cancel Restart and Delete ask first.", "http/console: a dialog says what an action will do"),
		proven("console.operator", "An operator runs a campaign in a browser: contacts from a file, start, pause, resume, report.",
			"process.TestAnOperatorRunsACampaignInTheConsole"),
		proven("console.refresh", "Live figures refresh by themselves.", "process.TestTheConsoleKeepsUpWhateverTheLineDoes",
			"http.TestDeltasMakeTheSnapshotWhatGETShows"),
		proven("console.page", "The page of a campaign is /dashboard/campaigns/{id}.", "http.TestEveryAddressBelowDashboardIsThePage"),
		proven("report.rows", "The Attempt Report is a streamed CSV with one row for each dial.", "http.TestTheAttemptReportHasOneRowADial",
			"process.TestTheReportHasARowForEveryDialOfTheCarrier", "http.TestAReportThatIsCutOffNeverLooksComplete"),
		proven("list.page", "The call list has 50 contacts a page and tells how many there are.", "http.TestContactsComeWithTheirAttemptTrail",
			"persistence.TestStore/contacts come in pages with their attempts"),
		proven("list.callback_filters", "With callback detection the list filters by state of the callback.", "http.TestContactsAreFoundByNumberAndByCallback",
			"persistence.TestStore/contacts are found by number and by callback", "engine/contact.TestTheWordsOfTheCallbacksPanel"),
		proven("console.edit", "Edit, Clone and the activity log are in the console.", "process.TestTwoOperatorsEditCloneAndRestartInTheConsole"),
		proven("console.set_up", "A campaign is made in the console: settings, number pool, contacts from a file, review, start.",
			"process.TestANewCampaignIsSetUpInTheConsole"),
		proven("console.detail", "The page of a campaign shows status, live activity, counters, call list, passes, callbacks and configuration by their rules.",
			"process.TestTheCampaignPageShowsWhatTheSpecificationSays"),
		proven("console.badges", "A campaign's status has its word and colour; always-on is a purple badge.", page, edit),
		proven("console.lifecycle", "Run number, Created, Current Run, Restarted and Completed say when and by whom, and are blank if never; a prepared restart is announced with run, who and when.",
			page, edit),
		proven("console.live", "Live counters are there while a campaign runs or is paused, -- when idle; Last Dial turns orange beyond 30 s; three indicators.", page),
		proven("console.hidden", "AMD Machine, Window Closed and Manually Stopped are displayed only above zero.", page),
		proven("console.attempts", "The trail of a contact shows each attempt, still open ones too; a friendly SIP reason, or the raw code.", page),
		proven("console.configuration", "The configuration panel shows rules only when they are on, the Config URL only if set, the pool's first four numbers.", page, edit),
		proven("console.report", "The Attempt Report shows rows and size as it comes and the count at its end; its button is disabled meanwhile; it is cancelled, and says when it broke off.",
			page),
		proven("console.contact", "An operator excludes a contact, promises it a call at a time or has it retried, as its state allows.",
			"process.TestAnOperatorActsOnOneContactInTheConsole", "actors.TestWhatAnOperatorIsRefusedOfAContact", "engine/contact.TestWhatAnOperatorIsRefused"),
		proven("console.review", "People hear calls, say who answered, and see the confusion matrix.", "process.TestPeopleHearCallsAndSayWhoAnsweredInTheConsole"),
	}
}

func errorSentences() []sentence {
	return []sentence{
		proven("error.trigger.401", "Trigger without a valid key: 401.", "http.TestEveryBadKeyGetsTheSame401"),
		proven("error.trigger.404", "Trigger of an unknown campaign: 404.", "http.TestTriggerPassesOnWhatTheCampaignSays"),
		proven("error.trigger.409", "Trigger in conflict: 409.", "http.TestTriggerPassesOnWhatTheCampaignSays", "process.TestARefusedRequestSaysWhyAndWritesNothing"),
		proven("error.trigger.422", "Trigger whose body fails validation: 422.", "http.TestTriggerRefusesBodiesThatFailValidation", "http.FuzzTriggerBody"),
		proven("error.exclude.401", "Exclude without a valid key: 401.", "http.TestEveryBadKeyGetsTheSame401"),
		proven("error.exclude.404", "Exclude in an unknown campaign: 404.", "http.TestExcludePassesOnWhatTheCampaignSays", "http.TestEveryRowOfTheTables"),
		proven("error.exclude.422", "Exclude whose body fails validation: 422.", "http.TestExcludeRefusesBodiesThatFailValidation"),
		proven("limit.match", "At most two keys in match.", "http.TestExcludeRefusesBodiesThatFailValidation"),
		proven("limit.page", "A page has 50 contacts.", "http.TestContactsComeWithTheirAttemptTrail"),
		proven("limit.key", "A key has 35 characters.", "http.TestAPIKeysAreShownInFullOnce"),
		proven("limit.pool_preview", "The panel shows the first four numbers and counts the rest; Last Dial turns orange after 30 s.",
			"process.TestTwoOperatorsEditCloneAndRestartInTheConsole", "process.TestTheCampaignPageShowsWhatTheSpecificationSays",
			"http/console: the number pool shows the first four numbers, then a count of the rest"),
		proven("version.prefix", "Every endpoint is below /api/v1.", "http.TestEveryRouteIsInTheOpenAPIFileAndTheReverse"),
	}
}
