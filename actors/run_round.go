package actors

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/numberpool"
	"dialler/engine/quota"
)

// A round of reservations is for roundLeast to roundCap contacts.
const (
	roundLeast = 4
	roundCap   = 256
)

// roundTimeout gives up a round whose answers were lost with a crashed actor.
const roundTimeout = 5 * time.Second

// round is one reservation of trunk channels and caller IDs for the next
// contacts. One is under way at a time; its contacts count as lines.
type round struct {
	n     int
	cands []candidate
	stop  func()
	// touched are the contacts whose actors came up while the round was under
	// way: their candidates' rows are out of date.
	touched map[engine.ContactID]struct{}
}

type candidate struct {
	row     contact.Contact
	attempt engine.AttemptID
	trunk   engine.TrunkID
	media   *engine.MediaProfile // the trunk's
	trigger *call.Trigger
	seated  bool          // a seat is held for it from now on
	use     call.Validity // when what was granted for it may be used
	// overtaken: an exclusion came while this trigger was being reserved for.
	overtaken bool
}

type roundLate struct{ N int }

func (r *run) startRound(cands []candidate) {
	r.rounds++
	n := r.rounds
	legs := make([]engine.LegID, len(cands))
	for i := range cands {
		legs[i] = cands[i].attempt.Leg(1)
		if r.seatsUntil != 0 { // they rely on seats that another node granted
			cands[i].use.By = quota.UseBy(r.d.clock.Boot())
		}
	}
	r.round = &round{n: n, cands: cands, stop: r.d.after(roundTimeout, r.self, &roundLate{N: n})}
	r.d.root.Send(r.d.trunks, &reserveTrunkBatch{Round: n, Legs: legs, ReplyTo: r.self})
}

// trunksReserved: the contacts that got a channel ask for a caller ID, the
// others go back to the queue.
func (r *run) trunksReserved(m *trunksReserved) {
	if r.round == nil || r.round.n != m.Round {
		r.giveBackTrunks(m)
		return
	}
	var keep []candidate
	for i := range r.round.cands {
		c := r.round.cands[i]
		if c.trunk = m.Trunks[i]; c.trunk == "" {
			r.unreserve(c, m.Constraint)
			continue
		}
		c.media = m.Media[i]
		c.use = c.use.And(m.Use[i])
		keep = append(keep, c)
	}
	r.pace.granted(len(r.round.cands), len(keep))
	if len(keep) < len(r.round.cands) {
		r.holdPace(m.Constraint, m.RetryAt)
	}
	r.round.cands = keep
	if len(keep) == 0 {
		r.endRound()
		return
	}
	want := make([]numberWant, len(keep))
	for i := range keep {
		want[i] = numberWant{Attempt: keep[i].attempt, To: keep[i].row.Number}
		if r.m.C.Settings.StickyNumber {
			want[i].Sticky = keep[i].row.CalledFrom
		}
	}
	r.d.root.Send(r.pool, &reserveNumbers{Round: m.Round, Want: want, ReplyTo: r.self})
}

func (r *run) giveBackTrunks(m *trunksReserved) {
	for i, t := range m.Trunks {
		if t != "" {
			r.d.root.Send(r.d.trunks, &trunkEvent{Trunk: t, Leg: m.Legs[i], Over: true, At: r.now})
		}
	}
}

// numbersReserved: who has everything is dialled.
func (r *run) numbersReserved(m *numbersReserved) {
	if r.round == nil || r.round.n != m.Round {
		for _, g := range m.Got {
			if g.From != "" {
				r.d.root.Send(r.pool, &releaseNumber{Attempt: g.Attempt, Number: g.From, End: numberpool.End{NotDialled: true}})
			}
		}
		return
	}
	cands := r.round.cands
	open := r.m.C.State == campaign.Running
	for i := range cands {
		c, g := cands[i], m.Got[i]
		within := r.callableFor(c.row.Number)
		switch {
		case g.From == "":
			r.releaseTrunk(c)
			r.holdPace(g.Constraint, g.RetryAt)
			r.unreserve(c, g.Constraint)
		case !open || c.overtaken || r.excluded.Covers(&c.row) || r.wasTouched(c.row.ID),
			!c.seated && r.d.abandons.needsSeat(c.row.Number, r.now):
			// Stopped, paused, excluded, touched, or abandoned by another campaign
			// while the round was under way.
			r.releaseTrunk(c)
			r.d.root.Send(r.pool, &releaseNumber{Attempt: g.Attempt, Number: g.From, End: numberpool.End{NotDialled: true}})
			r.unreserve(c, engine.ConstraintPaused)
		case within <= 0:
			r.releaseTrunk(c)
			r.d.root.Send(r.pool, &releaseNumber{Attempt: g.Attempt, Number: g.From, End: numberpool.End{NotDialled: true}})
			r.unreserve(c, engine.ConstraintWindow)
		default:
			l := r.spawn(c.row, nil, []any{&call.Dial{Attempt: c.attempt, Trunk: c.trunk, Media: c.media, From: g.From,
				Callback: c.row.DueClass == contact.DueCallback, Trigger: c.trigger, SendWithin: within, Validity: c.use.And(call.Validity{By: g.UseBy})}})
			l.attempt = c.attempt
			if c.seated {
				r.holdSeat(l)
			}
			if c.trigger != nil {
				l.variables = c.row.Variables
				delete(r.triggering, c.row.Number)
			}
			r.setPhase(l, attempt.PhaseDialling)
		}
	}
	r.endRound()
}

func (r *run) wasTouched(id engine.ContactID) bool {
	_, ok := r.round.touched[id]
	return ok || r.lines[id] != nil
}

func (r *run) releaseTrunk(c candidate) {
	r.d.root.Send(r.d.trunks, &trunkEvent{Trunk: c.trunk, Leg: c.attempt.Leg(1), Over: true, At: r.now})
}

// unreserve puts a candidate back: it is dialled when there is room.
func (r *run) unreserve(c candidate, why engine.Constraint) {
	if c.seated {
		r.busy--
	}
	if c.overtaken {
		delete(r.triggering, c.row.Number)
		r.settled(c.row.Number)
		reply(r.d, r.d.requester(c.trigger.Request), nil, errContactExcluded)
		return
	}
	if c.trigger != nil {
		c.trigger.Reason = string(why)
		r.queueTrigger(&pendingTrigger{row: c.row, ctx: c.trigger})
		return
	}
	if r.wasTouched(c.row.ID) {
		return // the look-ahead finds it again, as it is by then
	}
	if (r.m.C.State == campaign.Running || r.m.C.State == campaign.Paused) && !r.excluded.Covers(&c.row) {
		r.queue.Push(c.row)
	}
}

func (r *run) endRound() {
	r.round.stop()
	r.round = nil
}

func (r *run) roundLate(m *roundLate) {
	if r.round == nil || r.round.n != m.N {
		return
	}
	r.d.log.Warn().Str("campaign_id", string(r.id)).Msg("a reservation was not answered; its contacts go back")
	for _, c := range r.round.cands {
		if c.trunk != "" {
			r.releaseTrunk(c)
		}
		r.unreserve(c, engine.ConstraintNone)
	}
	r.round = nil
}
