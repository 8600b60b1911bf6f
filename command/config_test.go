package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// written writes a file of the test's own.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ran parses and runs a command, and returns what it printed.
func ran(args ...string) (string, error) {
	c, k, err := parse(args)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	k.Stdout = &out
	err = k.Run(c, zerolog.Nop())
	return out.String(), err
}

// withoutSettings unsets the variables that settings come from.
func withoutSettings(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, variablePrefix) || strings.HasPrefix(name, "DATABASE_URL") {
			t.Setenv(name, "") // for its restoration
			_ = os.Unsetenv(name)
		}
	}
}

func TestTheEnvironmentWinsOverTheFileAndTheCommandLineOverBoth(t *testing.T) {
	withoutSettings(t)
	path := written(t, "dialler.yaml", "rtp-ports: 1024-1123\nspool-size: 1\ncallee-cap: 1\n")
	t.Setenv("DIALLER_SPOOL_SIZE", "2")
	t.Setenv("DIALLER_CALLEE_CAP", "2")
	c, _, err := parse([]string{"serve", "--config=" + path, "--callee-cap=3"})
	if err != nil {
		t.Fatal(err)
	}
	if f := c.Serve.Flags; f.RTPPorts != "1024-1123" || f.SpoolSize != 2 || f.CalleeCap != 3 {
		t.Errorf("file %q, environment %d, command line %d", f.RTPPorts, f.SpoolSize, f.CalleeCap)
	}
}

