package process

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/persistence/recordings"
	"dialler/process/keys"
)

func TestARecordedCampaignIsHeardAndForgottenInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 1500*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(300 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 2, "recording": "on", "recording_retention_days": 7})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
		map[string]any{"mobile": newNumber()}, map[string]any{"mobile": newNumber()},
	}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the campaign completes", func() bool {
		d := w.detail(id)
		return d.Status == "completed" && d.Counters.Completed == 2
	})

	type recorded struct {
		URL        string
		DurationS  float64 `json:"duration_s"`
		Bytes      int
		Incomplete bool
		DeletedAt  *time.Time `json:"deleted_at"`
	}
	attempts := func() (list []recorded) {
		t.Helper()
		for _, c := range w.contacts(id) {
			var contact struct {
				Trail []struct{ Recording *recorded } `json:"attempt_trail"`
			}
			w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts/"+url.PathEscape(string(c.ID)),
				nil).expect(200).into(&contact)
			for _, a := range contact.Trail {
				if a.Recording == nil {
					t.Fatal("an attempt names no recording")
				}
				list = append(list, *a.Recording)
			}
		}
		return list
	}
	eventually(t, "both files are whole", func() bool {
		return w.metric("dialler_recordings_total") == 2 && w.metric("dialler_recordings_live") == 0
	})
	list := attempts()
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	size := 0
	for _, r := range list {
		b := w.crm("GET", r.URL, nil).expect(200).body
		size += len(b)
		if len(b) != r.Bytes || r.Incomplete || r.DurationS < 1 || int(binary.LittleEndian.Uint32(b[54:])) != len(b)-58 ||
			string(b[8:12]) != "WAVE" {
			t.Fatalf("%d bytes of %+v", len(b), r)
		}
		var sides [2][]byte
		for i := 58; i < len(b); i++ {
			sides[i%2] = append(sides[i%2], b[i])
		}
		for side, sound := range sides {
			if heard := len(bytes.ReplaceAll(sound, []byte{0xFF}, nil)); heard < 8000/4 {
				t.Errorf("side %d has %d samples of sound in %v s", side, heard, r.DurationS)
			}
		}
		part := w.send("GET", r.URL, nil, "Authorization", "Bearer "+w.admin, "Range", "bytes=58-157").expect(206)
		if !bytes.Equal(part.body, b[58:158]) {
			t.Errorf("a range is %d other bytes", len(part.body))
		}
	}
	if got := w.metric("dialler_recordings_bytes"); int(got) != size {
		t.Errorf("/metrics says %v bytes, they are %d", got, size)
	}

	recordingsAreAudited(t, w, id)

	// A recording whose call ended in a crash is found again.
	w.tampered = true
	w.exec(`DELETE FROM recordings`)
	w.exec(`UPDATE attempts SET quality = NULL`)
	now := time.Now()
	keeper := &recordingKeeper{
		rows:  storedRecordings{w.p.store.Recordings, w.p.store},
		files: w.p.recorder, strays: new(atomic.Int64),
		now: func() time.Time { return now },
		log: zerolog.Nop(),
	}
	ctx := context.Background()
	if err := keeper.reconcile(ctx); err != nil {
		t.Fatal(err)
	}
	for _, r := range attempts() {
		if len(w.crm("GET", r.URL, nil).expect(200).body) != r.Bytes || !r.Incomplete {
			t.Errorf("found again: %+v", r)
		}
	}

	// A recording deleted while its node was down is deleted once the node is back, however old it
	// is.
	old := recordingOfOldDay(t, w, id)
	if err := keeper.reconcile(ctx); err != nil {
		t.Fatal(err)
	}
	if w.p.recorder.Has(old) {
		t.Error("a recording that was deleted is still on the disk")
	}

	// One is deleted by hand, the other after its week of retention.
	w.operator("DELETE", list[0].URL, nil).expect(204)
	if r := w.crm("GET", list[0].URL, nil).expect(404); r.code() != "recording_deleted" {
		t.Errorf("%s", r)
	}
	for _, c := range []struct {
		days time.Duration
		want int
	}{{6, 0}, {8, 1}, {9, 0}} {
		now = time.Now().Add(c.days * 24 * time.Hour)
		if n, err := keeper.sweep(ctx); err != nil || n != c.want {
			t.Errorf("after %d days %d are deleted, want %d: %v", c.days, n, c.want, err)
		}
	}
	w.crm("GET", list[1].URL, nil).expect(404)
	for _, r := range attempts() {
		if r.DeletedAt == nil || r.URL != "" {
			t.Errorf("after its deletion: %+v", r)
		}
	}
	if got := w.metric("dialler_recordings_bytes"); got != 0 {
		t.Errorf("%v bytes are left", got)
	}
	if _, _, err := w.p.store.Recordings.Recording(ctx, engine.AttemptID("none")); engine.ErrorCode(
		err,
	) != "recording_not_found" {
		t.Error(err)
	}
}

