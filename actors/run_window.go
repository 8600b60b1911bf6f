package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/window"
)

// Windows by the clocks of the contacts (SEMANTICS §8, option contact zone). A
// contact whose turn comes while its own window is closed gets the time of its
// next opening, durably, and is out of the way until then: at most one write a
// contact and day, whatever the size of the list.

// deferBatch bounds how many contacts are put off at once: one write, and not
// too long a turn of the run.
const deferBatch = 512

// ownWindows is what the run knows of its contacts' own windows.
type ownWindows struct {
	closed []contact.Contact // taken from the look-ahead, to be put off
	opens  time.Time         // the earliest opening of those that were put off
}

// windowOpen says whether the campaign may dial, and asks the window only when
// its answer may have changed. By the contacts' clocks that is said of each; the
// campaign is outside its window when nobody is left whose window is open.
func (r *run) windowOpen() bool {
	w := &r.m.C.Settings.Window
	if w.ContactZone {
		r.windowEnds = time.Time{}
		return r.queue.Len() > 0 || len(r.triggers) > 0 || r.round != nil || !r.now.Before(r.own.opens)
	}
	if r.now.Before(r.windowUntil) && !r.now.Before(r.windowFrom) {
		return r.windowIs
	}
	r.windowIs = w.Open(r.now)
	r.windowEnds, _ = w.Closes(r.now)
	r.windowFrom = r.now
	r.windowUntil = r.now.Add(time.Second)
	return r.windowIs
}

// windowOf is the window of a contact.
func (r *run) windowOf(n engine.PhoneNumber) window.Window {
	w := r.m.C.Settings.Window
	if w.ContactZone {
		w = w.For(number.Zones(n))
	}
	return w
}

// callableFor is how long, from now on, an INVITE to the number may leave:
// until its window closes or the single-day run ends, and never longer than an
// intent stands. 0 when it may not.
func (r *run) callableFor(n engine.PhoneNumber) time.Duration {
	most := r.d.cfg.SendByTimeout
	if end := r.m.C.WindowEndsAt; end != nil {
		most = min(most, end.Sub(r.now))
	}
	return r.windowOf(n).OpenFor(r.now, most)
}

// deferClosed puts off the contacts whose window is closed. Until that is
// durable they count as being loaded: whoever wants one of them waits for the
// row as it will be.
func (r *run) deferClosed() {
	if len(r.own.closed) == 0 {
		return
	}
	rows := r.own.closed
	r.own.closed = nil
	var w journal.Write
	var ids []engine.ContactID
	for i := range rows {
		c := contact.Machine{C: rows[i]}
		before := c.C.Facts()
		err := c.Apply(contact.Event{Kind: contact.Deferred, At: r.now, Policy: r.rules.PolicyFor(rows[i].Number, number.Zones)})
		if err != nil {
			r.d.stats.Illegal.Add(1)
			continue
		}
		if c.C.Version == rows[i].Version { // it opened just now
			r.queue.Push(rows[i])
			continue
		}
		after := c.C.Facts()
		w.Contacts = append(w.Contacts, c.C)
		w.Events = append(w.Events, journal.Event{At: r.now, Type: journal.ContactChanged, Version: 1, Contact: c.C.ID,
			Data: journal.Data{Before: &before, After: &after, DueAt: c.C.DueAt, Reason: "outside_window"}})
		ids = append(ids, c.C.ID)
		r.loads[c.C.ID] = []any{}
		if r.refilling {
			r.touched[c.C.ID] = struct{}{}
		}
		if due := c.C.DueAt; due != nil {
			r.expect(*due)
			if !r.now.Before(r.own.opens) || due.Before(r.own.opens) {
				r.own.opens = *due
			}
		}
	}
	if len(ids) == 0 {
		return
	}
	r.write(w)
	r.afterWrites(func() {
		for _, id := range ids {
			if len(r.loads[id]) > 0 {
				r.fetch(id)
			} else {
				delete(r.loads, id)
			}
		}
		r.lookAgain()
	})
}

// watchClock looks whether the wall clock was stepped (SEMANTICS §8). Due times
// and windows are its, so that what was concluded from it before no longer
// holds: whether the window is open, who is due, and when to look again.
func (r *run) watchClock() {
	before := r.clocks
	r.clocks = window.Reading{Wall: r.now, Boot: time.Duration(r.d.clock.Boot())}
	step := r.clocks.Stepped(before)
	if step == 0 {
		return
	}
	r.d.log.Warn().Str("campaign_id", string(r.id)).Dur("step", step).Msg("the wall clock was stepped; windows and due contacts are looked at anew")
	r.windowFrom, r.windowUntil, r.own.opens = time.Time{}, time.Time{}, time.Time{}
	r.lastOverdue = time.Time{}
	r.queue.Clear()
	r.lookAgain()
	r.refillStale = r.refilling
}
