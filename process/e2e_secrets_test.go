package process

import (
	"crypto/rand"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dialler/persistence/storetest"
)

// Once there is a key, a dump contains no trunk passwords and no bot tokens; the command encrypts
// those stored before.
func TestADumpHasNoPasswordOnceThereIsAKeyAndTheDiallerGoesOnWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.hidden = append(w.hidden, "hunter2secret", "hunter3secret")
	w.trunk("carrier", "127.0.0.1", 9, map[string]any{"username": "acme", "password": "hunter2secret", "active": false})
	if d := w.dump(); !strings.Contains(d, "hunter2secret") || !strings.Contains(d, ourToken) {
		t.Fatal("without a key a dump is looked through in vain")
	}
	var key [32]byte
	_, _ = rand.Read(key[:])
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(base64.StdEncoding.EncodeToString(key[:])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(w.log.String(), "stored unencrypted") {
		w.restart()
		if !strings.Contains(w.log.String(), "stored unencrypted") {
			t.Error("a start on secrets that are stored as they are does not say so")
		}
	}
	out, err := program(t, w.url, "db", "encrypt-secrets", "--secrets-key-file="+file).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 passwords and tokens encrypted") {
		t.Fatalf("%s %v", out, err)
	}
	w.flags.SecretsKeyFile = file
	w.restart()
	w.trunk("other", "127.0.0.1", 9, map[string]any{"username": "acme", "password": "hunter3secret", "active": false})
	if d := w.dump(); strings.Contains(d, "hunter2secret") || strings.Contains(d, "hunter3secret") ||
		strings.Contains(d, ourToken) ||
		strings.Contains(d, base64.StdEncoding.EncodeToString(key[:])) {
		t.Error("a dump gives a password, a token or the key away")
	}
	trunks, err := w.p.store.Trunks(t.Context())
	if err != nil || len(trunks) != 2 || trunks[0].Password != "hunter2secret" || trunks[1].Password != "hunter3secret" {
		t.Errorf("%d trunks, %v", len(trunks), err)
	}
	// Without the key the dialler does not start.
	w.p.Close()
	cmd := program(t, w.url, "serve", "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0")
	said, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "--secrets-key-file") || strings.Contains(string(said), "hunter") {
		t.Errorf("without the key: %v\n%s", err, said)
	}
	w.start() // for the audit at the end
}

func TestAKeyFileThatCannotBeUsedStopsTheStart(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{file, file + ".none"} {
		said, err := program(t, url, "serve", "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0",
			"--secrets-key-file="+f).CombinedOutput()
		if err == nil || !strings.Contains(string(said), "secrets-key-file") || strings.Contains(string(said), "hunter2") {
			t.Errorf("%v\n%s", err, said)
		}
	}
}
