package storetest

import (
	"context"
	"maps"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// An exclusion that is answered while the rows are inserted applies to them, whether or not
// exclusions are sticky.
func importOvertaken(t *testing.T, w *world, f *Faults) {
	for _, sticky := range []bool{true, false} {
		for _, when := range []string{"before the rows are inserted", "while they are inserted", "at the gate"} {
			rows := w.excluding(sticky)
			rows[8].Number = rows[3].Number // a duplicate of a row that is withdrawn
			imp := w.begin()
			must(t, w.store.StageImport(t.Context(), imp.ID, rows, nil, 10, 0))
			exclude := func() {
				w.commit(w.write(func(x *journal.Write) {
					x.Exclusions = []journal.Exclusion{
						{Campaign: w.c.ID, Number: rows[3].Number, CreatedAt: w.now.Add(time.Second)},
						{Campaign: w.c.ID, Match: map[string]string{"region": "north"}, CreatedAt: w.now.Add(time.Second)},
					}
				}))
			}
			a := w.activation(imp, 10)
			a.Sticky = sticky
			switch when {
			case "before the rows are inserted":
				exclude()
			case "while they are inserted":
				f.Before("the number stands on an earlier line", exclude)
			}
			done, err := w.store.ActivateImport(w.ctx, a, func(ctx context.Context) (journal.Gate, error) {
				if when == "at the gate" {
					exclude()
				}
				return w.open(ctx)
			})
			must(t, err)
			// Lines 3 and 4 by their region, 5 and 10 by the number.
			want := map[int]string{3: "excluded", 4: "excluded", 5: "excluded", 10: "excluded", 8: "suppressed"}
			if sticky {
				want[2], want[9] = "excluded", "excluded"
			}
			got := w.rejected(imp)
			i := done.Import
			if !maps.Equal(got, want) || i.Excluded != len(want) || i.Duplicate != 0 || i.Added != 10-len(want) ||
				len(w.contacts()) != i.Added {
				t.Errorf("sticky %v, %s: rejected %v, want %v; %+v, %d contacts", sticky, when, got, want, i, len(w.contacts()))
			}
			if n := w.count("SELECT count(*) FROM contact_variables v WHERE NOT EXISTS (SELECT FROM contacts c WHERE c.id = " +
				"v.contact_id)"); n != 0 {
				t.Errorf("%d variables of nobody", n)
			}
			if n := w.count("SELECT count(*) FROM import_exclusions"); n != 0 {
				t.Errorf("%d notes on exclusions are left", n)
			}
			must(t, w.store.CloseImport(t.Context(), imp.ID))
		}
	}
}

// until waits until a figure of the database is large enough.
func (w *world) until(what, sql string, least int) {
	w.t.Helper()
	end := time.Now().Add(time.Minute)
	for w.count(sql) < least {
		if time.Now().After(end) {
			w.t.Fatalf("never: %s", what)
		}
	}
}

func importRefused(t *testing.T, w *world) {
	f := func(name, want string, gate func(context.Context) (journal.Gate, error)) {
		t.Helper()
		imp := w.begin()
		must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0))
		if _, err := w.store.ActivateImport(t.Context(), w.activation(imp, 5), gate); code(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		must(t, w.store.FailImport(t.Context(), imp.ID, campaign.ImportProblem{Code: want, Detail: name}, w.now))
		must(t, w.store.CloseImport(t.Context(), imp.ID))
		got, err := w.store.Import(t.Context(), imp.ID)
		must(t, err)
		if got.State != campaign.ImportFailed || got.Added != 0 || got.Problem == nil || got.Problem.Code != want ||
			got.FinishedAt == nil {
			t.Errorf("%s: %+v", name, got)
		}
		if contacts, events, staged := len(w.contacts()), len(w.events()), w.count(
			"SELECT count(*) FROM import_rows"); contacts+events+staged != 0 {
			t.Errorf("%s: %d contacts, %d events, %d staged rows", name, contacts, events, staged)
		}
	}
	f("the owner says no", "contacts_locked", func(context.Context) (journal.Gate, error) {
		return journal.Gate{}, engine.Conflict("contacts_locked", "no")
	})
	f("the owner was replaced", "stale_epoch", func(ctx context.Context) (journal.Gate, error) {
		g, err := w.open(ctx)
		g.Epoch--
		return g, err
	})
	f("another owner takes over at the last moment", "stale_epoch", func(ctx context.Context) (journal.Gate, error) {
		g, err := w.open(ctx)
		if c, acquired := w.store.AcquireCampaign(ctx, w.c.ID); acquired == nil {
			w.c = c
		} else {
			err = acquired
		}
		return g, err
	})
}

func importLost(t *testing.T, w *world) {
	imp := w.begin()
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0))
	if n := w.count(`WITH gone AS (DELETE FROM import_rows WHERE line = 4 RETURNING 1)
		SELECT count(*) FROM gone`); n != 1 {
		t.Fatal("nothing to lose")
	}
	_, err := w.store.ActivateImport(t.Context(), w.activation(imp, 5), w.open)
	if code(err) != "import_lost" || len(w.contacts()) != 0 {
		t.Errorf("%v, %d contacts", err, len(w.contacts()))
	}
}

