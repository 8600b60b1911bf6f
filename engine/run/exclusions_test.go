package run

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

func excludes(id string) *Exclude {
	return &Exclude{Command: campaign.Exclude{Number: phone(id), Reason: "asked"}}
}

func lifts(id string) *Lift { return &Lift{Command: campaign.Lift{Number: phone(id)}} }

// found answers which contacts an exclusion or a lift is about.
func (w *world) found(rows ...contact.Contact) {
	w.t.Helper()
	q := one[FindContacts](w)
	w.do(&ContactsFound{Read: q.Read, Op: q.Op, Rows: rows})
}

func TestAnExclusionIsAnsweredOnceItIsDurableAndEveryContactHasConfirmed(t *testing.T) {
	w := dialling(t, 2)
	r := w.ask(&Exclude{Command: excludes("c1").Command, Who: &engine.System})
	x := one[Write](w).Write.Exclusions[0]
	eq(w, "stored", []any{string(x.Number), x.Reason, x.Lifted}, []any{string(phone("c1")), "asked", false})
	none[FindContacts](w) // not before it is durable: a contact written a moment ago is among those found
	w.durable()
	w.found(w.rows(1)...)
	e := told[*call.Exclude](w, "c1")[0]
	eq(w, "told", []any{e.Reason, e.Who == &engine.System}, "[asked true]")
	w.waits(r)
	w.do(&call.Excluded{Op: e.Op, Cancelled: true, Excluded: true})
	eq(w, "reply", granted[campaign.ExcludeReply](w, r), "{Matched:1 Excluded:1 CancelledRinging:1 InCall:0}")
	w.do(&call.Excluded{Op: e.Op}) // of an operation that has ended
	// A number that the campaign does not have can be excluded in advance.
	r = w.ask(excludes("c9"))
	w.durable()
	w.found()
	eq(w, "reply", granted[campaign.ExcludeReply](w, r).Matched, 0)
}

func TestAnExclusionHoldsInEveryStateOfTheCampaign(t *testing.T) {
	for _, state := range campaign.States {
		w := ready(t, in(state))
		r := w.ask(excludes("c1"))
		eq(w, "stored", string(one[Write](w).Write.Exclusions[0].Number), string(phone("c1")))
		w.durable()
		w.found(w.rows(1)...)
		for range sent[ReadContact](w) { // when a run has ended the row is read again
			w.do(&ContactRead{Contact: "c1", Row: w.row("c1"), OK: true})
		}
		e := told[*call.Exclude](w, "c1")[0]
		w.do(&call.Excluded{Op: e.Op, Excluded: true})
		eq(w, string(state), granted[campaign.ExcludeReply](w, r), "{Matched:1 Excluded:1 CancelledRinging:0 InCall:0}")
	}
}

func TestAnExclusionsReplyIsStoredWithItsKey(t *testing.T) {
	w := ready(t)
	x := excludes("c1")
	x.Command.Idempotency.Token = "key"
	r := w.ask(x)
	w.durable()
	sent[Write](w)
	w.found(w.row("c1"))
	w.do(&call.Excluded{Op: told[*call.Exclude](w, "c1")[0].Op, InCall: true})
	eq(w, "stored", one[Write](w).Write.Reply.Token, "key")
	w.waits(r)
	w.durable()
	eq(w, "in call", granted[campaign.ExcludeReply](w, r).InCall, 1)
}

// The database may refuse the last of several writes as those of a former owner; all before are the next
// owner's to repeat.
func TestAnOwnerThatWasReplacedConfirmsNothing(t *testing.T) {
	stale := func(w *world) {
		for _, e := range sent[Write](w) {
			w.do(&WriteRefused{Write: e.Write, Err: journal.ErrStaleEpoch})
		}
		w.durable()
	}
	w := ready(t)
	x := excludes("c1")
	x.Command.Idempotency.Token = "key"
	r := w.ask(x)
	w.durable()
	sent[Write](w)
	w.found()
	stale(w) // the stored reply: a repeat would be answered by the next owner
	w.refused(r, "stale_epoch")

	w = ready(t)
	r = w.ask(act(campaign.ActionPause))
	stale(w)
	w.refused(r, "stale_epoch")

	w = ready(t)
	r = w.ask(&ExclusionsImported{Command: campaign.ExclusionsImported{Numbers: 2}})
	stale(w)
	w.refused(r, "stale_epoch")

	// What is refused for another reason says nothing of other writes.
	w = ready(t)
	r = w.ask(act(campaign.ActionPause))
	w.do(&WriteRefused{Write: one[Write](w).Write, Err: journal.ErrContactExists})
	w.durable()
	granted[campaign.Detail](w, r)
}

