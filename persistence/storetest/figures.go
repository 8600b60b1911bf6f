package storetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/tally"
)

// figures checks after every write of randomly drawn calls that each figure is the same from the
// events, from the rows by the table's formulas, from the store's counters and its ledger, and from
// series and breakdown.
func figures(t *testing.T, w *world) {
	seen := map[string]bool{}
	for seed := range uint64(3) {
		d := &drawnCalls{world: newWorld(t, w.store), rnd: rand.New(rand.NewPCG(seed, 3)), seen: seen, fold: tally.New()}
		for range 10 {
			d.add()
		}
		for range 140 {
			d.now = d.now.Add(time.Duration(1+d.rnd.IntN(1500)) * time.Millisecond)
			d.step(d.people[d.rnd.IntN(len(d.people))])
		}
	}
	for i := range tally.Figures {
		f := &tally.Figures[i]
		chart := f.Of == tally.OfSeries || f.Of == tally.OfBreakdown // PostgreSQL's alone
		if (f.Contact != nil || f.Attempt != nil) && (w.pg != nil || !chart) && !seen[string(f.Of)+" "+f.Name] {
			t.Errorf("nothing that was drawn counts as %s of %s", f.Name, f.Of)
		}
	}
}

// drawnCalls are calls of a campaign, as rows and as the events that describe them.
type drawnCalls struct {
	*world
	rnd    *rand.Rand
	fold   *tally.Tally
	people []*called
	seen   map[string]bool // figures that have been non-zero
}

// called is one contact with its attempts, the live one last.
type called struct {
	c     contact.Contact
	calls []attempt.Attempt
}

func (d *drawnCalls) yes(percent int) bool { return d.rnd.IntN(100) < percent }

func (d *drawnCalls) add() {
	c := d.contact()
	ev := d.event(journal.ContactsAdded, "", "")
	now := c.Facts()
	ev.Data.After, ev.Data.Count = &now, 1
	d.people = append(d.people, &called{c: c})
	d.save(d.write(func(x *journal.Write) { x.Contacts, x.Events = []contact.Contact{c}, []journal.Event{ev} }))
}

// save makes a write durable and compares the figures.
func (d *drawnCalls) save(x journal.Write) {
	d.t.Helper()
	d.commit(x)
	for i := range x.Events {
		d.fold.Apply(&x.Events[i])
	}
	d.compare(x.Events[0].Type)
}

// tell saves a contact and its newest attempt with the event that describes the change.
func (d *drawnCalls) tell(p *called, what journal.Type, before contact.Facts, more func(*journal.Data)) {
	a := &p.calls[len(p.calls)-1]
	ev := d.event(what, p.c.ID, a.ID)
	now := p.c.Facts()
	ev.Data.Before, ev.Data.After, ev.Data.Pass = &before, &now, a.Pass
	if more != nil {
		more(&ev.Data)
	}
	p.c.Version++
	a.MediaSeq++
	d.save(d.write(func(x *journal.Write) {
		x.Contacts, x.Attempts = []contact.Contact{p.c}, []attempt.Attempt{*a}
		x.Events = []journal.Event{ev}
		if !a.Live() {
			x.Holds = []journal.HoldRelease{{Attempt: a.ID, Number: a.To}}
		}
	}))
}

// step makes something happen to a contact.
func (d *drawnCalls) step(p *called) {
	if n := len(p.calls); n > 0 && p.calls[n-1].Live() {
		d.goOn(p, &p.calls[n-1])
		return
	}
	switch {
	case p.c.Open() && p.c.Used < p.c.Max && d.yes(85):
		d.dial(p)
	case p.c.Open() && d.yes(20):
		d.end(p, contact.Excluded)
	case p.c.Open() && d.yes(50):
		d.end(p, contact.ManuallyStopped)
	case p.c.Open() && p.c.Used > 0:
		d.end(p, contact.Expired)
	case p.c.Open():
		d.end(p, contact.WindowClosed)
	case p.c.State != contact.Excluded && len(p.calls) > 0 && p.calls[len(p.calls)-1].WasConnected() &&
		p.calls[len(p.calls)-1].Result == nil:
		before := p.c.Facts()
		p.calls[len(p.calls)-1].Result = &attempt.Result{Disposition: "sold", ReceivedAt: d.now}
		p.c.HasResult, p.c.State = true, contact.Completed
		d.tell(p, journal.ResultStored, before, func(e *journal.Data) { e.Connected = true })
	}
}

