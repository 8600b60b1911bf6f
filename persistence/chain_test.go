package persistence_test

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/evidence"
	"dialler/engine/journal"
	"dialler/engine/seal"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

// writeHistory creates a campaign whose events are written in every way: with a group commit, with
// contacts, by a sweep and between runs, and beside it events of no campaign. It has three
// contacts, and with again a second run.
func writeHistory(t *testing.T, s *persistence.Store, id engine.CampaignID, again bool) {
	t.Helper()
	ctx, who := t.Context(), engine.Who{Name: "ada@example.org"}
	now := time.Now().UTC().Truncate(time.Microsecond)
	seq := int64(0)
	event := func(kind journal.Type, run int, d journal.Data) journal.Event {
		seq++
		return journal.Event{Campaign: id, Seq: seq, Run: run, At: now.Add(time.Duration(seq) * time.Second), Type: kind,
			Version: 1, Data: d}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	commit := func(writes ...journal.Write) {
		t.Helper()
		for range 2 { // the second time is a repeat
			refused, err := s.Commit(ctx, writes)
			must(err)
			for _, err := range refused {
				must(err)
			}
		}
	}
	settings := campaign.Settings{Name: "<Ümläut> & \"quotes\" \u2028", MaxAttempts: 3}
	must(s.InsertCampaign(ctx, campaign.Campaign{ID: id, State: campaign.Running, Run: 1, CreatedAt: now,
		Settings: settings},
		event(journal.CampaignCreated, 1, journal.Data{Who: &who, Settings: &settings})))
	c, err := s.AcquireCampaign(ctx, id)
	must(err)
	fresh := contact.Fresh(3)
	add := journal.ContactInsert{Campaign: id, Epoch: c.Epoch, Run: 1, Source: "csv", Max: 3, At: now,
		DueClass: contact.DueFirst,
		Event:    event(journal.ContactsAdded, 1, journal.Data{After: &fresh})}
	var contacts []contact.Contact
	for i := range 3 {
		n := engine.ContactID(string("abc"[i]) + string(id[len(id)-1]) + "23456789abcdef0123456789abcdef")
		add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: n, NewContact: campaign.NewContact{
			Number: engine.PhoneNumber("+4915112345" + string(id[len(id)-1]) + string("123"[i]) + "0")}})
	}
	_, err = s.AddContacts(ctx, add)
	must(err)
	for _, a := range add.Contacts {
		c, ok, err := s.ContactByID(ctx, a.ID)
		if must(err); !ok {
			t.Fatal("no contact")
		}
		contacts = append(contacts, c)
	}
	// One of them is called and reached, another abandoned.
	for i, outcome := range []engine.Outcome{engine.OutcomeConnectedNoResult, engine.OutcomeAbandoned} {
		k, at := contacts[i], now.Add(time.Minute)
		a := attempt.Attempt{ID: engine.AttemptID("d" + string(k.ID[1:])), Campaign: id, Contact: k.ID, Run: 1, Pass: 1,
			Number: 1, Bot: "bot", To: k.Number,
			From: "+4930111222", Trunk: "t1", Epoch: c.Epoch, SendBy: at, State: attempt.Reserved, ReservedAt: &at}
		a.ID = a.ID[:30] + engine.AttemptID("0"+string("123"[i]))
		before := k.Facts()
		k.Attempt, k.DueAt = a.ID, nil
		k.Version++
		after := k.Facts()
		e := event(journal.AttemptReserved, 1, journal.Data{Before: &before, After: &after, Pass: 1, Number: 1, Trunk: "t1",
			Leg: a.ID.Leg(1)})
		e.Contact, e.Attempt, e.At = k.ID, a.ID, at
		commit(journal.Write{Campaign: id, Epoch: c.Epoch, Contacts: []contact.Contact{k}, Attempts: []attempt.Attempt{a},
			Intent: &journal.Intent{Attempt: a.ID, Number: k.Number}, Events: []journal.Event{e}})
		answered, ended := at.Add(time.Second), at.Add(11*time.Second)
		a.State, a.Consumed, a.AnsweredAt, a.EndedAt, a.Outcome, a.InviteAt =
			attempt.Ended, true, &answered, &ended, outcome, &at
		d := journal.Data{Before: &after, Outcome: outcome, Consumed: true, Answered: true, Pass: 1, Number: 1, Trunk: "t1",
			ReservedAt: &at}
		e = event(journal.AttemptAnswered, 1, journal.Data{Trunk: "t1", Number: 1, RingMS: 1000})
		e.Contact, e.Attempt = k.ID, a.ID
		events := []journal.Event{e}
		live := after
		k.Attempt, k.Used, k.LastOutcome = "", 1, outcome
		if outcome == engine.OutcomeAbandoned {
			a.Cause, d.Cause = engine.AbandonNoSeat, engine.AbandonNoSeat
			k.State, k.AbandonedAt = contact.Abandoned, &ended
		} else {
			a.ServedAt, a.BotConnectedAt = &answered, &answered
			d.Connected, d.TalkMS = true, 10_000
			k.State, k.ConnectedOnce = contact.Connected, true
			e := event(journal.AttemptConnected, 1, journal.Data{Pass: 1})
			e.Contact, e.Attempt = k.ID, a.ID
			events = append(events, e)
		}
		k.Version++
		gone := k.Facts()
		d.Before, d.After = &live, &gone
		e = event(journal.AttemptEnded, 1, d)
		e.Contact, e.Attempt = k.ID, a.ID
		commit(journal.Write{Campaign: id, Epoch: c.Epoch, Contacts: []contact.Contact{k}, Attempts: []attempt.Attempt{a},
			Events: append(events, e),
			Holds:  []journal.HoldRelease{{Attempt: a.ID, Number: k.Number}}},
			journal.Write{Events: []journal.Event{{At: at, Type: journal.AttemptAnswered, Version: 1,
				Attempt: a.ID}}}) // one of no campaign beside it
	}
	c.Seq = seq + 2
	stopped := event(journal.CampaignStopped, 1, journal.Data{Who: &who, Reason: "manually_stopped"})
	closed := event(journal.ContactsClosed, 1, journal.Data{})
	c.State = campaign.Completed
	commit(journal.Write{Campaign: id, Epoch: c.Epoch, CampaignRow: &c, Events: []journal.Event{stopped},
		Bulk: &journal.Bulk{To: contact.ManuallyStopped, Sweep: journal.Sweep{At: closed.At, Event: closed}}})
	if !again {
		return
	}
	c.Run, c.State = 2, campaign.Draft
	restarted, reset := event(journal.CampaignRestarted, 2, journal.Data{Who: &who}), event(journal.ContactsReset, 2,
		journal.Data{})
	c.Seq = seq
	commit(journal.Write{Campaign: id, Epoch: c.Epoch, CampaignRow: &c, Events: []journal.Event{restarted}})
	must(s.ResetContacts(ctx, id, 2, false, reset.At, reset))
	_, err = s.PutTrunk(ctx, engine.TrunkSettings{ID: "t1", Host: "carrier.example"}, false, who)
	must(err)
	_, err = s.Suppress(ctx, []engine.PhoneNumber{"+4915199999999"}, "import", who)
	must(err)
	_, err = s.CloneCampaign(ctx, campaign.Clone{Campaign: id, Who: who}, id+"_copy", now)
	must(err)
}

