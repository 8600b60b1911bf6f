package call

import (
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
)

// result stores a bot's report; it may come before the call's end, after it, or late.
func (c *Call) result(m *StoreResult) {
	id, _ := m.Call.Attempt()
	run := c.owner.event(journal.ResultStored).Run
	if m.Fetched && c.Fetching > 0 { // it waits for none since its shell crashed
		c.Fetching--
	}
	switch {
	case c.Taken && c.owner.contact() == "": // whoever has the call stores it
		c.answer(m.Request, nil, ErrBeingClosed)
		return
	case c.owner.number().Erased() || m.Attempt != nil && m.Attempt.To.Erased():
		c.answer(m.Request, nil, ErrPersonErased)
		return
	case c.is(id) && c.Machine.A.Run == run:
		// This is the current attempt.
	case !m.Fetched:
		// The sender's copy of the attempt may predate its end. An attempt of an earlier run whose
		// legs are watched is fetched with the contact as that run left it.
		c.Fetching++
		c.emit(&FetchAttempt{Attempt: id, Run: run, Result: m})
		return
	case c.is(id) && m.Err == nil:
		// Its row is no newer.
	default:
		if !c.resultOf(m) {
			return
		}
	}
	r, changes := m.Result, true
	if m.Late {
		r, changes = c.Machine.A.Result.After(&m.Result)
	}
	if !changes {
		c.answer(m.Request, nil, nil)
		return
	}
	c.owner.rest()
	c.Result = m
	c.apply(attempt.Event{Kind: attempt.ResultStored, At: c.in.Now, Result: &r})
}

// resultOf takes the result of an attempt that was read from the table; true means that this is the
// current attempt now.
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
	case at.State != attempt.Ended && c.owner.contact() == "": // a dialout that another node has, or is to close
		c.answer(m.Request, nil, ErrBeingClosed)
		return false
	case at.State != attempt.Ended || c.Live() || c.Watching > 0:
		c.olderResult(m, at)
		return false
	}
	c.owner.adopt(*at)
	return true
}

// olderResult stores the result of an attempt while another one is current. Until the row is in the
// table another result of that attempt must not count again.
func (c *Call) olderResult(m *StoreResult, at *attempt.Attempt) {
	machine := attempt.Machine{A: *at, Config: c.owner.config()}
	r, changes := m.Result, true
	if m.Late {
		r, changes = at.Result.After(&m.Result)
	}
	if !changes {
		c.answer(m.Request, nil, nil)
		return
	}
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

// recordResult writes an attempt with the result that it just got.
func (c *Call) recordResult(at attempt.Attempt) int {
	w, m := c.resultWrite(at), c.Result
	c.Result = nil
	c.emit(CountResult)
	if w.Suppressions != nil { // answered like any suppression
		return c.persist(w, Then{Suppress: &Suppress{Number: at.To, Request: m.Request}})
	}
	then := Then{Answer: &Answer{Request: m.Request}}
	if at.Inbound {
		then.Answer.Value = at // whoever asked passes it on once the call is over
	}
	return c.persist(w, then)
}

// resultWrite is the attempt with its result, and the consequences for the contact.
func (c *Call) resultWrite(at attempt.Attempt) *journal.Write {
	e := c.owner.event(journal.ResultStored)
	e.Attempt = at.ID
	e.Data = journal.Data{Trunk: at.Trunk, Number: at.Number, Connected: at.CountsResult(),
		Disposition: at.Result.Disposition, Outcome: at.Outcome} // none while the call is live
	w := &journal.Write{Attempts: []attempt.Attempt{at}, Events: []journal.Event{e}}
	if at.Result.DoNotCall {
		w.Suppressions = c.suppression(&at, journal.SuppressedByResult)
	}
	c.owner.recorded(attempt.WhatResult, w)
	return w
}
