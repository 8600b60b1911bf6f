package sim

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/promise"
	"dialler/engine/run"
)

// request is a request to a campaign's run from outside: by an operator, through the API, by a bot.
// It is repeated when it finds no process, when the answer says to try again, and when its answer
// may have been lost.
type request struct {
	c        *campaignRecord // nil for a request to the calls that came in
	what     string
	event    any
	done     func(value any, err error) // nil: nobody looks
	patience time.Duration              // 0: answerWithin
	late     func()                     // called instead of a repetition
	by       *process                   // who asks, and is gone with a crash; nil: somebody outside
	sent     time.Duration
	tries    int
	over     bool
}

const (
	// answerWithin is how long a request may wait for its answer while there is no fault.
	answerWithin = 2 * time.Minute
	askAgain     = 5 * time.Second
	triesCap     = 40
	tellTries    = 6 // of a process
)

// ask sends a request.
func (w *campaignWorld) ask(q *request) {
	to := w.addressee(q.c)
	switch {
	case q.by != nil && q.by != w.process:
		return
	case to == nil || w.process.dbDown:
		if q.by != nil {
			w.repeat(q, askAgain)
			return
		}
		w.later(askAgain, func() { w.ask(q) })
		return
	}
	w.requests++
	id := engine.Request("request-" + strconv.Itoa(w.requests))
	sent := *q
	sent.sent = w.now
	w.process.waiting[id] = &sent
	w.process.do(0, func() { to.receive(q.event, id) })
	w.later(cmp.Or(q.patience, answerWithin), func() {
		switch {
		case sent.over:
		case q.late != nil:
			sent.over = true
			q.late()
		case w.undisturbed(q.c, sent.sent) && w.dbAway == 0:
			w.check.broke(q.c, "a request (%s) of %s was not answered", q.what, sent.sent)
		default:
			sent.over = true
			w.repeat(q, askAgain)
		}
	})
}

// addressee is who takes requests; nil means nobody at present.
func (w *campaignWorld) addressee(c *campaignRecord) receiver {
	switch {
	case w.process == nil:
		return nil
	case c == nil:
		return w.process.callsIn
	}
	if r := w.process.runs[c.i]; r != nil {
		return r
	}
	return nil
}

// undisturbed says that a campaign, or with nil each one, answers its requests since a time.
func (w *campaignWorld) undisturbed(c *campaignRecord, since time.Duration) bool {
	return !slices.ContainsFunc(w.campaigns, func(x *campaignRecord) bool {
		return (c == nil || c == x) && x.disturbed >= since
	})
}

func (w *campaignWorld) repeat(q *request, in time.Duration) {
	most := triesCap
	if q.by != nil {
		most = tellTries
	}
	if q.tries++; q.tries < most {
		w.later(in, func() { w.ask(q) })
	}
}

// reply delivers an answer to the requester.
func (p *process) reply(to engine.Request, value any, err error) {
	q := p.waiting[to]
	if q == nil || q.over {
		return
	}
	delete(p.waiting, to)
	q.over = true
	w := p.w
	w.check.answer(q.what, err)
	again := *q
	var e *engine.Error
	if errors.As(err, &e) && (e.Kind == engine.KindUnavailable || e.RetryAfter > 0 || e.Code == "calls_in_progress") {
		w.repeat(&again, max(e.RetryAfter, askAgain))
		return
	}
	if q.done != nil {
		w.later(0, func() { q.done(value, err) })
	}
}

// suppress tells every run about a suppressed number, and calls back once all have confirmed.
func (w *campaignWorld) suppress(n engine.PhoneNumber, confirmed func()) {
	left := len(w.campaigns)
	w.tellCallsIn(&call.NumbersSuppressed{Numbers: map[engine.PhoneNumber]struct{}{n: {}}})
	for _, c := range w.campaigns {
		w.ask(&request{c: c, what: "suppressed",
			event: &run.Suppressed{Numbers: map[engine.PhoneNumber]struct{}{n: {}}},
			done: func(any, error) {
				if left--; left == 0 {
					w.check.hear(promise.Suppressed{Number: n})
					confirmed()
				}
			}})
	}
}