func TestAnExclusionCoversContactsThatAreNotStoredYet(t *testing.T) {
	w := dialling(t, 1)
	w.s.Lines["c1"].Variables = map[string]string{"vip": "no"}
	r := w.ask(&Exclude{Command: campaign.Exclude{Match: map[string]string{"vip": "no"}}})
	w.durable()
	w.found()
	w.do(&call.Excluded{Op: told[*call.Exclude](w, "c1")[0].Op})
	eq(w, "reply", granted[campaign.ExcludeReply](w, r).Matched, 1)
}

func TestAnExclusionIsCarriedOutWholeWhileTheDatabaseIsAway(t *testing.T) {
	w := ready(t)
	r := w.ask(excludes("c1"))
	w.durable()
	q := one[FindContacts](w)
	w.do(&ContactsFound{Read: q.Read, Op: q.Op, Err: errDown})
	w.pass(999 * time.Millisecond)
	none[FindContacts](w)
	w.pass(time.Millisecond)
	q = one[FindContacts](w)
	w.waits(r)
	w.do(&ContactsFound{Read: q.Read, Op: q.Op, Err: journal.ErrStaleEpoch})
	w.refused(r, "stale_epoch")
	w.pass(time.Minute)
	none[FindContacts](w)
}

func TestAnExclusionWithoutAReasonKeepsTheRecordedOne(t *testing.T) {
	w := ready(t)
	w.ask(excludes("c1"))
	w.forget()
	w.ask(&Exclude{Command: campaign.Exclude{Number: phone("c1")}})
	eq(w, "reason", one[Write](w).Write.Exclusions[0].Reason, "asked")
	w.ask(&Exclude{Command: campaign.Exclude{Number: phone("c1"), Reason: "moved"}})
	eq(w, "reason", one[Write](w).Write.Exclusions[0].Reason, "moved")
}

func TestAnExcludedNumberIsNotDialledFromTheLookAhead(t *testing.T) {
	w := ready(t)
	w.due(w.rows(2), 0)
	w.ask(excludes("c1"))
	w.seats(10)
	w.round()
	eq(w, "lines", []any{w.s.Lines["c1"] == nil, w.s.Lines["c2"] != nil}, "[true true]")
}

func TestACommandWhoseDeadlinePassedIsNotExecuted(t *testing.T) {
	for _, late := range []bool{false, true} {
		w := ready(t)
		at := w.now.Add(time.Nanosecond)
		if late {
			at = w.now
		}
		for _, m := range []any{
			&Exclude{Command: campaign.Exclude{Number: phone("c1"), Deadline: at}},
			&Lift{Command: campaign.Lift{Number: phone("c1"), Deadline: at}},
			&Trigger{Command: campaign.Trigger{Number: phone("c2"), Deadline: at}},
			&Operate{Command: campaign.ActOnContact{Deadline: at}},
			&ExclusionsImported{campaign.ExclusionsImported{Deadline: at}},
		} {
			r := w.ask(m)
			if late {
				w.refused(r, "deadline_passed")
			} else if a := w.replies[r]; len(a) > 0 && engine.ErrorCode(a[0].Err) == "deadline_passed" {
				t.Errorf("%T: %v", m, a)
			}
		}
	}
}

func TestAFileOfExclusionsIsInTheHistory(t *testing.T) {
	w := ready(t)
	r := w.ask(&ExclusionsImported{campaign.ExclusionsImported{Numbers: 5, Reason: "list"}})
	e := one[Write](w).Write.Events[0]
	eq(w, "event", []any{e.Type, e.Data.Count, e.Data.Reason}, []any{journal.ExclusionsImported, 5, "list"})
	w.waits(r)
	w.durable()
	w.answer(r)
}

