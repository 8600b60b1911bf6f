package process

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"dialler/actors/cluster"
	"dialler/engine/destination"
	"dialler/engine/webhook"
	"dialler/http/access"
	"dialler/media"
	"dialler/persistence"
	"dialler/process/configfile"
	"dialler/process/keys"
)

// Check returns everything that is wrong with the settings, and with the files that they name; nil if a
// start would take them. It touches neither database nor network, and creates nothing: a start does it
// before anything else. Each mistake begins with the name of its flag or file. The addresses of the settings
// are written in one way afterwards.
func (f *Flags) Check() error {
	_, digit := optOutDigit(f.OptOutDigit)
	_, _, ports := portRange(f.RTPPorts)
	_, sip := marked("--sip-dscp", f.SIPDSCP)
	_, rtp := marked("--rtp-dscp", f.RTPDSCP)
	_, proxies := networks(f.TrustedProxies)
	_, secrets := keys.Secrets(f.SecretsKeyFile)
	_, hook := f.eligibilitySecret()
	_, witnesses := f.witnesses("", time.Now)
	_, certificate := f.certificate()
	wrong := []error{f.addresses(), f.check(), digit, ports, sip, rtp, proxies, secrets, hook, witnesses, certificate,
		f.checkSpool(), f.checkNumbers(), f.checkFiles(), f.checkCluster(), f.checkConfigFile(),
		f.checkOIDC(cmp.Or(f.PublicURL, "http://127.0.0.1"))} // without one it is known once we listen
	if f.DatabaseURL != "" {
		if err := persistence.CheckURL(f.DatabaseURL); err != nil {
			wrong = append(wrong, fmt.Errorf("--database-url, or DATABASE_URL: %w", err))
		}
	}
	return errors.Join(wrong...)
}

// addresses writes the addresses of sockets in one way, host:port with an IPv6 host in brackets, and says
// which are none. Any host may come in brackets: who puts an address together from parts, as
// Kubernetes does from that of a pod, cannot know its version.
func (f *Flags) addresses() error {
	var wrong []error
	for _, a := range []struct {
		flag string
		at   *string
	}{
		{"--listen-http", &f.ListenHTTP}, {"--sip", &f.SIP}, {"--cluster-listen", &f.ClusterListen},
		{"--cluster-advertise", &f.ClusterAdvertise}, {"--pprof", &f.Pprof},
	} {
		if *a.at == "" {
			continue
		}
		host, port, err := net.SplitHostPort(*a.at)
		if n, number := strconv.Atoi(port); err != nil || number != nil || n < 0 || n > 65535 {
			wrong = append(wrong, fmt.Errorf("%s must be host:port, an IPv6 address in brackets ([2001:db8::1]:5060), the port "+
				"0 to 65535; got %q", a.flag, *a.at))
			continue
		}
		*a.at = net.JoinHostPort(host, port)
	}
	return errors.Join(wrong...)
}

// check validates the settings that may change without a restart, and others that stand alone.
func (f *Flags) check() error {
	if err := destination.Check(f.AllowedCountries); err != nil {
		return fmt.Errorf("--allowed-countries: %w", err)
	}
	if _, err := f.frequency(); err != nil {
		return err
	}
	if err := checkPublicURL(f.PublicURL); err != nil {
		return err
	}
	return checkKeep(f)
}

// checkNumbers says which numbers are below zero, where that means nothing.
func (f *Flags) checkNumbers() error {
	var wrong []error
	for _, n := range []struct {
		flag     string
		negative bool
	}{
		{"--http-connections", f.HTTPConnections < 0}, {"--intake-cap", f.IntakeCap < 0}, {"--max-calls", f.MaxCalls < 0},
		{"--key-rate", f.KeyRate < 0}, {"--drain-timeout", f.DrainTimeout < 0},
	} {
		if n.negative {
			wrong = append(wrong, fmt.Errorf("%s must not be negative", n.flag))
		}
	}
	return errors.Join(wrong...)
}

func (f *Flags) checkSpool() error {
	if f.SpoolSize < 0 || f.SpoolSize > spoolCap {
		return fmt.Errorf("--spool-size must be 0 to %d MiB; got %d", spoolCap, f.SpoolSize)
	}
	return nil
}

