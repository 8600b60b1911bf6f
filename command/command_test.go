package command

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAMisspeltKeyBesideTheListenersOfTheFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dialler.yaml")
	if err := os.WriteFile(path, []byte("sip-listeners: []\ntrunks: []\nsip-listner: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := parse([]string{"serve", "--config", path}); err == nil ||
		!strings.Contains(err.Error(), `"sip-listner"`) {
		t.Errorf("%v", err)
	}
}

func TestAListAndAnEmptyValueOfTheFileAreWhatTheyLookLike(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dialler.yaml")
	read := func(text string) (*cli, error) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := parse([]string{"serve", "--config=" + path})
		return c, err
	}
	c, err := read("allowed-countries: [DE, AT]\nrecordings-dir:\npublic-url: ~\nhttp-connections: 7\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Serve.AllowedCountries; !slices.Equal(got, []string{"DE", "AT"}) {
		t.Errorf("countries %q", got)
	}
	if c.Serve.RecordingsDir != "" || c.Serve.PublicURL != "" || c.Serve.HTTPConnections != 7 {
		t.Errorf("%q %q %d", c.Serve.RecordingsDir, c.Serve.PublicURL, c.Serve.HTTPConnections)
	}
	if _, err := read("data-dir: {a: b}\n"); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "data-dir") {
		t.Error(err)
	}
}
