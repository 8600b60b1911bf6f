package campaign

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// contactBatch is a list of contacts on its way into the database, outside the run; it serves both
// plain lists and batches.
type contactBatch struct {
	d      *Deps
	ins    journal.ContactInsert
	became []campaign.BatchResult // result of each contact; "" for those in ins
	batch  *campaign.AddBatch
	reply  *campaign.BatchReply // for a batch with a stored reply
}

// store leaves out whose numbers are all suppressed, as an import does, and adds the others.
func (a *contactBatch) store() (rep campaign.AddReport, err error) {
	if err := a.leaveOutSuppressed(); err != nil {
		return rep, err
	}
	if a.batch != nil {
		a.ins.Answer = a.answer
	}
	left := 0
	for i := range a.became {
		if a.became[i].Status != "" {
			left++
		}
	}
	rep, err = a.d.addContacts(a.ins)
	rep.Excluded += left
	return rep, err
}

func (a *contactBatch) leaveOutSuppressed() error {
	if len(a.ins.Contacts) == 0 {
		return nil
	}
	var numbers []engine.PhoneNumber
	for i := range a.ins.Contacts {
		numbers = slices.AppendSeq(numbers, a.ins.Contacts[i].Person().Numbers())
	}
	ctx, cancel := context.WithTimeout(a.d.Ctx, a.d.Timeout)
	defer cancel()
	suppressed, err := a.d.Store.Suppressed(ctx, numbers...)
	if err != nil || len(suppressed) == 0 {
		return err
	}
	stops := func(c *journal.IdentifiedContact) bool {
		return c.Person().StopsFor(func(n engine.PhoneNumber) bool { _, listed := suppressed[n]; return listed })
	}
	next := 0
	for i := range a.became {
		if a.became[i].Status != "" {
			continue
		}
		if stops(&a.ins.Contacts[next]) {
			a.became[i].Status = campaign.RowSuppressed
		}
		next++
	}
	a.ins.Contacts = slices.DeleteFunc(a.ins.Contacts, func(c journal.IdentifiedContact) bool { return stops(&c) })
	return nil
}

// answer is called within the transaction that adds the contacts.
func (a *contactBatch) answer(rows []campaign.BatchResult) *journal.Reply {
	all := slices.Clone(a.became)
	for i := range all {
		if all[i].Status == "" && len(rows) > 0 {
			all[i], rows = rows[0], rows[1:]
		}
	}
	reply := a.batch.Reply(all)
	a.reply = &reply
	if !a.batch.Idempotency.Present() {
		return nil
	}
	return journal.StoredReply(a.batch.Idempotency, 200, reply, a.ins.At)
}

// addTries bounds how often a list is sent to a database that does not accept it although it is not
// known to be down.
const addTries = 3

// addContacts sends a list to the database until the outcome is known: the answer to its commit may
// be lost, and sending it again is harmless.
func (d *Deps) addContacts(ins journal.ContactInsert) (rep campaign.AddReport, err error) {
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(d.Ctx, 2*d.Timeout)
		rep, err = d.Store.AddContacts(ctx, ins)
		cancel()
		if !journal.Temporary(err) || try >= addTries && !d.Writers.Database.Away() {
			return rep, err
		}
		select {
		case <-d.Ctx.Done():
			return rep, err
		case <-time.After(time.Second):
		}
	}
}
