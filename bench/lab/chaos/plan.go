package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine/journal"
)

// kind is what is done to the dialler or to its database.
type kind string

const (
	// Kills of the dialler with SIGKILL, by the moment they wait for.
	atRandom    kind = "kill at random"
	atStart     kind = "kill right after the restart"     // while the life before is being cleared up
	atCall      kind = "kill at a step of a call"         // as the carrier sees it
	atBot       kind = "kill at a step of a conversation" // as the bot sees it
	atCommit    kind = "kill at a step of a transaction"  // as PostgreSQL sees it
	settled     kind = "kill after five seconds"          // when the life has been judged
	withoutBase kind = "kill while the database is away"

	// Faults that the dialler must live through.
	cutCommit    kind = "connection cut"
	slowCommits  kind = "slow commits"
	frozen       kind = "database silent"
	killBackend  kind = "backend killed"
	killDatabase kind = "database killed"
	pausedEngine kind = "dialler paused"
)

// step is a moment of a call as the carrier sees it.
type step string

const (
	stepInvited  step = "INVITE"
	stepRinging  step = "180"
	stepAnswered step = "200"
	stepAcked    step = "ACK"
	stepTalking  step = "first audio of the bot"
	stepEnded    step = "end"
)

var callSteps = []step{stepInvited, stepRinging, stepAnswered, stepAcked, stepTalking, stepEnded}

// at is when the call reached the step, zero while it has not.
func (s step) at(c *carrier.Call) time.Time {
	switch s {
	case stepInvited:
		return c.InviteAt
	case stepRinging:
		return c.RingingAt
	case stepAnswered:
		return c.AnsweredAt
	case stepAcked:
		if c.AnsweredAt.IsZero() {
			return time.Time{}
		}
		return c.AckAt
	case stepTalking:
		return c.RTP.AudioAt
	case stepEnded:
		return c.EndedAt
	default: // of a conversation
		return time.Time{}
	}
}

// Steps of a conversation as the bot sees it.
const (
	stepAttached step = "bot connected"
	stepHeard    step = "the bot hears the callee"
	stepClosed   step = "conversation over"
	stepReported step = "result acknowledged"
)

var botSteps = []step{stepAttached, stepHeard, stepClosed, stepReported}

// during is when the conversation reached the step, zero while it has not.
func (s step) during(b *bot.Session) time.Time {
	switch s {
	case stepAttached:
		return b.StartedAt
	case stepHeard:
		return b.FirstHeardAt
	case stepClosed:
		return b.EndedAt
	case stepReported:
		if b.Result.State == bot.ReportTaken {
			return b.Result.At
		}
	default: // of a call
	}
	return time.Time{}
}

// What a transaction is about, by the event in it: the step of a call, or what
// the CRM asked for.
var transactions = []journal.Type{
	journal.AttemptReserved, journal.AttemptAnswered, journal.AttemptConnected, journal.AttemptEnded, journal.ResultStored,
	journal.ContactTriggered, journal.ContactExcluded, journal.ContactsAdded,
}

// point is a moment of a kind of transaction.
type point struct {
	mark   string
	moment moment
}

func (p point) String() string { return p.mark + ", " + string(p.moment) }

// pointsOf are the given moments of every kind of transaction, and the message
// with which an intent takes its number.
func pointsOf(moments ...moment) []point {
	list := []point{{"holds", beforeChecks}} // a prepared statement
	for _, t := range transactions {
		for _, m := range moments {
			list = append(list, point{string(t), m})
		}
	}
	return list
}

// Where the dialler is killed, and where its connection is cut.
var (
	killPoints = pointsOf(beforeCommit, unheard, heard)
	cutPoints  = pointsOf(beforeCommit, unheard)
)

// faults are those drawn from; withoutBase is a kill and a fault.
var faults = []kind{cutCommit, killDatabase, slowCommits, killBackend, withoutBase, frozen}

// disturbance is one planned kind.
type disturbance struct {
	kind  kind
	after time.Duration // from the start of the life, or from the disturbance before when that ended no life
	step  step          // for atCall and atBot: the first one after that time
	point point         // for atCommit and cutCommit
	delay time.Duration // from the step to the kill
	down  time.Duration // from a kill to the restart
	lasts time.Duration // of a fault
	early bool          // of withoutBase: the dialler is back before its database
}

