package engine

import (
	"cmp"
	"slices"
)

// CodeText is the text of an error code, the same wherever it is used: Title is the title of the
// HTTP answer (RFC 9457, section 3.1.3). The detail of one error may be specific; without one, it
// is this text.
type CodeText struct {
	Code   string
	Title  string // what is wrong, without a full stop
	Remedy string // what to do
}

// Text is the detail of an error without specifics.
func (t CodeText) Text() string { return t.Title + ". " + t.Remedy }

// Catalogue lists every code that leaves the program, in alphabetical order (docs/errors.md).
var Catalogue = []CodeText{
	{
		"attempts_exhausted", "All attempts of the contact are used",
		"Raise Max Attempts, or add the contact to another run.",
	},
	{"bad_request", "The request is not valid HTTP", "Send one length, and each header field on a line of its own."},
	{"body_too_large", "The body is larger than this route accepts", "Send it in parts."},
	{
		"bot_in_use", "Campaigns use this bot",
		"Stop those that are running or paused, or delete the bot with force=true; they then fail.",
	},
	{"bot_inactive", "The bot is inactive", "Activate it, or choose another."},
	{"bot_not_found", "No bot has this identifier", "List the bots to see theirs."},
	{"bot_unavailable", "The bot takes no calls now", "Try again once it does."},
	{"cadence_in_use", "A campaign uses this cadence", "Give it another one first, or none."},
	{"cadence_not_found", "No cadence has this identifier", "List the cadences to see theirs."},
	{"calendar_in_use", "A campaign uses this calendar", "Take it out of the campaign first."},
	{"calendar_not_found", "No calendar has this identifier", "List the calendars to see theirs."},
	{
		"call_being_closed", "The node that had the call is gone, and the call is being closed",
		"Send the request again in a moment.",
	},
	{"call_ended", "The call is over", "Nothing more can be done with it; its report says how it ended."},
	{"call_in_progress", "The contact is being called now", "Wait for the end of the call."},
	{"call_not_answered", "The call is not answered yet", "Wait until it is."},
	{"call_not_connected", "The call is not a conversation with a bot", "Transfer it once a bot talks."},
	{
		"call_not_found", "No call has this identifier",
		"See the list of calls; those of earlier runs may have passed their retention.",
	},
	{"call_taken_over", "Another node has taken the call over", "Ask that node; the call leads to it."},
	{"callbacks_off", "Callback detection is off in this campaign", "Switch it on in the campaign's settings."},
	{
		"callee_cap", "The number was called as often as the installation allows",
		"Call it again later, or loosen --call-frequency or --callee-cap.",
	},
	{"calls_in_progress", "Calls of the ended run are still live", "Wait until they are over."},
	{
		"campaign_not_allowed", "This key may not use this campaign",
		"Use a key that may, or ask an administrator to widen this one.",
	},
	{"campaign_not_found", "No campaign has this identifier", "List the campaigns to see theirs."},
	{"campaign_not_running", "The campaign is neither running nor paused", "Start it first."},
	{"campaign_was_run", "Only a draft that never ran can be deleted", "Leave it as it is: its record is kept."},
	{"cdr_unreadable", "The carrier's records cannot be read", "Name its columns with --columns, and its time zone."},
	{
		"chart_too_long", "The run has too many calls to count in time",
		"Narrow the time with from and to, or try later.",
	},
	{
		"checkpoint_not_ours", "The checkpoint of a run does not match its signature",
		"See dialler db audit, and start with the former --signing-key if it was changed.",
	},
	{"closing", "The dialler is stopping", "Try again; another node answers, or this one once restarted."},
	{
		"cluster_advertise_missing", "The node listens on every address",
		"Set --cluster-advertise to the address at which the others reach it.",
	},
	{
		"cluster_listen_invalid", "The address for messages between nodes is not host:port",
		"Set --cluster-listen to a non-empty host and a port.",
	},
	{
		"cluster_not_started", "Cannot listen for messages between nodes",
		"Check that the port is free and the address is one of this machine's.",
	},
	{"cluster_secret_short", "The cluster secret is too short", "Give at least 16 bytes."},
	{
		"cluster_url_invalid", "The cluster's URL is not valid",
		"Write etcd://host:port[,host:port]/prefix or automanaged://host:port,host:port.",
	},
	{"column_name_invalid", "The name of a column has a character that cannot be stored", "Rename the column."},
	{"column_name_too_long", "The name of a column is too long", "Shorten it."},
	{"columns_changed", "The contacts' variables have changed", "Start the report from the beginning."},
	{
		"config_url_invalid", "The document at the Config URL is not valid",
		"Correct it, then start the campaign again.",
	},
	{
		"config_url_unreachable", "The Config URL cannot be fetched",
		"Check that it returns the document, then start the campaign again.",
	},
	{
		"contact_excluded", "The contact is excluded from this campaign",
		"Lift the exclusion, or add the contact again with Sticky Exclusion off.",
	},
	{"contact_exists", "The campaign has a contact with this number already", "Leave it out; it is called once."},
	{
		"contact_expired", "The time until which the contact may be called has passed",
		"Add it again, with a later expires_at or none.",
	},
	{"contact_not_found", "The campaign has no such contact", "Look it up by its number; it may have been erased."},
	{"contacts_being_prepared", "The contacts are being prepared for the run", "Try again in a moment."},
	{
		"contacts_locked", "Contacts cannot be added now",
		"Add them to a draft that never ran, or to a running campaign.",
	},
	{
		"csrf_token_invalid", "The session's CSRF token is missing or wrong",
		"Send the csrf_token of this session.",
	},
	{
		"cursor_not_found", "The row at the list's cursor no longer exists",
		"Start from the first page.",
	},
	{"database_error", "The database refused the request", "See the log for its message."},
	{
		"database_folder_foreign", "The folder of the private database belongs to somebody else",
		"Remove it, or choose another.",
	},
	{"database_folder_missing", "There is no home folder for the private database", "Configure a data folder."},
	{"database_in_use", "Another dialler uses the database", "Stop that one, or start all of them with --cluster."},
	{
		"database_missing", "The data folder has no private database",
		"Give the installation's settings, or start a new one with dialler serve.",
	},
	{
		"database_name_invalid", "The name of the private database cannot name a folder",
		"Use letters, digits and dashes.",
	},
	{"database_not_initialised", "The private database could not be created", "See what initdb says."},
	{"database_not_ready", "The private database does not accept connections", "See its postgres.log."},
	{"database_not_started", "PostgreSQL could not be started", "See its postgres.log."},
	{"database_not_stopped", "The private database does not stop", "See its postgres.log."},
	{
		"database_pooled", "A pooler before the database does not keep sessions",
		"Set its pool_mode=session, or name the database itself in DATABASE_URL.",
	},
	{
		"database_restored", "The database was restored from a backup, or moved",
		"Bring back what was lost since, then run dialler db accept-restore.",
	},
	{"database_start_locked", "Another process is starting the private database", "Wait for it, or stop it."},
	{
		"database_unavailable", "The database does not answer",
		"Try again, with the same Idempotency-Key where there was one.",
	},
	{"database_url_invalid", "DATABASE_URL is not valid", "Write a PostgreSQL URL or a key=value string."},
	{
		"database_user_missing", "PostgreSQL does not run as root, and there is no user for it",
		"Create one: useradd --system postgres.",
	},
	{"deadline_exceeded", "The dialler could not finish the request in time", "Try again."},
	{"deadline_passed", "The command waited too long and was not executed", "Try again."},
	{
		"delivery_not_found", "The webhook has no such delivery",
		"List its deliveries; old ones and those of erased people are dropped.",
	},
	{
		"destination_not_allowed", "The installation places no calls there",
		"Allow the destination, or leave the number out.",
	},
	{
		"dialout_placed", "The dialout was placed, or ended",
		"Look at the call; hang it up if it is live.",
	},
	{"digits_not_sent", "The keys were not sent", "Try again with fewer, before the call is ended."},
	{"duplicate_column", "A column appears twice", "Rename or remove one."},
	{"emergency_number", "Emergency numbers are never dialled", "Leave the number out."},
	{"empty_body", "The body is empty", "Send a JSON object."},
	{"empty_column", "A column has no name", "Name it in the first line, or remove it."},
	{
		"empty_file", "The file has no rows",
		"Send a file whose first line names the columns and is followed by contacts.",
	},
	{"evidence_unreadable", "This is not a dialler's evidence file, or it is damaged", "Export it again."},
	{"exclusion_in_progress", "The exclusion is still being made", "Lift it in a moment."},
	{
		"exclusion_not_found", "The campaign has no such exclusion",
		"List its exclusions; the number may never have been excluded.",
	},
	{"externally_managed", "The settings come from the Config URL", "Change them there, or take the Config URL out."},
	{"field_locked", "Name and bot cannot be changed once the campaign has run", "Leave them, or clone the campaign."},
	{
		"from_number_unknown", "from_number is not one of the configured outbound numbers",
		"Choose one of them, or leave it out.",
	},
	{"headers_too_large", "The header fields are too large", "Send fewer or shorter ones."},
	{"holidays_unreachable", "The file of holidays cannot be fetched", "Correct its address, or send the file itself."},
	{"idempotency_in_progress", "A request with this Idempotency-Key is still running", "Repeat it in a moment."},
	{
		"idempotency_key_invalid", "The Idempotency-Key is not valid",
		"Send 1 to 255 printable characters, bare or in double quotes, once.",
	},
	{"idempotency_mismatch", "This Idempotency-Key was used with another request", "Use a new key for a new request."},
	{"identity_invalid", "An identity is too long", "Use a kind of at most 32 bytes and a name of at most 128."},
	{"illegal_state", "The campaign's state does not allow this", "See which states do."},
	{"import_activating", "A file is being imported into this campaign", "Nothing was done; try again."},
	{"import_finished", "The import has ended", "It can no longer be cancelled."},
	{
		"import_gone", "The import is no longer open, or its campaign was deleted",
		"Nothing was added; upload the file again.",
	},
	{"import_in_progress", "Another file is being imported into this campaign", "Send this one when that is done."},
	{"import_layout_unknown", "How the file was written is not kept: it was imported by an earlier release, or failed",
		"Fetch the rejected rows without layout=file."},
	{
		"import_lost", "Rows of the file were lost in a restart of the database",
		"Nothing was added; upload the file again.",
	},
	{"import_not_active", "Nothing of this file is in the campaign", "There is nothing to take back."},
	{"import_not_found", "The campaign has no such import", "List its imports."},
	{
		"import_not_traceable", "It is not known which contacts this file added: an earlier release imported it",
		"Exclude its contacts instead.",
	},
	{
		"import_of_earlier_run", "The file was imported in an earlier run, which counts its contacts",
		"Exclude its contacts instead.",
	},
	{"import_over", "The import has ended meanwhile", "Nothing was added; upload the file again."},
	{"import_undo_in_progress", "Another file of this campaign is being taken back", "Try again when that is done."},
	{
		"import_unknown", "The campaign was restarted while the file was being imported",
		"Nothing was added; upload it again.",
	},
	{
		"import_unsettled", "It is not known yet whether the file's contacts were added",
		"See the list of imports in a moment.",
	},
	{"imports_busy", "As many files as allowed are being imported", "Try again."},
	{"internal", "Something went wrong inside the dialler", "Find it in the log by the request id."},
	{"invalid_audio", "The message cannot be used", "Send a WAV file as the API documentation says."},
	{"invalid_calendar", "The calendar is not valid", "Correct the fields that are named."},
	{"invalid_comparison", "The comparison cannot be made", "Correct what is named."},
	{
		"invalid_credentials", "The e-mail address or the password is wrong",
		"Try again, or let an administrator set a new one.",
	},
	{"invalid_date", "A date does not exist", "Write it as YYYY-MM-DD."},
	{
		"invalid_holidays_file", "The file of holidays cannot be used",
		"Send an iCalendar file (RFC 5545) with an event for each holiday.",
	},
	{"invalid_number", "The number cannot be dialled", "Write it in E.164, for example +4915112345678."},
	{"invalid_scenario", "The scenario is not valid", "Correct the field that is named."},
	{"invalid_settings", "The campaign's settings are not valid", "Correct the fields that are named."},
	{"invalid_time", "A time of day is not valid", "Write it as HH:MM, from 00:00 to 24:00."},
	{"invalid_window", "The calling window is not valid", "Correct the fields that are named."},
	{
		"keeper_away", "The node that keeps the count of a trunk, bot or number does not answer",
		"Try again; it is being replaced.",
	},
	{
		"keeper_replaced", "The node that was asked for a count does not keep it",
		"Try again; the right node will be found.",
	},
	{
		"key_above_own", "A key manages only keys that may do no more than itself",
		"Give it fewer scopes, an earlier expiry or a smaller cap, or ask an administrator.",
	},
	{"key_active", "The API key is active", "Deactivate it, then delete it."},
	{
		"key_dialout_cap", "The key has placed as many dialouts as it may within 24 hours",
		"Wait for Retry-After, or let an administrator raise the cap.",
	},
	{"key_not_found", "No API key has this identifier", "List the keys to see theirs."},
	{"last_admin", "This is the only administrator who may log in", "Make another user an administrator first."},
	{"malformed_csv", "A record of the file cannot be read", "Correct the line that is named."},
	{"malformed_json", "The body is not valid JSON", "Correct it at the byte that is named."},
	{"method_not_allowed", "The route does not support this method", "See Allow."},
	{
		"method_unknown", "The node does not know this request, or not yet",
		"Try again, and check that all nodes run the same version.",
	},
	{
		"migration_failed", "The database could not be upgraded to this version",
		"See the log; the failed step changed nothing.",
	},
	{"missing_column", "The first line lacks a column", "Add it, or map another one."},
	{"missing_variables", "The bot needs variables that were not given", "Give those that are named."},
	{"no_capacity", "There is no capacity for the call", "Try again."},
	{"no_number", "No outbound number can be used now", "Try again, or add numbers."},
	{"no_transfer", "The call was not transferred", "Ask for it once a transfer has begun."},
	{"node_busy", "Too much is queued for the node chosen to carry the call", "Try another one."},
	{"node_draining", "The node is stopping and places no new calls", "Try another one."},
	{
		"node_fenced", "The node has no lease and acts for nothing",
		"Try again or ask another node; it joins again by itself.",
	},
	{"node_gone", "The node that carried the call is gone", "The call is being closed."},
	{
		"node_invalid", "The names of a node are too long",
		"Use a name of at most 128 bytes, an address of 256, a URL of 512.",
	},
	{"node_not_found", "There is no such node any more", "Ask the one that took over."},
	{"node_overloaded", "The node responsible for this is overloaded", "Try again."},
	{
		"node_unreachable", "A node of the cluster does not answer",
		"Try again; check that it runs, or has been gone for a minute.",
	},
	{"node_version", "The node responsible for this runs another version", "Try again; it is being replaced."},
	{"not_eligible", "The eligibility hook wants the contact called later", "Call it when the hook allows."},
	{"not_owner", "Another node is responsible for this", "Ask the owner."},
	{"not_utf8", "The file is not UTF-8", "Save it as CSV UTF-8."},
	{"number_held", "Another call to this number is not over yet", "It is dialled after that call's end."},
	{
		"oidc_deactivated", "This account is deactivated",
		"Ask an administrator to activate it.",
	},
	{
		"oidc_email_taken", "Another account has this e-mail address",
		"Log in with its password. Let the provider confirm the address (email_verified), and an administrator unlink " +
			"the account if it is linked to somebody else there: single_sign_on false.",
	},
	{
		"oidc_email_unconfirmed", "The identity provider does not say that the e-mail address is confirmed",
		"Confirm it there, and let the provider tell the claim email_verified; or let an administrator make the account.",
	},
	{"oidc_expired", "The log-in took too long or began in another browser", "Log in again."},
	{
		"oidc_failed", "The identity provider's answer could not be used",
		"Log in again; an administrator sees why in the log.",
	},
	{"oidc_no_email", "The identity provider told no e-mail address", "Let it give the scope email to the dialler."},
	{"oidc_no_role", "None of your groups may use the dialler", "Ask for a group that --oidc-roles names."},
	{"oidc_off", "No identity provider is set up", "Log in with a password, or set --oidc-issuer."},
	{"oidc_refused", "The identity provider refused the log-in", "Log in again, or ask who runs it."},
	{"oidc_unavailable", "The identity provider does not answer", "Try again later, or log in with a password."},
	{"outside_window", "The calling window is closed", "Call within the window, or change it."},
	{
		"overloaded", "The dialler has as many requests under way as it can serve",
		"Nothing was done; send more slowly, and try again after Retry-After.",
	},
	{
		"owner_silent", "The node responsible for this did not answer in time",
		"See whether it was done, or repeat it with the same Idempotency-Key.",
	},
	{
		"owner_unreachable", "The node responsible for this cannot be reached now",
		"Try again; another one takes over within seconds.",
	},
	{
		"people_only", "This is for people who are logged in",
		"Log in; a key has neither a session nor a password.",
	},
	{"person_being_added", "A trigger for this number is under way", "Erase again."},
	{
		"person_being_erased", "The person is being erased",
		"Trigger again in a minute, if the person should still be called.",
	},
	{"person_erased", "The person of this call was erased", "Its result is not kept."},
	{"person_in_call", "A call with this person is not over yet", "End it or wait, then erase again."},
	{"person_in_import", "A file with this number is being imported", "Erase again when the import is over."},
	{
		"person_open", "The person is still to be called in a campaign",
		"Erase through the API of the running dialler, which takes the contact out first.",
	},
	{"postgresql_missing", "PostgreSQL's server is not installed", "Install it, or set DATABASE_URL."},
	{"preflight_failed", "The campaign cannot dial", "Clear the blockers that are named."},
	{"premium_number", "Premium-rate numbers are never dialled", "Leave the number out."},
	{"public_key_invalid", "The public key is not an Ed25519 key in PEM", "Give the one of the signing key."},
	{"range_not_satisfiable", "The recording has no such range", "Ask for bytes within its length."},
	{"rate_limited", "The key sends requests faster than its limit", "Wait for Retry-After."},
	{
		"record_dropped", "The calls or events of this run have passed their retention",
		"See the run's counters for the totals.",
	},
	{"record_too_long", "A record of the file is too long", "Check for a quotation mark that is not closed."},
	{
		"recording_deleted", "The recording of this call is no longer kept",
		"For later calls, raise how long recordings are kept.",
	},
	{
		"recording_elsewhere", "The recording is on a node that does not answer",
		"Try again once the node that is named is up.",
	},
	{"recording_in_progress", "The recording is being written", "Ask again in a moment."},
	{"recording_not_closed", "The recording was not closed, and replays only to where it ends",
		"The dialler is still running, or was killed: all that was recorded is as it was."},
	{
		"recording_not_found", "There is no recording of this call",
		"Switch recording on in the campaign before its calls.",
	},
	{"refused_there", "Another node could not do this", "See its log."},
	{"replaced", "Another process took this one's place", "Send requests to that one."},
	{"request_timeout", "The request did not arrive in time", "Send it again, faster."},
	{"request_too_large", "A message between nodes is too large", "Send it in parts."},
	{
		"request_unreadable", "Another node sent a message that this one does not understand",
		"Check that all nodes run the same version.",
	},
	{"result_awaited", "The bot's result is awaited", "Wait for it; it decides what follows."},
	{"review_not_found", "This call has no pending review", "See the list of reviews."},
	{"role_too_low", "Your role does not allow this", "Ask an administrator."},
	{"route_not_found", "There is no such route", "See the API documentation."},
	{
		"row_key_unreadable", "The key of the digests of rows cannot be opened with this signing key",
		"Start with the installation's --signing-key; it signs the same text alike every time.",
	},
	{"run_moved", "The campaign is in another run now", "Nothing was changed; load it again."},
	{"run_not_found", "The campaign has no run of this number", "See how many runs it has."},
	{"run_over", "The run is over and calls nobody any more", "Restart the campaign first."},
	{"scenario_not_readable", "The scenario cannot be read", "Name a scenario file, or - for standard input."},
	{
		"schema_mismatch", "The database's schema does not match this program",
		"Start the program of the version that last used it, or a newer one.",
	},
	{"scope_missing", "This key has no scope for this request", "Let an administrator give it one."},
	{
		"seals_ahead", "The file of seals has entries that the database had lost",
		"See dialler db audit; if a backup was put back on purpose, run dialler db accept-restore.",
	},
	{"search_busy", "Too many searches run at the same time", "Search again in some seconds."},
	{
		"search_not_ready", "Contacts from before an update are still being read into the search",
		"Search again in a minute.",
	},
	{"search_too_broad", "More than 5,000 contacts match", "Type more of the name or the number."},
	{"search_too_long", "The search is too long", "Type up to 6 words and 100 characters."},
	{"search_too_short", "The search is too short", "Type three characters, or a whole word of two."},
	{
		"search_too_slow", "The search took too long and was ended",
		"Type more, or search again when the database has less to do.",
	},
	{
		"secret_damaged", "A stored secret cannot be read",
		"Give the key with which it was sealed, or enter the secret again.",
	},
	{"secret_looks_sealed", "A password or token begins like a sealed one", "Choose another."},
	{
		"secrets_key_invalid", "The file of keys for secrets is not valid",
		"Put 32 bytes as base64 on each line: openssl rand -base64 32.",
	},
	{"secrets_key_missing", "The key of a stored secret is not known", "Add it to the file of --secrets-key-file."},
	{"settings_missing", "The edit contains no settings", "Send those that change."},
	{"short_number", "Short codes are never dialled", "Give a complete number."},
	{"signer_unknown", "The evidence file is whole, but nobody says who signed it",
		"Give the installation's public key with --key."},
	{
		"signing_key_invalid", "The signing key is not an Ed25519 key in PEM",
		"Create one: openssl genpkey -algorithm ed25519.",
	},
	{
		"signing_key_missing", "There is no signing key",
		"Set --signing-key: calls and events are dropped only when what is kept of them is signed.",
	},
	{
		"signing_key_other", "The signing key is not the installation's",
		"Give every node the same file with --signing-key; after dialler key rotate, the new one.",
	},
	{"simulation_running", "A simulation of yours is under way", "Wait for it, or end it by closing its request."},
	{
		"simulation_too_long", "The simulation did not finish in time",
		"Ask for fewer contacts or seats, or try again later.",
	},
	{
		"spine_broken", "The installation's own record is not as it was signed",
		"See dialler db audit, and put the database back from a backup.",
	},
	{"spool_waiting", "Writes of live calls wait on disk for the database", "Erase again when they are written."},
	{"stale_epoch", "Another owner of the campaign took over", "Ask that one."},
	{"suppressed", "The number is on the suppression list", "Lift the suppression if the number may be called."},
	{"suppression_not_found", "The number is not on the suppression list", "There is nothing to lift."},
	{"suppression_unconfirmed", "The suppression is stored but not confirmed everywhere", "Send the request again."},
	{
		"timeout", "The dialler did not answer in time",
		"See whether it was done, or try again with the same Idempotency-Key.",
	},
	{"too_many_cadences", "200 cadences are kept already", "Delete one that no campaign uses."},
	{"too_many_calendars", "100 calendars are kept already", "Delete one that no campaign uses."},
	{"too_many_charts", "Charts of other campaigns are being computed", "Try again in a moment."},
	{"too_many_columns", "A contact has too many variables", "Leave columns out."},
	{
		"too_many_connections", "The server has too many connections open",
		"Use fewer, keep them open, and try again after Retry-After.",
	},
	{"too_many_logins", "Too many passwords were tried", "Wait for Retry-After."},
	{"too_many_recordings", "Too many recordings are being sent", "Try again when one has ended."},
	{"too_many_reports", "Too many reports are being written", "Try again when one has ended."},
	{
		"too_many_results", "A bot gave more results on its socket than may wait to be stored",
		"Give it again when those before it are answered.",
	},
	{
		"too_many_scheduled", "As many dialouts wait for their time as may",
		"Cancel some, or send this one later.",
	},
	{
		"too_many_simulations", "As many simulations are under way as the dialler plays at a time",
		"Try again after Retry-After.",
	},
	{"too_many_streams", "Too many live streams are open", "Close some, or wait for Retry-After."},
	{"too_many_uploads", "The campaign's node is taking too many files at once", "Try again later."},
	{"too_many_voicemails", "No more messages can be kept", "Delete one that no campaign uses."},
	{"too_many_webhooks", "There are as many webhooks as an installation may have", "Delete one first."},
	{"transfer_in_progress", "A transfer of this call is under way or done", "Wait for its end."},
	{"transfer_limit", "The call was transferred as often as it may be", "Raise transfer_limit for the next calls."},
	{"transfer_not_allowed", "Calls may not be transferred to this target", "Add it to transfer_targets."},
	{"transfer_target", "The target of the transfer is not valid", "Give an E.164 number or sip:user@host."},
	{
		"trunk_credentials", "The carrier refuses the trunk's user name and password",
		"Compare them with the carrier's; the account may be blocked.",
	},
	{"trunk_dns", "The trunk's host has no address", "Check the name, and the machine's DNS."},
	{"trunk_inactive", "The trunk is inactive", "Activate it to use it."},
	{
		"trunk_nat", "The carrier sees us at another address than the one that we say",
		"Give that one with --sip-external, or external_host of the trunk.",
	},
	{"trunk_not_found", "No trunk has this identifier", "List the trunks to see theirs."},
	{
		"trunk_of_file", "The trunk comes from the configuration file",
		"Remove it there, restart or send SIGHUP, then delete it; or make it inactive.",
	},
	{"trunk_refused", "The carrier refuses the trunk", "See the status that it answers; ask the carrier."},
	{
		"trunk_silent", "The carrier does not answer",
		"Tell it our address, open the firewall; options_s: 0 for one that ignores OPTIONS.",
	},
	{
		"trunk_tls", "No TLS connection to the carrier can be made",
		"Give its roots with tls_roots, the name in its certificate with tls_server_name.",
	},
	{"trunk_unreachable", "The carrier cannot be connected to", "Check host, port and transport, and the firewall."},
	{"trunk_unusable", "The trunk cannot be used as it is set up", "Correct the setting that the sentence names."},
	{"unauthorized", "The credentials are missing or not valid", "Send an API key that is active, or log in."},
	{"unknown_country", "A country is not known", "Use ISO 3166 codes such as DE, or 001 for numbers of no country."},
	{
		"unsupported_media_type", "The body is not of a type that this route accepts",
		"Send it as the API documentation says.",
	},
	{"upload_broken", "The upload ended before the file did", "Nothing was kept; send it again."},
	{
		"upload_interrupted", "Another node acts for the campaign now",
		"None of the file's contacts were added; send the file again.",
	},
	{"user_exists", "A user with this e-mail address exists already", "Change that one, or use another address."},
	{"user_not_found", "There is no such user", "List the users; dialler user add creates one."},
	{"validation_failed", "The request failed validation", "Correct the fields that are named."},
	{"version_conflict", "The settings were changed meanwhile", "Load them again and repeat the edit."},
	{"voicemail_in_use", "A campaign or a number uses this message", "Give it another one first."},
	{"voicemail_not_found", "No message has this identifier", "List the messages."},
	{"webhook_inactive", "The webhook is inactive", "Make it active first, then replay."},
	{"webhook_not_found", "No webhook has this identifier", "List the webhooks to see theirs."},
	{"window_never_opens", "The calling window will not open again", "Check days and holidays."},
	{"write_rejected", "The database cannot store this write", "See the log for its message."},
}

// TextOf finds a code in the catalogue.
func TextOf(code string) (text CodeText, ok bool) {
	at, ok := slices.BinarySearchFunc(Catalogue, code, func(t CodeText, code string) int {
		return cmp.Compare(t.Code, code)
	})
	if !ok {
		return CodeText{}, false
	}
	return Catalogue[at], true
}