func TestALiftBringsBackWhomOnlyThatExclusionKeptAway(t *testing.T) {
	w := ready(t)
	w.excluded("c1")
	w.excluded("c2")
	r := w.ask(lifts("c1"))
	wr := one[Write](w).Write
	eq(w, "stored", []any{wr.Exclusions[0].Lifted, wr.Events[0].Type}, []any{true, journal.ExclusionLifted})
	w.durable()
	ex := func(id string) contact.Contact {
		c := w.row(id)
		c.State, c.DueAt = contact.Excluded, nil
		return c
	}
	after := w.row("c3")
	after.ExcludeAfterCall = true
	w.found(ex("c1"), ex("c2"), w.row("c4"), after)
	none2(w, "c2", "c4")
	a, b := told[*call.Readmit](w, "c1")[0], told[*call.Readmit](w, "c3")[0]
	eq(w, "lifted", a.LiftedExclusion, true)
	w.do(&call.Lifted{Op: a.Op, Readmitted: true})
	w.waits(r)
	w.do(&call.Lifted{Op: b.Op})
	eq(w, "reply", granted[campaign.LiftReply](w, r).Readmitted, 1)
	w.do(&call.Lifted{Op: b.Op})
}

// none2 checks that the contacts are told nothing.
func none2(w *world, ids ...engine.ContactID) {
	w.t.Helper()
	for _, id := range ids {
		eq(w, string(id), len(told[any](w, id)), 0)
	}
}

// excluded excludes a number that the campaign does not have.
func (w *world) excluded(id string) {
	w.t.Helper()
	w.ask(excludes(id))
	w.durable()
	w.found()
	w.forget()
}

func TestALiftIsRefusedWhereThereIsNothingToLift(t *testing.T) {
	w := ready(t)
	r := w.ask(lifts("c1"))
	w.durable()
	w.found(w.row("c1"))
	w.refused(r, "exclusion_not_found")
	// Another exclusion keeps the contact excluded: the reply says that nobody came back.
	w.ask(&Exclude{Command: campaign.Exclude{Match: map[string]string{"a": "1"}}})
	w.durable()
	w.found()
	r = w.ask(lifts("c1"))
	w.durable()
	c := w.row("c1")
	c.State, c.Variables = contact.Excluded, map[string]string{"a": "1"}
	w.found(c)
	eq(w, "reply", granted[campaign.LiftReply](w, r).Readmitted, 0)
	// An exclusion that is just being made.
	w.ask(excludes("c1"))
	w.refused(w.ask(lifts("c1")), "exclusion_in_progress")
	w = ready(t)
	w.ask(act(campaign.ActionStop))
	w.refused(w.ask(lifts("c1")), "run_over")
}

func TestALiftIsCarriedOutWholeOnceItIsStored(t *testing.T) {
	for _, was := range []bool{true, false} {
		w := ready(t)
		if was {
			w.excluded("c1")
		}
		r := w.ask(lifts("c1"))
		w.durable()
		q := one[FindContacts](w)
		w.do(&ContactsFound{Read: q.Read, Op: q.Op, Err: errDown})
		if !was {
			w.refused(r, "database_unavailable")
			continue
		}
		w.waits(r)
		w.pass(time.Second)
		w.found()
		eq(w, "reply", granted[campaign.LiftReply](w, r).Readmitted, 0)
	}
}

