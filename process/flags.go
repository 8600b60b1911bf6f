package process

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"dialler/process/configfile"
	"dialler/sipstack"
)

// Flags are the settings of a running dialler.
type Flags struct {
	ListenHTTP  string `name:"listen-http" help:"${help_listen_http}" default:"${default_http}" placeholder:"HOST:PORT"`
	PublicURL   string `name:"public-url" help:"${help_public_url}" placeholder:"URL"`
	SIP         string `name:"sip" help:"${help_sip}" default:"${default_sip}" placeholder:"HOST:PORT"`
	SIPExternal string `name:"sip-external" help:"${help_sip_external}" placeholder:"HOST"`
	RTPExternal string `name:"rtp-external" help:"${help_rtp_external}" placeholder:"ADDRESS"`
	RTPHost     string `name:"rtp-host" help:"${help_rtp_host}" placeholder:"HOST"`
	RTPPorts    string `name:"rtp-ports" help:"${help_rtp_ports}" placeholder:"MIN-MAX"`
	SIPDSCP     int    `name:"sip-dscp" help:"${help_sip_dscp}" default:"24" placeholder:"N"`
	RTPDSCP     int    `name:"rtp-dscp" help:"${help_rtp_dscp}" default:"46" placeholder:"N"`

	DatabaseURL string `name:"database-url" help:"${help_db}" env:"DIALLER_DATABASE_URL,DATABASE_URL" secret:""`
	DataDir     string `name:"data-dir" help:"${help_data_dir}" placeholder:"DIR"`

	RecordingsDir  string `name:"recordings-dir" help:"${help_recordings_dir}" placeholder:"DIR"`
	SigningKey     string `name:"signing-key" help:"${help_signing_key}" placeholder:"FILE"`
	SecretsKeyFile string `name:"secrets-key-file" help:"${help_secrets_key_file}" placeholder:"FILE"`
	SpoolDir       string `name:"spool-dir" help:"${help_spool_dir}" placeholder:"DIR"`
	SpoolSize      int    `name:"spool-size" help:"${help_spool_size}" default:"64" placeholder:"MIB"`

	DrainTimeout    time.Duration `name:"drain-timeout" help:"${help_drain_timeout}" default:"2m"`
	KeyRate         float64       `name:"key-rate" help:"${help_key_rate}" default:"0"`
	TrustedProxies  []string      `name:"trusted-proxies" help:"${help_trusted_proxies}" placeholder:"CIDR"`
	HTTPConnections int           `name:"http-connections" help:"${help_http_connections}" default:"4096" placeholder:"N"`
	IntakeCap       int           `name:"intake-cap" help:"${help_intake_cap}" default:"256" placeholder:"N"`
	Pprof           string        `name:"pprof" help:"${help_pprof}" placeholder:"HOST:PORT"`

	AllowedCountries []string      `name:"allowed-countries" help:"${help_allowed_countries}" placeholder:"CODES"`
	CallFrequency    []string      `name:"call-frequency" help:"${help_call_frequency}" placeholder:"RULES"`
	CalleeCap        int           `name:"callee-cap" help:"${help_callee_cap}" default:"0" placeholder:"N"`
	CalleePeriod     time.Duration `name:"callee-period" help:"${help_callee_period}" default:"24h"`
	OptOutDigit      string        `name:"opt-out-digit" help:"${help_opt_out_digit}" placeholder:"KEY"`

	KeepLadders  int    `name:"keep-ladders" help:"${help_keep_ladders}" default:"14" placeholder:"DAYS"`
	KeepAttempts int    `name:"keep-attempts" help:"${help_keep_attempts}" default:"0" placeholder:"DAYS"`
	KeepEvents   int    `name:"keep-events" help:"${help_keep_events}" default:"0" placeholder:"DAYS"`
	RecordRuns   bool   `name:"record-runs" help:"${help_record_runs}"`
	KeepFlights  int    `name:"keep-flights" help:"${help_keep_flights}" default:"30" placeholder:"DAYS"`
	FlightsSize  int    `name:"flights-size" help:"${help_flights_size}" default:"1024" placeholder:"MIB"`
	SIPLadders   string `name:"sip-ladders" help:"${help_sip_ladders}" enum:"failed,all,none" default:"failed"`

	TakeOver      bool   `name:"take-over" help:"${help_take_over}"`
	Cluster       string `name:"cluster" help:"${help_cluster}" placeholder:"URL"`
	Node          string `name:"node" help:"${help_node}" placeholder:"NAME"`
	ClusterListen string `name:"cluster-listen" help:"${help_nodes}" default:"127.0.0.1:7946" placeholder:"HOST:PORT"`

	ClusterAdvertise string `name:"cluster-advertise" help:"${help_cluster_advertise}" placeholder:"HOST:PORT"`
	MaxCalls         int    `name:"max-calls" help:"${help_max_calls}" default:"0" placeholder:"N"`
	Placement        string `name:"placement" help:"${help_placement}" enum:"own,even" default:"own"`
	// ConfigPath is the file of --config, which may contain trunks.
	ConfigPath string `kong:"-"`

	WebhookAllowPrivate bool `name:"webhook-allow-private" help:"${help_webhook_allow_private}"`
	ConfigAllowPrivate  bool `name:"config-allow-private" help:"${help_config_allow_private}"`

	TLSCert string `name:"tls-cert" help:"${help_tls_cert}" placeholder:"FILE"`
	TLSKey  string `name:"tls-key" help:"${help_tls_key}" placeholder:"FILE"`
	TLSOwn  bool   `name:"tls-own" help:"${help_tls_own}"`

	OIDCIssuer       string   `name:"oidc-issuer" help:"${help_oidc_issuer}" placeholder:"URL"`
	OIDCClientID     string   `name:"oidc-client-id" help:"${help_oidc_client_id}" placeholder:"ID"`
	OIDCClientSecret string   `name:"oidc-client-secret" help:"${help_oidc_client_secret}" placeholder:"SECRET" secret:""`
	OIDCRedirect     string   `name:"oidc-redirect" help:"${help_oidc_redirect}" placeholder:"URL"`
	OIDCName         string   `name:"oidc-name" help:"${help_oidc_name}" default:"single sign-on" placeholder:"NAME"`
	OIDCScopes       []string `name:"oidc-scopes" help:"${help_oidc_scopes}" default:"email,profile" placeholder:"NAMES"`
	OIDCGroups       string   `name:"oidc-groups" help:"${help_oidc_groups}" default:"groups" placeholder:"CLAIM"`
	OIDCRoles        []string `name:"oidc-roles" help:"${help_oidc_roles}" placeholder:"GROUP=ROLE"`

	EligibilityURL    string `name:"eligibility-url" help:"${help_eligibility_url}" placeholder:"URL"`
	EligibilitySecret string `name:"eligibility-secret" help:"${help_eligibility_secret}" placeholder:"SECRET" secret:""`
	EligibilityFail   string `name:"eligibility-fail" help:"${help_eligibility_fail}" enum:"open,closed" default:"open"`

	EligibilityAllowPrivate bool `name:"eligibility-allow-private" help:"${help_eligibility_allow_private}"`

	Anchor             []string `name:"anchor" help:"${help_anchor}" placeholder:"URL" secret:""`
	AnchorSecret       string   `name:"anchor-secret" help:"${help_anchor_secret}" placeholder:"SECRET" secret:""`
	AnchorSMTP         string   `name:"anchor-smtp" help:"${help_anchor_smtp}" placeholder:"URL"`
	AnchorSMTPPassword string   `name:"anchor-smtp-password" help:"${help_anchor_smtp_password}" secret:""`
	AnchorRoots        string   `name:"anchor-roots" help:"${help_anchor_roots}" placeholder:"FILE"`
	AnchorAllowPrivate bool     `name:"anchor-allow-private" help:"${help_anchor_allow_private}"`

	Message string `name:"message" help:"${help_message}" type:"existingfile" placeholder:"FILE"`
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
	return []sipstack.Listener{{Name: "default", Address: f.SIP, ExternalHost: f.SIPExternal}}, nil
}
