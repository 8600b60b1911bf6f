package sim

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/exclusion"
	"dialler/engine/run"
)

// request is something that is asked of a campaign's run from outside: by an operator,
// through the API, by a bot. It is repeated when it finds no process, or when that says
// to try again, and when its answer may be lost with whoever owed it.
type request struct {
	c        *campaignRecord
	what     string
	event    any
	done     func(value any, err error) // nil: nobody looks
	patience time.Duration              // 0: answerWithin
	late     func()                     // in place of a repetition
	sent     time.Duration
	tries    int
	over     bool
}

const (
	// answerWithin is how long a request may wait for its answer while nothing is wrong.
	answerWithin = 2 * time.Minute
	askAgain     = 5 * time.Second
	triesCap     = 40
)

// ask sends a request.
func (w *campaignWorld) ask(q *request) {
	r := w.runner(q.c)
	if r == nil || w.process.dbDown {
		w.later(askAgain, func() { w.ask(q) })
		return
	}
	w.requests++
	id := engine.Request("request-" + strconv.Itoa(w.requests))
	sent := *q
	sent.sent = w.now
	w.process.waiting[id] = &sent
	w.process.do(0, func() { r.receive(q.event, id) })
	w.later(cmp.Or(q.patience, answerWithin), func() {
		switch {
		case sent.over:
		case q.late != nil:
			sent.over = true
			q.late()
		case q.c.disturbed < sent.sent && w.dbAway == 0:
			w.check.broke(q.c, "a request (%s) of %s was not answered", q.what, sent.sent)
		default:
			sent.over = true
			w.repeat(q, askAgain)
		}
	})
}

func (w *campaignWorld) repeat(q *request, in time.Duration) {
	if q.tries++; q.tries < triesCap {
		w.later(in, func() { w.ask(q) })
	}
}

// reply brings an answer to whoever asked.
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

// suppress tells every run of a number that is on the suppression list, and answers
// whoever asked once all have confirmed.
func (p *process) suppress(n engine.PhoneNumber, to engine.Request) {
	p.w.suppress(n, func() { p.reply(to, nil, nil) })
}

func (w *campaignWorld) suppress(n engine.PhoneNumber, confirmed func()) {
	left := len(w.campaigns)
	for _, c := range w.campaigns {
		w.ask(&request{c: c, what: "suppressed",
			event: &run.Suppressed{Numbers: map[engine.PhoneNumber]struct{}{n: {}}},
			done: func(any, error) {
				if left--; left == 0 {
					w.check.listed[n] = true
					confirmed()
				}
			}})
	}
}

// --- what the checker learns of them ---------------------------------------------------------

// adding: somebody adds the numbers on purpose, which may undo what kept them away. The
// function says that it is over.
func (k *checker) adding(c *campaignRecord, numbers ...engine.PhoneNumber) (done func(any, error)) {
	t := k.runs[c.i]
	mark := func(n int) {
		for _, no := range numbers {
			delete(t.excluded, no)
			delete(t.consumed, no)
			t.added[no]++
			t.underWay[no] += n
		}
	}
	mark(1)
	return func(any, error) { mark(-1) }
}

// excluding: an exclusion is asked for; the function hears the answer. One that somebody
// undoes meanwhile binds nobody.
func (k *checker) excluding(c *campaignRecord, n engine.PhoneNumber, match map[string]string) func(any, error) {
	t := k.runs[c.i]
	concerned := func() (list []engine.PhoneNumber) {
		if n != "" {
			return []engine.PhoneNumber{n}
		}
		rows, _ := k.w.store.ContactsMatching(background, c.id, match)
		for i := range rows {
			if exclusion.Concerns(n, match, rows[i].Number, rows[i].Variables) {
				list = append(list, rows[i].Number)
			}
		}
		return list
	}
	asked := map[engine.PhoneNumber]int{}
	for _, no := range concerned() {
		asked[no] = t.added[no]
	}
	return func(_ any, err error) {
		if err != nil {
			return
		}
		for _, no := range concerned() {
			if added, ok := asked[no]; ok && added == t.added[no] && t.underWay[no] == 0 {
				t.excluded[no] = true
			}
		}
	}
}

// answer counts an answer.
func (k *checker) answer(what string, err error) {
	if err != nil {
		what += " " + engine.ErrorCode(err)
	}
	k.answers[what]++
}

// acting: somebody asks for it. A campaign may dial from the moment that it is asked to.
func (k *checker) acting(c *campaignRecord, a campaign.Action) {
	if t := k.runs[c.i]; a == campaign.ActionStart || a == campaign.ActionResume {
		t.paused = -1
		t.asked++
	}
}

func (k *checker) acted(c *campaignRecord, a campaign.Action, err error) {
	k.note(c, "%s: %v", a, err)
	t := k.runs[c.i]
	switch a { //nolint:exhaustive // of the others nothing is watched
	case campaign.ActionStart, campaign.ActionResume:
		t.asked--
	case campaign.ActionPause:
		if err == nil && t.asked == 0 {
			t.paused = k.w.now
		}
	case campaign.ActionEdit:
		if err == nil {
			t.edited = k.w.now
		}
	}
}

// triggered: contact, intent and reply commit together.
func (k *checker) triggered(c *campaignRecord, cmd campaign.Trigger, v any, err error) {
	if err != nil {
		k.note(c, "trigger of %s: %v", cmd.Number.E164(), err)
		_, ok, _ := k.w.store.FindReply(background, cmd.Idempotency)
		if engine.ErrorCode(err) == "idempotency_in_progress" && !ok {
			k.broke(c, "a trigger is said to be answered, and no reply is stored")
		}
		return
	}
	r, _ := v.(campaign.TriggerReply)
	k.note(c, "trigger of %s: %s %s", cmd.Number.E164(), r.Status, r.Reason)
	if _, ok, _ := k.w.store.ContactByID(background, r.ContactID); !ok {
		k.broke(c, "a trigger was answered, and its contact is not stored")
	}
	if _, ok := k.w.stored(r.AttemptID); r.Status == "dialled" && !ok && !k.w.in.Large {
		k.broke(c, "a trigger was answered dialled, and its attempt is not stored")
	}
	if _, ok, _ := k.w.store.FindReply(background, cmd.Idempotency); cmd.Idempotency.Present() && !ok {
		k.broke(c, "a trigger with an Idempotency-Key was answered, and its reply is not stored")
	}
}