// eligibilitySecret reads the secret that signs what the eligibility hooks are asked; nil without one.
func (f *Flags) eligibilitySecret() (secret []byte, err error) {
	if f.EligibilityURL != "" || f.EligibilitySecret != "" {
		if secret, err = webhook.ReadSecret(f.EligibilitySecret); err != nil {
			return nil, fmt.Errorf("--eligibility-secret, or DIALLER_ELIGIBILITY_SECRET, %w", err)
		}
	}
	if f.EligibilityURL != "" && webhook.CheckURL(f.EligibilityURL, f.EligibilityAllowPrivate) != nil {
		return nil, errors.New(
			"--eligibility-url must be an absolute https URL without user, password and fragment; " +
				"http with --eligibility-allow-private",
		)
	}
	return secret, nil
}

// certificate reads the files of --tls-cert and --tls-key; nil without them.
func (f *Flags) certificate() (*keys.CertificateFiles, error) {
	switch {
	case f.TLSOwn && f.TLSCert+f.TLSKey != "":
		return nil, errors.New("--tls-own: give it, or --tls-cert with --tls-key, not both")
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return nil, errors.New("--tls-cert and --tls-key go together")
	case f.TLSCert == "":
		return nil, nil
	}
	files := &keys.CertificateFiles{Cert: f.TLSCert, Key: f.TLSKey}
	if _, err := files.Get(nil); err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	return files, nil
}

// identityProvider is the one by which people log in, nil without one; base is where browsers reach the console unless
// a setting says otherwise.
func (f *Flags) identityProvider(base string) *access.OIDC {
	if f.OIDCIssuer == "" {
		return nil
	}
	roles := make(map[string]string, len(f.OIDCRoles))
	for _, pair := range f.OIDCRoles {
		i := max(strings.LastIndexByte(pair, '='), 0) // names of groups may have one
		roles[strings.TrimSpace(pair[:i])] = strings.TrimSpace(strings.TrimPrefix(pair[i:], "="))
	}
	return &access.OIDC{Name: f.OIDCName, Issuer: f.OIDCIssuer, ClientID: f.OIDCClientID,
		ClientSecret: f.OIDCClientSecret, Callback: access.CallbackOf(cmp.Or(f.OIDCRedirect, base)),
		Scopes: f.OIDCScopes, GroupsClaim: f.OIDCGroups, Roles: roles}
}

// checkOIDC checks the settings of log-in by a provider; base is as for identityProvider.
func (f *Flags) checkOIDC(base string) error {
	provider := f.identityProvider(base)
	if provider == nil {
		if f.OIDCClientID != "" || f.OIDCClientSecret != "" || len(f.OIDCRoles) > 0 {
			return errors.New("--oidc-issuer is required with the other settings of --oidc, for example " +
				"https://login.example.org/realms/company")
		}
		return nil
	}
	return access.CheckOIDC(provider)
}

// checkFiles reads the files that no other check reads.
func (f *Flags) checkFiles() error {
	var wrong []error
	if f.SigningKey != "" {
		if _, err := keys.Signing(f.SigningKey, ""); err != nil {
			wrong = append(wrong, fmt.Errorf("--signing-key: %w", err))
		}
	}
	if err := media.CheckMessage(f.Message); err != nil {
		wrong = append(wrong, fmt.Errorf("--message: %w", err))
	}
	return errors.Join(wrong...)
}

func (f *Flags) checkCluster() error {
	if f.Cluster == "" {
		return nil
	}
	c := cluster.Config{Membership: f.Cluster, Listen: f.ClusterListen, Advertise: f.ClusterAdvertise}
	if err := c.Check(); err != nil {
		return fmt.Errorf("--cluster, --cluster-listen, --cluster-advertise: %w", err)
	}
	return nil
}

// checkConfigFile reads the listeners and the trunks of the configuration file.
func (f *Flags) checkConfigFile() error {
	trunks, err := configfile.Trunks(f.ConfigPath, keys.Variable)
	listeners, bad := f.sipListeners()
	if err != nil || bad != nil {
		return errors.Join(err, bad)
	}
	if bad = f.checkExternal(listeners); bad != nil {
		return bad
	}
	var names []string
	for _, l := range listeners {
		names = append(names, l.Name)
	}
	return configfile.CheckNames(f.ConfigPath, trunks, names, familiesOf(rtpHosts(f.RTPHost, listeners)))
}
