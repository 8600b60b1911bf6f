package callee

import (
	"cmp"
	"slices"
	"time"

	"dialler/engine"
)

// Call is the record of one attempt. Times are nil where there are none.
type Call struct {
	Again                                 bool // not the contact's first attempt in the run
	Reserved                              *time.Time
	Invite                                time.Time
	Answered, Verdict, Bot, Served, Ended *time.Time // Bot: when it was connected
	VerdictIs                             engine.Verdict
	Took                                  time.Duration // of the classification
	Outcome                               engine.Outcome
	Cause                                 engine.AbandonCause
	HungUpBy                              engine.Party
	Code                                  int
	Reason                                string
	RetryAfter                            time.Duration

	Result      *time.Time // when it came
	Disposition string
	Callback    bool
	CallbackAt  *time.Time
	DoNotCall   bool
}

// Measure says how the people of some calls behaved, as far as known at a given time. A call that
// was not over then counts like those that had already taken as long: a call that has been ringing
// for ten seconds is one of those that rang for longer than that.
func Measure(calls []Call, at time.Time) People {
	m := measuring{at: at, kinds: map[kindKey]*measuredKind{}}
	for i := range calls {
		m.call(&calls[i])
	}
	m.open()
	return m.people()
}

// kindKey is what all dials of a Kind have in common.
type kindKey struct {
	answered bool
	verdict  engine.Verdict
	outcome  engine.Outcome
	code     int
}

type measuredKind struct {
	Kind
	ring, took, talk []weighted
}

// dial is a dial whose kind is known, because the callee's part in it is over.
type dial struct {
	kind *measuredKind
	ring float64 // INVITE → answer or end, s
}

type measuring struct {
	at          time.Time
	kinds       map[kindKey]*measuredKind
	order       []*measuredKind // in order of appearance
	known       []dial
	ringing     []float64 // for how long, s
	talking     []dial    // for how long, in ring
	unheard     float64   // abandoned before there was a verdict
	p           People
	words       map[string]int
	placing     []weighted
	results, in []weighted
	awaited     []float64 // how long results have been awaited, s
}

// resultSoon is how long a result, s, may be awaited before it counts as missing, even if all
// others came sooner.
const resultSoon = 10.0

func (m *measuring) before(t *time.Time) bool { return t != nil && !t.After(m.at) }

func (m *measuring) call(c *Call) {
	if c.Invite.After(m.at) {
		return
	}
	if c.Reserved != nil {
		m.placing = append(m.placing, weighted{c.Invite.Sub(*c.Reserved).Seconds(), 1})
	}
	answered, ended := m.before(c.Answered), m.before(c.Ended)
	switch {
	case !answered && !ended, answered && !ended && !m.before(c.Verdict) && !m.before(c.Served):
		m.ringing = append(m.ringing, m.at.Sub(c.Invite).Seconds())
		return
	case !answered && !said(c):
		return
	}
	if answered {
		m.bot(c, ended)
		if ended && c.Outcome == engine.OutcomeAbandoned && !m.before(c.Verdict) {
			m.unheard++
			m.p.Dials++
			return
		}
	}
	key := kindKey{answered: answered}
	if answered {
		if m.before(c.Verdict) {
			key.verdict = c.VerdictIs
		}
	} else {
		key.outcome, key.code = c.Outcome, c.Code
		if ringsOut(c) {
			key.code = 0
		}
	}
	k := m.kinds[key]
	if k == nil {
		k = &measuredKind{Kind: Kind{Answered: answered, Verdict: key.verdict, Outcome: key.outcome, Code: key.code,
			Reason: c.Reason}}
		m.kinds[key] = k
		m.order = append(m.order, k)
	}
	m.p.Dials++
	if c.Again {
		k.Again++
	} else {
		k.First++
	}
	if !answered {
		ring := c.Ended.Sub(c.Invite).Seconds()
		if key.code != 0 {
			k.ring = append(k.ring, weighted{ring, 1})
			k.RetryAfter = max(k.RetryAfter, c.RetryAfter)
		}
		m.known = append(m.known, dial{k, ring})
		return
	}
	ring := c.Answered.Sub(c.Invite).Seconds()
	k.ring = append(k.ring, weighted{ring, 1})
	m.known = append(m.known, dial{k, ring})
	if key.verdict != "" {
		k.took = append(k.took, weighted{c.Took.Seconds(), 1})
	}
	m.talk(k, c)
}

// said says that the network or the callee decided how the dial ended.
func said(c *Call) bool {
	switch c.Outcome { //nolint:exhaustive // the others are ours
	case engine.OutcomeBusy, engine.OutcomeRejected, engine.OutcomeInvalidNumber, engine.OutcomeBlocked,
		engine.OutcomeCongestion, engine.OutcomeThrottled, engine.OutcomeTrunkError:
		return c.Code != 0
	case engine.OutcomeNoAnswer:
		return true
	}
	return false
}

// ringsOut says that the dialler gave up.
func ringsOut(c *Call) bool {
	return c.Outcome == engine.OutcomeNoAnswer && (c.Code == 0 || c.Code == 487)
}