// recordingsAreAudited audits the two recordings of a campaign, then with one changed, then without it.
func recordingsAreAudited(t *testing.T, w *world, id engine.CampaignID) {
	t.Helper()
	ctx := context.Background()
	var kept []recordings.HashedRecording
	eventually(t, "both have a hash", func() bool {
		var err error
		kept, err = w.p.store.Recordings.HashedRecordings(ctx, id, 1, recordings.KeptRecording{}, 10)
		return err == nil && len(kept) == 2
	})
	audit := func(node string) (string, error) {
		var out bytes.Buffer
		err := AuditRecordings(ctx, w.p.store, "", w.p.recorder, node, &out, false)
		return out.String(), err
	}
	if out, err := audit(""); err != nil || out != "2 recordings read; 0 are on other nodes\n" {
		t.Errorf("%q %v", out, err)
	}
	out, err := program(t, w.url, "db", "audit", "--signing-key="+w.flags.SigningKey, "--recordings",
		"--recordings-dir="+w.flags.RecordingsDir).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "2 recordings read") {
		t.Errorf("%s %v", out, err)
	}
	file := filepath.Join(w.flags.RecordingsDir, kept[0].ID+".wav")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	findings := func() []string {
		t.Helper()
		key, err := keys.Signing(w.flags.SigningKey, "")
		if err != nil {
			t.Fatal(err)
		}
		m, err := ExportEvidence(ctx, w.p.store, key, id, 1, "test", filepath.Join(t.TempDir(), "evidence"),
			&RecordingsAuditor{Rows: w.p.store.Recordings, Files: w.p.recorder})
		if err != nil {
			t.Fatal(err)
		}
		return m.Findings
	}
	if got := findings(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	for what, change := range map[string]func() error{
		"its file is not what was recorded": func() error {
			other := bytes.Clone(whole)
			other[len(other)-1] ^= 1
			return os.WriteFile(file, other, 0o600)
		},
		"its file is missing, and nobody deleted it": func() error { return os.Remove(file) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		out, err := audit("")
		if err == nil || !strings.Contains(out, "recording of attempt "+string(kept[0].Attempt)+": "+what) {
			t.Errorf("%s: %q %v", what, out, err)
		}
		if got := findings(); len(got) != 1 || !strings.HasSuffix(got[0], what) {
			t.Errorf("%s: %q", what, got)
		}
		if err := os.WriteFile(file, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	// Whoever changes the row finds the hash in the history, the first one that it tells.
	w.tampered = true
	sum := kept[0].SHA256
	for _, c := range []struct{ change, what string }{
		{`sha256 = '\x09'`, "its hash is not the one that the history tells"},
		{`sha256 = NULL`, "it has no hash"},
		{`sha256 = NULL`, "its hash was removed"},
		{`attempt_id = gen_random_uuid()`, "its row was removed"},
	} {
		at := "attempt_id = '" + string(kept[0].Attempt) + "'"
		w.exec("UPDATE attempts SET ended_at = ended_at - interval '2 hours' WHERE id" + strings.TrimPrefix(at, "attempt_id"))
		w.exec("UPDATE recordings SET " + c.change + " WHERE " + at)
		if out, err := audit(""); err == nil || !strings.Contains(out, c.what) {
			t.Errorf("%s: %q %v", c.change, out, err)
		}
		if strings.HasPrefix(c.change, "attempt_id") {
			w.exec("UPDATE recordings SET " + at + " WHERE place = '" + kept[0].ID + "'")
		}
		w.exec(fmt.Sprintf("UPDATE recordings SET sha256 = '\\x%x' WHERE %s", sum, at))
	}
	w.exec("UPDATE recordings SET sha256 = NULL WHERE place = '" + kept[0].ID + "'")
	if absent, err := w.p.store.Recordings.RecordingsHashed(ctx, map[engine.AttemptID]recordings.Hash{
		kept[0].Attempt: {1}}); err != nil || len(absent) != 0 {
		t.Fatal(absent, err)
	}
	if out, err := audit(""); err == nil || !strings.Contains(out, "its hash is not the one that the history tells") {
		t.Errorf("hashed anew: %q %v", out, err)
	}
}

// recordingOfOldDay makes the file of an old recording that is deleted in the database, and returns
// its path.
func recordingOfOldDay(t *testing.T, w *world, of engine.CampaignID) string {
	t.Helper()
	rec := w.p.recorder.Start("0123456789abcdef0123456789abcdef", time.Now().AddDate(0, -6, 0))
	rec.Tick(1)
	kept := rec.End()
	eventually(t, "the old file is whole", func() bool { return w.p.recorder.Has(kept.ID) })
	w.exec(fmt.Sprintf(`INSERT INTO recordings (attempt_id, campaign_id, place, started_at, deleted_at)
		VALUES ('0123456789abcdef0123456789abcdef', '%s', '%s', now() - interval '6 months', now())`, of, kept.ID))
	return kept.ID
}

func TestRecordingsOfNoCallAreCountedNamedAndDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	if got := w.metric("dialler_recordings_stray"); got != 0 {
		t.Errorf("%v strays", got)
	}
	// As after a restore: the file is there, and the database knows nothing of its call.
	const place = "2025/03/04/01900000000070008000000000000001"
	path := filepath.Join(w.flags.RecordingsDir, filepath.FromSlash(place)+".wav")
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path, make([]byte, 1000), 0o600)); err != nil {
		t.Fatal(err)
	}
	w.restart()
	eventually(t, "it is counted", func() bool { return w.metric("dialler_recordings_stray") == 1 })
	if !strings.Contains(w.log.String(), `"recordings":1,"message":"recordings belong to no call`) {
		t.Error("the log does not say it")
	}
	for _, args := range [][]string{nil, {"--delete"}} {
		out, err := program(t, w.url, append([]string{"db", "stray-recordings", "--recordings-dir=" + w.flags.RecordingsDir},
			args...)...).Output()
		if err != nil || string(out) != place+"\n" {
			t.Errorf("%q: %q %v", args, out, err)
		}
		if _, err := os.Stat(path); (err == nil) != (args == nil) {
			t.Errorf("%q: %v", args, err)
		}
	}
	w.restart()
	eventually(t, "there is none any more", func() bool { return w.metric("dialler_recordings_stray") == 0 })
}
