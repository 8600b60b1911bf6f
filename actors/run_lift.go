package actors

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// liftOp is an exclusion that is being taken back: it is answered when that and
// the word of every contact concerned are stored.
type liftOp struct {
	cmd     campaign.Lift
	was     bool // the campaign had the exclusion
	replyTo *actor.PID
	reply   campaign.LiftReply
	awaited int
}

type (
	lift      struct{ cmd campaign.Lift }
	liftFound struct {
		look look
		op   int
		rows []contact.Contact
		err  error
	}
	// liftAgain asks for the contacts once more.
	liftAgain struct{ op int }
	liftDone  struct {
		Op         int
		Readmitted bool
	}
)

var (
	errNoExclusion = engine.NotFound("exclusion_not_found", "the campaign has no such exclusion, and no contact that is excluded by this number")
	errRunIsOver   = engine.Conflict("run_over", "the run is over and calls nobody any more; restart the campaign, then lift the exclusion")
	errExcluding   = engine.TemporaryConflict("exclusion_in_progress", "the exclusion is just being made; lift it in a moment", time.Second)
)

func (r *run) lift(m *lift, sender *actor.PID) {
	if !r.known(sender) || r.past(m.cmd.Deadline, sender) {
		return
	}
	switch {
	case r.over():
		reply(r.d, sender, nil, errRunIsOver)
		return
	case r.storing:
		reply(r.d, sender, nil, errPreparing)
		return
	}
	for _, op := range r.ops {
		if op.cmd.Number == m.cmd.Number && maps.Equal(op.cmd.Match, m.cmd.Match) {
			reply(r.d, sender, nil, errExcluding)
			return
		}
	}
	op := &liftOp{cmd: m.cmd, was: r.excluded.Has(m.cmd.Number, m.cmd.Match), replyTo: sender}
	r.opSeq++
	n := r.opSeq
	r.lifts[n] = op
	if op.was {
		x := journal.Exclusion{Campaign: r.id, Number: m.cmd.Number, Match: m.cmd.Match, Lifted: true, CreatedAt: r.now}
		r.excluded.Add(&x)
		r.write(journal.Write{Exclusions: []journal.Exclusion{x}, Events: []journal.Event{r.liftedBy(&m.cmd)}})
	}
	r.afterWrites(func() { r.findLifted(n) })
}

// liftedBy is the entry of the history. Values of metadata are somebody's own and
// stay out of it.
func (r *run) liftedBy(cmd *campaign.Lift) journal.Event {
	what := cmd.Number.String() // masked
	if cmd.Number == "" {
		what = strings.Join(slices.Sorted(maps.Keys(cmd.Match)), ", ")
	}
	return journal.Event{At: r.now, Type: journal.ExclusionLifted, Version: 1, Data: journal.Data{Who: &cmd.Who, Reason: what}}
}

// findLifted asks for the contacts that the exclusion was about.
func (r *run) findLifted(n int) {
	op := r.lifts[n]
	if op == nil {
		return
	}
	r.findContacts(op.cmd.Number, op.cmd.Match, func(l look, rows []contact.Contact, err error) any { return &liftFound{l, n, rows, err} })
}

func (r *run) liftFound(m *liftFound) {
	defer r.endLook(m.look)
	op := r.lifts[m.op]
	switch {
	case op == nil:
		return
	case passes(m.err) && op.was:
		// It is lifted: that is carried out whole, whoever still waits.
		r.d.after(time.Second, r.self, &liftAgain{m.op})
		return
	case m.err != nil:
		delete(r.lifts, m.op)
		reply(r.d, op.replyTo, nil, unavailable(m.err))
		return
	}
	kept := false
	for i := range m.rows {
		row := &m.rows[i]
		switch {
		case row.State != contact.Excluded && !row.ExcludeAfterCall:
		case r.excluded.Refuses(row.Number, row.Variables, true):
			kept = true // by another exclusion, or one that came since
		case r.over():
		default:
			op.awaited++
			r.touchFound(m.look, *row, &call.Readmit{LiftedExclusion: true, Op: m.op})
		}
	}
	if !op.was && op.awaited == 0 && !kept {
		delete(r.lifts, m.op)
		reply(r.d, op.replyTo, nil, errNoExclusion)
		return
	}
	r.finishLift(m.op)
}

func (r *run) liftDone(m *call.Lifted) {
	op := r.lifts[m.Op]
	if op == nil {
		return
	}
	op.awaited--
	if m.Readmitted {
		op.reply.Readmitted++
	}
	r.finishLift(m.Op)
}

func (r *run) finishLift(n int) {
	if op := r.lifts[n]; op.awaited == 0 {
		delete(r.lifts, n)
		reply(r.d, op.replyTo, op.reply, nil)
	}
}