func TestAddingSomebodyOnPurposeLiftsAnExclusionThatIsNotSticky(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.StickyExclusion = false }))
	w.excluded("c1")
	r := w.ask(&AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone("c1"),
		Variables: map[string]string{"n": "1"}}, {Number: phone("c2")}}}})
	eq(w, "lifted", len(one[Write](w).Write.Exclusions), 1)
	q := one[AddContacts](w)
	eq(w, "added", []any{len(q.Insert.Contacts), q.Lifting}, "[2 true]")
	// A newer exclusion wins.
	w.ask(excludes("c2"))
	c1, c2 := w.row("c1"), w.row("c2")
	c1.State, c2.State = contact.Excluded, contact.Excluded
	w.do(&RowsAdded{Read: q.Read, Request: r, Command: q.Command, Lifting: true, Again: []contact.Contact{c1, c2},
		Epoch: 7})
	eq(w, "readmitted", told[*call.Readmit](w, "c1")[0].Variables["n"], "1")
	eq(w, "newer", len(told[*call.Readmit](w, "c2")), 0)
	eq(w, "readmission", []any{w.s.Readmission.Running, len(w.s.Readmission.Newer)}, "[0 0]")
}

func TestWhereNobodyIsExcludedNothingIsLifted(t *testing.T) {
	w := ready(t, set(func(s *campaign.Settings) { s.StickyExclusion = false }))
	w.ask(&AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone("c1")}}}})
	none[Write](w)
}

func TestARowsReplyOfAnEarlierLifeEndsNoReadmission(t *testing.T) {
	w := ready(t)
	w.s.Adding = 1
	w.do(&RowsAdded{Lifting: true})
	eq(w, "running", w.s.Readmission.Running, 0)
}

func TestExcludedContactsOfAFileAreLookedUp500AtATime(t *testing.T) {
	w := ready(t)
	var list []campaign.NewContact
	for range 1001 {
		list = append(list, campaign.NewContact{Number: phone("c1")})
	}
	w.do(&ActivationEnded{Import: "imp", Done: true, Out: journal.Activated{Readmit: list}})
	for _, want := range []int{500, 500, 1} {
		q := one[ReadExcluded](w)
		eq(w, "looked up", len(q.Again), want)
		w.do(&ExcludedRead{Read: q.Read, Again: q.Again, Left: q.Left, Err: errDown})
		w.pass(time.Second - 1)
		none[ReadExcluded](w)
		w.pass(1)
		q = one[ReadExcluded](w)
		eq(w, "again", len(q.Again), want)
		w.do(&ExcludedRead{Read: q.Read, Again: q.Again, Left: q.Left, Rows: []contact.Contact{w.final("c5")}})
	}
	none[ReadExcluded](w)
	eq(w, "readmission", w.s.Readmission.Running, 0)
	w.do(&ActivationEnded{Import: "imp", Done: true})
	none[ReadExcluded](w)
}

func TestANumberIsErasedOnceNothingOfItIsUnderWay(t *testing.T) {
	w := dialling(t, 1)
	w.excluded("c1")
	r := w.ask(&BeginErasure{phone("c1")})
	eq(w, "sent to rest", len(told[*call.Rest](w, "c1")), 1)
	w.waits(r)
	w.durable()
	w.answer(r)
	w.s.Excluded.DropNumber(phone("c1"))
	w.refused(w.ask(&Trigger{Command: campaign.Trigger{Number: phone("c1")}}), "person_being_erased")
	r = w.ask(&EndErasure{Number: phone("c1"), Tombstone: "+000001"})
	w.answer(r)
	eq(w, "forgotten", string(told[*call.Forget](w, "c1")[0].Tombstone), "+000001")
	eq(w, "line", []any{w.s.lineOf("+000001") == w.s.Lines["c1"], w.s.lineOf(phone("c1")) == nil}, "[true true]")
}

