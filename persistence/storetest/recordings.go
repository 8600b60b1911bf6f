package storetest

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/recordings"
)

// recorded stores an ended attempt with a recording that began that long ago.
func (w *world) recorded(ago time.Duration) attempt.Attempt {
	w.t.Helper()
	c := w.contact()
	write, a := w.intent(&c)
	w.commit(write)
	ended := w.now
	a.State, a.Outcome, a.EndedAt = attempt.Ended, engine.OutcomeCompleted, &ended
	a.Quality = &engine.MediaQuality{Codec: "PCMU", PacketsReceived: 7, Recording: &engine.Recording{
		ID: "2026/11/21/" + string(a.ID), StartedAt: w.now.Add(-ago), Duration: time.Minute, Bytes: 960_058,
	}}
	w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, Attempts: []attempt.Attempt{a},
		Events: []journal.Event{w.event(journal.AttemptEnded, a.Contact, a.ID)}})
	return a
}

func (w *world) kept(a engine.AttemptID) *engine.Recording {
	w.t.Helper()
	got, ok, err := w.store.Attempt(w.ctx, a)
	must(w.t, err)
	if !ok || got.Quality == nil || got.Quality.Recording == nil {
		w.t.Fatalf("no recording stands in the attempt: %+v", got.Quality)
	}
	return got.Quality.Recording
}

func recordingsFound(t *testing.T, w *world) {
	a := w.recorded(time.Hour)
	place, owner, err := w.pg.Recordings.Recording(w.ctx, a.ID)
	must(t, err)
	if rec := w.kept(a.ID); place != rec.ID || owner != w.c.ID || rec.Duration != time.Minute || rec.Bytes != 960_058 ||
		rec.Incomplete || !rec.StartedAt.Equal(w.now.Add(-time.Hour)) {
		t.Fatalf("%q of %q, %+v", place, owner, rec)
	}
	c := w.contact()
	write, b := w.intent(&c)
	w.commit(write)
	for _, other := range []engine.AttemptID{b.ID, "x", engine.AttemptID(id())} {
		if _, _, err := w.pg.Recordings.Recording(w.ctx, other); engine.ErrorCode(err) != "recording_not_found" {
			t.Fatal(err)
		}
	}
	unknown, err := w.pg.Recordings.UnknownRecordings(w.ctx, []engine.AttemptID{a.ID, b.ID, "x"})
	must(t, err)
	if !slices.Equal(unknown, []engine.AttemptID{b.ID}) {
		t.Fatalf("%v", unknown)
	}

	// A recording left by a crash is found by its attempt, once.
	for range 2 {
		ok, err := w.pg.Recordings.AddRecording(
			w.ctx,
			b.ID,
			engine.Recording{
				ID:         "2026/11/21/" + string(b.ID),
				StartedAt:  w.now,
				Duration:   time.Second,
				Incomplete: true,
			},
		)
		if must(t, err); !ok {
			t.Fatal("an attempt is not there")
		}
	}
	if rec := w.kept(b.ID); rec.Duration != time.Second || !rec.Incomplete {
		t.Fatalf("%+v", rec)
	}
	if ok, err := w.pg.Recordings.AddRecording(w.ctx, engine.AttemptID(id()), engine.Recording{ID: "2026/11/21/x"}); ok ||
		err != nil {
		t.Fatalf("a recording of no attempt was taken: %v", err)
	}

	// Notes survive a late repeat of the attempt's row.
	must(t, w.pg.Recordings.RecordingsIncomplete(w.ctx, []engine.AttemptID{a.ID}))
	must(t, w.pg.Recordings.NoteRecordingDeleted(w.ctx, a.ID, admin))
	w.commit(journal.Write{Campaign: w.c.ID, Epoch: w.c.Epoch, Attempts: []attempt.Attempt{a}})
	if rec := w.kept(a.ID); !rec.Incomplete || rec.DeletedAt == nil {
		t.Fatalf("%+v", rec)
	}
	if _, _, err := w.pg.Recordings.Recording(w.ctx, a.ID); engine.ErrorCode(err) != "recording_deleted" {
		t.Fatal(err)
	}
	dropped, err := w.pg.Recordings.DroppedRecordings(w.ctx, []engine.AttemptID{a.ID, b.ID, "x"})
	must(t, err)
	if !slices.Equal(dropped, []engine.AttemptID{a.ID}) {
		t.Fatalf("%v", dropped)
	}
	if name, err := w.pg.Recordings.CarriedBy(w.ctx, b.ID); name != "" || err != nil {
		t.Fatalf("carried by %q, and there is no cluster: %v", name, err)
	}
	events, _, err := w.pg.Lists.Activity(
		w.ctx,
		"",
		[]journal.Type{journal.RecordingDeleted},
		campaign.Page{Number: 1, Size: 1},
	)
	must(t, err)
	if len(events) != 1 || events[0].Data.Reason != string(a.ID) || *events[0].Data.Who != admin {
		t.Fatalf("%+v", events)
	}
}

