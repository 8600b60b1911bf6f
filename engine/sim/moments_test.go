package sim

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/promise"
	"dialler/engine/run"
	"dialler/engine/tally"
)

// moments compares three counts at every moment of a world: the fold of the durable events with the
// tables, after every commit; and the figures of a run, before each message that it takes, with
// that fold plus what it has written since.
type moments struct {
	t      *testing.T
	w      *campaignWorld
	folded int // number of the store's events
	of     map[engine.CampaignID]*moment
	durable,
	shown,
	awaited int // comparisons; awaited counts moments at which a run waited for counts from the store
}

// moment is what is known about one campaign.
type moment struct {
	fold   tally.Runs
	stored map[int64]bool // events, by sequence number
	from   *tally.Tally   // what its run counts on from, since it read the tables
	under  []*journal.Write
	barred []*journal.Write // refused by the store, but the run has not been told
	taken  []journal.Event  // dials of writes that the run reversed: their pass still includes their times
}

func watchMoments(t *testing.T, w *campaignWorld) *moments {
	m := &moments{t: t, w: w, of: map[engine.CampaignID]*moment{}}
	for _, c := range w.campaigns {
		m.of[c.id] = &moment{fold: tally.Runs{}, stored: map[int64]bool{}}
	}
	w.store.Committed = func() {
		for _, c := range w.campaigns {
			if r := w.runner(c); r != nil {
				m.written(c, m.of[c.id], r.state) // a refused write is gone before its run is told
			}
		}
		m.tables("a transaction")
	}
	w.applied = func(r *runner, in run.Input) ([]run.Effect, error) {
		m.tables("a message")
		at := m.of[r.c.id]
		if r.state.Tally != nil && r.state.M.C.ID != "" {
			m.run(r.c, at, r.state)
		}
		if x, ok := in.Event.(*run.WriteRefused); ok {
			at.takeBack(x.Write)
		}
		return applied(r, in)
	}
	return m
}

// takeBack notes that the run is told of a refused write. The range of a pass's dials stays until
// the end of the dial corrects it (tally.Revoke).
func (at *moment) takeBack(w *journal.Write) {
	at.barred = slices.DeleteFunc(at.barred, func(b *journal.Write) bool {
		return len(w.Events) > 0 && b.Events[0].Seq == w.Events[0].Seq
	})
	for i := range w.Events {
		if w.Events[i].Type == journal.AttemptReserved {
			at.taken = append(at.taken, w.Events[i])
		}
	}
}

// tables compares the newly durable events with the counts of the tables.
func (m *moments) tables(what string) {
	m.w.store.Lock()
	list := m.w.store.AllEvents()[m.folded:]
	m.w.store.Unlock()
	if m.folded += len(list); len(list) == 0 && what == "a message" {
		return
	}
	for i := range list {
		if at := m.of[list[i].Campaign]; at != nil {
			at.fold.Apply(&list[i])
			at.stored[list[i].Seq] = true
		}
	}
	for _, c := range m.w.campaigns {
		n := m.w.row(c).Run
		tables, err := m.w.store.Counters(background, c.id, n)
		if err != nil {
			m.t.Fatal(err)
		}
		m.equal(c, what, "the events", m.of[c.id].fold.Counters(n), "the tables", tables)
		m.durable++
	}
}

// run compares a run's figures with what it has read and written.
func (m *moments) run(c *campaignRecord, at *moment, s *run.State) {
	m.written(c, at, s)
	if s.Sweep != nil || s.Adding > 0 || s.Activation != nil || s.Preparing || s.BulkOwed != nil {
		m.awaited++ // requests are answered once the store has returned the counts
		return
	}
	fold := tally.From(at.fold.Counters(s.M.C.Run))
	for _, list := range [][]*journal.Write{at.under, at.barred} {
		for _, w := range list {
			for i := range w.Events {
				if e := &w.Events[i]; e.Run == s.M.C.Run && !at.stored[e.Seq] {
					fold.Apply(e)
				}
			}
		}
	}
	for i := range at.taken {
		fold.C.Pass(at.taken[i].Data.Pass).Dialled(at.taken[i].At)
	}
	m.equal(c, "a message", "the run", s.Tally.Counters(), "the events and what is being written", fold.Counters())
	m.shown++
}

// written finds the writes of this instance of the run that are not durable yet.
func (m *moments) written(c *campaignRecord, at *moment, s *run.State) {
	if at.from != s.Tally {
		at.from, at.under, at.barred, at.taken = s.Tally, nil, nil, nil
	}
	var now []*journal.Write
	for _, q := range m.w.process.writer.queue {
		if q.write != nil && q.write.Campaign == c.id && q.write.Epoch == s.M.C.Epoch {
			now = append(now, q.write)
		}
	}
	for _, w := range at.under {
		if len(w.Events) > 0 && !at.stored[w.Events[0].Seq] && !slices.Contains(now, w) {
			at.barred = append(at.barred, w)
		}
	}
	at.under = now
}

func (m *moments) equal(c *campaignRecord, what, a string, x campaign.Counters, b string, y campaign.Counters) {
	if reflect.DeepEqual(x, y) {
		return
	}
	if wrong := promise.Books(a, x, b, y); len(wrong) > 0 {
		m.w.check.broke(c, "at %s: %s", what, strings.Join(wrong, "; "))
	}
}

// The figures of a campaign are the same from its events, the tables and its run at every moment,
// whatever faults occur.
func TestTheFiguresAreTheSameThreeWaysAtEveryMoment(t *testing.T) {
	worlds := uint64(15)
	if testing.Short() {
		worlds = 5
	}
	var durable, shown, awaited int
	for seed := range worlds {
		w := newCampaignWorld(drawn(seed).WithDefaults(), seed)
		m := watchMoments(t, w)
		w.play()
		if w.check.broken != nil {
			t.Fatal(w.check.broken)
		}
		durable, shown, awaited = durable+m.durable, shown+m.shown, awaited+m.awaited
	}
	if shown < 1000 || awaited > shown/20 {
		t.Errorf("%d moments were compared, in %d a run waited for the store", shown, awaited)
	}
	t.Logf("%d comparisons of events and tables, %d with a run; in %d moments a run waited for the store", durable,
		shown, awaited)
}