// kills says whether the dialler's life ends.
func (b *disturbance) kills() bool {
	switch b.kind {
	case cutCommit, slowCommits, frozen, killBackend, killDatabase, pausedEngine:
		return false
	default:
		return true
	}
}

// label is the row of the report.
func (b *disturbance) label() string {
	switch b.kind {
	case atCall, atBot:
		return string(b.kind) + ": " + string(b.step)
	case atCommit, cutCommit:
		return string(b.kind) + ": " + b.point.String()
	default:
		return string(b.kind)
	}
}

func (b *disturbance) String() string {
	s := b.label()
	if b.kind == atCall || b.kind == atBot {
		s += fmt.Sprintf(" and %v", b.delay.Round(time.Millisecond))
	}
	if b.lasts > 0 {
		s += fmt.Sprintf(" for %v", b.lasts.Round(time.Millisecond))
	}
	if b.kind == withoutBase && b.early {
		s += ", which comes back later"
	}
	if b.kills() {
		s += fmt.Sprintf("; down for %v", b.down.Round(time.Millisecond))
	}
	return s
}

// settleTime is how long after a life is up the carrier has no call left that the
// dialler does not own.
const settleTime = 5 * time.Second

// plan draws the disturbances of a campaign one by one, so that it need not know how
// many there will be.
type plan struct {
	rng    *rand.Rand
	wired  bool          // transactions can be seen, the database is ours
	pause  time.Duration // of a paused dialler; 0 is never
	deck   []kind
	points []point
	cuts   []point
	calls  []step
	bots   []step
	faults []kind
	drawn  int
	decks  int
}

// Of a deck's kinds each comes once, in any order.
func (p *plan) shuffle() {
	p.deck = []kind{atRandom, atStart, atCall, settled}
	if p.wired {
		p.deck = append(p.deck, atCommit, atCommit, atCommit, atBot)
		p.deck = append(p.deck, next(p.rng, &p.faults, faults), next(p.rng, &p.faults, faults))
	}
	if p.pause > 0 && p.decks%2 == 0 { // it takes long
		p.deck = append(p.deck, pausedEngine)
	}
	p.decks++
	p.rng.Shuffle(len(p.deck), func(i, j int) { p.deck[i], p.deck[j] = p.deck[j], p.deck[i] })
	if p.drawn == 0 && p.deck[0] == atStart { // there was no restart yet
		p.deck[0], p.deck[1] = p.deck[1], p.deck[0]
	}
}

// next takes one of all; each comes once before any comes again.
func next[T any](r *rand.Rand, left *[]T, all []T) T {
	if len(*left) == 0 {
		*left = append([]T{}, all...)
		r.Shuffle(len(all), func(i, j int) { (*left)[i], (*left)[j] = (*left)[j], (*left)[i] })
	}
	one := (*left)[0]
	*left = (*left)[1:]
	return one
}

func (p *plan) next() *disturbance {
	span := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(p.rng.Int64N(int64(hi-lo))) }
	if len(p.deck) == 0 {
		p.shuffle()
	}
	b := &disturbance{kind: p.deck[0], after: span(500*time.Millisecond, 2*time.Second)}
	p.deck = p.deck[1:]
	p.drawn++
	switch b.kind {
	case atRandom:
		b.after = span(200*time.Millisecond, 6*time.Second)
	case atStart:
		b.after = span(0, 1500*time.Millisecond)
	case settled:
		b.after = settleTime + span(200*time.Millisecond, 1500*time.Millisecond)
	case atCall:
		b.step, b.delay = next(p.rng, &p.calls, callSteps), span(0, 40*time.Millisecond)
	case atBot:
		b.step, b.delay = next(p.rng, &p.bots, botSteps), span(0, 40*time.Millisecond)
	case atCommit:
		b.point = next(p.rng, &p.points, killPoints)
	case cutCommit:
		b.point = next(p.rng, &p.cuts, cutPoints)
	case killDatabase, withoutBase:
		b.lasts = span(100*time.Millisecond, 4*time.Second)
		b.early = p.rng.IntN(2) == 0
	case slowCommits:
		b.lasts = span(3*time.Second, 5*time.Second)
	case frozen:
		b.lasts = span(500*time.Millisecond, 4*time.Second)
	case pausedEngine:
		b.lasts = p.pause
	default:
	}
	if b.kills() && p.rng.IntN(2) == 0 { // the world goes on: callees hang up, bots report
		b.down = span(0, 2*time.Second)
	}
	return b
}
