package campaign

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
)

const (
	// ScheduledCap is how many dialouts may wait for their time in an installation.
	ScheduledCap = 10_000
	// DialoutLasts is how long after its not_before a dialout expires if nobody said when.
	DialoutLasts = time.Hour
)

// ScheduledDialout is a dialout that waits for its time. There is no attempt yet: the write that places
// or ends it takes it away (journal.Write.Unschedule).
type ScheduledDialout struct {
	ID      engine.AttemptID // of the attempt to come; it begins with NotBefore
	Command Dialout          // without Status, Idempotency and Deadline
	// NotBefore and ExpiresAt limit when it may be dialled.
	NotBefore, ExpiresAt time.Time
	Precedence           int // contact.DefaultPriority less the priority
	CreatedAt            time.Time
	// NextAt is when it is looked at next, and Reason the code of why it could not be dialled when it
	// was looked at last, "" if it was not.
	NextAt time.Time
	Reason string
}

// NewScheduledDialout makes what is to be stored of a command whose Times have a NotBefore.
func NewScheduledDialout(id engine.AttemptID, cmd Dialout, now time.Time) ScheduledDialout {
	d := ScheduledDialout{ID: id, Command: cmd, NotBefore: *cmd.Times.NotBefore,
		Precedence: cmd.Times.Precedence(), CreatedAt: now}
	d.Command.Status, d.Command.Idempotency, d.Command.Deadline = nil, engine.Idempotency{}, time.Time{}
	if at := cmd.Times.ExpiresAt; at != nil {
		d.ExpiresAt = *at
	} else {
		d.ExpiresAt = d.NotBefore.Add(DialoutLasts)
	}
	priority := contact.DefaultPriority - d.Precedence
	notBefore, expiresAt := d.NotBefore, d.ExpiresAt
	d.Command.Times = contact.Times{NotBefore: &notBefore, ExpiresAt: &expiresAt, Priority: &priority}
	d.NextAt = d.NotBefore
	return d
}

// Shown is the dialout as calls are shown.
func (d *ScheduledDialout) Shown() attempt.Attempt {
	return attempt.Attempt{ID: d.ID, Bot: d.Command.Bot, To: d.Command.To, From: d.Command.From, Trunk: d.Command.Trunk,
		Variables: d.Command.Variables, Key: d.Command.Who.Key, State: attempt.Scheduled,
		Waits: &attempt.Waits{NotBefore: d.NotBefore, ExpiresAt: d.ExpiresAt,
			Priority: contact.DefaultPriority - d.Precedence, Reason: d.Reason}}
}

// Ended is the attempt that is stored of a dialout that is not dialled. Its time is when it was to begin.
func (d *ScheduledDialout) Ended(o engine.Outcome, now time.Time, node engine.Incarnation) attempt.Attempt {
	a := d.Shown()
	begin, end := d.NotBefore, now
	a.State, a.Waits, a.Outcome, a.Node = attempt.Ended, nil, o, node
	a.ReservedAt, a.EndedAt, a.HungUpBy = &begin, &end, engine.PartySystem
	return a
}

// Reply is the answer to the request for it.
func (d *ScheduledDialout) Reply() DialoutReply {
	priority := contact.DefaultPriority - d.Precedence
	return DialoutReply{Status: "scheduled", CallID: d.ID.Call(), AttemptID: d.ID, BotID: d.Command.Bot,
		ToNumber: d.Command.To.E164(), FromNumber: d.Command.From.E164(), CreatedAt: d.CreatedAt.UTC(),
		NotBefore: &d.NotBefore, ExpiresAt: &d.ExpiresAt, Priority: &priority}
}