// audits returns the audits of all campaigns and of events that belong to none, and all their
// findings as text.
func audits(t *testing.T, s *persistence.Store) (list []history.Audit, text string) {
	t.Helper()
	campaigns, err := s.Records.Campaigns(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range campaigns {
		a, err := s.Records.Audit(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, a)
	}
	a, err := s.Records.AuditLoose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, a)
	for _, a := range list {
		for _, r := range a.Runs {
			for _, d := range r.Differences {
				text += fmt.Sprintf("%s run %d: %s %s %s\n", a.Campaign, r.Run, d.Figure, d.A, d.B)
			}
		}
		for _, f := range a.Findings {
			text += fmt.Sprintf("%s %s\n", a.Campaign, f)
		}
	}
	return list, text
}

func TestEveryEventIsInItsChain(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	writeHistory(t, s, "cmp_1", true)
	list, wrong := audits(t, s)
	if wrong != "" {
		t.Error(wrong)
	}
	events, heads := 0, 0
	for _, a := range list {
		events += a.Events
		heads += len(a.Heads)
		if a.Unchained != 0 || a.Batches == 0 || a.Events == 0 {
			t.Errorf("%+v", a)
		}
	}
	var n int
	if err := s.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE length(digest) = 32", &n); err != nil ||
		n != events {
		t.Errorf("%d of %d events have a digest: %v", n, events, err)
	}
	if heads < 4 { // two runs, the copy's, and at least one of no campaign
		t.Errorf("%d heads", heads)
	}
}

