package configfile

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/trunk"
)

func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dialler.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func fromTheEnvironment(string) (string, bool, error) { return "from-the-environment", true, nil }

func noSecrets(string) (string, bool, error) { return "", false, nil }

func TestTheExamplesOfTheDocumentationAreTrunks(t *testing.T) {
	page, err := os.ReadFile("../../docs/trunks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	list, err := Trunks(settingsFile(t, example), fromTheEnvironment)
	if err != nil || len(list) != 4 {
		t.Fatalf("%d trunks: %v", len(list), err)
	}
	kinds := map[engine.TrunkKind]int{}
	for _, f := range list {
		kinds[f.Kind]++
		if f.TrunkSettings.Origin != engine.TrunkOfFile ||
			f.Username != "" && f.TrunkSettings.Password != "from-the-environment" {
			t.Errorf("%+v", f)
		}
	}
	if kinds[engine.TrunkByIP] != 1 || kinds[engine.TrunkByPassword] != 2 || kinds[engine.TrunkRegistered] != 1 {
		t.Errorf("%v", kinds)
	}
}

func TestThePageOfEachCarrierHasATrunkASourceAndATrial(t *testing.T) {
	page, err := os.ReadFile("../../docs/carriers.md")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "\n## ")[1:]
	if len(parts) != 10 {
		t.Errorf("%d carriers and PBXs", len(parts))
	}
	for _, part := range parts {
		name, rest, _ := strings.Cut(part, "\n")
		_, block, _ := strings.Cut(rest, "```yaml\n")
		block, _, _ = strings.Cut(block, "```")
		list, err := Trunks(settingsFile(t, block), fromTheEnvironment)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %d trunks: %v", name, len(list), err)
		}
		if !strings.Contains(rest, "Read: ") || !strings.Contains(rest, "Tried: ") {
			t.Errorf("%s: no word on what was read and tried", name)
		}
	}
}

func TestWhatIsWrongWithATrunkOfTheFileIsSaidWithFileTrunkAndField(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		path := settingsFile(t, text)
		_, err := Trunks(path, noSecrets)
		if err == nil {
			t.Fatalf("%s is accepted", text)
		}
		for _, w := range append(want, path) {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v, want %q", text, err, w)
			}
		}
	}
	f("trunks: yes\n", "must be a list")
	f("trunks:\n  - host: 192.0.2.1\n", ":2: trunks[0] (<nil>): id: ")
	f(
		"trunks:\n  - {id: a, host: 192.0.2.1}\n  - {id: b, host: a b, cps_cap: 0}\n",
		"trunks[1] (b): host: ",
		"(invalid_format)",
		"trunks[1] (b): cps_cap: ",
		"(out_of_range)",
	)
	f("trunks:\n  - {id: a, host: 192.0.2.1}\n  - {id: a, host: 192.0.2.2}\n", "trunks[1] (a): id: ", "(duplicate)")
	f("trunks:\n  - {id: a, host: 192.0.2.1, hots: x}\n", "trunks[0] (a): hots: ", "(unknown_field)")
	f("trunks:\n  - {id: a, host: 192.0.2.1, origin: api}\n", "origin: ", "(unknown_field)")
	f(
		"trunks:\n  - {id: a, host: 192.0.2.1, username: 4912}\n",
		"trunks[0] (a): username: must be text; put quotes around it",
	)
	f("trunks:\n  - {id: a, host: 192.0.2.1, cps_cap: many}\n", "cps_cap: must be a whole number")
	f("trunks:\n  - {id: a, host: 192.0.2.1, media: {srtp: 7}}\n", "media.srtp: must be text")
	f("trunks:\n  - {id: a, host: 192.0.2.1, active: 1}\n", "active: must be true or false")
	f(
		"trunks:\n  - {id: a, host: 192.0.2.1, extra_headers: [{name: Via, value: x}]}\n",
		"extra_headers[0].name: ",
		"(reserved_header)",
	)
	f(
		"trunks:\n  - {id: a, host: 192.0.2.1, username: u, password_env: NOT_THERE}\n",
		`password_env: the environment variable "NOT_THERE" is not set`,
	)
	f("trunks:\n  - {id: a, host: 192.0.2.1, username: u, password: p, password_env: X}\n", "(mutually_exclusive)")
	f(
		"trunks:\n  - {id: a, host: 192.0.2.1, tls_roots: none}\n",
		"tls_roots: must be certificates as PEM",
		"(invalid_pem)",
	)
	f("trunks:\n  - {1: 2}\n", "trunks")
	f("trunks:\n"+strings.Repeat("  - {id: a}\n", fileTrunksCap+1), "at most 1000")
	path := settingsFile(t, "trunks:\n  - {id: a, host: 192.0.2.1, username: u, password: geheim, port: x}\n")
	if _, err := Trunks(path, noSecrets); strings.Contains(err.Error(), "geheim") {
		t.Error("the error tells the secret")
	}
	if list, err := Trunks(settingsFile(t, "log-level: info\n"), noSecrets); err != nil || len(list) > 0 {
		t.Errorf("a file without trunks: %v %v", list, err)
	}
}

