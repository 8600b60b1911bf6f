package process

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/campaign"
)

// numbersOf is a person in a request: the first number, and the others.
func numbersOf(first string, others ...string) map[string]any {
	var list []any
	for _, n := range others {
		list = append(list, map[string]any{"number": n, "label": "office"})
	}
	return map[string]any{"mobile": first, "alternates": list}
}

func (w *world) triggerPerson(id engine.CampaignID, body map[string]any) answer {
	w.t.Helper()
	body["campaign_id"] = id
	return w.crm("POST", "/api/v1/campaigns/trigger", body)
}

type shownPerson struct {
	ID          engine.ContactID `json:"contact_id"`
	PhoneNumber string           `json:"phone_number"`
	NextNumber  string           `json:"next_number"`
	Alternates  []struct {
		Number, Label string
		Barred        bool
	}
	Status   string
	Attempts int
	Trail    []struct {
		Attempt engine.AttemptID `json:"attempt_id"`
		To      string           `json:"to_number"`
		EndedAt *time.Time       `json:"ended_at"`
	} `json:"attempt_trail"`
	Explain struct{ Code, Message string }
}

func (w *world) person(id engine.CampaignID, contact engine.ContactID) (c shownPerson) {
	w.t.Helper()
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts/"+string(contact), nil).expect(200).into(&c)
	return c
}

// called lists the numbers of a person's attempts that are over.
func (c *shownPerson) called() (list []string) {
	for _, a := range c.Trail {
		if a.EndedAt != nil {
			list = append(list, a.To)
		}
	}
	return list
}

// The first number is invalid, the second rings in vain twice; the program is killed while the person
// waits, and another continues with the third.
func TestAPersonsNumbersAreCalledInTheirOrderThroughAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	first, second, third := newNumber(), newNumber(), newNumber()
	inVain := carrier.Behaviour{Kind: carrier.NoAnswer, Ring: draw.Exactly(50 * time.Millisecond)}
	model := w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(first):  {carrier.Refusal(404, "", 1)},
		engine.PhoneNumber(second): {inVain},
		engine.PhoneNumber(third):  {person(50 * time.Millisecond)}}})
	w.operator("PUT", "/api/v1/cadences/persons", map[string]any{"name": "Persons",
		"rules": "no_answer: 3s · next number after 2"}).expect(201)
	id := w.campaign(map[string]any{"max_attempts": 5, "retry_delay_s": 600, "cadence_id": "persons"})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
		numbersOf(first, second, third)}}).expect(200)
	w.tampered = true // there is nothing to audit here while another process runs
	w.p.Close()
	w.flags.SIP = fmt.Sprintf("127.0.0.1:%d", ports.Of(t))
	one := w.another()
	defer one.kill()
	eventually(t, "the campaign starts", func() bool { return w.act(id, "start").status == 200 })
	contact := w.contact(id, first).ID
	ended := func(want ...string) (c shownPerson) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d attempts are over", len(want)), func() bool {
			c = w.person(id, contact)
			return len(c.called()) == len(want) && c.Explain.Code != "call_in_progress"
		})
		if got := c.called(); !slices.Equal(got, want) {
			t.Errorf("called %v, want %v", got, want)
		}
		return c
	}
	c := ended(first, second)
	if c.NextNumber != second || !strings.HasSuffix(c.Explain.Message, "number 2 of 3 is called next") {
		t.Errorf("next %s: %s", c.NextNumber, c.Explain.Message)
	}
	one.kill()
	two := w.another()
	defer two.kill()
	c = ended(first, second, second)
	if c.NextNumber != third {
		t.Errorf("after two unanswered calls %s is next", c.NextNumber)
	}
	c = ended(first, second, second, third)
	eventually(t, "the person is reached", func() bool { return w.person(id, contact).Status == "completed" })
	if c.Attempts != 4 || c.PhoneNumber != first || len(c.Alternates) != 2 || c.Alternates[0].Label != "office" {
		t.Errorf("%+v", c)
	}
	calls := model.Ledger().Calls()
	at := func(n string, i int) carrier.Call { return calls.To(engine.PhoneNumber(n))[i] }
	if gap := at(second, 0).InviteAt.Sub(at(first, 0).InviteAt); gap > 2*time.Second {
		t.Errorf("the second number was called %s after the first, which is invalid", gap)
	}
	var rows []string
	for _, r := range w.report(id, "") {
		rows = append(rows, r["phone_number"])
	}
	if !slices.Equal(rows, []string{first, second, second, third}) {
		t.Errorf("the report says %v", rows)
	}
}

