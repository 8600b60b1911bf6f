package process

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"dialler/process/configfile"
	"dialler/sipstack"
)

// Flags are the settings of a running dialler.
type Flags struct {
	ListenHTTP       string        `name:"listen-http" help:"Address of the API, host:port; port 0 takes a free one." default:"${default_http}" placeholder:"HOST:PORT"`
	PublicURL        string        `name:"public-url" help:"Base URL under which bots reach the API to post results; where the API listens when empty, and for all addresses the host of --sip or the machine's own." placeholder:"URL"`
	SIP              string        `name:"sip" help:"Address of SIP over UDP and TCP, host:port." default:"${default_sip}" placeholder:"HOST:PORT"`
	SIPExternal      string        `name:"sip-external" help:"Address that carriers see, if not that of --sip (NAT)." placeholder:"HOST"`
	RTPHost          string        `name:"rtp-host" help:"Address of RTP; the host of --sip when empty." placeholder:"HOST"`
	RTPPorts         string        `name:"rtp-ports" help:"Ports of RTP; any free ones when empty." placeholder:"MIN-MAX"`
	DatabaseURL      string        `name:"database-url" help:"Your PostgreSQL; a private one in the data folder when empty." env:"DIALLER_DATABASE_URL,DATABASE_URL" placeholder:"URL"`
	DataDir          string        `name:"data-dir" help:"Folder of the private PostgreSQL, of recordings and of the spool." placeholder:"DIR"`
	RecordingsDir    string        `name:"recordings-dir" help:"Folder of the recordings of calls; recordings in the data folder when empty." placeholder:"DIR"`
	SigningKey       string        `name:"signing-key" help:"Ed25519 private key, PEM, that signs records; signing_key.pem in the data folder when empty, created when first needed." placeholder:"FILE"`
	SecretsKeyFile   string        `name:"secrets-key-file" help:"File with the keys that encrypt trunk passwords, bot tokens and webhook secrets in the database, one per line, 32 bytes as base64; the first encrypts, the others are old ones. DIALLER_SECRETS_KEYS has them when empty; without any, secrets are stored unencrypted." placeholder:"FILE"`
	SpoolDir         string        `name:"spool-dir" help:"Folder where what live calls produce waits while the database is away; spool in the data folder when empty." placeholder:"DIR"`
	SpoolSize        int           `name:"spool-size" help:"How much may be spooled, in MiB, reserved on disk at the start; 0: nothing is kept on disk and live calls wait for the database." default:"64" placeholder:"MIB"`
	DrainTimeout     time.Duration `name:"drain-timeout" help:"How long live calls may go on after SIGTERM." default:"2m"`
	KeyRate          float64       `name:"key-rate" help:"Requests per second that one API key may send; 0 is no limit." default:"0"`
	TrustedProxies   []string      `name:"trusted-proxies" help:"Addresses or networks of the proxies in front of the API; their X-Forwarded-For says who sent a request. Name nothing else: it could pose as any address." placeholder:"CIDR"`
	HTTPConnections  int           `name:"http-connections" help:"Simultaneous connections of the API, at most a quarter of the descriptors that the process may have." default:"4096" placeholder:"N"`
	IntakeCap        int           `name:"intake-cap" help:"Triggers, dialouts and lists of contacts that may be under way at the same time; more are answered 503 overloaded." default:"256" placeholder:"N"`
	Pprof            string        `name:"pprof" help:"Address of Go's profiles; off when empty." placeholder:"HOST:PORT"`
	AllowedCountries []string      `name:"allowed-countries" help:"Countries that may be called, as ISO 3166 codes: DE,AT. The countries of the configured outbound numbers when empty. Premium-rate, emergency and short numbers are never called." placeholder:"CODES"`
	CalleeCap        int           `name:"callee-cap" help:"How often one number may be called within --callee-period, over all campaigns and dialouts; 0 is no limit. A contact beyond it waits." default:"0" placeholder:"N"`
	CalleePeriod     time.Duration `name:"callee-period" help:"Period of --callee-cap, which ends with each new call." default:"24h"`
	OptOutDigit      string        `name:"opt-out-digit" help:"Key (0-9, * or #) with which the caller of an abandoned call asks, during the message, never to be called again; the message should name it. None when empty." placeholder:"KEY"`
	KeepLadders      int           `name:"keep-ladders" help:"Days to keep SIP messages." default:"14" placeholder:"DAYS"`
	KeepAttempts     int           `name:"keep-attempts" help:"Days to keep the calls of ended runs, 90 at least; 0 keeps them forever. Their counters stay." default:"0" placeholder:"DAYS"`
	KeepEvents       int           `name:"keep-events" help:"Days to keep the events of ended runs, 90 at least; 0 keeps them forever. The activity log stays." default:"0" placeholder:"DAYS"`
	SIPLadders       string        `name:"sip-ladders" help:"Which calls' SIP messages are kept (--keep-ladders): failed, all or none." enum:"failed,all,none" default:"failed"`
	TakeOver         bool          `name:"take-over" help:"Take the place of the single dialler that serves the database: its calls are ended, then this one starts. Without this flag it is refused."`
	Cluster          string        `name:"cluster" help:"How the nodes of a cluster find each other: etcd://HOST:PORT,…/PREFIX, or for a trial automanaged://HOST:PORT,… with the --cluster-listen of each. One node alone when empty." placeholder:"URL"`
	Node             string        `name:"node" help:"Name of this node; the machine's when empty." placeholder:"NAME"`
	ClusterListen    string        `name:"cluster-listen" help:"Address for messages between nodes, host:port." default:"127.0.0.1:7946" placeholder:"HOST:PORT"`
	ClusterAdvertise string        `name:"cluster-advertise" help:"Address at which other nodes reach this one; that of --cluster-listen when empty." placeholder:"HOST:PORT"`
	MaxCalls         int           `name:"max-calls" help:"Calls that this node should carry; any more go to other nodes of the cluster while they have room. As many as it has descriptors for when 0." default:"0" placeholder:"N"`
	Placement        string        `name:"placement" help:"Which node carries a new call: own, that of its campaign until it is 60% full, or even, the emptier ones from the first call." enum:"own,even" default:"own"`
	// ConfigPath is the file of --config, which may contain trunks.
	ConfigPath string `kong:"-"`

	WebhookAllowPrivate bool `name:"webhook-allow-private" help:"Let webhooks be sent to addresses of private networks and of this machine, and to http URLs: for labs."`
	ConfigAllowPrivate  bool `name:"config-allow-private" help:"Let Config URLs of campaigns be fetched from addresses of private networks and of this machine."`

	TLSCert string `name:"tls-cert" help:"Certificate of the API, PEM with its chain: the API is then served by HTTPS only. Read again when it changes." placeholder:"FILE"`
	TLSKey  string `name:"tls-key" help:"Private key of --tls-cert, PEM." placeholder:"FILE"`
	TLSOwn  bool   `name:"tls-own" help:"Serve the API by HTTPS with a self-signed certificate made at each start; its fingerprint is logged."`

	EligibilityURL          string `name:"eligibility-url" help:"Your URL, asked before each dial whether the contact may be called now; those that campaigns name are asked too." placeholder:"URL"`
	EligibilitySecret       string `name:"eligibility-secret" help:"Secret that signs these questions, also those of campaigns, the way webhooks are signed: whsec_ and base64 of 24 to 64 bytes." env:"DIALLER_ELIGIBILITY_SECRET" placeholder:"SECRET"`
	EligibilityFail         string `name:"eligibility-fail" help:"What happens when no answer about a contact comes within 300 ms: open, it is called; closed, it is asked about again a minute later." enum:"open,closed" default:"open"`
	EligibilityAllowPrivate bool   `name:"eligibility-allow-private" help:"Let that URL, and those of campaigns, be on a private network or on this machine, and use http."`

	Message string `name:"message" help:"WAV file (8 kHz mono 16 bit) that the caller of an abandoned call hears; a built-in one when empty." type:"existingfile" placeholder:"FILE"`
}

// Default addresses of SIP and the API.
const (
	DefaultSIP  = "127.0.0.1:5060"
	DefaultHTTP = "127.0.0.1:8080"
)

// DataDir returns the folder of the private PostgreSQL, unless the flag sets it.
func DataDir(flag, name string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	if os.Geteuid() == 0 {
		return filepath.Join("/var/lib/dialler", name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home folder for the data; give --data-dir: %w", err)
	}
	return filepath.Join(home, ".local", "share", "dialler", name), nil
}

// sipListeners returns the SIP listeners of the configuration file, otherwise the one of --sip and
// --sip-external.
func (f *Flags) sipListeners() ([]sipstack.Listener, error) {
	list, err := configfile.Listeners(f.ConfigPath)
	if err != nil || len(list) > 0 {
		return list, err
	}
	if _, _, err := net.SplitHostPort(f.SIP); err != nil {
		return nil, fmt.Errorf("--sip must be host:port: %w", err)
	}
	return []sipstack.Listener{{Name: "default", Address: f.SIP, ExternalHost: f.SIPExternal}}, nil
}