// bot counts whether the bot was available for an answered call.
func (m *measuring) bot(c *Call, ended bool) {
	f := &m.p.Failed
	switch {
	case ended && c.Outcome == engine.OutcomeAbandoned:
		if c.Cause == engine.AbandonLateConnect || c.Cause == engine.AbandonCapacityLoss {
			f.Of, f.Among = f.Of+1, f.Among+1
		}
	case m.before(c.Bot):
		f.Among++
	}
}

// talk measures the conversation of an answered call, and its result.
func (m *measuring) talk(k *measuredKind, c *Call) {
	ended := m.before(c.Ended)
	switch {
	case k.machine() || ended && c.Outcome == engine.OutcomeAbandoned:
		return // the dialler ended it
	case !ended:
		m.talking = append(m.talking, dial{k, m.at.Sub(*c.Answered).Seconds()})
		return
	case c.HungUpBy == engine.PartySystem:
		m.talking = append(m.talking, dial{k, c.Ended.Sub(*c.Answered).Seconds()})
	default:
		k.talk = append(k.talk, weighted{c.Ended.Sub(*c.Answered).Seconds(), 1})
	}
	if m.before(c.Served) {
		m.result(c)
	}
}

func (m *measuring) result(c *Call) {
	p := &m.p
	if !m.before(c.Result) {
		m.awaited = append(m.awaited, m.at.Sub(*c.Ended).Seconds())
		return
	}
	p.NoResult.Among++
	p.InCall.Among, p.Callback.Among, p.DoNotCall.Among = p.InCall.Among+1, p.Callback.Among+1, p.DoNotCall.Among+1
	if c.Result.Before(*c.Ended) {
		p.InCall.Of++
	} else {
		m.results = append(m.results, weighted{c.Result.Sub(*c.Ended).Seconds(), 1})
	}
	if c.Callback {
		p.Callback.Of++
		if c.CallbackAt != nil {
			m.in = append(m.in, weighted{c.CallbackAt.Sub(*c.Result).Seconds(), 1})
		}
	}
	if c.DoNotCall {
		p.DoNotCall.Of++
	}
	if m.words == nil {
		m.words = map[string]int{}
	}
	m.words[c.Disposition]++
}

// open distributes the weight of every unfinished dial over those that took longer. A result that
// is awaited for longer than any took is missing; the other unfinished ones say nothing.
func (m *measuring) open() {
	longest := resultSoon
	for _, r := range m.results {
		longest = max(longest, r.v)
	}
	for _, age := range m.awaited {
		if age > longest {
			m.p.NoResult.Of, m.p.NoResult.Among = m.p.NoResult.Of+1, m.p.NoResult.Among+1
		}
	}
	for _, age := range m.ringing {
		longer := 0
		for i := range m.known {
			if m.known[i].ring > age {
				longer++
			}
		}
		for i := range m.known {
			if d := &m.known[i]; d.ring > age {
				share := d.kind.First / max(d.kind.weight(), 1)
				d.kind.First += share / float64(longer)
				d.kind.Again += (1 - share) / float64(longer)
			}
		}
	}
	m.hear()
	slices.SortFunc(m.talking, func(a, b dial) int { return cmp.Compare(a.ring, b.ring) })
	for _, d := range m.talking {
		longer := 0.0
		for _, x := range d.kind.talk {
			if x.v > d.ring {
				longer += x.weight
			}
		}
		if longer == 0 {
			d.kind.talk = append(d.kind.talk, weighted{d.ring, 1})
			continue
		}
		for i := range d.kind.talk {
			if x := &d.kind.talk[i]; x.v > d.ring {
				x.weight *= 1 + 1/longer
			}
		}
	}
}

// hear distributes the calls that were abandoned before a verdict over the verdicts of the others.
func (m *measuring) hear() {
	if m.unheard == 0 {
		return
	}
	var of []*measuredKind
	all := 0.0
	for _, k := range m.order {
		if k.Answered && k.Verdict != "" {
			of, all = append(of, k), all+k.weight()
		}
	}
	if all == 0 {
		i := slices.IndexFunc(m.order, func(k *measuredKind) bool { return k.Answered })
		if i < 0 {
			m.order = append(m.order, &measuredKind{Kind: Kind{Answered: true}})
			i = len(m.order) - 1
		}
		m.order[i].First += m.unheard
		return
	}
	for _, k := range of {
		k.First *= 1 + m.unheard/all
		k.Again *= 1 + m.unheard/all
	}
}

func (m *measuring) people() People {
	p := m.p
	var all []weighted
	for _, k := range m.order {
		all = append(all, k.talk...)
	}
	for _, k := range m.order {
		if k.Answered && !k.machine() && len(k.talk) == 0 { // none of them was served
			k.talk = all
		}
		k.Ring, k.Kind.Took, k.Talk = sampleOf(k.ring), sampleOf(k.took), sampleOf(k.talk)
		if k.Answered && !k.machine() && len(k.Talk) == 0 {
			k.Talk = assumed().Kinds[0].Talk
		}
		p.Kinds = append(p.Kinds, k.Kind)
	}
	p.Result, p.CallbackIn, p.Placing = sampleOf(m.results), sampleOf(m.in), sampleOf(m.placing)
	for word, n := range m.words {
		p.Words = append(p.Words, Word{word, n})
	}
	slices.SortFunc(p.Words, func(a, b Word) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Disposition, b.Disposition))
	})
	p.Words = p.Words[:min(len(p.Words), WordsMost)]
	return p
}