// Events from before chaining are reported, but are no fault.
func TestAHistoryOlderThanTheChainIsNoFault(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	writeHistory(t, s, "cmp_1", false)
	run(t, url, "UPDATE events SET digest = NULL; DELETE FROM event_heads; DELETE FROM event_batches; UPDATE "+
		"goose_db_version SET tstamp = now() + interval '1 hour'")
	now := time.Now()
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, Events: []journal.Event{
		{Campaign: c.ID, Seq: c.Seq + 1, Run: 1, At: now, Type: journal.CampaignEdited, Version: 1}}}})
	if err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	list, wrong := audits(t, s)
	if wrong != "" || list[0].Unchained != list[0].Events-1 || list[0].Batches != 1 ||
		list[1].Unchained != list[1].Events || list[1].Events == 0 {
		t.Errorf("%s%+v", wrong, list)
	}
}

// tamper is one way to change stored data: a random row that $1 picks.
type tamper struct {
	what string
	sql  string // with RETURNING of what the audit must name
}

func tampers() (list []tamper) {
	pick := func(table, where string) string {
		return " WHERE (tableoid, ctid) = (SELECT tableoid, ctid FROM " + table + " WHERE " + where +
			" ORDER BY md5(ctid::text || $1) LIMIT 1) "
	}
	add := func(table, where, names string, sets ...string) {
		for _, set := range sets {
			list = append(list, tamper{table + ": " + set, "UPDATE " + table + " SET " + set + pick(table, where) +
				"RETURNING " + names})
		}
		list = append(list, tamper{table + ": deleted", "DELETE FROM " + table + pick(table, where) + "RETURNING " + names})
	}
	events := []string{"run = run + 1", "at = at + interval '1 microsecond'", "type = type || 'x'", "version = 2",
		"contact_id = gen_random_uuid()", "attempt_id = gen_random_uuid()",
		"leg = leg + 1", "activity = NOT activity", "data = data || '{\"x\": 1}'", "digest = NULL", "digest = sha256(digest)",
		"campaign_id = 'cmp_other'"}
	add("events", "seq > 0", "'seq ' || seq", events...)
	add("events", "seq = 0", "CASE WHEN digest IS NULL THEN 'no batch' ELSE '' END", events...)
	list = append(list,
		tamper{"events: another number", "UPDATE events SET seq = seq + 1000" + pick("events", "seq > 0") +
			"RETURNING 'seq ' || seq - 1000"},
		tamper{"events: two swapped",
			`WITH two AS (SELECT campaign_id, min(seq) AS a, min(seq) + 1 AS b FROM events
				WHERE campaign_id = 'cmp_1' AND run = 1 GROUP BY 1)
			UPDATE events e SET data = o.data, type = o.type, at = o.at, contact_id = o.contact_id,
				attempt_id = o.attempt_id, activity = o.activity
			FROM two t, events o WHERE e.campaign_id = t.campaign_id AND o.campaign_id = t.campaign_id
				AND (e.seq, o.seq) IN ((t.a, t.b), (t.b, t.a)) RETURNING 'seq ' || e.seq || $1::text || ''`})
	for _, x := range []string{"NULL", "digest", "sha256(digest)"} {
		list = append(list, tamper{"events: one added with digest " + x,
			`INSERT INTO events (campaign_id, seq, run, at, type, version, leg, activity, data, digest)
			SELECT campaign_id, seq + 1000, run, at, type, version, leg, activity, data, ` + x +
				" FROM events WHERE seq > 0 ORDER BY md5(ctid::text || $1) LIMIT 1 RETURNING 'seq ' || seq"},
			tamper{"events: one added again with digest " + x,
				`INSERT INTO events (campaign_id, seq, run, at, type, version, leg, activity, data, digest)
			SELECT campaign_id, seq, run, at + interval '1 hour', type, version, leg, activity, data, ` + x +
					" FROM events WHERE seq > 0 ORDER BY md5(ctid::text || $1) LIMIT 1 RETURNING 'seq ' || seq"},
			tamper{"events: one of no campaign added with digest " + x,
				`INSERT INTO events (campaign_id, seq, run, at, type, version, leg, activity, data, digest)
			SELECT campaign_id, seq, run, at + interval '1 second', type, version, leg, activity, data, ` + x +
					" FROM events WHERE seq = 0 ORDER BY md5(ctid::text || $1) LIMIT 1 RETURNING type"})
	}
	add("event_batches", "campaign_id <> ''", "'run ' || run", "n = n + 1000", "hash = sha256(hash)", "run = run + 1000",
		"seqs = seqs || 999::bigint", "seqs = NULL, hash = sha256(hash)", "campaign_id = 'cmp_other'")
	add("event_batches", "campaign_id = ''", "'run ' || run", "n = n + 1000", "hash = sha256(hash)", "run = run + 1000",
		"digests = substr(digests, 2)", "campaign_id = 'cmp_other'")
	add("event_heads", "true", "'run ' || run", "n = n + 1", "hash = sha256(hash)", "run = run + 1000")
	id := "replace(id::text, '-', '')"
	add("attempts", "true", id, "outcome = 'busy'", "cause = cause || 'x'", "consumed = NOT consumed",
		"answered_at = NULL", "served_at = CASE WHEN served_at IS NULL THEN now() END",
		"pass = pass + 1", "number = 7", "trunk = 't9'", "sip_code = 503", "verdict = 'machine'",
		"reserved_at = reserved_at + interval '1 second'", "run = run + 5",
		"ended_at = ended_at + interval '1 minute', bot_connected_at = coalesce(bot_connected_at, ended_at), served_at = "+
			"coalesce(served_at, ended_at)", "result = '{}'", "live = true", "id = gen_random_uuid()",
		"campaign_id = 'cmp_other'")
	// A contact that no event is about shows only in the figures.
	figure := "campaign_id || ' '"
	add("contacts", "true", figure, "state = 'failed'", "used = used + 1, state = 'pending'",
		"max = max + 1, state = 'pending'", "connected_once = NOT connected_once", "has_result = NOT has_result",
		"rang_unanswered = NOT rang_unanswered", "callback = 'pending'", "run = run + 5")
	add("contacts", "true", "'total'", "campaign_id = 'cmp_3'")
	return append(list, tamper{"contacts: one added",
		`INSERT INTO contacts (id, campaign_id, number, position, source, run, state, created_at, updated_at, version)
		SELECT gen_random_uuid(), campaign_id, '+4915177777777', position, source, run, state, created_at, updated_at, 1
		FROM contacts ORDER BY md5(ctid::text || $1) LIMIT 1 RETURNING ` + figure},
		tamper{"attempts: one added",
			`INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid()))).*
			FROM attempts a ORDER BY md5(a.ctid::text || $1) LIMIT 1 RETURNING ` + id})
}