func TestAnErasureThatNobodyEndsKeepsTriggersAwayForAMinute(t *testing.T) {
	for _, at := range []time.Duration{time.Minute - 1, time.Minute} {
		w := ready(t)
		w.ask(&BeginErasure{phone("c1")})
		w.goTo(t0.Add(at))
		r := w.ask(&Trigger{Command: campaign.Trigger{Number: phone("c1")}})
		o := w.ask(&Operate{Command: campaign.ActOnContact{Action: campaign.RetryNow}})
		q := one[FindOperated](w)
		w.do(&OperateFound{Read: q.Read, Request: o, Command: q.Command, Row: w.row("c1"), OK: true})
		if at < time.Minute {
			w.refused(r, "person_being_erased")
			w.refused(o, "person_being_erased")
		} else {
			eq(w, "operated", len(told[*call.Operate](w, "c1")), 1)
			for _, a := range w.replies[r] {
				t.Errorf("%v", a)
			}
		}
	}
	w := ready(t)
	w.ask(&Trigger{Command: campaign.Trigger{Number: phone("c1")}})
	w.refused(w.ask(&BeginErasure{phone("c1")}), "person_being_added")
	w = ready(t, func(l *Loaded) { l.Exclusions = []journal.Exclusion{{Match: map[string]string{"id": "4"}}} })
	w.ask(&EndErasure{Number: phone("c9"), Matches: []map[string]string{{"id": "4"}}})
	eq(w, "exclusion", w.s.Excluded.Has("", map[string]string{"id": "4"}), false)
}

func TestASuppressionIsAnsweredOnceEveryLineHasConfirmed(t *testing.T) {
	w := dialling(t, 3)
	r := w.ask(&Suppressed{Numbers: map[engine.PhoneNumber]struct{}{phone("c1"): {}, phone("c2"): {}}})
	a, b := told[*call.End](w, "c1")[0], told[*call.End](w, "c2")[0]
	eq(w, "end", []any{a.Reason, a.HangUp, len(told[*call.End](w, "c3"))}, []any{engine.CodeSuppressed, false, 0})
	q := one[ReadSuppressed](w)
	eq(w, "question", []any{q.Run, len(q.Numbers), q.After, q.Limit}, []any{1, 2, "", 512})
	w.do(&call.Excluded{Op: a.Op})
	w.waits(r)
	w.do(&call.Excluded{Op: b.Op})
	w.answer(r)
	none2(w, "c3")
	// Nobody is up.
	w = ready(t)
	w.answer(w.ask(&Suppressed{Numbers: map[engine.PhoneNumber]struct{}{phone("c1"): {}}}))
}

// A call goes on at a number that a request has taken from its person: it is ended with that number's suppression. Once
// it is over, the number is nobody's of theirs.
func TestASuppressionOfANumberThatWasTakenAwayEndsItsCallAlone(t *testing.T) {
	for over, ends := range map[bool]int{false: 1, true: 0} {
		w := dialling(t, 1)
		l := w.s.Lines["c1"]
		l.Called = "+4915199999999"
		if over {
			w.s.dropLine(l)
		}
		w.ask(&Suppressed{Numbers: map[engine.PhoneNumber]struct{}{l.Called: {}}})
		eq(w, "ends", len(told[*call.End](w, "c1")), ends)
	}
}

func TestContactsWithSuppressedNumbersAreLookedUp512AtATime(t *testing.T) {
	for _, n := range []int{511, 512} {
		w := ready(t)
		q := one[ReadSuppressed](w) // a crash may have come after the list was stored, before its contacts were handled
		rows := w.rows(n)
		w.do(&SuppressedRead{Read: q.Read, Run: 1, Rows: rows})
		eq(w, "told", len(told[*call.End](w, "c1")), 1)
		list := sent[ReadSuppressed](w)
		eq(w, "more", len(list) == 1, n == 512)
		if n == 512 {
			eq(w, "behind", list[0].After, rows[511].ID)
		}
	}
	w := ready(t)
	q := one[ReadSuppressed](w)
	w.do(&SuppressedRead{Read: q.Read, Run: 1, Err: errDown, After: "c5"})
	w.pass(time.Second - 1)
	none[ReadSuppressed](w)
	w.pass(1)
	q = one[ReadSuppressed](w)
	eq(w, "again", q.After, "c5")
	w.do(&SuppressedRead{Read: q.Read, Run: 2, Rows: w.rows(1)}) // of another run
	w.do(&SuppressedRead{Read: q.Read, Run: 1, Rows: w.rows(1)}) // answered already
	none[Spawn](w)
	for _, state := range []campaign.State{campaign.Draft, campaign.Completed} {
		w = ready(t, in(state))
		none[ReadSuppressed](w)
	}
}