// FuzzConfigFile checks that whatever the configuration file contains, its trunks and listeners are
// read, or refused with its name, and that no refusal reveals a password.
func FuzzConfigFile(f *testing.F) {
	page, err := os.ReadFile("../../docs/trunks.md")
	if err != nil {
		f.Fatal(err)
	}
	for part := range strings.SplitSeq(string(page), "```yaml\n") {
		example, _, _ := strings.Cut(part, "```")
		f.Add([]byte(example))
	}
	f.Add(
		[]byte("trunks:\n  - &a {id: a, host: 192.0.2.1, password: geheim-4711, port: x}\n  - *a\n  - {<<: *a, id: b}\n"),
	)
	f.Add([]byte("trunks: {a: b}\nsip-listeners: [[1]]\n"))
	path := filepath.Join(f.TempDir(), "dialler.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 64<<10 {
			return
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Trunks(path, noSecrets)
		_, wrong := Listeners(path)
		// As a key, or as the value of another field, it is not a password.
		elsewhere := strings.Contains(strings.ReplaceAll(string(text), "password: geheim-4711", ""), "geheim")
		for _, e := range []error{err, wrong} {
			if e != nil && (!strings.Contains(e.Error(), path) || !elsewhere && strings.Contains(e.Error(), "geheim-4711")) {
				t.Fatalf("%q: %v", text, e)
			}
		}
		if err != nil {
			return
		}
		for _, e := range list {
			if len(trunk.Validate(&e.TrunkSettings)) > 0 || e.TrunkSettings.Origin != engine.TrunkOfFile {
				t.Fatalf("%q gives %+v", text, e.TrunkSettings.ID)
			}
		}
	})
}

// certificateOf makes a certificate and its key, as PEM.
func certificateOf(t *testing.T) (certificate, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func TestATrunkOfTheFileNamesItsCertificate(t *testing.T) {
	certificate, key := certificateOf(t)
	_, other := certificateOf(t)
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	alone, both := file("alone.pem", certificate), file("both.pem", key+certificate)
	secret, wrong := file("key.pem", key), file("wrong.pem", other)
	f := func(fields, mistake string) {
		t.Helper()
		list, err := Trunks(settingsFile(t, "trunks:\n  - {id: a, host: a.example, transport: tls, "+fields+"}\n"), noSecrets)
		switch {
		case mistake == "" && (err != nil || list[0].TLSCertificate != certificate ||
			!strings.Contains(list[0].TrunkSettings.TLSKey, key)):
			t.Errorf("%s: %v", fields, err)
		case mistake != "" && (err == nil || !strings.Contains(err.Error(), mistake)):
			t.Errorf("%s: %v", fields, err)
		case err != nil && strings.Contains(err.Error(), "PRIVATE"):
			t.Errorf("%s: the error tells the secret", fields)
		}
	}
	f("tls_certificate_file: "+alone+", tls_key_file: "+secret, "")
	f("tls_certificate_file: "+both, "")
	f("tls_certificate_file: "+alone, "tls_key: must be the private key of tls_certificate")
	f("tls_certificate_file: "+alone+", tls_key_file: "+wrong, "tls_key: must be the private key of tls_certificate")
	f("tls_key_file: "+secret, "tls_certificate: is required with tls_key")
	f("tls_certificate_file: "+alone+"x", "tls_certificate_file: cannot be read")
	f("tls_certificate_file: "+wrong, "tls_certificate: must hold certificates only")
	f("tls_certificate_file: "+alone+", tls_key_file: "+secret+", tls_key: x", "(mutually_exclusive)")
	f("tls_certificate: x, tls_key: y", "tls_certificate: must be certificates as PEM")
}

func TestNamesOfTheFileAreChecked(t *testing.T) {
	path := settingsFile(t, "trunks:\n  - {id: a, host: a.example, listener: wan, media: {family: ipv6}}\n")
	list, err := Trunks(path, noSecrets)
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckNames("f", list, []string{"wan"}, []string{"ipv4", "ipv6"}); err != nil {
		t.Error(err)
	}
	err = CheckNames("f", list, []string{"lan"}, []string{"ipv4"})
	for _, want := range []string{"f: trunks[0] (a): listener: ", "(unknown_listener)", "media.family: must be ipv4: ",
		"--rtp-host"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