// end closes a waiting contact.
func (d *drawnCalls) end(p *called, as contact.State) {
	before := p.c.Facts()
	p.c.State, p.c.DueAt = as, nil
	if p.c.Callback == contact.CallbackPending {
		p.c.Callback = contact.CallbackCancelled
	}
	now := p.c.Facts()
	p.c.Version++
	ev := d.event(journal.ContactsClosed, p.c.ID, "")
	ev.Data.Before, ev.Data.After = &before, &now
	d.save(d.write(func(x *journal.Write) { x.Contacts, x.Events = []contact.Contact{p.c}, []journal.Event{ev} }))
}

func (d *drawnCalls) dial(p *called) {
	due := p.c.CallbackAt
	x, a := d.intent(&p.c)
	a.Pass, a.From = p.c.Used+1, []engine.PhoneNumber{"+4930111222", "+4930111333"}[d.rnd.IntN(2)]
	x.Events[0].Data.Pass = a.Pass
	if p.c.Callback == contact.CallbackPending {
		a.Callback, a.CallbackAt = true, due
	}
	p.calls = append(p.calls, a)
	x.Attempts = []attempt.Attempt{a}
	d.save(x)
}

// goOn takes an attempt one stage further, or to its end.
func (d *drawnCalls) goOn(p *called, a *attempt.Attempt) {
	before, now := p.c.Facts(), d.now
	switch {
	case a.InviteAt == nil && d.yes(90):
		a.State, a.InviteAt = attempt.Dialling, &now
		if d.yes(70) {
			a.State, a.RingingAt = attempt.Ringing, &now
		}
		p.c.Version++
		a.MediaSeq++
		d.commit(d.write(func(x *journal.Write) { x.Attempts = []attempt.Attempt{*a} })) // no event reports it
		d.compare("INVITE")
	case a.InviteAt == nil:
		d.over(p, a, engine.OutcomeTrunkError, "", false)
	case a.AnsweredAt == nil && a.RingingAt != nil && d.yes(65):
		a.State, a.AnsweredAt = attempt.Answered, &now
		d.tell(p, journal.AttemptAnswered, before, nil)
	case a.AnsweredAt == nil && d.yes(35): // its INVITE was sent, but does not count
		d.over(p, a, engine.OutcomeThrottled, "", false)
	case a.AnsweredAt == nil:
		d.over(p, a, engine.OutcomeNoAnswer, "", true)
	case a.ServedAt == nil && d.yes(60):
		a.State, a.ServedAt, a.BotConnectedAt = attempt.Connected, &now, &now
		p.c.State, p.c.ConnectedOnce = contact.Connected, true
		d.tell(p, journal.AttemptConnected, before, nil)
	case a.ServedAt == nil && d.yes(30):
		a.Verdict, a.VerdictAt = engine.VerdictMachine, &now
		d.over(p, a, engine.OutcomeMachine, "", true)
	case a.ServedAt == nil:
		d.over(p, a, engine.OutcomeAbandoned, []engine.AbandonCause{engine.AbandonNoSeat,
			engine.AbandonCapacityLoss}[d.rnd.IntN(2)], true)
	case d.yes(8): // the bot says it is no person, for an answer that had counted for good
		a.Verdict, a.RevisedFrom, a.VerdictAt = engine.VerdictMachine, engine.VerdictHuman, &now
		d.tell(p, journal.AttemptRevised, before, func(e *journal.Data) { e.Connected = true })
		d.over(p, a, engine.OutcomeMachine, "", true)
	case d.yes(15): // not a person after all
		a.ServedAt, a.Verdict, a.VerdictAt, a.State = nil, engine.VerdictMachine, &now, attempt.Answered
		p.c.ConnectedOnce = false
		for i := range p.calls {
			p.c.ConnectedOnce = p.c.ConnectedOnce || p.calls[i].WasConnected()
		}
		d.tell(p, journal.AttemptRevised, before, nil)
		d.over(p, a, engine.OutcomeMachine, "", true)
	default:
		d.over(p, a, engine.OutcomeCompleted, "", true)
	}
}

// over ends an attempt: the contact may or may not be dialled again.
func (d *drawnCalls) over(p *called, a *attempt.Attempt, o engine.Outcome, cause engine.AbandonCause, consumed bool) {
	before, now := p.c.Facts(), d.now
	a.State, a.Outcome, a.Cause, a.Consumed, a.EndedAt = attempt.Ended, o, cause, consumed, &now
	for i := range a.Legs {
		a.Legs[i].EndedAt = &now
		a.Legs[i].Seq++
	}
	p.c.Attempt, p.c.LastOutcome = "", o
	if consumed {
		p.c.Used++
		p.c.RangUnanswered = a.RangUnanswered()
	}
	if a.Callback && consumed {
		p.c.Callback, p.c.CallbackAt = contact.CallbackCompleted, nil
	}
	p.c.State, p.c.DueAt, p.c.DuePass = contact.Waiting, &now, p.c.Used+1
	switch {
	case p.c.Used == 0:
		p.c.State = contact.Pending
	case p.c.Used == p.c.Max, a.WasConnected() && d.yes(60):
		p.c.State, p.c.DueAt, p.c.DuePass = contact.Failed, nil, 0
	case a.WasConnected() && p.c.Callback == contact.CallbackNone:
		due := now.Add(time.Second)
		p.c.Callback, p.c.CallbackAt, p.c.DueAt = contact.CallbackPending, &due, &due
	}
	d.tell(p, journal.AttemptEnded, before, func(e *journal.Data) {
		e.ReservedAt, e.Outcome, e.Cause, e.Consumed = a.ReservedAt, o, cause, consumed
		e.Answered, e.Connected, e.TalkMS = a.AnsweredAt != nil, a.WasConnected(), a.TalkMS()
		if ms, ok := a.CallbackDelayMS(); ok {
			e.CallbackDelayMS = &ms
		}
	})
}