func TestASecretMayComeFromTheFileThatItsVariableNames(t *testing.T) {
	withoutSettings(t)
	t.Setenv("DATABASE_URL_FILE", written(t, "url", "postgres://u:geheim@h/d\n"))
	t.Setenv("DIALLER_ANCHOR_FILE", written(t, "anchors", "file:///a\nfile:///b\n"))
	path := written(t, "dialler.yaml", "database-url: postgres://other/d\n")
	c, _, err := parse([]string{"serve", "--config=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if c.Serve.DatabaseURL != "postgres://u:geheim@h/d" ||
		!slices.Equal(c.Serve.Anchor, []string{"file:///a", "file:///b"}) {
		t.Errorf("%q %q", c.Serve.DatabaseURL, c.Serve.Anchor)
	}
	if c, _, err = parse([]string{"db", "audit"}); err != nil || c.DB.Audit.DatabaseURL != "postgres://u:geheim@h/d" {
		t.Errorf("%q %v", c.DB.Audit.DatabaseURL, err)
	}
	if c, _, err = parse([]string{"serve", "--database-url=postgres://x/y"}); err != nil ||
		c.Serve.DatabaseURL != "postgres://x/y" {
		t.Errorf("the command line: %q %v", c.Serve.DatabaseURL, err)
	}
	f := func(want string) {
		t.Helper()
		if _, _, err := parse([]string{"serve"}); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "geheim") {
			t.Errorf("%v, want %s", err, want)
		}
	}
	t.Setenv("DATABASE_URL", "postgres://v:geheim@h/d")
	f("DATABASE_URL and DATABASE_URL_FILE are both set")
	_ = os.Unsetenv("DATABASE_URL")
	t.Setenv("DATABASE_URL_FILE", filepath.Join(t.TempDir(), "none"))
	f("DATABASE_URL_FILE: ")
}

func TestVariablesThatAreNoSettingsAreNamed(t *testing.T) {
	withoutSettings(t)
	path := written(t, "dialler.yaml",
		"trunks:\n  - {id: a, host: 192.0.2.1, username: u, password_env: DIALLER_CARRIER}\n")
	for _, name := range []string{"DIALLER_NO_SUCH", "DIALLER_SIP_FILE", "DIALLER_SIP", "DIALLER_CARRIER_FILE",
		"DIALLER_CARRIER", "DIALLER_SECRETS_KEYS_FILE", "DIALLER_DATABASE_URL_FILE", "DIALLER_EMAIL", "DATABASE_URI"} {
		t.Setenv(name, "")
	}
	c, _, err := parse([]string{"serve", "--config=" + path})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.sources.strangers(); !slices.Equal(got, []string{"DIALLER_NO_SUCH", "DIALLER_SIP_FILE"}) {
		t.Errorf("%q", got)
	}
}

func TestAMistakeInTheFileIsSaidWithItsLineAndSetting(t *testing.T) {
	withoutSettings(t)
	if out, err := ran("config", "check", "--config=../deploy/systemd/dialler.yaml"); err != nil ||
		out != "the settings are right\n" {
		t.Errorf("the file of deploy: %q %v", out, err)
	}
	f := func(text string, want ...string) {
		t.Helper()
		path := written(t, "dialler.yaml", text)
		out, err := ran("config", "check", "--config="+path)
		if err == nil {
			t.Errorf("%q is right: %s", text, out)
			return
		}
		if out == "" {
			out = err.Error() + "\n"
		}
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(lines) != len(want) {
			t.Errorf("%q: %q, want %q", text, lines, want)
			return
		}
		for i, w := range want {
			if !strings.HasPrefix(lines[i], path+w) || strings.Contains(lines[i], "geheim") {
				t.Errorf("%q: %q, want %q", text, lines[i], w)
			}
		}
	}
	f("# first\nno-such: 1\n", `:2: unknown setting "no-such"`)
	f("log-level: info\n\nkey-rate: many\n", ":3: --key-rate: expected a float")
	f("log-level: loud\n", ":1: --log-level must be one of")
	f("data-dir: {a: b}\n", ":1: --data-dir: it takes one value")
	f("rtp-ports: 5\npprof: nowhere\n", ":2: --pprof must be host:port", ":1: --rtp-ports must be MIN-MAX")
	f("allowed-countries:\n  - XX\n", ":1: --allowed-countries")
	f("tls-cert: /not/there\n", ":1: --tls-cert and --tls-key go together")
	f("database-url: postgres://geheim@h:x/y\n", ":1: --database-url")
	f("trunks:\n  - id: a\n    host: 192.0.2.1\n  - {id: b, host: a b, cps_cap: 0}\n", ":4: trunks[1] (b): host: ",
		":4: trunks[1] (b): cps_cap: ")
	f("sip-listeners:\n  - {name: a, certificate: /not/there}\n", ": sip-listeners[0] (a): certificate")

	// What the command line says is not the file's mistake.
	path := written(t, "dialler.yaml", "sip: 127.0.0.1:5060\n")
	if out, err := ran("config", "check", "--config="+path, "--sip=nowhere"); err == nil ||
		!strings.HasPrefix(out, "--sip must be") {
		t.Errorf("%q %v", out, err)
	}
}

func TestSettingsAreShownWithTheirSourceAndWithoutSecrets(t *testing.T) {
	withoutSettings(t)
	path := written(t, "dialler.yaml", "rtp-ports: 1024-1123\nallowed-countries: [DE, AT]\nanchor-smtp-password: geheim\n"+
		"trunks:\n  - {id: a, host: 192.0.2.1, username: u, password: geheim}\n  - {id: b, host: 192.0.2.2}\n")
	t.Setenv("DATABASE_URL", "postgres://u:geheim@h/d")
	t.Setenv("DIALLER_SPOOL_SIZE", "2")
	secret := written(t, "secret", "geheim")
	t.Setenv("DIALLER_ANCHOR_SECRET_FILE", secret)
	args := []string{"config", "show", "--config=" + path, "--drain-timeout", "1m"}
	out, err := ran(append(args, "--json")...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]shownSetting{}
	for line := range strings.Lines(out) {
		var s shownSetting
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatal(err)
		}
		got[s.Name] = s
	}
	for _, want := range []shownSetting{
		{"config", path, "command line"}, {"drain-timeout", "1m0s", "command line"},
		{"database-url", "***", "DATABASE_URL"}, {"spool-size", "2", "DIALLER_SPOOL_SIZE"},
		{"anchor-secret", "***", "DIALLER_ANCHOR_SECRET_FILE " + secret},
		{"rtp-ports", "1024-1123", path + ":1"}, {"allowed-countries", "DE,AT", path + ":2"},
		{"anchor-smtp-password", "***", path + ":3"}, {"trunks", "a,b", path + ":4"}, {"tls-own", "false", "default"},
		{"eligibility-secret", "", "default"}, {"log-level", "info", "default"},
	} {
		if got[want.Name] != want {
			t.Errorf("%+v, want %+v", got[want.Name], want)
		}
	}
	for name := range settings(t) {
		if _, shown := got[name]; !shown && name != "help" {
			t.Errorf("%s is not shown", name)
		}
	}
	text, err := ran(args...)
	if err != nil || strings.Count(text, "\n") != len(got) {
		t.Errorf("%d lines, want %d: %v", strings.Count(text, "\n"), len(got), err)
	}
	if strings.Contains(out+text, "geheim") {
		t.Error("a secret is shown")
	}
}

func TestCommandsRefuseWhatTheAPIRefuses(t *testing.T) {
	withoutSettings(t)
	t.Setenv("DIALLER_DATA_DIR", t.TempDir()) // without a database: neither command comes as far
	for want, args := range map[string][]string{
		`"nonsense" is no scope of a key`:         {"key", "create", "crm", "--scopes", "dialout,nonsense"},
		`"bad" must be an e-mail address`:         {"user", "add", "bad", "--role", "viewer"},
		`"Ada <a@b.c>" must be an e-mail address`: {"user", "add", "Ada <a@b.c>"},
		`--empty starts no campaign`:              {"sandbox", "--empty", "--exit"},
	} {
		if _, err := ran(args...); err == nil || !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(want)) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