func TestAPersonIsExcludedByAnyOfTheNumbersWhileAnotherRings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}})
	id := w.running(map[string]any{"max_attempts": 5, "retry_delay_s": 1})
	first, second := newNumber(), newNumber()
	var rep campaign.TriggerReply
	w.triggerPerson(id, numbersOf(first, second)).expect(200).into(&rep)
	eventually(t, "it rings", func() bool { return w.call(rep.AttemptID.Call()).State == "ringing" })
	if x := w.exclude(id, second); x != (campaign.ExcludeReply{Matched: 1, Excluded: 1, CancelledRinging: 1}) {
		t.Errorf("%+v", x)
	}
	w.ended(rep.AttemptID.Call(), engine.OutcomeExcluded)
	if c := w.contact(id, first); c.Status != "excluded" {
		t.Errorf("%+v", c)
	}
	for _, n := range []string{first, second} {
		if r := w.triggerPerson(id, numbersOf(n)).expect(409); r.code() != "contact_excluded" {
			t.Errorf("by a number of the excluded person: %s", r)
		}
	}
	if r := w.triggerPerson(id, numbersOf(newNumber(), second)).expect(409); r.code() != "contact_excluded" {
		t.Errorf("with an excluded number beside the first: %s", r)
	}
	if n := model.Ledger().Count(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

func TestANumberThatTwoPeopleShareIsNeverInTwoCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	shared := newNumber()
	script := map[engine.PhoneNumber][]carrier.Behaviour{engine.PhoneNumber(shared): {person(200 * time.Millisecond)}}
	var people []any
	for range 2 {
		own := newNumber()
		script[engine.PhoneNumber(own)] = []carrier.Behaviour{carrier.Refusal(404, "", 1)}
		people = append(people, numbersOf(own, shared))
	}
	people = append(people, numbersOf(shared))
	model := w.carrier(carrier.Config{Script: script})
	id := w.campaign(map[string]any{"max_attempts": 3, "retry_delay_s": 1, "concurrency": 5})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": people}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "all are reached", func() bool { return w.lifecycle(id).Counters.Completed == 3 })
	rows := model.Ledger().To(engine.PhoneNumber(shared))
	if len(rows) != 3 {
		t.Errorf("%d calls to the shared number", len(rows))
	}
	if over := model.Ledger().Overlaps(); len(over) > 0 {
		t.Errorf("overlaps: %v", over)
	}
}

