package process

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/engine"
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

	// A recording whose call ended in a crash is found again.
	w.tampered = true
	w.exec(`DELETE FROM recordings`)
	w.exec(`UPDATE attempts SET quality = NULL`)
	now := time.Now()
	keeper := &recordingKeeper{
		rows:  storedRecordings{w.p.store.Recordings, w.p.store},
		files: w.p.recorder,
		now:   func() time.Time { return now },
		log:   zerolog.Nop(),
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
