package process

// FlagHelp is the text of each flag in --help. The tags of Flags refer to it: ${help_sip}.
var FlagHelp = map[string]string{
	"help_listen_http": "Address of the API, host:port; port 0 takes a free one.",
	"help_public_url": "Base URL under which bots reach the API to post results; where the API listens " +
		"when empty, and for all addresses the host of --sip or the machine's own.",
	"help_sip": "Address of SIP over UDP and TCP, host:port.",
	"help_sip_external": "Address that carriers see, if not that of --sip (NAT); stun:HOST[:PORT] asks a STUN server " +
		"for it.",
	"help_rtp_external": "Address of RTP that carriers see, if not that of --rtp-host (NAT), or stun:HOST[:PORT]; " +
		"that of --sip-external when empty and without --rtp-host.",
	"help_rtp_host":       "Address of RTP, IPv4 or IPv6, or one of each with a comma; the host of --sip when empty.",
	"help_rtp_ports":      "Ports of RTP; any free ones when empty.",
	"help_sip_dscp":       "DSCP of SIP packets, 0-63, so that networks may prefer them; 0 sets none.",
	"help_rtp_dscp":       "DSCP of RTP packets, 0-63; 0 sets none.",
	"help_db":             "URL of your PostgreSQL; a private one in the data folder when empty.",
	"help_data_dir":       "Folder of the private PostgreSQL, of recordings and of the spool.",
	"help_recordings_dir": "Folder of the recordings of calls; recordings in the data folder when empty.",
	"help_signing_key": "The installation's Ed25519 private key, PEM, the same on every node; signing_key.pem " +
		"in the data folder when empty, created when first needed.",
	"help_secrets_key_file": "File with the keys that encrypt trunk passwords, bot tokens and webhook secrets in " +
		"the database, one per line, 32 bytes as base64; the first encrypts, the others are old " +
		"ones. DIALLER_SECRETS_KEYS has them when empty; without any, secrets are stored unencrypted.",
	"help_spool_dir": "Folder where what live calls produce waits while the " +
		"database is away; spool in the data folder when empty.",
	"help_spool_size": "How much may be spooled, in MiB, reserved on disk at the start; " +
		"0: nothing is kept on disk and live calls wait for the database.",
	"help_drain_timeout": "How long live calls may go on after SIGTERM.",
	"help_oidc_issuer": "Identity provider by which people log in to the console (OpenID Connect): its issuer, an " +
		"https URL. Passwords go on being accepted (docs/access.md).",
	"help_oidc_client_id":     "Name of the dialler at the identity provider.",
	"help_oidc_client_secret": "Its secret there; empty for a public client. PKCE is used either way.",
	"help_oidc_redirect": "URL under which browsers reach the console, --public-url when empty. The provider is to " +
		"allow it with /api/v1/oidc/callback behind it.",
	"help_oidc_name":   "What the button says after \"Log in with\".",
	"help_oidc_scopes": "What is asked of the provider beside openid.",
	"help_oidc_groups": "Claim with the groups of a person, in the ID token or at the provider's userinfo; a path " +
		"such as realm_access.roles goes into it.",
	"help_oidc_roles": "Roles of groups, such as dialler-admins=admin,callcentre=operator; who is in several has the " +
		"highest, who is in none may not log in.",
	"help_key_rate": "Requests per second that one API key may send; 0 is no limit.",
	"help_trusted_proxies": "Addresses or networks of the proxies in front of the API; their X-Forwarded-For " +
		"says who sent a request. Name nothing else: it could pose as any address.",
	"help_http_connections": "Simultaneous connections of the API, at most a quarter of " +
		"the descriptors that the process may have; 0: 4096.",
	"help_intake_cap": "Triggers, dialouts and lists of contacts that may be under " +
		"way at the same time; more are answered 503 overloaded; 0: 256.",
	"help_pprof": "Address of Go's profiles; off when empty.",
	"help_allowed_countries": "Countries that may be called, as ISO 3166 codes: DE,AT. The countries of the " +
		"configured outbound numbers when empty. Premium-rate, emergency and short numbers are never called.",
	"help_call_frequency": "How often a number may be called, over all campaigns and dialouts, by its country: presets " +
		"(us-regulation-f, gb-abandoned, fr-solicitation) and rules such as \"DE/AT: 3 attempts in 24h and 1 conversation " +
		"in 7d\". A contact beyond a limit waits.",
	"help_callee_cap": "How often one number may be called within --callee-period, over all " +
		"campaigns and dialouts; 0 is no limit. A contact beyond it waits.",
	"help_callee_period": "Period of --callee-cap, which ends with each new call.",
	"help_opt_out_digit": "Key (0-9, * or #) with which the caller of an abandoned call asks, during the " +
		"message, never to be called again; the message should name it. None when empty.",
	"help_keep_ladders": "Days to keep SIP messages; 0 keeps them forever.",
	"help_keep_attempts": "Days to keep the calls of ended runs, 90 at least; 0 keeps " +
		"them forever. Their counters stay.",
	"help_keep_events": "Days to keep the events of ended runs, 90 at least; 0 keeps " +
		"them forever. The activity log stays.",
	"help_record_runs": "Record the inputs of campaigns' runs in the folder flights of the data folder, " +
		"for dialler replay. The files contain phone numbers and variables.",
	"help_keep_flights": "Days to keep the recordings of runs; 0 keeps them until --flights-size is reached.",
	"help_flights_size": "How much of the disk the recordings of runs may take, in MiB; the oldest are deleted first.",
	"help_sip_ladders":  "Which calls' SIP messages are kept (--keep-ladders): failed, all or none.",
	"help_take_over": "Take the place of the single dialler that serves the database: its " +
		"calls are ended, then this one starts. Without this flag it is refused.",
	"help_cluster": "How the nodes of a cluster find each other: etcd://HOST:PORT,…/PREFIX, or for a trial " +
		"automanaged://HOST:PORT,… with the --cluster-listen of each. One node alone when empty.",
	"help_node":              "Name of this node; the machine's when empty.",
	"help_nodes":             "Address for messages between nodes, host:port.",
	"help_cluster_advertise": "Address at which other nodes reach this one; that of --cluster-listen when empty.",
	"help_max_calls": "Calls that this node should carry; any more go to other nodes of the " +
		"cluster while they have room. As many as it has descriptors for when 0.",
	"help_placement": "Which node carries a new call: own, that of its campaign until " +
		"it is 60% full, or even, the emptier ones from the first call.",
	"help_webhook_allow_private": "Let webhooks be sent to addresses of private networks and " +
		"of this machine, and to http URLs: for labs.",
	"help_config_allow_private": "Let Config URLs of campaigns be fetched from addresses of " +
		"private networks and of this machine.",
	"help_tls_cert": "Certificate of the API, PEM with its chain: the API is then " +
		"served by HTTPS only. Read again when it changes.",
	"help_tls_key": "Private key of --tls-cert, PEM.",
	"help_tls_own": "Serve the API by HTTPS with a self-signed certificate made " +
		"at each start; its fingerprint is logged.",
	"help_eligibility_url": "Your URL, asked before each dial whether the contact may be " +
		"called now; those that campaigns name are asked too.",
	"help_eligibility_secret": "Secret that signs these questions, also those of campaigns, the " +
		"way webhooks are signed: whsec_ and base64 of 24 to 64 bytes.",
	"help_eligibility_fail": "What happens when no answer about a contact comes within 300 ms: " +
		"open, it is called; closed, it is asked about again a minute later.",
	"help_eligibility_allow_private": "Let that URL, and those of campaigns, be on a private " +
		"network or on this machine, and use http.",
	"help_anchor": "A witness that is shown the hash of the newest seal of the history, hourly and at each run's end: " +
		"https://…, file:///…, mailto:…, s3+https://…, tsa+https://…; may be given several times.",
	"help_anchor_secret": "Secret that signs what webhooks among the witnesses are shown: whsec_ and base64 of 24 " +
		"to 64 bytes.",
	"help_anchor_smtp": "The server through which mailboxes are reached, with STARTTLS: smtp://user@host:port.",
	"help_anchor_smtp_password": "Password of that user; better in DIALLER_ANCHOR_SMTP_PASSWORD or the file of " +
		"--config than here.",
	"help_anchor_roots": "Certificates in PEM that time-stamp authorities are trusted by; when empty, whichever " +
		"signs is named when it changes.",
	"help_anchor_allow_private": "Let witnesses be on a private network or on this machine, without TLS.",
	"help_message": "WAV file (8 kHz mono 16 bit) that the caller of an " +
		"abandoned call hears; a built-in one when empty.",
}
