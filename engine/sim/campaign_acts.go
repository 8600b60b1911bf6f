package sim

import (
	"context"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/memstore"
	"dialler/engine/promise"
	"dialler/engine/run"
)

var operator = engine.Who{Name: "operator"}

func (w *campaignWorld) act(c *campaignRecord, a *PlannedAct) {
	switch {
	case a.Action != "":
		w.command(c, campaign.Act{Campaign: c.id, Action: a.Action, Who: operator, Unreached: a.Unreached})
	case a.Edit != nil:
		s := w.row(c).Settings
		a.Edit.apply(&s)
		w.command(c, campaign.Act{Campaign: c.id, Action: campaign.ActionEdit, Who: operator, Settings: &s})
	case a.Add > 0:
		w.add(c, w.strangers(c, a.Add))
	case a.Import > 0:
		w.importFile(c, w.strangers(c, a.Import))
	case a.Trigger > 0:
		w.trigger(c, a)
	case a.Exclude > 0:
		w.exclude(c, campaign.Exclude{Campaign: c.id, Number: w.person(a.Exclude - 1).Number, Reason: "asked for",
			Who: operator})
	case a.Segment > 0:
		w.exclude(c, campaign.Exclude{Campaign: c.id, Match: map[string]string{"segment": strconv.Itoa(a.Segment)},
			Reason: "asked for", Who: operator})
	case a.Lift > 0:
		cmd := campaign.Lift{Campaign: c.id, Number: w.person(a.Lift - 1).Number, Who: operator}
		freed := []engine.PhoneNumber{cmd.Number} // with whoever has it beside others
		persons, _ := w.store.ContactsByNumber(background, c.id, cmd.Number)
		for i := range persons {
			freed = slices.AppendSeq(freed, persons[i].Numbers())
		}
		w.ask(&request{c: c, what: "lift", event: &run.Lift{Command: cmd}, done: w.check.adding(c, freed...)})
	case a.Erase > 0:
		w.erase(c, w.person(a.Erase-1).Number, 5)
	case a.Suppress > 0:
		n := w.person(a.Suppress - 1).Number
		w.whenDatabase(func() {
			x := journal.Suppression{Number: n, Reason: "import", CreatedAt: w.wall()}
			_, _ = w.store.Commit(background, []journal.Write{{Suppressions: []journal.Suppression{x}}})
			w.suppress(n, func() {})
		})
	case a.Calendars != nil:
		w.whenDatabase(func() { w.editCalendars(a.Calendars) })
	case a.CallNow > 0:
		w.operate(c, a.CallNow, campaign.ActOnContact{Action: campaign.RetryNow})
	case a.CallBack > 0:
		w.operate(c, a.CallBack, campaign.ActOnContact{Action: campaign.CallBack,
			At: w.wall().Add(10 * time.Minute).Round(0)})
	}
}

// whenDatabase runs f once the database is available.
func (w *campaignWorld) whenDatabase(f func()) {
	if w.dbAway > 0 {
		w.later(askAgain, func() { w.whenDatabase(f) })
		return
	}
	f()
}

func (w *campaignWorld) command(c *campaignRecord, cmd campaign.Act) {
	w.ask(&request{c: c, what: string(cmd.Action), event: &run.Act{Command: cmd}, done: w.check.acting(c, cmd.Action)})
}

// strangers are the next n people after the list who are not in the campaign.
func (w *campaignWorld) strangers(c *campaignRecord, n int) (list []campaign.NewContact) {
	for len(list) < n {
		p := w.person(c.plan.First + c.plan.Contacts + c.added)
		c.added++
		if _, there, _ := w.store.ContactByNumber(background, c.id, p.Number); !there {
			list = append(list, p)
		}
	}
	return list
}

func (w *campaignWorld) add(c *campaignRecord, list []campaign.NewContact) {
	cmd := campaign.AddContacts{Campaign: c.id, Source: "api", Contacts: list, Who: operator}
	w.ask(&request{c: c, what: "add", event: &run.AddRows{Command: cmd},
		done: w.check.adding(c, w.check.numbersOf(c, list...)...)})
}

