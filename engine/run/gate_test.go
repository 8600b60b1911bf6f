package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func begins(id engine.ImportID) *BeginActivation { return &BeginActivation{Import: id} }
func closes(id engine.ImportID) *CloseGate       { return &CloseGate{Import: id, Run: 1} }

// gated is a run whose gate is closed for an import.
func gated(t tester, change ...func(*Loaded)) *world {
	t.Helper()
	w := seated(t, change...)
	w.ask(begins("imp"))
	w.ask(closes("imp"))
	w.durable()
	w.forget()
	return w
}

func TestASwitchBeginsOnceNoAdditionIsUnderWay(t *testing.T) {
	w := seated(t)
	r := w.ask(begins("imp"))
	w.waits(r)
	w.durable()
	eq(w, "start", granted[ActivationStart](w, r), ActivationStart{Run: 1, Max: 3, Sticky: true, At: w.now})
	w.waits(w.ask(begins("imp"))) // asked again
	w.refused(w.ask(begins("another")), "import_in_progress")
	// A list is being added.
	w = seated(t)
	w.ask(&AddRows{})
	r = w.ask(begins("imp"))
	w.durable()
	w.waits(r)
	q := one[AddContacts](w)
	w.do(&RowsAdded{Read: q.Read})
	w.durable()
	granted[ActivationStart](w, r)
	// An older trigger is not stored yet; a newer one asks the tables.
	w = seated(t)
	w.ask(triggers("c1"))
	r = w.ask(begins("imp"))
	w.durable()
	granted[ActivationStart](w, r) // it is looked for again, beside the staged rows
	w = seated(t)
	w.ask(triggers("c1"))
	w.looked()
	w.round()
	id := oneLine(w)
	r = w.ask(begins("imp"))
	w.durable()
	w.waits(r)
	w.do(&call.Stored{Number: w.s.Lines[id].Number})
	w.durable()
	granted[ActivationStart](w, r)
}

func TestASwitchWaits5SecondsForAdditionsAtMost(t *testing.T) {
	w := seated(t)
	w.ask(&AddRows{})
	r := w.ask(begins("imp"))
	w.pass(5*time.Second - 1)
	w.durable()
	w.waits(r)
	w.pass(1)
	w.durable()
	granted[ActivationStart](w, r)
	// A timer of another switch has no effect.
	w.do(&activationDue{"another"})
}

func TestATriggerThatIsNewerThanTheSwitchDoesNotHoldItUp(t *testing.T) {
	w := seated(t)
	w.s.Fresh[phone("c9")] = 1 // newer than the start of the switch
	r := w.ask(begins("imp"))
	w.durable()
	granted[ActivationStart](w, r)
}

func TestWhoMayImport(t *testing.T) {
	for state, ok := range map[campaign.State]bool{campaign.Draft: true, campaign.Running: true,
		campaign.Paused: false, campaign.Completed: false} {
		w := ready(t, in(state))
		r, b := w.ask(&MayImport{}), w.ask(begins("imp"))
		if ok {
			eq(w, "terms", granted[ImportTerms](w, r).Sticky, true)
			w.waits(b)
		} else {
			w.refused(b, "contacts_locked")
		}
	}
	w := ready(t)
	w.s.M.C.ID = ""
	w.refused(w.ask(begins("imp")), "campaign_not_found")
}

func TestWhoeverAsksForASwitchAgainIsAnsweredInsteadOfWhoAskedBefore(t *testing.T) {
	w := seated(t)
	w.ask(&AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone("c1")}}}})
	first, second := w.ask(begins("imp")), w.ask(begins("imp"))
	w.refused(first, "import_activating")
	w.waits(second)
}