func TestAnOperatorsWordIsTheContactsToDecide(t *testing.T) {
	f := func(a campaign.ContactAction, change func(*world), m OperateFound, code string) {
		t.Helper()
		w := ready(t)
		r := w.ask(&Operate{Command: campaign.ActOnContact{Action: a}})
		q := one[FindOperated](w)
		if change != nil {
			change(w)
		}
		m.Read, m.Request, m.Command, m.Row = q.Read, r, q.Command, w.row("c1")
		w.do(&m)
		if code == "" {
			w.waits(r)
			eq(w, "told", len(told[*call.Operate](w, "c1")), 1)
			return
		}
		w.refused(r, code)
	}
	ok := OperateFound{OK: true}
	f(campaign.RetryNow, nil, ok, "")
	f(campaign.RetryNow, nil, OperateFound{}, "contact_not_found")
	f(campaign.RetryNow, nil, OperateFound{Err: errDown}, "database_unavailable")
	f(campaign.RetryNow, func(w *world) { w.ask(act(campaign.ActionStop)) }, ok, "campaign_not_running")
	f(campaign.RetryNow, func(w *world) { w.ask(excludes("c1")) }, ok, "contact_excluded")
	w := ready(t, in(campaign.Completed))
	w.refused(w.ask(&Operate{Command: campaign.ActOnContact{Action: campaign.RetryNow}}), "campaign_not_running")
	// Excluding a contact excludes its number, in every state.
	r := w.ask(&Operate{Command: campaign.ActOnContact{Action: campaign.ExcludeContact, Reason: "asked"}})
	q := one[FindOperated](w)
	eq(w, "calls", q.Calls, false)
	w.do(&OperateFound{Read: q.Read, Request: r, Command: q.Command, Row: w.row("c1"), OK: true})
	w.durable()
	w.found(w.row("c1"))
	w.do(&ContactRead{Contact: "c1", Row: w.row("c1"), OK: true})
	e := told[*call.Exclude](w, "c1")[0]
	eq(w, "who", []any{e.Who != nil, e.Reason}, "[true asked]")
	w.do(&call.Excluded{Op: e.Op, Excluded: true})
	eq(w, "reply", granted[campaign.ExcludeReply](w, r).Excluded, 1)
}

func TestALineIsFoundByItsNumberAsLongAsItIsUp(t *testing.T) {
	w := dialling(t, 1)
	w.moved("c1", attempt.PhaseOver)
	w.rests(w.final("c1"))
	eq(w, "by number", len(w.s.ByNumber), 0)
}

// Without Sticky Exclusion too, triggers that came first are older than the exclusion.
func TestAnExclusionIsNewerThanTheTriggersThatAreUnderWay(t *testing.T) {
	w := seated(t, set(func(s *campaign.Settings) { s.StickyExclusion = false }))
	a := w.ask(triggers("c1"))
	b := w.ask(triggers("c1")) // waits for the first
	w.ask(excludes("c1"))
	w.refused(b, "contact_excluded")
	w.looked()
	w.refused(a, "contact_excluded")
	eq(w, "excluded", w.s.Excluded.Has(phone("c1"), nil), true)
	w.pass(time.Second)
	none[FindTrigger](w)
	eq(w, "remembered", []any{w.s.LookUps, len(w.s.Newer)}, "[0 0]")
	// A trigger that comes after the exclusion lifts it, while others are looked up.
	w.ask(triggers("c2"))
	w.ask(excludes("c1"))
	w.ask(triggers("c1"))
	for _, q := range sent[FindTrigger](w) {
		w.do(&TriggerFound{Read: q.Read, Request: q.Request, Command: q.Command})
	}
	eq(w, "excluded", w.s.Excluded.Has(phone("c1"), nil), false)
	// An answer for an earlier instance ends nothing.
	w.do(&TriggerFound{Command: triggers("c5").Command})
	w.ask(excludes("c7"))
	eq(w, "look-ups", []any{w.s.LookUps, len(w.s.Newer)}, "[0 0]")
}

