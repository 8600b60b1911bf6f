package command

import (
	"cmp"
	"strings"

	"github.com/alecthomas/kong"

	"dialler/process"
)

// insertHelp replaces ${help_…}, to which the tags refer, by its text. As variables of kong the texts would be read
// once for each flag, which is most of a second of CPU time a start.
func insertHelp(k *kong.Kong) error {
	insert := func(text *string) {
		name, ok := strings.CutPrefix(*text, "${")
		if name, ok = strings.CutSuffix(name, "}"); ok {
			*text = cmp.Or(help[name], process.FlagHelp[name], *text)
		}
	}
	return kong.Visit(k.Model.Node, func(node kong.Visitable, next kong.Next) error {
		switch node := node.(type) {
		case *kong.Node:
			insert(&node.Help)
		case *kong.Value:
			insert(&node.Help)
		case *kong.Flag:
			insert(&node.Help)
		}
		return next(nil)
	})
}

// help has the longer texts of --help, by the file of their command. Tags refer to them:
// ${help_sandbox}.
var help = map[string]string{
	"help_completion": "Print a script by which a shell completes commands and flags: " +
		"source <(dialler completion bash).",
	"help_config_check": "Say everything that is wrong with the settings, with file, line and setting; nothing is " +
		"started. Exit status 1 if anything is.",
	"help_config_show": "Print each setting as it is in effect, and where it comes from; secrets are not shown.",
	"help_config":      "YAML file with settings: each key is a flag's name.",
	"help_log_level":   "Minimum level of log lines: debug, info, warn, error.",
	"help_sandbox": "Run the dialler with a model carrier, a model bot and a " +
		"campaign of 400 contacts, all on this machine.",
	"help_sandbox_empty": "Set nothing up and start no campaign: the console's checklist offers the model carrier, " +
		"where everybody answers, and the model bot.",
	"help_bot_check": "Hold one conversation with a bot, as a call would, and explain what is wrong. " +
		"Exit status 1 when calls with it fail.",

	"help_bot_check_header":   "A header of the requests, Name: value; can be repeated.",
	"help_bot_check_health":   "What is asked first: an address, or a path at the endpoint.",
	"help_bot_check_variable": "A variable of the contact; can be repeated.",

	"help_replay": "Replay the recording of a campaign's run, and compare every effect with what was recorded.",
	"help_replay_until": "Stop at this event, by its number in the campaign's history or its type " +
		"(attempt.ended), and explain what the campaign did then.",
	"help_replay_explain": "Print whenever it changes why this contact, by its identifier or number, is or is not called.",
	"help_bench": "A model carrier, a model bot, a cluster for you to break; measurements of " +
		"classification, campaigns, consoles, calls and triggers.",
	"help_sim": "Simulate pacing: how a scenario turns out with each policy, in seconds instead of hours.",

	"help_bench_amd": "Play a folder of recordings through real calls, with and without classification: " +
		"verdicts next to those of the recordings, and when the bot is heard.",
	"help_bench_campaign": "Play a scenario as a real campaign, over SIP, and compare " +
		"it with what the simulator says.",
	"help_bench_cluster": "Run a cluster on this machine, with etcd, PostgreSQL, a " +
		"model carrier, a model bot and campaigns, for you to break.",
	"help_bench_console": "Measure what open consoles cost while 20 campaigns dial: the engine " +
		"with 100 of them, and with --browser a browser with each page.",
	"help_bench_load": "Measure what a call costs: answered calls at a steady rate through " +
		"this program, started fresh with PostgreSQL, a carrier and a bot.",
	"help_bench_triggers": "Measure what a trigger costs: the highest rate accepted, each trigger " +
		"durable, compared with a bare handler, and the latency at half that rate.",
	"help_bench_load_bot": "How the bot is reached: by a socket (ws), or called by SIP with its audio relayed (sip).",
	"help_bench_load_symmetric": "media.symmetric of the trunk. On loopback no call is latched: give another RTP host, " +
		"--engine-env DIALLER_RTP_HOST=ADDRESS.",
	"help_bench_load_list": "Instead of measuring calls: import a list of this many contacts, " +
		"dial some of them, stop, and report the engine's memory.",
	"help_bench_load_list_mb": "With --list: only import it, as a file of this many megabytes.",
	"help_bench_load_list_timed": "With --list: its contacts have times, priorities and several numbers, and the " +
		"campaign a cadence and the best hour.",
	"help_bench_load_leak": "Instead of measuring calls: place this many calls, ending " +
		"in every way, and report what is left of them.",
	"help_bench_load_soak": "Instead of measuring calls: place calls at the rate for this long, and " +
		"report whether memory, goroutines, descriptors or the database's tables grow.",
	"help_bench_load_nodes": "Instead of one measurement: compare one process with clusters of " +
		"two to this many nodes on one PostgreSQL; the rate is their total.",
	"help_bench_load_profiles": "Folder for CPU, heap and allocation profiles of the engine.",

	"help_bench_console_browser": "Program and arguments to measure the pages in a browser (make console-cost).",

	"help_bench_triggers_connections": "Numbers of persistent connections, each with one request at " +
		"a time; one row per number.",
	"help_bench_triggers_repeats": "Instead of a measurement: send this many repeats of triggers with the same " +
		"Idempotency-Keys from 64 connections, kill the engine meanwhile, and count what came of each key.",

	"help_audit_cdr": "Match a carrier's call detail records (CSV) with our calls, both ways: those of one side only, " +
		"and those whose start, duration or numbers differ. Exit status 1 when anything does, 2 for a file " +
		"that cannot be read.",
	"help_audit_cdr_columns": "Which column of the file is which field: call_id, to, from, start, answer, duration. " +
		"Without it the columns have these names (no answer).",
	"help_audit_cdr_time_layout": "How times are written, as 01/02/2006 15:04:05 of 3:04:05 pm on January 2nd; " +
		"ISO 8601, 02.01.2006 15:04:05 and Unix times are known.",
	"help_audit_cdr_country": "Country of numbers without a country code.",
	"help_audit_cdr_from":    "Begin of the window; that of the file when empty.",
	"help_audit_cdr_within": "Without Call-IDs: how far apart the times of one call to a number may be; " +
		"and how far outside the window the other side's calls may be.",
	"help_audit_cdr_json": "Print one JSON object per finding and a summary, one per line.",

	"help_db_migrate": "Upgrade the database to this version's schema; serve does so by itself.",
	"help_db_audit":   "Compare tables, events and their hash chain; fails when anything differs, and names it.",
	"help_db_strays":  "Name the recordings in the folder whose calls the database does not know, as after a restore.",
	"help_db_encrypt_secrets": "Encrypt trunk passwords, bot tokens and webhook secrets with the first key, " +
		"including those under old keys.",
	"help_db_audit_seals": "A file of seals to compare the installation's record with, seals.jsonl of any node or a " +
		"copy; that of the data folder when empty.",
	"help_db_audit_since": "Only what was written since the last seal before this time, 24h for example: chains, " +
		"events and the rows that were written. What is older is compared with its seals.",
	"help_db_audit_key": "Another trusted public key in PEM, of an earlier signing key for example.",

	"help_db_audit_anchors": "Also compare receipts of witnesses, one JSON object a line, with the seals: the file of " +
		"a file:// witness, or receipts that were kept elsewhere.",
	"help_db_anchors": "Print the receipts of witnesses that the database has, one JSON object a line, for db audit " +
		"--anchors. Whoever has the database can change them: keep copies elsewhere.",
	"help_files_recordings": "Also read the files of recordings, gigabytes perhaps, and compare them with " +
		"the hashes that they had at their end.",
	"help_files_node": "This node's name, in a cluster without a common folder: recordings of calls that other " +
		"nodes carried need not be here.",

	"help_db_erase_number": "The person's number, with its country code: +4915112345678.",
	"help_db_erase_suppress": "Whether the person must not be called again; when left out: " +
		"only if the number was suppressed or excluded.",
	"help_db_erase_recordings_dir": "Folder of the recordings; recordings in the data folder when empty.",

	"help_export_evidence": "The compliance record of a campaign's run: rules, every attempt, abandoned " +
		"calls, exclusions and the chained events, signed. Phone numbers are in it.",
	"help_verify_evidence": "Check an evidence file: its signature, its parts, the chain " +
		"of events, its figures. Needs no database.",
	"help_verify_evidence_key": "The trusted public key, in PEM. Without one the best result is exit status 2: " +
		"the file is as it was signed, by whomever.",

	"help_sim_file": "Scenario (YAML, docs/simulation.md); - reads standard " +
		"input; the standard scenario when none is given.",
	"help_sim_out": "Folder for CSV files and a page with plots (report.html); for a scenario file " +
		"NAME.yaml the default is NAME.report in the working directory; none writes none.",
	"help_sim_what_if": "Compare: a key and its values, such as cap=1%,3%; may be " +
		"given several times, every combination is played.",

	"help_store_db":               "URL of your PostgreSQL; the private one in the data folder when empty.",
	"help_store_secrets_key_file": "File with the keys that encrypt secrets in the database.",
	"help_store_signing_key": "The installation's key, which signs what is done to its record; signing_key.pem in the " +
		"data folder when empty.",

	"help_key_scopes": "What it may do (docs/access.md); dialout, results, read, trigger and exclude when empty.",
	"help_key_rotate": "Change the signing key: the present one signs the new one. Every node is then given the new " +
		"file; within ten minutes it needs no restart.",
	"help_key_rotate_new": "The new key, an Ed25519 private key in PEM; one is made when empty.",

	"help_trunk_check": "Check a trunk without a call: DNS, connection, TLS, OPTIONS, registration, NAT. One sentence " +
		"a finding; exit status 10 to 16, one for each kind of fault.",
	"help_trunk_check_trunk": "Trunk of the configuration file or of the database, or an address: " +
		"sip:carrier.example:5060;transport=tls.",
	"help_trunk_check_sip":     "Address that we send from, with any free port; the default route's when empty.",
	"help_trunk_test_api":      "Address of the running dialler.",
	"help_trunk_test_password": "The administrator's password; read from standard input when empty.",
}