func TestATriggerByAnotherNumberFindsThePersonAndDoNotCallStopsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	first, second, third := newNumber(), newNumber(), newNumber()
	none := []carrier.Behaviour{carrier.Refusal(404, "", 1)}
	w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(first): none, engine.PhoneNumber(second): none,
		engine.PhoneNumber(third): {person(50 * time.Millisecond)}}})
	id, elsewhere := w.campaign(map[string]any{"always_on": true, "max_attempts": 5}), w.running(nil)
	file := "phone_number,phone_number_2,phone_number_2_label,PHONE_NUMBER_3,name\n" +
		first + "," + second + ",office," + digits(third) + ",Ada\n" +
		newNumber() + ",12,,,Bert\n"
	var imp campaign.Import
	w.send("POST", importsOf(id)+"?default_country=DE", file, "Authorization", "Bearer "+w.admin, "Content-Type",
		"text/csv").expect(201).into(&imp)
	if imp.Added != 1 || imp.Invalid != 1 {
		t.Fatalf("%+v", imp)
	}
	w.act(id, "start").expect(200)
	contact := w.contact(id, first).ID
	reached := func(want ...string) (c shownPerson) {
		t.Helper()
		eventually(t, "the person is reached", func() bool {
			c = w.person(id, contact)
			return c.Status == "completed" && len(c.called()) >= len(want)
		})
		if got := c.called(); !slices.Equal(got, want) {
			t.Fatalf("called %v, want %v", got, want)
		}
		return c
	}
	c := reached(first, second, third)
	if c.Alternates[0].Label != "office" || !c.Alternates[0].Barred || c.Alternates[1].Barred || c.NextNumber != third {
		t.Errorf("%+v", c)
	}
	var rep campaign.TriggerReply
	w.triggerPerson(id, map[string]any{"mobile": second}).expect(200).into(&rep)
	if rep.ContactID != contact || rep.NumberPosition != 2 {
		t.Errorf("%+v", rep)
	}
	c = reached(first, second, third, second, third)
	call := c.Trail[4].Attempt.Call()
	token := w.session(call, "begun", func(bot.Session) bool { return true }).Parameters["result_token"]
	w.result(call, token, map[string]any{"disposition": "no", "do_not_call": true}).expect(200)
	for _, n := range []string{first, second, third} {
		if r := w.triggerPerson(id, numbersOf(n)).expect(409); r.code() != "suppressed" {
			t.Errorf("the person asked not to be called: %s", r)
		}
	}
	w.triggerPerson(elsewhere, numbersOf(first)).expect(200)
	if r := w.triggerPerson(elsewhere, numbersOf(third)).expect(409); r.code() != "suppressed" {
		t.Errorf("elsewhere by number: %s", r)
	}
}

// A number on the suppression list is never called; whoever comes with it is called at the others, however
// they come, and is refused when none is left.
func TestWhoComesWithASuppressedNumberIsCalledAtTheOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	type numbers struct{ first, second string }
	script := map[engine.PhoneNumber][]carrier.Behaviour{}
	listed, erased := newNumber(), newNumber() // the list has the one as it is, the other as an erased person's
	w.operator("POST", "/api/v1/suppressions", map[string]any{"numbers": []string{listed}}).expect(200)
	w.operator("DELETE", "/api/v1/persons/"+erased+"?suppress=true", nil).expect(200)
	model := w.carrier(carrier.Config{Script: script, Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	var id engine.CampaignID
	ways := map[string]func(numbers) bool{
		"trigger": func(p numbers) bool {
			r := w.triggerPerson(id, numbersOf(p.first, p.second))
			return r.status == 200 || r.code() != "suppressed"
		},
		"batch": func(p numbers) bool {
			var rep campaign.BatchReply
			w.crm("POST", "/api/v1/campaigns/"+string(id)+"/contacts:batch", map[string]any{"contacts": []any{
				numbersOf(p.first, p.second)}}).expect(200).into(&rep)
			return rep.Suppressed == 0
		},
		"list": func(p numbers) bool {
			var rep campaign.AddReport
			w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
				numbersOf(p.first, p.second)}}).expect(200).into(&rep)
			return rep.Excluded == 0
		},
		"file": func(p numbers) bool {
			var imp campaign.Import
			w.send("POST", importsOf(id), "phone_number,phone_number_2\n"+p.first+","+p.second+"\n", "Authorization",
				"Bearer "+w.admin, "Content-Type", "text/csv").expect(201).into(&imp)
			return imp.Excluded == 0
		},
	}
	for way, add := range ways {
		id = w.running(map[string]any{"max_attempts": 5, "retry_delay_s": 600}) // which knows nobody by these numbers
		if add(numbers{listed, erased}) {
			t.Errorf("%s: a person is taken whose numbers are both on the list", way)
		}
		for _, barred := range []string{listed, erased} {
			other := newNumber()
			if !add(numbers{other, barred}) {
				t.Errorf("%s: refused for the second number", way)
			}
			eventually(t, way+": the first number is called", func() bool {
				return len(model.Ledger().To(engine.PhoneNumber(other))) == 1
			})
		}
	}
	// Whoever the campaign knows by one of them, besides a number that may be called, is no new person.
	var known campaign.TriggerReply
	w.triggerPerson(id, numbersOf(listed, erased)).expect(200).into(&known)
	if known.NumberPosition != 2 {
		t.Errorf("named by the second number: %+v", known)
	}
	// A campaign has each first number once.
	for way, add := range ways {
		for _, barred := range []string{listed, erased} {
			id = w.running(map[string]any{"max_attempts": 5, "retry_delay_s": 600})
			other := newNumber()
			if !add(numbers{barred, other}) {
				t.Errorf("%s: refused for the first number", way)
				continue
			}
			eventually(t, way+": the second number is called", func() bool {
				return len(model.Ledger().To(engine.PhoneNumber(other))) == 1
			})
		}
	}
	for _, n := range []string{listed, erased} {
		if calls := model.Ledger().To(engine.PhoneNumber(n)); len(calls) > 0 {
			t.Errorf("a suppressed number got %d calls", len(calls))
		}
	}
}

func TestAPersonIsErasedByAnyOfTheNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	first, second, third := newNumber(), newNumber(), newNumber()
	w.carrier(carrier.Config{Script: map[engine.PhoneNumber][]carrier.Behaviour{
		engine.PhoneNumber(first):  {carrier.Refusal(404, "", 1)},
		engine.PhoneNumber(second): {person(50 * time.Millisecond)}}})
	id, draft := w.running(nil), w.campaign(nil)
	var rep campaign.TriggerReply
	w.triggerPerson(id, numbersOf(first, second, third)).expect(200).into(&rep)
	w.operator("POST", "/api/v1/campaigns/"+string(draft)+"/contacts", map[string]any{"contacts": []any{
		numbersOf(third, first)}}).expect(200)
	eventually(t, "the second number is called", func() bool {
		c := w.person(id, rep.ContactID)
		return len(c.called()) == 2
	})
	w.quiet()
	w.exclude(draft, second)
	var erased struct {
		Contacts   int
		Suppressed bool
	}
	w.operator("DELETE", "/api/v1/persons/"+second+"?suppress=true", nil).expect(200).into(&erased)
	if erased.Contacts != 1 || !erased.Suppressed {
		t.Errorf("%+v", erased)
	}
	w.operator("DELETE", "/api/v1/persons/"+third, nil).expect(200)
	text := w.dump()
	for _, n := range []string{first, second, third} {
		for line := range strings.Lines(text) {
			if strings.Contains(line, digits(n)) {
				t.Errorf("number …%s is still in %s", n[len(n)-3:], line)
			}
		}
		if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": n}); r.code() !=
			"suppressed" {
			t.Errorf("a number of somebody who is not to be called: %s", r)
		}
	}
}

func TestWrongNumbersOfAPersonAreRefusedWithAnExample(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{})
	id := w.running(nil)
	for field, body := range map[string]string{
		"alternates":           `{"number":"+4930901820"}`,
		"alternates[0]":        `["+4930901820"]`,
		"alternates[0].number": `[{"number":"12"}]`,
		"alternates[0].label":  `[{"number":"+4930901820","label":"a\tb"}]`,
		"alternates[1].number": `[{"number":"+4930901820"},{"number":"+4930901820"}]`,
	} {
		r := w.send("POST", "/api/v1/campaigns/trigger", `{"campaign_id":"`+string(id)+`","mobile":"`+newNumber()+
			`","alternates":`+body+`}`, "X-API-Key", w.key, "Content-Type", "application/json").expect(422)
		if !strings.Contains(string(r.body), `"field":"`+field+`"`) {
			t.Errorf("%s: %s", field, r.body)
		}
	}
}
