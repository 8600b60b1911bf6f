package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

type contactLoaded struct {
	row     contact.Contact
	attempt *attempt.Attempt
	err     error
}

type retryLoad struct{}

func (a *contactActor) start() {
	s := a.seed
	a.rules = s.rules
	a.m.C = s.row
	if s.taken {
		// A crash before: everything not durable is gone. Load behind the
		// writes that are still queued.
		a.loading = true
		a.d.root.Send(s.run, &barrier{ReplyTo: a.self})
		return
	}
	s.taken = true
	a.d.root.Send(s.run, &contactUp{ID: s.row.ID, PID: a.self})
	a.retune() // the row may be from before an edit
	if s.recover != nil {
		a.recover(s.recover)
	}
	first := s.first
	s.first = nil
	for _, msg := range first {
		a.handle(msg, nil)
	}
	a.idle()
}

func (a *contactActor) load() {
	id, d, self := a.m.C.ID, a.d, a.self
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		row, ok, err := d.store.ContactByID(ctx, id)
		m := &contactLoaded{row: row, err: err}
		if err == nil && !ok {
			m.err = engine.NotFound("contact_not_found", "the contact is not stored")
		}
		if m.err == nil && row.Attempt != "" {
			at, ok, err := d.store.Attempt(ctx, row.Attempt)
			if m.err = err; err == nil && ok {
				m.attempt = &at
			}
		}
		d.root.Send(self, m)
	}()
}

func (a *contactActor) loaded(msg *contactLoaded) {
	if msg.err != nil && engine.ErrorCode(msg.err) != "contact_not_found" {
		a.d.after(time.Second, a.self, &retryLoad{})
		return
	}
	a.loading = false
	if msg.err == nil {
		a.m.C = msg.row
	}
	if msg.attempt != nil && msg.attempt.State != attempt.Ended {
		a.adopt(*msg.attempt)
		if !a.resume() {
			a.lost("gone")
		}
	} else {
		a.report()
	}
	for len(a.seed.stash) > 0 { // one that it faults on is not handled again
		m := a.seed.stash[0]
		a.seed.stash = a.seed.stash[1:]
		a.handle(m, nil)
	}
	a.seed.stash = nil
	a.idle()
}

func (a *contactActor) adopt(at attempt.Attempt) {
	a.own(&call{d: a.d, self: a.self, owner: a, bot: a.rules.Bot,
		m: attempt.Machine{A: at, Config: a.rules.Attempt}})
	a.call.m.Config.BotURIs = a.rules.Bot.URIs()
	a.call.m.Config.MustConsume = a.m.C.Unconsumed >= contact.MaxUnconsumed
}

// resume goes on with the call if its legs are known.
func (a *contactActor) resume() (ok bool) {
	if !a.call.reattach(a.now) {
		return false
	}
	// The seat comes first: replayed media events presume it.
	a.report()
	if a.m.C.State == contact.Excluded && a.call.m.A.AnsweredAt == nil {
		a.call.apply(attempt.Event{Kind: attempt.ExcludeRequested, At: a.now})
	}
	return true
}

// recover takes over an attempt of another owner of the campaign: a node that
// still has its legs, or an earlier process life, with which they were lost. One
// that had been closed there has legs that were still watched.
func (a *contactActor) recover(at *attempt.Attempt) {
	a.adopt(*at)
	if !at.Live() {
		a.watching = a.call.recoverLegs()
		return
	}
	a.d.stats.Recovered.Add(1)
	if !a.resume() {
		a.lost("")
	}
}

// lost ends the attempt whose legs nobody holds and watches them to their end.
func (a *contactActor) lost(why string) {
	a.watching = a.call.recoverLegs()
	a.call.apply(attempt.Event{Kind: attempt.OwnerLost, At: a.now, Err: why})
}

// watched follows the legs of a lost attempt: with the last one's end the
// number is free again, if that is proven.
func (a *contactActor) watched(e *engine.LegEvent) {
	if !e.Kind.Final() {
		return
	}
	a.watching--
	a.call.closed(e)
	at := a.call.snapshot()
	w := journal.Write{Attempts: []attempt.Attempt{at}}
	w.Events = []journal.Event{a.event(journal.LegClosed, journal.Data{Leg: e.Leg, Proof: e.Proves()})}
	if a.watching == 0 && !a.call.m.Owed() {
		w.Holds = []journal.HoldRelease{{Attempt: at.ID, Number: at.To}}
	}
	a.persist(w, func(error) { a.d.phone.ForgetLegs(at.ID) })
}

func (a *contactActor) report() {
	r := &contactReport{PID: a.self, Row: a.m.C}
	if a.call != nil && a.call.m.A.Live() {
		r.Attempt, r.Phase, r.Seated = a.call.m.A.ID, a.call.m.PhaseNow(), a.call.m.A.Seated
		r.Tentative = a.call.m.A.RevisableUntil != nil
		r.Stands = r.Tentative && !a.call.m.Tentative()
	}
	a.d.root.Send(a.seed.run, r)
}

func (a *contactActor) reattached(msg *reattached) {
	if a.call == nil || a.call.m.A.ID != msg.Attempt {
		return
	}
	if msg.Seated && !a.call.m.A.Seated {
		a.call.apply(attempt.Event{Kind: attempt.SeatGranted, At: a.now})
	}
	a.d.media.AttachMedia(msg.Attempt, a.call.mediaSink())
}
