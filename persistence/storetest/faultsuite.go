package storetest

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
)

// RunFaults proves that a group commit can be repeated whatever happened to it. open returns a
// store that uses the given dial function.
func RunFaults(t *testing.T, open func(t testing.TB, cfg persistence.Config) *persistence.Store) {
	for _, fault := range []struct {
		name      string
		fault     Fault
		statement string
		committed bool // if the database is asked for the outcome
	}{
		{"the connection is lost before the group", CutBefore, "begin", false},
		{"the connection is lost while the group is checked", CutAfter, "begin", false},
		{"the connection is lost right before COMMIT", CutBefore, "commit", false},
		{"the connection is lost right after COMMIT was sent", CutAfter, "commit", true},
		{"no answer to COMMIT ever comes", SwallowAnswer, "commit", true},
		{"the server is gone without a word before COMMIT", Blackhole, "commit", false},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			f := &Faults{}
			w := newWorld(t, open(t, persistence.Config{Dial: f.Dial, Writers: 1, Readers: 2}))
			group, c, a := w.mixedGroup()

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			met := f.Arm(fault.fault, fault.statement)
			if fault.fault.silent() {
				go func() { <-met; cancel() }() // nobody waits forever
			}
			_, err := w.store.Commit(ctx, group)
			if err == nil {
				t.Fatal("the fault went unnoticed")
			}
			<-met
			if code(err) == "write_rejected" {
				t.Fatalf("a lost connection is taken for a bad write: %v", err)
			}
			// Repeated until it is answered, as a writer does.
			w.commit(group...)
			once := w.snapshot(c, a)
			if len(once.events) != 3 {
				t.Errorf("%d events", len(once.events))
			}
			w.commit(group...)
			if again := w.snapshot(c, a); !reflect.DeepEqual(again, once) {
				t.Errorf("the repeat changed something:\n%+v\n%+v", again, once)
			}
			// And the call continues.
			end, _ := w.ended(&c, a, engine.OutcomeBusy)
			w.commit(end)
		})
	}

	t.Run("a lost attempt holds its number as long, however the program's clock stands to the database's",
		func(t *testing.T) {
			t.Parallel()
			for _, off := range []time.Duration{-time.Hour, time.Hour} {
				w := newWorld(t, open(t, persistence.Config{Now: func() time.Time { return time.Now().Add(off) }, Writers: 1,
					Readers: 2}))
				w.now = w.now.Add(off)
				held, over := w.contact(), w.contact()
				for c, left := range map[*contact.Contact]time.Duration{&held: 10 * time.Minute, &over: -time.Second} {
					x, a := w.intent(c)
					w.commit(x)
					end, lost := w.ended(c, a, engine.OutcomeLost)
					lost.Legs[0].EndedAt = nil
					end.Attempts = []attempt.Attempt{lost}
					end.Holds[0].Until = w.now.Add(left)
					w.commit(end)
				}
				again, _ := w.intent(&held)
				if err := w.try(again)[0]; !errors.Is(err, journal.ErrNumberHeld) {
					t.Errorf("clock %v off: an intent while the lost attempt's legs may ring: %v", off, err)
				}
				again, _ = w.intent(&over)
				if err := w.try(again)[0]; err != nil {
					t.Errorf("clock %v off: an intent after the hold: %v", off, err)
				}
			}
		})

	t.Run("a database that is away refuses nothing and takes all when it is back", func(t *testing.T) {
		t.Parallel()
		f := &Faults{}
		w := newWorld(t, open(t, persistence.Config{Dial: f.Dial, Writers: 2, Readers: 2}))
		group, c, a := w.mixedGroup()
		f.Down()
		refused, err := w.store.Commit(t.Context(), group)
		if err == nil || refused != nil {
			t.Fatalf("%v %v", refused, err)
		}
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != engine.KindUnavailable {
			t.Errorf("error %v", err)
		}
		if w.pg.Ping(t.Context()) == nil {
			t.Error("the probe does not notice")
		}
		f.Up()
		w.commit(group...)
		must(t, w.pg.Ping(t.Context()))
		if w.snapshot(c, a).attempt.State != attempt.Reserved {
			t.Error("not stored")
		}
	})

	t.Run("adding contacts again after a lost answer adds them once", func(t *testing.T) {
		t.Parallel()
		f := &Faults{}
		w := newWorld(t, open(t, persistence.Config{Dial: f.Dial, Writers: 1, Readers: 2}))
		add := w.insert(20)
		f.ArmText(CutAfter, "commit")
		_, err := w.store.AddContacts(t.Context(), add)
		if err == nil {
			t.Fatal("the fault went unnoticed")
		}
		report, err := w.store.AddContacts(t.Context(), add)
		must(t, err)
		if want := (campaign.AddReport{Added: 20, Total: 20}); report != want {
			t.Errorf("report %+v, want %+v", report, want)
		}
		if n := len(w.events()); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

// RunImportFaults checks what becomes of an import when a fault occurs in the middle of it.
func RunImportFaults(t *testing.T, open func(t testing.TB, cfg persistence.Config) *persistence.Store) {
	t.Run("an exclusion that comes while an import is activated holds for its rows", func(t *testing.T) {
		t.Parallel()
		f := &Faults{}
		importOvertaken(t, newWorld(t, open(t, persistence.Config{Dial: f.Dial})), f)
	})
	for _, fault := range []struct {
		name   string
		fault  Fault
		active bool
	}{
		{"the connection is lost before the switch", CutBefore, false},
		{"the connection is lost right after the switch", CutAfter, true},
		{"no answer to the switch ever comes", SwallowAnswer, true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			f := &Faults{}
			w := newWorld(t, open(t, persistence.Config{Dial: f.Dial, Writers: 1, Readers: 2}))
			imp := w.begin()
			must(t, w.store.StageImport(t.Context(), imp.ID, stagedRows(20), nil, 20, 0))
			met := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := w.store.ActivateImport(ctx, w.activation(imp, 20), func(ctx context.Context) (journal.Gate, error) {
				at := f.ArmText(fault.fault, "commit")
				go func() {
					<-at
					close(met)
					if fault.fault.silent() {
						cancel() // nobody waits forever
					}
				}()
				return w.open(ctx)
			})
			if err == nil {
				t.Fatal("the fault went unnoticed")
			}
			<-met
			must(t, w.store.FailImport(t.Context(), imp.ID, campaign.ImportProblem{Code: "database_error", Detail: "lost"},
				w.now))
			must(t, w.store.CloseImport(t.Context(), imp.ID))
			got, err := w.store.Import(t.Context(), imp.ID)
			must(t, err)
			want, contacts := campaign.ImportFailed, 0
			if fault.active {
				want, contacts = campaign.ImportActive, 20
			}
			if n := len(w.contacts()); got.State != want || n != contacts || len(w.events()) != contacts/20 ||
				got.Added != contacts {
				t.Errorf("%+v, %d contacts, %d events", got, n, len(w.events()))
			}
		})
	}
	t.Run("a database that is away takes no import", func(t *testing.T) {
		t.Parallel()
		f := &Faults{}
		w := newWorld(t, open(t, persistence.Config{Dial: f.Dial, Imports: 1}))
		imp := w.begin()
		other := imp
		other.ID = engine.ImportID(id())
		if err := w.store.BeginImport(t.Context(), other); code(err) != "imports_busy" {
			t.Errorf("more imports than allowed: %v", err)
		}
		f.Down()
		var e *engine.Error
		if err := w.store.StageImport(t.Context(), imp.ID, stagedRows(5), nil, 5, 0); !errors.As(err, &e) ||
			e.Kind != engine.KindUnavailable {
			t.Errorf("staged: %v", err)
		}
		if err := w.store.CloseImport(t.Context(), imp.ID); err == nil {
			t.Error("closed without the database")
		}
		if err := w.store.BeginImport(t.Context(), other); !errors.As(err, &e) || e.Kind != engine.KindUnavailable ||
			e.Code == "imports_busy" {
			t.Errorf("begun: %v", err)
		}
		f.Up()
		w.until("the orphan is closed",
			`SELECT count(*) FROM imports i WHERE NOT EXISTS (SELECT FROM pg_locks l WHERE l.locktype = 'advisory'
			AND (l.classid::bigint << 32 | l.objid::bigint) =
				hashtextextended(current_schema() || '.import.' || i.id::text, 0))`, 1)
		must(t, w.store.BeginImport(t.Context(), other))
		must(t, w.store.CloseImport(t.Context(), other.ID))
	})
}

// mixedGroup returns a group with something of every kind.
func (w *world) mixedGroup() ([]journal.Write, contact.Contact, attempt.Attempt) {
	c := w.contact()
	x, a := w.intent(&c)
	x.Reply = reply("tok", w.now)
	row := w.c
	row.Seq = w.seq.Load() + 1
	y := w.write(func(x *journal.Write) {
		x.CampaignRow = &row
		x.Events = []journal.Event{w.event(journal.CampaignPaused, "", "")}
		x.Exclusions = []journal.Exclusion{{Campaign: w.c.ID, Number: number(), CreatedAt: w.now}}
		x.Suppressions = []journal.Suppression{{Number: number(), Reason: "import", CreatedAt: w.now}}
	})
	z := w.write(func(x *journal.Write) {
		x.Contacts = []contact.Contact{w.contact(), w.contact()}
		x.Events = []journal.Event{w.event(journal.ContactTriggered, "", "")}
	})
	return []journal.Write{x, y, z}, c, a
}

type snapshot struct {
	contact    contact.Contact
	attempt    attempt.Attempt
	events     []journal.Event
	exclusions []journal.Exclusion
	counters   campaign.Counters
	campaign   campaign.Campaign
}

func (w *world) snapshot(c contact.Contact, a attempt.Attempt) (s snapshot) {
	w.t.Helper()
	s.contact, s.attempt, s.events = w.stored(c.ID), w.storedAttempt(a.ID), w.events()
	var err error
	s.exclusions, err = w.store.Exclusions(w.ctx, w.c.ID)
	must(w.t, err)
	s.counters, err = w.store.Counters(w.ctx, w.c.ID, w.c.Run)
	must(w.t, err)
	s.campaign, err = w.store.Campaign(w.ctx, w.c.ID)
	must(w.t, err)
	return s
}
