package chaos

import (
	"context"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/promise"
)

// record is what carrier, bot and database noted, for the judge of the promises.
type record struct {
	promise.Record
	campaigns map[engine.AttemptID]engine.CampaignID
}

// attempts notes rows of the database.
func (r *record) attempts(rows []attempt.Attempt) {
	if r.campaigns == nil {
		r.campaigns = map[engine.AttemptID]engine.CampaignID{}
	}
	for i := range rows {
		r.campaigns[rows[i].ID] = rows[i].Campaign
	}
	r.Attempts(rows)
}

// calls notes the carrier's ledger; INVITEs since a moment are held against the rows.
func (r *record) calls(calls carrier.Rows, since time.Time) {
	for i := range calls {
		c, leg := &calls[i], engine.LegID(calls[i].CallID)
		r.Add(c.InviteAt, promise.Arrived{Leg: leg, Trunk: trunkID, From: c.From, To: c.Number})
		if over := c.EndedAt; !over.IsZero() {
			if !over.After(c.InviteAt) { // refused at once: of one instant the judge hears the ends first
				over = c.InviteAt.Add(time.Nanosecond)
			}
			r.Add(over, promise.Over{Leg: leg})
		}
		if id, _, _ := leg.Attempt(); !c.InviteAt.Before(since) {
			r.Add(leftAt(c), promise.Invited{Campaign: r.campaigns[id], Leg: leg, Trunk: trunkID, From: c.From, To: c.Number})
		}
	}
}

// noteCampaign notes that a campaign ran until it was completed.
func (l *Lab) noteCampaign(ctx context.Context, r *record, id engine.CampaignID) error {
	row, err := l.store.Campaign(ctx, id)
	if err != nil || row.StartedAt == nil {
		return err
	}
	running := row
	running.State = campaign.Running
	r.Add(*row.StartedAt, promise.Stands{Row: &running})
	if row.CompletedAt != nil {
		r.Add(*row.CompletedAt, promise.Stands{Row: &row})
	}
	return l.noteTriggers(ctx, r, id)
}

// noteTriggers notes who was asked for again after the end, by whom the answer may never have reached: such a contact
// has all its attempts anew.
func (l *Lab) noteTriggers(ctx context.Context, r *record, id engine.CampaignID) error {
	const page = 10_000
	for after := int64(0); ; {
		events, err := l.store.Events(ctx, id, after, page)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			after = e.Seq
			if b := e.Data.Before; e.Type != journal.ContactTriggered || b == nil || b.Open {
				continue
			}
			row, ok, err := l.store.ContactByID(ctx, e.Contact)
			if err != nil {
				return err
			}
			if ok {
				r.Add(e.At, promise.CalledFor{Campaign: id, Number: row.Number})
			}
		}
		if len(events) < page {
			return nil
		}
	}
}

// cpsWindow is over what calls a second are counted: a second, less what the
// network may delay one INVITE more than another.
const cpsWindow = time.Second - 50*time.Millisecond

// Someone lets go of a seat when it hears that the call is over; the bot may hear that a
// moment later than its own end, or read it later, on a machine that is busy.
const letGo = 250 * time.Millisecond

// conversations notes what the bot had since a moment. One of a process that stands still goes on until
// that does: nobody else can end its socket. It counts until its call was closed.
func (l *Lab) conversations(r *record, rows []attempt.Attempt, since time.Time, seats int) {
	closed := map[engine.CallID]time.Time{}
	for i := range rows {
		if a := &rows[i]; a.EndedAt != nil && (a.Outcome == engine.OutcomeLost || a.Cause == engine.AbandonCapacityLoss) {
			closed[a.ID.Call()] = *a.EndedAt
		}
	}
	r.Add(time.Time{}, promise.BotSeats{Seats: seats})
	for _, s := range l.bot.Sessions() {
		to := s.EndedAt
		if end, ok := closed[s.CallID]; ok && (to.IsZero() || end.Before(to)) {
			to = end
		}
		brief := !to.IsZero() && !to.Add(-letGo).After(s.OpenedAt)
		if s.CallID == "" || s.OpenedAt.Before(since) || brief {
			continue
		}
		name := string(s.CallID) + s.OpenedAt.String()
		r.Add(s.OpenedAt, promise.BotOn{Conversation: name})
		if !to.IsZero() {
			r.Add(to.Add(-letGo), promise.BotOff{Conversation: name})
		}
	}
}

// judged has a judge hear it all, and tells what is broken. What a lost process, or node,
// costs is no abandon of the gate's; brief: legs of lost calls are still watched.
func (r *record) judged(fail func(format string, args ...any), brief bool) promise.Peak {
	j := promise.NewJudge(func(b promise.Broken) {
		if b.Campaign == "" {
			fail("%s", b.What)
			return
		}
		fail("campaign %s: %s", b.Campaign, b.What)
	})
	j.Excuses = []engine.AbandonCause{engine.AbandonCapacityLoss}
	j.Watched = brief
	r.Tell(j)
	j.End()
	return j.Peak
}