// While the rows are inserted, and while the owner is asked, no commit has to wait.
func importUnnoticed(t *testing.T, w *world) {
	there := w.contact()
	w.commit(w.write(func(x *journal.Write) { x.Contacts = []contact.Contact{there} }))
	imp := w.begin()
	rows := stagedRows(50)
	must(t, w.store.StageImport(t.Context(), imp.ID, rows, nil, 50, 0))
	want := map[engine.ContactID]bool{there.ID: true}
	for i := range rows {
		want[rows[i].ID] = true
	}
	commits := 0
	gate := func(ctx context.Context) (journal.Gate, error) {
		if len(w.contacts()) != 1 {
			t.Error("rows are visible before the switch")
		}
		short, cancel := context.WithTimeout(ctx, time.Minute) // the activation in turn waits for it
		defer cancel()
		c := there
		x, _ := w.intent(&c)
		row := w.c
		row.Seq = w.seq.Load()
		fresh := w.contact()
		want[fresh.ID] = true
		refused, err := w.store.Commit(short, []journal.Write{x, w.write(func(x *journal.Write) {
			x.CampaignRow = &row
			x.Contacts = []contact.Contact{fresh}
			x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Number: number(), CreatedAt: w.now}}
		})})
		if err != nil || refused[0] != nil || refused[1] != nil {
			t.Errorf("a commit during the activation: %v %v", refused, err)
		}
		commits++
		return w.open(ctx)
	}
	out, err := w.store.ActivateImport(t.Context(), w.activation(imp, 50), gate)
	must(t, err)
	for _, c := range w.contacts() {
		delete(want, c.ID)
	}
	if len(want) > 0 || commits != 1 {
		t.Errorf("%d commits; %d of the file's contacts, rejected: %v; missing of file and commit: %v", commits,
			out.Import.Added, w.rejected(imp), want)
	}
}

func importOrphaned(t *testing.T, w *world) {
	imp := w.begin()
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0))
	other := imp
	other.ID = engine.ImportID(id())
	if err := w.store.BeginImport(t.Context(), other); code(err) != "import_in_progress" {
		t.Errorf("a second import of the campaign: %v", err)
	}
	if n, err := w.pg.CloseOrphanedImports(t.Context(), w.now); n != 0 || err != nil {
		t.Errorf("%d imports taken for orphans, %v", n, err)
	}
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(1)[:0], nil, 5, 0))
	// The process dies: its connection is lost.
	if n := w.count(`SELECT count(pg_terminate_backend(l.pid)) FROM pg_locks l, imports i WHERE l.locktype = 'advisory'
		AND (l.classid::bigint << 32 | l.objid::bigint) =
			hashtextextended(current_schema() || '.import.' || i.id::text, 0)`); n != 1 {
		t.Fatalf("%d connections hold the import", n)
	}
	if err := w.store.StageImport(t.Context(), imp.ID, stagedRows(1), nil, 6, 0); err == nil {
		t.Error("staged without a connection")
	}
	w.until("the lock is free", `SELECT count(*) FROM imports i
		WHERE NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory'
			AND (l.classid::bigint << 32 | l.objid::bigint) =
				hashtextextended(current_schema() || '.import.' || i.id::text, 0))`, 1)
	failed, err := w.pg.CloseOrphanedImports(t.Context(), w.now)
	must(t, err)
	got, err := w.store.Import(t.Context(), imp.ID)
	must(t, err)
	if failed != 1 || got.State != campaign.ImportFailed || got.Problem.Code != "interrupted" ||
		w.count("SELECT count(*) FROM import_rows") != 0 {
		t.Errorf("%d failed, %+v", failed, got)
	}
	if _, err := w.store.ActivateImport(t.Context(), w.activation(imp, 5), w.open); err == nil || len(w.contacts()) != 0 {
		t.Errorf("activated all the same: %v", err)
	}
	must(t, w.store.CloseImport(t.Context(), imp.ID))
	if err := w.store.StageImport(t.Context(), imp.ID, nil, nil, 0, 0); code(err) != "import_gone" {
		t.Errorf("staged into a closed import: %v", err)
	}
	must(t, w.store.BeginImport(t.Context(), other))
	must(t, w.store.CloseImport(t.Context(), other.ID))
}

func importOfNobody(t *testing.T, w *world) {
	imp := campaign.Import{ID: engine.ImportID(id()), Campaign: "cmp_none", CreatedAt: w.now}
	if err := w.store.BeginImport(t.Context(), imp); code(err) != "campaign_not_found" {
		t.Errorf("into no campaign: %v", err)
	}
	if _, err := w.store.Import(t.Context(), imp.ID); code(err) != "import_not_found" {
		t.Errorf("%v", err)
	}
	draft := w.campaign(func(c *campaign.Campaign) { c.State, c.EverRun = campaign.Draft, false })
	w.c = draft
	imp = w.begin()
	must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(5),
		[]campaign.RejectedRow{{Line: 9, Reason: "invalid_number", Message: "m"}}, 6, 1))
	must(t, w.store.RemoveCampaign(t.Context(), draft.ID, engine.System))
	if err := w.store.StageImport(t.Context(), imp.ID, stagedRows(1), nil, 7, 1); code(err) != "import_gone" {
		t.Errorf("into a deleted campaign: %v", err)
	}
	if _, err := w.store.ActivateImport(t.Context(), w.activation(imp, 5), w.open); code(err) != "import_gone" {
		t.Errorf("into a deleted campaign: %v", err)
	}
	if n := w.count("SELECT (SELECT count(*) FROM imports) + (SELECT count(*) FROM import_rows) + (SELECT count(*) " +
		"FROM import_rejected)"); n != 0 {
		t.Errorf("%d rows are left of it", n)
	}
}