func (w *campaignWorld) trigger(c *campaignRecord, a *PlannedAct) {
	p := w.person(a.Trigger - 1)
	cmd := campaign.Trigger{Campaign: c.id, Number: p.Number, Alternates: p.Alternates, Variables: p.Variables,
		Who: operator}
	if a.NotBefore > 0 {
		at := w.wall().Round(0).Add(a.NotBefore) // a date, as of a request: without a monotonic reading
		cmd.Times.NotBefore = &at
	}
	if a.Expires > 0 {
		at := w.wall().Round(0).Add(a.NotBefore + a.Expires)
		cmd.Times.ExpiresAt = &at
	}
	if a.Keyed {
		cmd.Idempotency = engine.Idempotency{Key: "key", Route: "trigger", Token: string(c.id) + a.At.String(),
			BodyHash: "body"}
	}
	done := w.check.adding(c, w.check.numbersOf(c, p)...)
	w.ask(&request{c: c, what: "trigger", event: &run.Trigger{Command: cmd}, done: func(v any, err error) {
		done(v, err)
		w.check.triggered(c, cmd, v, err)
		w.check.retimed(c, p.Number)
		if rep, ok := v.(campaign.TriggerReply); ok && rep.NumberPosition > 0 {
			row, _, _ := w.store.ContactByID(background, rep.ContactID)
			w.check.retimed(c, row.Number)
		}
	}})
}

func (w *campaignWorld) exclude(c *campaignRecord, cmd campaign.Exclude) {
	w.ask(&request{c: c, what: "exclude", event: &run.Exclude{Command: cmd},
		done: w.check.excluding(c, cmd.Number, cmd.Match)})
}

func (w *campaignWorld) operate(c *campaignRecord, place int, cmd campaign.ActOnContact) {
	row, ok, _ := w.store.ContactByNumber(background, c.id, w.person(place-1).Number)
	if !ok {
		return
	}
	cmd.Campaign, cmd.Contact, cmd.Who = c.id, row.ID, operator
	for n := range row.Numbers() {
		w.check.hear(promise.CalledFor{Campaign: c.id, Number: n})
		w.check.given(c, n)
	}
	w.ask(&request{c: c, what: "operate", event: &run.Operate{Command: cmd},
		done: func(any, error) { w.check.given(c, row.Number) }})
}

// --- erasure -----------------------------------------------------------------------------

// erase erases a person everywhere. The number is held meanwhile.
func (w *campaignWorld) erase(c *campaignRecord, n engine.PhoneNumber, tries int) {
	w.whenDatabase(func() {
		w.store.Lock()
		h, held := w.store.Holds[n]
		if held = held && (h.Until.IsZero() || w.wall().Before(h.Until)); !held {
			w.store.Holds[n] = memstore.Hold{Attempt: "erasure", Until: w.wall().Add(10 * time.Minute)}
		}
		w.store.Unlock()
		if held { // a call with this person is still in progress
			if tries > 0 {
				w.later(30*time.Second, func() { w.erase(c, n, tries-1) })
			}
			return
		}
		w.eraseFrom(n, 0)
	})
}

// eraseFrom excludes the person in every campaign from the i-th on.
func (w *campaignWorld) eraseFrom(n engine.PhoneNumber, i int) {
	if i == len(w.campaigns) {
		w.whenDatabase(func() { w.erased(n) })
		return
	}
	c := w.campaigns[i]
	next := func(any, error) { w.eraseFrom(n, i+1) }
	w.ask(&request{c: c, what: "begin erasure", event: &run.BeginErasure{Number: n},
		done: func(any, error) {
			if row, ok, _ := w.store.ContactByNumber(background, c.id, n); !ok || !row.Open() {
				next(nil, nil)
				return
			}
			cmd := campaign.Exclude{Campaign: c.id, Number: n, Reason: "person_erased", Who: operator}
			w.ask(&request{c: c, what: "exclude", event: &run.Exclude{Command: cmd}, done: next})
		}})
}