func TestTheGateGivesTheEventItsPlace(t *testing.T) {
	w := seated(t)
	w.refused(w.ask(closes("imp")), "import_unknown")
	w.ask(begins("imp"))
	w.refused(w.ask(closes("another")), "import_unknown")
	w.refused(w.ask(&CloseGate{Import: "imp", Run: 2}), "contacts_locked")
	w.ask(act(campaign.ActionPause)) // a pause does not matter
	r := w.ask(closes("imp"))
	seq := w.s.M.C.Seq
	w.durable()
	eq(w, "pass", granted[GatePass](w, r), GatePass{Epoch: 7, Seq: seq + 1, At: w.now})
	w = ready(t, in(campaign.Completed))
	w.refused(w.ask(closes("imp")), "contacts_locked")
	// A restarted run is reminded of the switch.
	w = ready(t)
	w.do(&ActivationGoesOn{Import: "imp"})
	r = w.ask(closes("imp"))
	w.durable()
	granted[GatePass](w, r)
}

func TestWhatTheNewRowsWouldMissWaitsForTheEndOfTheSwitch(t *testing.T) {
	for _, c := range []struct {
		what   string
		m      any
		before bool // it already waits before the gate is closed
	}{
		{"a list", &AddRows{}, true},
		{"a command", act(campaign.ActionPause), false},
		{"an exclusion", excludes("c1"), false},
		{"a lift", lifts("c1"), false},
		{"a question", &Detail{}, false},
	} {
		w := seated(t)
		w.ask(begins("imp"))
		w.durable()
		w.ask(c.m)
		eq(w, c.what+" before", len(w.s.Parked) == 1, c.before)
		w = gated(t)
		r := w.ask(c.m)
		_, asks := c.m.(*Detail)
		eq(w, c.what+" behind the gate", len(w.s.Parked) == 1, !asks)
		w.do(&ActivationEnded{Import: "imp"})
		eq(w, c.what+" after", len(w.s.Parked), 0)
		eq(w, c.what+" is under way", asks || len(w.s.Ops)+len(w.s.Lifts)+w.s.Adding+len(w.s.Pending) > 0, true)
		_ = r
	}
	// What a start had asked for arrives.
	w := ready(t, in(campaign.Draft))
	r := w.ask(act(campaign.ActionStart))
	q := one[CheckStart](w)
	w.ask(begins("imp"))
	w.ask(closes("imp"))
	w.do(&ActReady{Command: q.Command, Request: q.Request, Facts: facts(), Bots: []engine.Bot{{ID: "bot"}}})
	eq(w, "parked", len(w.s.Parked), 1)
	w.pass(8 * time.Second)
	w.refused(r, "import_activating")
}

func TestACommandWaitsForASwitchUntilShortlyBeforeItsDeadline(t *testing.T) {
	for _, c := range []struct {
		what     string
		deadline time.Duration // 0 means none
		waits    time.Duration
	}{{"without one", 0, 8 * time.Second}, {"with one", 3 * time.Second, 2800 * time.Millisecond}} {
		for _, ends := range []bool{false, true} {
			w := gated(t)
			x, l, m := excludes("c1"), lifts("c2"), triggers("c3")
			if c.deadline > 0 {
				at := w.now.Add(c.deadline)
				x.Command.Deadline, l.Command.Deadline, m.Command.Deadline = at, at, at
			}
			list := []engine.Request{w.ask(x), w.ask(l), w.ask(m)}
			w.looked(func(m *TriggerFound) { m.Staged = true })
			w.pass(c.waits - 1)
			for _, r := range list {
				w.waits(r)
			}
			if ends { // the switch ends at that moment: it is too late
				w.alarms = nil
				w.goTo(w.now.Add(1))
				w.do(&ActivationEnded{Import: "imp"})
			} else {
				w.pass(1)
			}
			for _, r := range list {
				w.refused(r, "import_activating")
			}
			eq(w, c.what, len(w.s.Parked), 0)
		}
	}
}

