package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzSettingsFile checks that whatever settings the configuration file contains, they are applied
// as written, or refused without revealing a secret.
func FuzzSettingsFile(f *testing.F) {
	for _, s := range []string{
		"log-level: debug\nrtp-ports: 16000-16999\nkey-rate: 2.5\nallowed-countries: [DE, AT]\ncallee-period: " +
			"12h\nspool-size: 0\n",
		"recordings-dir:\npublic-url: ~\nopt-out-digit: 0\n", "database-url: [geheim-4711]\n", "help: true\n", "config: x\n",
		"version: {a: b}\n", "log-level: 2026-01-01\n",
		"- a\n", "geheim-4711", "trunks: []\nsip-listeners: {}\nkeep-ladders: .inf\n", "a: &a [*a]\n",
		"key-rate: 0x1p4\nintake-cap: 1e9\n", "? {a: b}\n: c\n", "",
	} {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "dialler.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 16<<10 {
			return
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := parse([]string{"serve", "--config=" + path, "--database-url=postgres://u:geheim-4712@h/d"})
		if err != nil {
			if strings.Contains(err.Error(), "geheim-4712") || len(err.Error()) > 2*len(text)+2000 {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, s := range []string{c.Serve.RecordingsDir, c.Serve.PublicURL, c.Serve.DataDir, c.Serve.RTPPorts,
			c.Serve.OptOutDigit, strings.Join(c.Serve.AllowedCountries, "")} {
			if strings.ContainsAny(s, "[]<>") && !strings.ContainsAny(string(text), "<>\"'|") {
				t.Fatalf("%q is taken for %q", text, s)
			}
		}
		if c.Serve.DatabaseURL != "postgres://u:geheim-4712@h/d" {
			t.Fatalf("%q wins over the command line", text)
		}
	})
}
