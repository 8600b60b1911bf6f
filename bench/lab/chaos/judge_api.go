package chaos

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/contact"
	"dialler/engine/promise"
)

// stored counts the rows of a file that are contacts: all when it was
// acknowledged, else all or none.
func (r *run) stored(ctx context.Context, f *file) (n int, err error) {
	for _, to := range f.numbers {
		_, ok, err := r.store.ContactByNumber(ctx, r.id, engine.PhoneNumber(to))
		if err != nil {
			return n, err
		}
		if ok {
			n++
		}
	}
	switch {
	case f.acked && n != len(f.numbers):
		r.rep.fail("import %s of %d rows was acknowledged and %d of them are contacts", f.name, len(f.numbers), n)
	case n != 0 && n != len(f.numbers):
		r.rep.fail("import %s of %d rows was not acknowledged and %d of them are contacts", f.name, len(f.numbers), n)
	}
	if f.acked {
		r.rep.Rows += n
	}
	return n, nil
}

// judgeCRM: what was acknowledged is there, and a repeat gets the same answer.
func (r *run) judgeCRM(ctx context.Context, calls carrier.Rows) error {
	c := r.crm
	r.rep.Unsure = c.unsure
	for i := range c.files {
		if c.files[i].acked {
			r.rep.Acked[askImport]++
		}
	}
	for _, f := range c.faults {
		r.rep.fail("%s", f)
	}
	tokens := c.tokens()
	for i := range c.acked {
		a := &c.acked[i]
		r.rep.Acked[a.kind]++
		// A dialout has an attempt, and a trigger that was dialled at once.
		if id := engine.AttemptID(a.identity("attempt_id")); a.kind == askDialout || id != "" {
			if _, ok, err := r.store.Attempt(ctx, id); err != nil {
				return err
			} else if !ok {
				r.rep.fail("%s %s was acknowledged (%s) and its attempt is missing", a.kind, a.token, a.answer)
			}
		}
		for _, n := range a.numbers {
			row, ok, err := r.store.ContactByNumber(ctx, r.id, engine.PhoneNumber(n))
			switch {
			case err != nil:
				return err
			case !ok:
				r.rep.fail("%s %s was acknowledged and its contact is missing", a.kind, a.token)
			case a.kind == askExclude:
				r.judgeExcluded(a, &row)
			case a.kind == askList:
				r.rep.Rows++
			default:
				r.judgeTriggered(a, &row, tokens[n], calls)
			}
		}
		if a.token == "" {
			continue
		}
		rep, err := r.api.Send(ctx, http.MethodPost, a.path, a.token, a.body)
		if err != nil {
			return fmt.Errorf("repeat %s: %w", a.token, err)
		}
		if rep.Status != a.status || !rep.Replayed || !bytes.Equal(rep.Body, a.answer) {
			r.rep.fail("%s %s was answered %d %s; its repeat gets %d %s",
				a.kind, a.token, a.status, a.answer, rep.Status, rep.Body)
		}
	}
	return nil
}

func (r *run) judgeTriggered(a *acked, row *contact.Contact, token string, calls carrier.Rows) {
	if id := a.identity("contact_id"); id != string(row.ID) {
		r.rep.fail("%s %s was acknowledged for contact %s, stored is %s", a.kind, a.token, id, row.ID)
	}
	if row.Variables["token"] != token {
		r.rep.fail("%s %s was acknowledged last for contact %s, which has the metadata of %s",
			a.kind, token, row.ID, row.Variables["token"])
	}
	if row.State != contact.Excluded && row.State != contact.ManuallyStopped && len(calls.To(row.Number)) == 0 {
		r.rep.fail("%s %s was acknowledged and its contact (%s) was never dialled", a.kind, a.token, row.State)
	}
}

func (r *run) judgeExcluded(a *acked, row *contact.Contact) {
	if row.State != contact.Excluded {
		r.rep.fail("exclusion %s was acknowledged (%s) and contact %s is %s", a.token, a.answer, row.ID, row.State)
	}
	r.record.Add(a.at, promise.Excluded{Campaign: r.id, Number: row.Number, Asked: a.at})
}