// Whichever row is changed, removed or added, the audit finds it and says where.
func TestTamperingIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	writeHistory(t, s, "cmp_1", true)
	writeHistory(t, s, "cmp_2", false)
	if _, wrong := audits(t, s); wrong != "" {
		t.Fatal(wrong)
	}
	tables := []string{"events", "event_batches", "event_heads", "attempts", "contacts"}
	save, restore := "", ""
	for _, x := range tables {
		save += "CREATE TABLE kept_" + x + " AS SELECT * FROM " + x + ";"
		restore += "DELETE FROM " + x + "; INSERT INTO " + x + " SELECT * FROM kept_" + x + ";"
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	exec := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(save)
	seed := strconv.FormatInt(time.Now().UnixNano(), 36)
	t.Log("seed", seed)
	for _, x := range tampers() {
		var name string
		if err := conn.QueryRow(t.Context(), x.sql, seed).Scan(&name); err != nil {
			t.Fatalf("%s: %v", x.what, err)
		}
		_, wrong := audits(t, s)
		name = strings.TrimSuffix(name, seed)
		if wrong == "" || !strings.Contains(wrong, name) {
			t.Errorf("%s: %q is not named in\n%s", x.what, name, wrong)
		}
		// Nothing is signed as whole that the audit of its campaign finds.
		if said := exported(t, s); strings.Contains(wrong, "cmp_") && !strings.Contains(said, name) {
			t.Errorf("%s: no record names %q:\n%s\nthough\n%s", x.what, name, said, wrong)
		}
		exec(restore)
	}
	if _, wrong := audits(t, s); wrong != "" {
		t.Fatal(wrong)
	}
}

