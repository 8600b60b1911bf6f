package persistence_test

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/seal"
	"dialler/engine/tally"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

const day = 24 * time.Hour

// keeper signs the checkpoints of runs.
var keeper = seal.NewKey(make([]byte, seal.SeedSize))

// finish completes the caller's campaign; an event first names who stopped it.
func (w *caller) finish() {
	w.t.Helper()
	c := w.c
	c.State, c.CompletedAt, c.EverRun, c.Seq = campaign.Completed, &w.now, true, w.seq
	who := &engine.Who{User: "u1", Name: "ada@example.org"}
	w.seq++
	refused, err := w.store.Commit(w.t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, CampaignRow: &c,
		Events: []journal.Event{{Campaign: c.ID, Seq: w.seq, Run: 1, At: w.now, Type: journal.CampaignStopped, Version: 1,
			Data: journal.Data{Who: who}}}}})
	if err != nil || refused[0] != nil {
		w.t.Fatal(err, refused)
	}
}

func (w *caller) counters() campaign.Counters {
	w.t.Helper()
	c, err := w.store.Counters(w.t.Context(), w.c.ID, 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *caller) audited(when string) {
	w.t.Helper()
	a, err := w.store.Records.Audit(w.t.Context(), w.c.ID, keeper.Public())
	if err != nil || len(a.Runs) != 1 || a.Wrong() > 0 {
		w.t.Errorf("audit of %s %s: %+v, %v", w.c.ID, when, a, err)
	}
}

func TestWhatHasServedItsTimeIsDroppedAndItsRunsStillAddUp(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 2})
	run(t, url, "UPDATE goose_db_version SET tstamp = now() - interval '1 year'") // all events are chained
	ctx, now := t.Context(), time.Now().UTC()
	past := now.Add(-200 * day)
	if err := s.Maintain(ctx, past); err != nil { // the partitions of that time
		t.Fatal(err)
	}
	closed, open := newCaller(t, s, "cmp_closed", past), newCaller(t, s, "cmp_open", past)
	recent := newCaller(t, s, "cmp_recent", now.Add(-50*day))
	for i, w := range []*caller{closed, open, recent} {
		w.n = 100 * i // of other numbers
		for range 3 {
			if err := w.call(); err != nil {
				t.Fatal(err)
			}
		}
	}
	// Events that belong to no campaign have chains of their own.
	for _, at := range []time.Time{past, now} {
		if _, err := s.Commit(ctx, []journal.Write{{Events: []journal.Event{
			{At: at, Type: journal.SuppressionAdded, Version: 1, Data: journal.Data{Who: &engine.System, Count: 1}},
			{At: at, Type: journal.AttemptEnded, Version: 1, Attempt: engine.AttemptID(storetest.RandomID())}}}}); err != nil {
			t.Fatal(err)
		}
	}
	closed.finish()
	recent.finish()
	before := map[*caller]campaign.Counters{}
	for _, w := range []*caller{closed, open, recent} {
		before[w] = w.counters()
		w.audited("before")
	}
	count := func(from string) (n int) {
		t.Helper()
		if err := s.QueryRow(ctx, "SELECT count(*) FROM "+from, &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	keep := history.Keep{Attempts: 100 * day, Events: 100 * day, Ladders: 14 * day, Key: &keeper}
	retain := func(attempts int, partitions ...string) {
		t.Helper()
		d, err := s.Records.Retain(ctx, now, keep)
		if err != nil || d.Attempts != attempts || !slices.Equal(d.Partitions, partitions) {
			t.Errorf("dropped %+v, want %d attempts and %v: %v", d, attempts, partitions, err)
		}
		for w, was := range before {
			if diff := tally.Compare(was, w.counters()); len(diff) > 0 {
				t.Errorf("%s: %+v", w.c.ID, diff)
			}
			w.audited("after")
		}
		if a, err := s.Records.AuditLoose(ctx, keeper.Public()); err != nil || a.Wrong() > 0 {
			t.Errorf("audit of what belongs to no campaign: %+v, %v", a, err)
		}
	}
	if d, err := s.Records.Retain(ctx, now, history.Keep{}); err != nil ||
		d.Attempts+d.Runs+d.Ladders+len(d.Partitions) > 0 {
		t.Errorf("what is kept forever is dropped: %+v, %v", d, err)
	}
	month := "events_" + past.Format("200601")
	other := "events_" + past.AddDate(0, 0, 1-past.Day()).AddDate(0, 1, 0).Format("200601")
	third := "events_" + past.AddDate(0, 0, 1-past.Day()).AddDate(0, 2, 0).Format("200601")
	// The calls of the finished run are dropped; its events stay with their month, which also has
	// events of an open run.
	retain(3, other, third)
	if n, m := count("attempts WHERE campaign_id = 'cmp_closed'"), count("legs"); n != 0 || m != 6 {
		t.Errorf("%d attempts and %d legs are left", n, m)
	}
	retain(0)

	open.finish()
	retain(3, month)
	if n := count("events WHERE campaign_id IN ('cmp_closed', 'cmp_open') AND NOT activity"); n != 0 {
		t.Errorf("%d events are left", n)
	}
	if n := count("events WHERE campaign_id IN ('cmp_closed', 'cmp_open') AND activity"); n != 2 {
		t.Errorf("%d of 2 events of what somebody did are left", n)
	}
	if n := count("events WHERE seq = 0 AND type = 'suppression.added' AND digest IS NOT NULL"); n != 2 {
		t.Errorf("%d of 2 chained events of what somebody did outside campaigns are left", n)
	}
	if n := count("event_heads WHERE campaign_id IN ('cmp_closed', 'cmp_open') AND run > 0"); n != 0 {
		t.Errorf("%d chains have no events", n)
	}
	if n := count("run_checkpoints WHERE attempts_gone AND events_gone AND batches > 0 AND hash IS NOT NULL " +
		"AND seq > 0"); n != 2 {
		t.Errorf("%d of 2 checkpoints", n)
	}
	if n := count("attempts WHERE campaign_id = 'cmp_recent'"); n != 3 {
		t.Errorf("%d of 3 attempts of a recent run are left", n)
	}
	retain(0)
}

func TestATamperedCheckpointIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 2})
	run(t, url, "UPDATE goose_db_version SET tstamp = now() - interval '1 year'") // everything is chained and signed
	ctx, now := t.Context(), time.Now().UTC()
	past := now.Add(-200 * day)
	if err := s.Maintain(ctx, past); err != nil { // the partitions of that time
		t.Fatal(err)
	}
	w := newCaller(t, s, "cmp_kept", past)
	if err := w.call(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, []journal.Write{{Events: []journal.Event{
		{At: past, Type: journal.AttemptEnded, Version: 1, Attempt: engine.AttemptID(storetest.RandomID())}}}}); err != nil {
		t.Fatal(err)
	}
	w.finish()
	if _, err := s.Records.Retain(ctx, now, history.Keep{Attempts: 100 * day}); engine.ErrorCode(
		err,
	) != "signing_key_missing" {
		t.Errorf("without a key: %v", err)
	}
	keep := history.Keep{Attempts: 100 * day, Key: &keeper}
	if d, err := s.Records.Retain(ctx, now, keep); err != nil || d.Attempts != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	keep.Events = 100 * day

	// A checkpoint that was tampered with is found, and not signed again.
	run(t, url, "CREATE TABLE genuine AS SELECT * FROM run_checkpoints")
	genuine := func() {
		run(t, url, "DELETE FROM run_checkpoints")
		run(t, url, "INSERT INTO run_checkpoints SELECT * FROM genuine")
	}
	findings := func(trusted ...seal.Public) (list []history.Finding) {
		t.Helper()
		a, err := s.Records.Audit(ctx, "cmp_kept", trusted...)
		if err != nil {
			t.Fatal(err)
		}
		loose, err := s.Records.AuditLoose(ctx, trusted...)
		if err != nil || len(a.Unsigned)+len(loose.Unsigned) > 0 {
			t.Fatal(a.Unsigned, loose.Unsigned, err)
		}
		for _, f := range append(a.Findings, loose.Findings...) {
			if strings.Contains(f.What, "checkpoint") {
				list = append(list, f)
			}
		}
		return list
	}
	f := func(sql string, number int, says string) {
		t.Helper()
		genuine()
		run(t, url, "UPDATE run_checkpoints SET "+sql)
		list := findings(keeper.Public())
		if len(list) != 1 || list[0].Run != number || !strings.Contains(list[0].What, says) {
			t.Errorf("%s: %v", sql, list)
		}
	}
	sealed := func(name string, number int, says string) {
		t.Helper()
		if list := findings(keeper.Public()); len(list) > 0 {
			t.Errorf("as it was signed: %v", list)
		}
		of := " WHERE campaign_id = '" + name + "'"
		f("seq = seq + 1"+of, number, says)
		f("batches = batches - 1"+of, number, says)
		f("at = at - interval '1 s'"+of, number, says)
		f("hash = sha256(hash)"+of, number, says)
		f("attempts_gone = NOT attempts_gone"+of, number, says)
		f("counters = counters || '{\"talk_ms\": 1}'"+of, number, says)
		f("signature = sha512(signature)"+of, number, says)
		f("signature = NULL, signed_by = NULL"+of, number, "no signature")
		f("signed_by = repeat('0', 64)"+of, number, "not trusted")
		genuine()
		run(t, url, "UPDATE run_checkpoints SET signature = NULL, signed_by = NULL, at = now() - interval '2 years'"+of)
		a, err := s.Records.Audit(ctx, engine.CampaignID("cmp_kept"), keeper.Public())
		loose, err2 := s.Records.AuditLoose(ctx, keeper.Public())
		if got := append(a.Unsigned, loose.Unsigned...); err != nil || err2 != nil || !slices.Equal(got, []int{number}) {
			t.Errorf("one from before there were signatures: %v %v %v", got, err, err2)
		}
		genuine()
	}
	sealed("cmp_kept", 1, "what was kept of the run was changed")
	if list := findings(seal.NewKey(bytes.Repeat([]byte{1}, seal.SeedSize)).Public()); len(list) != 1 ||
		!strings.Contains(list[0].What, keeper.Public().Fingerprint()) {
		t.Errorf("with another key: %v", list)
	}
	month := past.Format("200601")
	run(t, url, "UPDATE run_checkpoints SET counters = counters || '{\"talk_ms\": 1}'")
	if d, err := s.Records.Retain(ctx, now, keep); err != nil || slices.Contains(d.Partitions, "events_"+month) {
		t.Errorf("the events that a wrong checkpoint would replace: %+v, %v", d, err)
	}
	genuine()
	if d, err := s.Records.Retain(ctx, now, keep); err != nil || !slices.Contains(d.Partitions, "events_"+month) {
		t.Fatalf("%+v, %v", d, err)
	}
	run(t, url, "DROP TABLE genuine")
	run(t, url, "CREATE TABLE genuine AS SELECT * FROM run_checkpoints")
	sealed("cmp_kept", 1, "what was kept of the run was changed")
	number, _ := strconv.Atoi(month)
	sealed("", number, "what was kept of the month "+past.Format("2006-01")+" was changed")
}
