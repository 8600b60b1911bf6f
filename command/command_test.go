package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMisspeltKeyBesideTheListenersOfTheFileIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dialler.yaml")
	if err := os.WriteFile(path, []byte("sip-listeners: []\ntrunks: []\nsip-listner: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := parse([]string{"serve", "--config", path}); err == nil || !strings.Contains(err.Error(), `"sip-listner"`) {
		t.Errorf("%v", err)
	}
}