// rows counts the written rows by the table's formulas alone, one by one.
func (d *drawnCalls) rows(f *tally.Figure, from engine.PhoneNumber) (n int) {
	for _, p := range d.people {
		if f.Contact != nil {
			facts := p.c.Facts()
			n += f.Contact(&facts)
		}
		for i := range p.calls {
			if f.Attempt != nil && (from == "" || from == p.calls[i].From) {
				n += f.Attempt(&p.calls[i])
			}
		}
	}
	if n > 0 {
		d.seen[string(f.Of)+" "+f.Name] = true
	}
	return n
}

func (d *drawnCalls) compare(after journal.Type) {
	d.t.Helper()
	tables, err := d.store.Counters(d.ctx, d.c.ID, d.c.Run)
	must(d.t, err)
	if fold := d.fold.Counters(); !reflect.DeepEqual(tables, fold) {
		for _, x := range tally.Compare(fold, tables) {
			d.t.Errorf("after %s, %s: events %s, tables %s", after, x.Figure, x.A, x.B)
		}
		d.t.Fatalf("after %s:\nevents %+v\ntables %+v", after, fold, tables)
	}
	got := map[string]int{"Counters abandoned": tables.Abandoned}
	for i := range tally.Figures {
		if f := &tally.Figures[i]; f.At != nil {
			n := 0
			for pass := range len(tables.Passes) {
				if n += *f.At(&tables, pass+1); f.Of != tally.OfPass {
					break
				}
			}
			got[string(f.Of)+" "+f.Name] = n
		}
	}
	ledger, err := d.store.AbandonLedger(d.ctx, d.c.ID, d.now.Add(-24*time.Hour))
	must(d.t, err)
	if ledger.Live != tables.LiveAnswers || ledger.Abandoned != tables.Abandoned ||
		ledger.CapacityLoss != tables.CapacityLoss {
		d.t.Fatalf("after %s: ledger %+v, counters %+v", after, ledger, tables)
	}
	d.charts(got)
	for i := range tally.Figures {
		f := &tally.Figures[i]
		if n, ok := got[string(f.Of)+" "+f.Name]; ok {
			if want := d.rows(f, ""); n != want {
				d.t.Fatalf("after %s, %s of %s: %d, by its formula %d", after, f.Name, f.Of, n, want)
			}
		}
	}
}

// charts adds the figures of series and breakdown for the whole run.
func (d *drawnCalls) charts(got map[string]int) {
	if d.pg == nil {
		return
	}
	s, err := d.pg.Lists.Series(d.ctx, campaign.SeriesQuery{Campaign: d.c.ID, Run: d.c.Run, Now: d.now,
		From: d.now.Add(-time.Hour), Until: d.now.Add(time.Hour), Points: 3})
	must(d.t, err)
	for _, p := range s.Points {
		for name, n := range map[string]int{"dials": p.Dials, "decided": p.Decided, "answered": p.Answered,
			"live_answers": p.LiveAnswers, "abandoned": p.Abandoned} {
			got["Series "+name] += n
		}
	}
	b, err := d.pg.Lists.Breakdown(d.ctx, d.c.ID, d.c.Run)
	must(d.t, err)
	got["Breakdown dials"] = b.Dials
	causes := 0
	for _, c := range b.Causes {
		causes += c.Count
	}
	for _, n := range b.Numbers {
		for name, is := range map[string]int{"dials": n.Dials, "answered": n.Answered, "decided": n.Decided} {
			if want := d.rows(tally.FigureOf(tally.OfBreakdown, name), n.Number); is != want {
				d.t.Fatalf("%s from %s: %d, by its formula %d", name, n.Number, is, want)
			}
			if name != "dials" {
				got["Breakdown "+name] += is
			}
		}
	}
	if causes != b.Dials {
		d.t.Fatal(fmt.Sprint(causes, " calls have a cause, ", b.Dials, " have ended"))
	}
}
