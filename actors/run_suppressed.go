package actors

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// suppressedPage bounds how many contacts are looked up at once.
const suppressedPage = 512

// suppressedFound brings contacts that wait for a dial and whose numbers are
// suppressed.
type suppressedFound struct {
	look    look
	run     int
	numbers []engine.PhoneNumber
	after   engine.ContactID
	rows    []contact.Contact
	err     error
}

// findSuppressed asks for the contacts of the run that wait for a dial, behind the
// one given, and whose number is on the suppression list: of these numbers, or of
// all when there are none. Those of a draft are refused when they are dialled.
func (r *run) findSuppressed(numbers []engine.PhoneNumber, after engine.ContactID) {
	if s := r.m.C.State; s != campaign.Running && s != campaign.Paused {
		return
	}
	d, self, id, m := r.d, r.self, r.id, &suppressedFound{look: r.beginLook(), run: r.m.C.Run, numbers: numbers, after: after}
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m.rows, m.err = d.store.SuppressedContacts(ctx, id, m.run, numbers, after, suppressedPage)
		d.root.Send(self, m)
	}()
}

func (r *run) suppressedFound(m *suppressedFound) {
	defer r.endLook(m.look)
	switch _, mine := r.looks[m.look]; {
	case !mine || r.over() || m.run != r.m.C.Run:
		return
	case m.err != nil:
		if !passes(m.err) {
			r.d.log.Error().Err(m.err).Str("campaign_id", string(r.id)).Msg("suppressed contacts not read; trying again")
		}
		r.d.after(time.Second, r.self, &suppressedAgain{m.numbers, m.after})
		return
	}
	for i := range m.rows {
		r.touchFound(m.look, m.rows[i], &call.End{Reason: engine.CodeSuppressed})
	}
	if n := len(m.rows); n == suppressedPage {
		r.findSuppressed(m.numbers, m.rows[n-1].ID)
	}
}

// suppressedAgain looks once more for what the database did not tell.
type suppressedAgain struct {
	numbers []engine.PhoneNumber
	after   engine.ContactID
}