func recordingsHashed(t *testing.T, w *world) {
	list := w.pg.Recordings
	a, b := w.recorded(time.Hour), w.recorded(time.Hour)
	unhashed := func() (n int) {
		t.Helper()
		var last recordings.KeptRecording
		for { // one at a time
			page, err := list.UnhashedRecordings(w.ctx, last, 1)
			must(t, err)
			if len(page) == 0 {
				return n
			}
			if last = page[0]; last.Attempt == a.ID || last.Attempt == b.ID {
				n++
			}
		}
	}
	said := func(id engine.CampaignID, ended time.Time) map[engine.AttemptID]string {
		t.Helper()
		out := map[engine.AttemptID]string{}
		must(t, list.HashFindings(w.ctx, id, 0, ended, func(f recordings.HashFinding) { out[f.Attempt] = f.What }))
		return out
	}
	later := w.now.Add(time.Minute)
	if n := unhashed(); n != 2 {
		t.Fatalf("%d of two have no hash", n)
	}
	if len(said(w.c.ID, later)) != 2 || len(said(w.c.ID, w.now.Add(-time.Minute))) != 0 {
		t.Fatal("a call that ended has no hash, and one that has just ended may have none yet")
	}
	stranger := engine.AttemptID(id())
	first, second := recordings.Hash{1}, recordings.Hash{2}
	absent, err := list.RecordingsHashed(w.ctx, map[engine.AttemptID]recordings.Hash{a.ID: first, stranger: second})
	if must(t, err); !slices.Equal(absent, []engine.AttemptID{stranger}) {
		t.Fatalf("%v have no row", absent)
	}
	_, err = list.RecordingsHashed(w.ctx, map[engine.AttemptID]recordings.Hash{a.ID: second, b.ID: second})
	must(t, err)
	kept, err := list.HashedRecordings(w.ctx, w.c.ID, w.c.Run, recordings.KeptRecording{}, 10)
	must(t, err)
	got := map[engine.AttemptID]recordings.Hash{}
	for _, h := range kept {
		got[h.Attempt] = h.SHA256
	}
	if len(got) != 2 || got[a.ID] != first || got[b.ID] != second || unhashed() != 0 || len(said("", later)) != 0 {
		t.Fatalf("%v, and %v", got, said("", later))
	}

	// A person is forgotten: the row says so, the hash stays.
	must(t, list.NoteRecordingDeleted(w.ctx, b.ID, admin))
	if len(said("", later)) != 0 {
		t.Fatalf("%v", said("", later))
	}
}

func recordingsExpire(t *testing.T, w *world) {
	const day = 24 * time.Hour
	mine := map[engine.AttemptID]bool{}
	kept := func(days int, ago time.Duration) attempt.Attempt {
		w.c = w.campaign(func(c *campaign.Campaign) { c.Settings.RecordingRetentionDays = days })
		a := w.recorded(ago)
		mine[a.ID] = true
		return a
	}
	young, old := kept(7, 7*day-time.Minute), kept(7, 7*day)
	standard, older := kept(0, 29*day), kept(0, 31*day)
	expired := func(now time.Time) (ids []engine.AttemptID) {
		t.Helper()
		var last recordings.KeptRecording
		for { // one at a time
			list, err := w.pg.Recordings.ExpiredRecordings(w.ctx, now, last, 1)
			must(t, err)
			if len(list) == 0 {
				return ids
			}
			if last = list[0]; mine[last.Attempt] {
				ids = append(ids, last.Attempt)
			}
		}
	}
	if got := expired(w.now); !slices.Equal(got, []engine.AttemptID{older.ID, old.ID}) {
		t.Fatalf("%v have expired, want %v", got, []engine.AttemptID{older.ID, old.ID})
	}
	must(t, w.pg.Recordings.RecordingsDeleted(w.ctx, []engine.AttemptID{older.ID, old.ID}, w.now))
	if at := w.kept(old.ID).DeletedAt; at == nil || !at.Equal(w.now) {
		t.Fatalf("deleted at %v", at)
	}
	if got := expired(w.now.Add(2 * day)); !slices.Equal(got, []engine.AttemptID{standard.ID, young.ID}) {
		t.Fatalf("%v have expired two days later", got)
	}
}