// exported makes the record of every run and returns what is wrong with them, refusals included.
func exported(t *testing.T, s *persistence.Store) (wrong string) {
	t.Helper()
	key := seal.NewKey(make([]byte, seal.SeedSize))
	trusted := key.Public()
	campaigns, _, err := s.Campaigns(t.Context(), campaign.Page{Number: 1, Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	for i := range campaigns {
		for run := 1; run <= campaigns[i].Run; run++ {
			var out bytes.Buffer
			w := evidence.NewWriter(&out, evidence.Manifest{Run: run}, key)
			err := s.Records.Evidence(t.Context(), campaigns[i].ID, run, w, trusted)
			if err == nil {
				_, err = w.End()
			}
			var v evidence.Verdict
			if err == nil {
				v, err = evidence.Verify(bytes.NewReader(out.Bytes()), int64(out.Len()), &trusted)
			}
			if err != nil {
				wrong += err.Error() + "\n"
			}
			for _, w := range v.Wrong {
				wrong += fmt.Sprintf("%s %s\n", campaigns[i].ID, w)
			}
		}
	}
	return wrong
}

// The record of a run is returned whole, or refused with a reason.
func TestARecordIsOfARunThatIsStillThere(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	writeHistory(t, s, "cmp_1", true)
	key := seal.NewKey(make([]byte, seal.SeedSize))
	record := func(run int) (evidence.Verdict, error) {
		t.Helper()
		var out bytes.Buffer
		w := evidence.NewWriter(&out, evidence.Manifest{Run: run}, key)
		if err := s.Records.Evidence(t.Context(), "cmp_1", run, w); err != nil {
			return evidence.Verdict{}, err
		}
		if _, err := w.End(); err != nil {
			t.Fatal(err)
		}
		v, err := evidence.Verify(bytes.NewReader(out.Bytes()), int64(out.Len()), nil)
		if err != nil || len(v.Wrong) > 0 {
			t.Errorf("run %d: %v %v", run, v.Wrong, err)
		}
		return v, nil
	}
	if v, err := record(1); err != nil || v.Manifest.Attempts != 2 || v.Manifest.Served != 1 ||
		v.Manifest.Abandoned != 1 || v.Manifest.Causes["no_seat"] != 1 {
		t.Errorf("%+v %v", v.Manifest, err)
	}
	if v, err := record(2); err != nil || v.Manifest.Attempts != 0 || v.Manifest.Batches != 2 {
		t.Errorf("%+v %v", v.Manifest, err)
	}
	run(t, url, "INSERT INTO run_checkpoints (campaign_id, run, counters, at, attempts_gone) VALUES ('cmp_1', 1, '{}', "+
		"now(), true)")
	for n, code := range map[int]string{1: "record_dropped", 3: "run_not_found", 0: "run_not_found", -1: "run_not_found"} {
		if _, err := record(n); engine.ErrorCode(err) != code {
			t.Errorf("run %d: %v, want %s", n, err, code)
		}
		if err := s.Records.RecordOf(t.Context(), "cmp_1", n); engine.ErrorCode(err) != code {
			t.Errorf("run %d: %v, want %s", n, err, code)
		}
	}
	if err := s.Records.RecordOf(t.Context(), "cmp_nobody", 1); engine.ErrorCode(err) != "campaign_not_found" {
		t.Error(err)
	}
}

// Groups of events that are new or partly repeated, of one run or of many, together with events of
// no campaign: each event is in its chain once.
func TestARepeatAmongNewEventsIsChainedOnce(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t)
	now := time.Now().UTC().Truncate(time.Microsecond)
	const campaigns = 6
	var epochs [campaigns]int64
	id := func(i int) engine.CampaignID { return engine.CampaignID(fmt.Sprintf("cmp_%d", i)) }
	for i := range campaigns {
		if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: id(i), State: campaign.Running, Run: 1,
			CreatedAt: now}); err != nil {
			t.Fatal(err)
		}
		c, err := s.AcquireCampaign(t.Context(), id(i))
		if err != nil {
			t.Fatal(err)
		}
		epochs[i] = c.Epoch
	}
	write := func(i int, seq ...int64) journal.Write {
		w := journal.Write{Campaign: id(i), Epoch: epochs[i]}
		for _, n := range seq {
			w.Events = append(w.Events, journal.Event{Campaign: id(i), Seq: n, Run: 1,
				At: now.Add(time.Duration(n) * time.Second), Type: journal.CampaignEdited, Version: 1})
		}
		return w
	}
	loose := journal.Write{Events: []journal.Event{{At: now, Type: journal.AttemptAnswered, Version: 1,
		Attempt: "0123456789abcdef0123456789abcdef"}}}
	var all []journal.Write
	for i := range campaigns {
		all = append(all, write(i, 4))
	}
	for _, group := range [][]journal.Write{
		{write(0, 1)}, {write(0, 1), write(0, 2)}, {write(0, 3, 2), write(1, 2, 1)}, {write(1, 1), write(1, 3),
			write(1, 3)}, {loose, write(2, 1)}, {loose}, all, all,
	} {
		refused, err := s.Commit(t.Context(), group)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range refused {
			if err != nil {
				t.Error(err)
			}
		}
	}
	list, wrong := audits(t, s)
	if wrong != "" {
		t.Error(wrong)
	}
	events := 0
	for _, a := range list {
		events += a.Events
	}
	if events != 3+3+1+1+campaigns { // of the first, the second, the third, of none, of all
		t.Errorf("%d events are in chains", events)
	}
}