func TestATriggerWhoseNumberIsStagedIsLookedForAgainAfterTheSwitch(t *testing.T) {
	w := gated(t)
	r := w.ask(triggers("c1"))
	q := one[FindTrigger](w)
	eq(w, "import", q.Importing, "imp")
	w.do(&TriggerFound{Read: q.Read, Request: r, Command: q.Command, Importing: "imp", Staged: true})
	eq(w, "parked", len(w.s.Parked), 1)
	w.do(&ActivationEnded{Import: "imp"})
	eq(w, "looked for again", one[FindTrigger](w).Request, r)
	// A switch begins or ends meanwhile.
	w = seated(t)
	r = w.ask(triggers("c1"))
	q = one[FindTrigger](w)
	w.ask(begins("imp"))
	w.do(&TriggerFound{Read: q.Read, Request: r, Command: q.Command})
	eq(w, "looked for again", one[FindTrigger](w).Importing, "imp")
	// An exclusion overtakes a trigger that waits.
	w = seated(t)
	w.ask(begins("imp"))
	w.durable()
	r, s := w.ask(triggers("c1")), w.ask(triggers("c2"))
	for _, q := range sent[FindTrigger](w) {
		w.do(&TriggerFound{Read: q.Read, Request: q.Request, Command: q.Command, Importing: "imp", Staged: true})
	}
	w.ask(excludes("c1"))
	w.refused(r, "contact_excluded")
	w.waits(s)
}

func TestAnExclusionOvertakesAListThatWaitsForTheEndOfASwitch(t *testing.T) {
	w := seated(t)
	w.ask(begins("imp"))
	w.durable()
	r := w.ask(&AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone("c1")},
		{Number: phone("c2")}}}})
	w.waits(r)
	w.ask(excludes("c1"))
	w.do(&ActivationEnded{Import: "imp"})
	add := one[AddContacts](w)
	eq(w, "added", []any{len(add.Insert.Contacts), add.Insert.Contacts[0].Number, add.Became[0].Status},
		[]any{1, phone("c2"), campaign.RowExcluded})
	_, excluded := w.s.Excluded.Reason(phone("c1"), nil)
	eq(w, "the exclusion stands", excluded, true)
	// Nor does a stale answer of the tables bring back a contact that was excluded in the meantime.
	row := w.final("c1")
	row.State = contact.Excluded
	w.do(&RowsAdded{Read: add.Read, Request: add.Request, Command: add.Command, Lifting: true, Event: add.Insert.Event,
		Again: []contact.Contact{row}})
	none[ReadContact](w)
	eq(w, "brought back", len(told[*call.Readmit](w, "c1")), 0)
}

func TestTheRowsOfASwitchAreTakenIn(t *testing.T) {
	for _, c := range []struct {
		what  string
		done  bool
		epoch int64
		added int
		total int
	}{{"of this life", true, 7, 3, 3}, {"counted in the tables", true, 6, 3, 0}, {"none", true, 7, 0,
		0}, {"it failed", false, 7, 3, 0}} {
		w := gated(t)
		w.s.Excluded.Add(&journal.Exclusion{Number: phone("c1")})
		after := contact.Fresh(3)
		m := &ActivationEnded{Import: "imp", Done: c.done, Epoch: c.epoch,
			Out:   journal.Activated{Lifted: []engine.PhoneNumber{phone("c1")}},
			Event: journal.Event{Type: journal.ContactsAdded, Run: 1, Data: journal.Data{After: &after, Count: 1}}}
		m.Out.Import.Added = c.added
		w.do(m)
		eq(w, c.what, []any{w.s.Tally.C.Total, w.s.Excluded.Has(phone("c1"), nil), w.s.Activation == nil},
			[]any{c.total, !c.done, true})
		one[ReadDue](w)
	}
	// The end of another import leaves the switch alone.
	w := gated(t)
	w.do(&ActivationEnded{Import: "another"})
	eq(w, "under way", w.s.Activation != nil, true)
}

func TestARunNeitherEndsNorFailsWhileRowsAreSwitchedOn(t *testing.T) {
	w := gated(t)
	end := w.now
	w.s.M.C.WindowEndsAt = &end
	w.do(&BotsChanged{})
	w.pass(2 * time.Second)
	eq(w, "state", w.s.M.C.State, campaign.Running)
	w.do(&ActivationEnded{Import: "imp"})
	w.pass(500 * time.Millisecond)
	eq(w, "reason", w.s.M.C.CompletionReason, campaign.ReasonWindowEnded)
}
