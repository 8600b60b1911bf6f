package process

import (
	"net"
	nethttp "net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dialler/persistence/storetest"
)

// sound returns settings that a start takes.
func sound(t *testing.T) Flags {
	return Flags{DatabaseURL: "postgres://127.0.0.1:1/none", DataDir: t.TempDir(), ListenHTTP: "127.0.0.1:0",
		SIP: "127.0.0.1:0", SigningKey: sharedKey(t)}
}

func TestEveryMistakeOfTheSettingsIsSaidWithItsFlag(t *testing.T) {
	file := filepath.Join(t.TempDir(), "passwd")
	if err := os.WriteFile(file, []byte("root:x:0:0:root:/root:/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	good := sound(t)
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	f := func(want string, change func(*Flags)) {
		t.Helper()
		flags := sound(t)
		change(&flags)
		if err := flags.Check(); err == nil || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", want, err)
		}
	}
	f("--listen-http must be host:port", func(f *Flags) { f.ListenHTTP = "99999" })
	f("--listen-http must be host:port", func(f *Flags) { f.ListenHTTP = "127.0.0.1:99999" })
	f("--sip must be host:port, an IPv6 address in brackets", func(f *Flags) { f.SIP = "2001:db8::1:5060" })
	f("--cluster-listen must be", func(f *Flags) { f.ClusterListen = "here" })
	f("--pprof must be", func(f *Flags) { f.Pprof = "6060" })
	f("--rtp-ports must be", func(f *Flags) { f.RTPPorts = "16000" })
	f("--sip-dscp is 0 to 63", func(f *Flags) { f.SIPDSCP = 64 })
	f("--rtp-dscp is 0 to 63", func(f *Flags) { f.RTPDSCP = -1 })
	f("--opt-out-digit", func(f *Flags) { f.OptOutDigit = "99" })
	f("--public-url", func(f *Flags) { f.PublicURL = "foo" })
	f("--allowed-countries", func(f *Flags) { f.AllowedCountries = []string{"XX"} })
	f("--call-frequency", func(f *Flags) { f.CallFrequency = []string{"nonsense"} })
	f("--trusted-proxies", func(f *Flags) { f.TrustedProxies = []string{"proxy"} })
	f("--spool-size", func(f *Flags) { f.SpoolSize = -1 })
	f("--http-connections", func(f *Flags) { f.HTTPConnections = -1 })
	f("--intake-cap", func(f *Flags) { f.IntakeCap = -1 })
	f("--max-calls", func(f *Flags) { f.MaxCalls = -1 })
	f("--key-rate", func(f *Flags) { f.KeyRate = -1 })
	f("--drain-timeout", func(f *Flags) { f.DrainTimeout = -1 })
	f("--signing-key: ", func(f *Flags) { f.SigningKey = file })
	f("--secrets-key-file: ", func(f *Flags) { f.SecretsKeyFile = file })
	f("--message: ", func(f *Flags) { f.Message = file })
	f("--tls-cert and --tls-key", func(f *Flags) { f.TLSCert, f.TLSKey = file, file })
	f("--tls-cert and --tls-key go together", func(f *Flags) { f.TLSCert = file })
	f("--eligibility-secret", func(f *Flags) { f.EligibilityURL, f.EligibilitySecret = "https://crm.example", "geheim" })
	f("--anchor-roots", func(f *Flags) { f.Anchor, f.AnchorRoots = []string{"file:///tmp/x"}, file })
	f("--anchor, number 1 (gopher)", func(f *Flags) { f.Anchor = []string{"gopher://geheim"} })
	f("--cluster, ", func(f *Flags) { f.Cluster, f.ClusterListen = "zookeeper://a:1", "127.0.0.1:7946" })
	f("--cluster, ", func(f *Flags) { f.Cluster, f.ClusterListen = "etcd://a:2379", "[::]:7946" })
	f("--database-url, or DATABASE_URL: ", func(f *Flags) { f.DatabaseURL = "postgres://geheim@h:x/y" })

	both := sound(t)
	both.IntakeCap, both.Pprof = -1, "x"
	if err := both.Check(); err == nil || strings.Count(err.Error(), "--") != 2 {
		t.Errorf("two mistakes: %v", err)
	}
}

func TestAWrongSettingStopsAStartBeforeAnythingIsMade(t *testing.T) {
	dir := t.TempDir()
	out, err := program(t, "", "serve", "--data-dir="+dir, "--listen-http=127.0.0.1:99999",
		"--sip=127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--listen-http must be host:port") {
		t.Errorf("%v: %s", err, out)
	}
	if made, _ := os.ReadDir(dir); len(made) > 0 {
		t.Errorf("it made %v", made)
	}
}

// Kubernetes writes a pod's address as it is: the chart puts brackets around it, whatever its version.
func TestAnAddressInBracketsIsTakenOfEitherVersion(t *testing.T) {
	t.Parallel()
	if l, err := net.Listen("tcp", "[::1]:0"); err != nil {
		t.Skip("no IPv6 here: ", err)
	} else {
		_ = l.Close()
	}
	client := &nethttp.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	for _, host := range []string{"[127.0.0.1]", "[::1]"} {
		r := serve(t, storetest.EmptyURL(t), "--sip="+host+":0", "--listen-http=:0")
		_, port, err := net.SplitHostPort(strings.TrimPrefix(r.api, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []string{"127.0.0.1", "::1"} {
			if got := status(t, client, "GET", "http://"+net.JoinHostPort(at, port)+"/readyz"); got != 200 {
				t.Errorf("--sip=%s, asked at %s: %d", host, at, got)
			}
		}
		r.terminate()
	}
}

// Whoever runs the dialler without --public-url is told when it listens: people would come back from the provider to
// an address in the clear, with the code of their log-in.
func TestAProviderSendsPeopleBackToAnEncryptedAddressOrThisMachine(t *testing.T) {
	flags := sound(t)
	flags.OIDCIssuer, flags.OIDCClientID = "https://login.example.org", "dialler"
	flags.OIDCRoles = []string{"callcentre=operator"}
	for base, right := range map[string]bool{"http://127.0.0.1:8080": true, "https://dialler.example.org": true,
		"http://10.0.0.5:8080": false, "http://dialler.example.org": false} {
		if err := flags.checkOIDC(base); (err == nil) != right {
			t.Errorf("%s: %v", base, err)
		}
	}
}