func TestATriggerWhoseVariablesMeetAStickyExclusionExcludesItsOpenContact(t *testing.T) {
	trigger := func(id string) *Trigger {
		m := triggers(id)
		m.Command.Variables = map[string]string{"segment": "x"}
		return m
	}
	w := dialling(t, 2, set(func(s *campaign.Settings) { s.StickyExclusion = true }))
	w.s.Excluded.Add(&journal.Exclusion{Match: map[string]string{"segment": "x"}, Reason: "left the service"})
	w.refused(w.ask(trigger("c1")), "contact_excluded") // at once, whatever becomes of the contact
	eq(w, "no look-up is under way that it might overtake", len(w.s.Newer), 0)
	w.durable()
	q := one[FindContacts](w)
	w.do(&ContactsFound{Read: q.Read, Op: q.Op, Rows: []contact.Contact{w.row("c1")}})
	x := told[*call.Exclude](w, "c1")[0]
	eq(w, "its reason is the exclusion's", x.Reason, "left the service")
	w.do(&call.Excluded{Op: x.Op, Cancelled: true, Excluded: true})
	eq(w, "all is done", len(w.s.Ops), 0)

	// Nobody has the number, or its contact is excluded already.
	for _, rows := range [][]contact.Contact{nil, {func() contact.Contact {
		c := w.final("c9")
		c.State = contact.Excluded
		return c
	}()}} {
		w.refused(w.ask(trigger("c9")), "contact_excluded")
		w.durable()
		q = one[FindContacts](w)
		w.do(&ContactsFound{Read: q.Read, Op: q.Op, Rows: rows})
		eq(w, "all is done", len(w.s.Ops), 0)
	}
	// The contact's variables and the trigger's may match the exclusion only together.
	w.s.Excluded.Add(&journal.Exclusion{Match: map[string]string{"a": "1", "b": "2"}})
	m := triggers("c5")
	m.Command.Variables = map[string]string{"b": "2"}
	r := w.ask(m)
	both := w.final("c5")
	both.Variables = map[string]string{"a": "1"}
	w.s.LookUpNext = 1
	if f := sent[FindTrigger](w); len(f) == 1 {
		w.do(&TriggerFound{Read: f[0].Read, Request: r, Command: f[0].Command, Row: both, OK: true})
	} else {
		w.t.Fatalf("%d look-ups", len(f))
	}
	w.refused(r, "contact_excluded")
	w.durable()
	sent[FindContacts](w)
	// By number it is excluded in any case.
	w.s.Excluded.Add(&journal.Exclusion{Number: phone("c2")})
	w.refused(w.ask(trigger("c2")), "contact_excluded")
	none[FindContacts](w)
}

// A person whose row has the excluded number beside the first is added again by the first alone.
func TestAddingSomebodyByTheFirstNumberLiftsAnExclusionByAnother(t *testing.T) {
	person := func(w *world, first, second string) contact.Contact {
		c := w.final(first)
		c.Alternates = contact.NewAlternates([]contact.Alternate{{Number: phone(second)}})
		c.State = contact.Excluded
		return c
	}
	w := ready(t, set(func(s *campaign.Settings) { s.StickyExclusion = false }))
	w.excluded("c2")
	w.excluded("c4")
	r := w.ask(&AddRows{Command: campaign.AddContacts{Contacts: []campaign.NewContact{{Number: phone("c1")},
		{Number: phone("c3")}}}})
	q := one[AddContacts](w)
	w.ask(excludes("c4")) // newer
	w.forget()
	w.do(&RowsAdded{Read: q.Read, Request: r, Command: q.Command, Lifting: true,
		Again: []contact.Contact{person(w, "c1", "c2"), person(w, "c3", "c4")}})
	x := one[Write](w).Write.Exclusions
	eq(w, "lifted", []any{len(x), x[0].Number == phone("c2"), x[0].Lifted}, "[1 true true]")
	eq(w, "excluded", []any{w.s.Excluded.Has(phone("c2"), nil), w.s.Excluded.Has(phone("c4"), nil)}, "[false true]")
	eq(w, "readmitted", []any{len(told[*call.Readmit](w, "c1")), len(told[*call.Readmit](w, "c3"))}, "[1 0]")
}
