package http

import (
	"bytes"
	"testing"
	"time"

	"dialler/engine"
)

func TestARecordingIsHeardByAdminsAndKeysThatRead(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/recordings/" + string(theAttempt)
	b.ports.audio = bytes.Repeat([]byte("RIFFsome sound, "), 5000)
	b.ports.owner = "cmp_1"
	whole := b.byAdmin("GET", path, "").is(200, "").has("Content-Type", "audio/wav").has("Accept-Ranges",
		"bytes").has("Cache-Control", "no-store")
	if !bytes.Equal(whole.body, b.ports.audio) {
		t.Fatalf("%d bytes came", len(whole.body))
	}
	reader := b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"read"} })
	if got := b.do("GET", path, "", "X-API-Key", reader).is(200, ""); !bytes.Equal(got.body, b.ports.audio) {
		t.Fatalf("%d bytes came", len(got.body))
	}
	b.do("GET", path, "").is(401, "unauthorized")
	for user, status := range map[engine.UserID]int{"usr_oper": 403, "usr_view": 403} {
		b.do("GET", path, "", "Authorization", "Bearer "+b.token(user)).is(status, "role_too_low")
		b.do("DELETE", path, "", "Authorization", "Bearer "+b.token(user)).is(status, "role_too_low")
	}
	b.do("GET", path, "", "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Scopes = []string{"trigger"} })).is(403,
		"scope_missing")
	b.do("DELETE", path, "", "X-API-Key", b.key).is(403, "scope_missing")
	// To a key of another campaign it is not found, whether it exists or not.
	other := b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_2"} })
	b.do("GET", path, "", "X-API-Key", other).is(404, "recording_not_found")
	b.do("GET", path, "", "X-API-Key", b.addKey(func(k *engine.APIKey) { k.Campaigns = []engine.CampaignID{"cmp_1"} })).is(
		200, "")
	for _, id := range []string{"x", "..%2f..%2fetc", "00000000000000000000000000000000"} {
		b.byAdmin("GET", "/api/v1/recordings/"+id, "").is(404, "recording_not_found")
	}
	b.closedFiles(t)

	b.byAdmin("DELETE", path, "").is(204, "")
	if len(b.ports.deleted) != 1 || b.ports.deleted[0] != theAttempt || b.ports.suppressors[0].User != "usr_admin" {
		t.Fatalf("%v by %v", b.ports.deleted, b.ports.suppressors)
	}
	b.byAdmin("GET", path, "").is(404, "recording_deleted")
	b.byAdmin("DELETE", path, "").is(404, "recording_deleted")
	b.do("GET", path, "", "X-API-Key", other).is(404, "recording_not_found")
	b.closedFiles(t)
}

// closedFiles waits until no file is open.
func (b *bench) closedFiles(t *testing.T) {
	t.Helper()
	eventually(t, "every file closed", func() bool {
		defer b.ports.lock()()
		return b.ports.opened == 0
	})
}

func TestAPlayerSeeksInARecording(t *testing.T) {
	b := newBench(t)
	path := "/api/v1/recordings/" + string(theAttempt)
	b.ports.audio = []byte("0123456789")
	f := func(asked string, status int, want, where string) {
		t.Helper()
		a := b.byAdmin("GET", path, "", "Range", asked)
		if a.is(status, ""); string(a.body) != want || a.header.Get("Content-Range") != where {
			t.Errorf("%q: %q, %q", asked, a.body, a.header.Get("Content-Range"))
		}
	}
	f("bytes=0-0", 206, "0", "bytes 0-0/10")
	f("bytes=2-4", 206, "234", "bytes 2-4/10")
	f("bytes=7-", 206, "789", "bytes 7-9/10")
	f("bytes=-3", 206, "789", "bytes 7-9/10")
	f("bytes=5-999", 206, "56789", "bytes 5-9/10")
	f("bytes=0-1,4-5", 200, "0123456789", "") // several: the whole
	f("seconds=1-2", 200, "0123456789", "")
	b.byAdmin("GET", path, "", "Range", "bytes=10-").is(416, "range_not_satisfiable").has("Content-Range", "bytes */10")
	b.byAdmin("GET", path, "", "Range", "bytes=-0").is(416, "range_not_satisfiable").has("Content-Range", "bytes */10")
	b.byAdmin("GET", path, "", "Range", "bytes=x").is(416, "range_not_satisfiable")
	b.closedFiles(t)

	eventually(t, "nobody listens", func() bool { return b.server.calls.Listening.Load() == 0 })
	b.server.calls.Listening.Store(64)
	b.byAdmin("GET", path, "").is(503, "too_many_recordings")
	b.closedFiles(t)
}

func TestAnAttemptNamesItsRecording(t *testing.T) {
	b := newBench(t)
	at := testAt
	rec := &engine.Recording{ID: "2030/03/01/" + string(theAttempt), StartedAt: at, Duration: 1500 * time.Millisecond,
		Bytes: 24058, Incomplete: true}
	b.ports.attempt.Quality = &engine.MediaQuality{Recording: rec}
	shown := func() map[string]any {
		t.Helper()
		v, _ := b.byKey("GET", "/api/v1/calls/"+string(theCall), "").is(200, "").get("recording").(map[string]any)
		return v
	}
	if v := shown(); v["url"] != "/api/v1/recordings/"+string(theAttempt) || v["duration_s"] != 1.5 ||
		v["bytes"] != 24058.0 || v["incomplete"] != true {
		t.Fatalf("%v", v)
	}
	rec.DeletedAt = &at
	if v := shown(); v["url"] != nil || v["deleted_at"] == nil {
		t.Fatalf("%v", v)
	}
	b.ports.attempt.Quality = nil
	if v := shown(); v != nil {
		t.Fatalf("%v", v)
	}
}

func TestACampaignSaysWhatIsRecordedAndForHowLong(t *testing.T) {
	b := newBench(t)
	create := func(more string) answer {
		return b.byAdmin("POST", "/api/v1/campaigns",
			`{"name":"n","bot_id":"b","concurrency":1,"window":{"zone":"UTC","start":"09:00","end":"17:00","days":["Mon"]}`+more+
				`}`)
	}
	create("").is(201, "")
	create(`,"recording":"on","recording_retention_days":7`).is(201, "")
	for i, want := range []struct {
		recording string
		days      int
	}{{"off", 30}, {"on", 7}} {
		if s := b.ports.creates[i].Settings; s.Recording != want.recording || s.RecordingRetentionDays != want.days {
			t.Errorf("%q for %d days, want %v", s.Recording, s.RecordingRetentionDays, want)
		}
	}
	create(`,"recording":"yes","recording_retention_days":0`).is(422, "validation_failed", "recording unknown_value",
		"recording_retention_days out_of_range")
	create(`,"recording_retention_days":3651`).is(422, "validation_failed", "recording_retention_days out_of_range")
}
