package call

import (
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// result stores what a bot reports; it may come before the call's end, after it, or
// late.
func (c *Call) result(m *StoreResult) {
	id, _ := m.Call.Attempt()
	if m.Fetched {
		c.Fetching--
	}
	switch {
	case c.owner.number().Erased() || m.Attempt != nil && m.Attempt.To.Erased():
		c.answer(m.Request, nil, ErrPersonErased)
		return
	case c.is(id):
		// It is the attempt at hand.
	case !m.Fetched:
		// What the sender saw of the attempt may be older than its end.
		c.Fetching++
		c.emit(&FetchAttempt{Attempt: id, Result: m})
		return
	default:
		if !c.resultOf(m) {
			return
		}
	}
	c.owner.resulted()
	c.Result = m
	r := m.Result
	c.apply(attempt.Event{Kind: attempt.ResultStored, At: c.in.Now, Result: &r})
}

// resultOf takes the result of an attempt that was read from the table; true: that is
// the attempt at hand now.
func (c *Call) resultOf(m *StoreResult) bool {
	at := m.Attempt
	if at != nil {
		if newer, ok := c.Results[at.ID]; ok {
			at = &newer
		}
	}
	switch {
	case at == nil:
		c.answer(m.Request, nil, m.Err)
		return false
	case at.State != attempt.Ended && !c.owner.sole():
		c.answer(m.Request, nil, ErrCallNotFound)
		return false
	case at.State != attempt.Ended || c.Live() || c.Watching > 0:
		c.olderResult(m, at)
		return false
	}
	c.owner.adopt(*at)
	return true
}

// olderResult stores the result of an attempt while another one is at hand. Until the
// row is in the table another result of it must not count again.
func (c *Call) olderResult(m *StoreResult, at *attempt.Attempt) {
	machine := attempt.Machine{A: *at, Config: c.owner.config()}
	r := m.Result
	if _, err := machine.Apply(attempt.Event{Kind: attempt.ResultStored, At: c.in.Now, Result: &r}, nil); err != nil {
		c.answer(m.Request, nil, err)
		return
	}
	if c.Results == nil {
		c.Results = map[engine.AttemptID]attempt.Attempt{}
	}
	c.Results[at.ID] = machine.A
	c.Result = m
	c.recordResult(machine.A)
}

// recordResult writes an attempt with the result that it has just got.
func (c *Call) recordResult(at attempt.Attempt) int {
	e := c.owner.event(journal.ResultStored)
	e.Attempt = at.ID
	e.Data = journal.Data{Trunk: at.Trunk, Number: at.Number, Connected: at.CountsResult(),
		Disposition: at.Result.Disposition, Outcome: at.Outcome} // none while the call lives
	w := &journal.Write{Attempts: []attempt.Attempt{at}, Events: []journal.Event{e}}
	doNotCall := at.Result.DoNotCall
	if doNotCall {
		w.Suppressions = []journal.Suppression{{Number: at.To, Reason: journal.SuppressedByResult, CreatedAt: c.in.Now}}
	}
	c.owner.recorded(attempt.WhatResult, w)
	m := c.Result
	c.Result = nil
	// The machine records a result that came before the conversation a second time, as
	// that of a conversation. It was answered and counted by then.
	if m == nil {
		return c.persist(w, Then{})
	}
	c.emit(CountResult)
	if doNotCall { // answered like any suppression
		return c.persist(w, Then{Suppress: &Suppress{Number: at.To, Request: m.Request}})
	}
	return c.persist(w, Then{Answer: &Answer{Request: m.Request}})
}
