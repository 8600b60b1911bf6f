package process

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine/evidence"
	"dialler/process/keys"
)

// A campaign of two contacts, exported by the shipped command and verified by it without the
// database.
func TestTheEvidenceOfACampaignIsExportedAndVerified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaign(map[string]any{"max_attempts": 1})
	n, other := newNumber(), newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": n}, map[string]any{"mobile": newNumber()}}}).expect(200)
	w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "mobile": other}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "it completes", func() bool { return w.detail(id).Status == "completed" })

	dir := t.TempDir()
	file := filepath.Join(dir, "run1.zip")
	url := w.url
	run := func(args ...string) (out string, err error) {
		cmd := program(t, url, args...)
		var both bytes.Buffer
		cmd.Stdout, cmd.Stderr = &both, &both
		err = cmd.Run()
		return both.String(), err
	}
	export := []string{"export", "evidence", "--campaign", string(id), "--run", "1", "-o", file, "--data-dir", dir}
	if out, err := run(export...); err != nil || !strings.Contains(out, "2 attempts") {
		t.Fatalf("%v %s", err, out)
	}
	for _, name := range []string{file, w.flags.SigningKey} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	url = "" // no database is needed from here on
	var exit *exec.ExitError
	if out, err := run("verify", "evidence", file); !errors.As(err, &exit) || exit.ExitCode() != 2 ||
		!strings.Contains(out, "the file is whole, but anybody may have signed it") {
		t.Fatalf("without a trusted key: %v %s", err, out)
	}
	key, err := keys.Signing(w.flags.SigningKey, "")
	if err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(dir, "public.pem")
	if err := os.WriteFile(public, key.Public().PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := run("verify", "evidence", "--key", public, "--json", file)
	var v evidence.Verdict
	if err != nil || json.Unmarshal([]byte(out), &v) != nil || v.Manifest.Campaign != id || v.Manifest.Attempts != 2 ||
		v.Manifest.Served != 2 || v.Manifest.Batches == 0 ||
		v.Manifest.Unchained != 0 || v.Key != key.Public().Fingerprint() {
		t.Errorf("%v %s", err, out)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{n, other} {
		if !strings.Contains(unzipped(t, whole), name) {
			t.Errorf("%s is not in the record", name)
		}
	}
	// The API gives the same record.
	sent := w.operator("GET", "/api/v1/campaigns/"+string(id)+"/runs/1/evidence", nil).expect(200).body
	same, err := evidence.Verify(bytes.NewReader(sent), int64(len(sent)), nil)
	if err != nil || len(same.Wrong) > 0 || same.Manifest.Head != v.Manifest.Head || same.Manifest.Attempts != 2 ||
		same.Manifest.MadeBy != FirstAdminEmail {
		t.Errorf("%+v %v", same, err)
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/runs/2/evidence", nil).expect(404)
	w.operator("GET", "/api/v1/campaigns/cmp_nobody/runs/1/evidence", nil).expect(404)
	z, err := zip.NewReader(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(z.File, func(f *zip.File) bool { return f.Name == evidence.AttemptsFile })
	at, err := z.File[i].DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	whole[at+int64(z.File[i].CompressedSize64)/2] ^= 1
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify", "evidence", file}, {"verify", "evidence", "--key", public, file}} {
		if out, err := run(args...); !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%v: a changed file is whole: %v %s", args, err, out)
		}
	}
	stranger := filepath.Join(dir, "stranger.pem")
	theirs, err := keys.Signing("", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(os.WriteFile(stranger, theirs.Public().PEM(), 0o600), os.WriteFile(file, sent, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run("verify", "evidence", "--key", stranger, file); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(out, "signed with another key") {
		t.Errorf("by somebody else: %v %s", err, out)
	}
}

// unzipped returns all parts of a file, concatenated.
func unzipped(t *testing.T, file []byte) (all string) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all += string(text)
	}
	return all
}
