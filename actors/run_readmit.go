package actors

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/exclusion"
	"dialler/engine/journal"
)

// Adding somebody on purpose, with Sticky Exclusion off, undoes an exclusion:
// one made in advance is lifted, and a contact that was excluded can be called
// again. An exclusion that comes while that is under way is newer, and stands.

// readmitChunk is how many contacts are brought back at a time.
const readmitChunk = 500

// readmission is under way while the excluded contacts are being looked up.
type readmission struct {
	running int
	newer   []campaign.Exclude // exclusions since the first of them began
}

type (
	// readmitContact makes an excluded contact callable again. Lifted: its
	// exclusion was, sticky or not; liftDone follows.
	readmitContact struct {
		Variables map[string]string
		Lifted    bool
		ReplyTo   *actor.PID
		Op        int
	}
	excludedFound struct {
		look  look
		again []campaign.NewContact
		left  []campaign.NewContact // to look up after these
		rows  []contact.Contact
		err   error
	}
)

// liftAll lifts the exclusions by number of those who are added on purpose.
func (r *run) liftAll(list []campaign.NewContact) {
	if r.m.C.Settings.StickyExclusion {
		return
	}
	var w journal.Write
	for i := range list {
		if _, excluded := r.excluded.Reason(list[i].Number, nil); !excluded {
			continue
		}
		x := journal.Exclusion{Campaign: r.id, Number: list[i].Number, Lifted: true, CreatedAt: r.now}
		r.excluded.Add(&x)
		w.Exclusions = append(w.Exclusions, x)
	}
	if len(w.Exclusions) > 0 {
		r.write(w)
	}
}

// readmit looks the excluded contacts among those added again up, some at a
// time.
func (r *run) readmit(list []campaign.NewContact) {
	if len(list) == 0 {
		return
	}
	r.readmission.running++
	r.lookUpExcluded(list)
}

func (r *run) lookUpExcluded(list []campaign.NewContact) {
	d, self, id := r.d, r.self, r.id
	n := min(readmitChunk, len(list))
	m := &excludedFound{look: r.beginLook(), again: list[:n], left: list[n:]}
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		numbers := make([]engine.PhoneNumber, n)
		for i := range m.again {
			numbers[i] = m.again[i].Number
		}
		m.rows, m.err = d.store.ExcludedContacts(ctx, id, numbers)
		d.root.Send(self, m)
	}()
}

func (r *run) excludedFound(m *excludedFound) {
	defer r.endLook(m.look)
	if m.err != nil {
		retry := append(m.again, m.left...)
		r.d.after(time.Second, r.self, &readmitLater{retry})
		return
	}
	r.readmitRows(m.look, m.rows, m.again)
	if len(m.left) > 0 {
		r.lookUpExcluded(m.left)
		return
	}
	r.readmitted()
}

type readmitLater struct{ list []campaign.NewContact }

func (r *run) readmitRows(l look, rows []contact.Contact, again []campaign.NewContact) {
	variables := make(map[engine.PhoneNumber]map[string]string, len(again))
	for i := range again {
		variables[again[i].Number] = again[i].Variables
	}
next:
	for i := range rows {
		for j := range r.readmission.newer {
			if exclusion.Concerns(r.readmission.newer[j].Number, r.readmission.newer[j].Match, rows[i].Number, rows[i].Variables) {
				continue next
			}
		}
		r.touchFound(l, rows[i], &call.Readmit{Variables: variables[rows[i].Number]})
	}
}

func (r *run) readmitted() {
	if r.readmission.running--; r.readmission.running == 0 {
		r.readmission.newer = nil
	}
}