// erased replaces the number by its tombstone and makes every run forget it.
func (w *campaignWorld) erased(n engine.PhoneNumber) {
	var random [8]byte
	for i := range random {
		random[i] = byte(w.draw()) //nolint:gosec // the low bits
	}
	stone := engine.ErasedNumber(random)
	w.store.Erase(n, stone)
	if w.process != nil {
		delete(w.process.abandoned, n)
	}
	w.tellCallsIn(&call.Erased{Number: n, Tombstone: stone})
	left := len(w.campaigns)
	for _, c := range w.campaigns {
		done := w.check.adding(c, n) // from now on this number belongs to somebody new
		w.ask(&request{c: c, what: "end erasure", event: &run.EndErasure{Number: n, Tombstone: stone},
			done: func(v any, err error) {
				done(v, err)
				if left--; left == 0 {
					w.store.Lock()
					delete(w.store.Holds, n)
					w.store.Unlock()
				}
			}})
	}
}

// --- imports -----------------------------------------------------------------------------

// importing is an import in progress.
type importing struct {
	w     *campaignWorld
	c     *campaignRecord
	imp   campaign.Import
	rows  []journal.StagedRow
	start run.ActivationStart
	done  func(any, error) // its numbers were added, or not
	over  bool
}

func (w *campaignWorld) importFile(c *campaignRecord, list []campaign.NewContact) {
	id := engine.ImportID("imp-" + string(c.id) + "-" + strconv.Itoa(c.added))
	i := &importing{w: w, c: c, done: w.check.adding(c, w.check.numbersOf(c, list...)...),
		imp: campaign.Import{ID: id, Campaign: c.id, Filename: "list.csv", CreatedBy: operator}}
	for k, p := range list {
		i.rows = append(i.rows, journal.StagedRow{ID: engine.ContactID(string(id) + "-" + strconv.Itoa(k)),
			Line: k + 2, NewContact: p})
	}
	i.ask("may import", &run.MayImport{}, func(any) { w.whenDatabase(i.stage) })
}

// ask sends the run a request; if it is refused, the import has failed.
func (i *importing) ask(what string, event any, then func(value any)) {
	i.w.ask(&request{c: i.c, what: what, event: event, patience: time.Minute, late: i.fail,
		done: func(v any, err error) {
			if err != nil || i.over {
				i.fail()
				return
			}
			then(v)
		}})
}

func (i *importing) stage() {
	w := i.w
	i.imp.CreatedAt = w.wall()
	if w.store.BeginImport(background, i.imp) != nil {
		i.fail()
		return
	}
	w.later(time.Second, func() {
		w.whenDatabase(func() {
			_ = w.store.StageImport(background, i.imp.ID, i.rows, nil, len(i.rows), 0) // it is open
			i.ask("begin activation", &run.BeginActivation{Import: i.imp.ID}, func(v any) {
				i.start, _ = v.(run.ActivationStart)
				i.remind()
				i.ask("close gate", &run.CloseGate{Import: i.imp.ID, Run: i.start.Run}, func(v any) {
					pass, _ := v.(run.GatePass)
					w.later(50*time.Millisecond, func() { w.whenDatabase(func() { i.activate(pass) }) })
				})
			})
		})
	})
}

// remind repeatedly tells the run that the switch is in progress.
func (i *importing) remind() {
	i.w.later(time.Second, func() {
		if !i.over {
			i.tell(&run.ActivationGoesOn{Import: i.imp.ID})
			i.remind()
		}
	})
}

func (i *importing) tell(event any) {
	if r := i.w.runner(i.c); r != nil {
		r.tell(event)
	}
}

// activate turns the rows into contacts.
func (i *importing) activate(pass run.GatePass) {
	if i.over {
		return
	}
	gate := pass.Gate(&i.imp, i.start)
	out, err := i.w.store.ActivateImport(background, i.start.Activation(&i.imp, len(i.rows)),
		func(context.Context) (journal.Gate, error) { return gate, nil })
	if err != nil {
		i.fail()
		return
	}
	i.over = true
	_ = i.w.store.CloseImport(background, i.imp.ID)
	i.tell(&run.ActivationEnded{Import: i.imp.ID, Done: true, Epoch: gate.Epoch, Event: gate.Event, Out: out})
	i.done(nil, nil)
}

func (i *importing) fail() {
	if i.over {
		return
	}
	i.over = true
	i.w.whenDatabase(func() {
		_ = i.w.store.FailImport(background, i.imp.ID, campaign.ImportProblem{Code: "refused"}, i.w.wall())
		_ = i.w.store.CloseImport(background, i.imp.ID)
	})
	i.tell(&run.ActivationEnded{Import: i.imp.ID})
	i.done(nil, nil)
}
