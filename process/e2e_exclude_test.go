package process

import (
	"context"
	"sync"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// exclude suppresses a number of a campaign.
func (w *world) exclude(id engine.CampaignID, number string) (rep campaign.ExcludeReply) {
	w.t.Helper()
	w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "mobile": number,
		"reason": "asked"}).expect(200).into(&rep)
	return rep
}

// trigger adds a contact.
func (w *world) trigger(id engine.CampaignID, number string, metadata map[string]any) (rep campaign.TriggerReply) {
	w.t.Helper()
	body := map[string]any{"campaign_id": id, "mobile": number}
	if metadata != nil {
		body["metadata"] = metadata
	}
	w.crm("POST", "/api/v1/campaigns/trigger", body).expect(200).into(&rep)
	return rep
}

// never waits that long and fails if the condition occurs.
func never(t *testing.T, model *carrier.Carrier, long time.Duration, what string, cond func(carrier.Ledger) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	if model.Ledger().Wait(ctx, cond) == nil {
		t.Error(what)
	}
}

func TestAnExcludedContactsRingingLegIsCancelledAndNoInviteFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}})
	// Every outcome is redialled after a second.
	id := w.running(map[string]any{"max_attempts": 5, "retry_delay_s": 1,
		"retry_on_system": []string{"no_answer", "busy", "lost", "system_error"}})
	to := newNumber()
	rep := w.trigger(id, to, map[string]any{"account": "7"})
	leg := string(rep.AttemptID.Leg(1))
	eventually(t, "it rings", func() bool { return w.call(rep.AttemptID.Call()).State == "ringing" })
	if x := w.exclude(id, to); x != (campaign.ExcludeReply{Matched: 1, Excluded: 1, CancelledRinging: 1}) {
		t.Errorf("%+v", x)
	}
	w.ended(rep.AttemptID.Call(), engine.OutcomeExcluded)
	row, _ := model.Ledger().Call(leg)
	if row.FinalCode != 487 || row.CancelAt.IsZero() || len(row.Violations) > 0 {
		t.Errorf("at the carrier: %+v", row)
	}
	a := w.stored(rep.AttemptID.Call())
	if a.SIPCode != 487 || !a.Consumed || a.HungUpBy != engine.PartySystem ||
		!inOrder(a.InviteAt, a.RingingAt, a.EndedAt) {
		t.Errorf("row %+v", a)
	}
	if c := w.contact(id, to); c.Status != "excluded" {
		t.Errorf("%+v", c)
	}
	// The second time nothing is left to cancel; the exclusion is sticky, so it cannot be undone by
	// adding.
	if x := w.exclude(id, to); x.Matched != 1 || x.CancelledRinging != 0 {
		t.Errorf("again: %+v", x)
	}
	r := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": to})
	if r.status != 409 || r.code() != "contact_excluded" {
		t.Errorf("triggered again: %s", r)
	}
	var added campaign.AddReport
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": to}}}).expect(200).into(&added)
	if added.Added != 0 {
		t.Errorf("added again: %+v", added)
	}
	never(t, model, 3*time.Second, "an INVITE left for an excluded contact", func(l carrier.Ledger) bool {
		return len(l.To(engine.PhoneNumber(to))) > 1
	})
	w.restart()
	never(t, model, 2*time.Second, "an INVITE left for an excluded contact after a restart", func(l carrier.Ledger) bool {
		return len(l.To(engine.PhoneNumber(to))) > 1
	})
	if n := w.rows("exclusions"); n != 1 {
		t.Errorf("%d exclusions are stored", n)
	}
}

func TestExclusionByMetadataAndInAdvance(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.campaign(nil)
	numbers := []string{newNumber(), newNumber(), newNumber(), newNumber()}
	rows := []any{
		map[string]any{"mobile": numbers[0], "metadata": map[string]any{"account": "7", "region": "north"}},
		map[string]any{"mobile": numbers[1], "metadata": map[string]any{"account": "7", "region": "south"}},
		map[string]any{"mobile": numbers[2], "metadata": map[string]any{"account": 8}},
		map[string]any{"mobile": numbers[3]},
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	match := func(m any) (x campaign.ExcludeReply) {
		w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "match": m}).expect(200).into(&x)
		return x
	}
	if x := match(map[string]any{"account": "7", "region": "south"}); x.Matched != 1 || x.Excluded != 1 {
		t.Errorf("two keys, both must match: %+v", x)
	}
	if x := match([]any{map[string]any{"key": "account", "value": 8}}); x.Matched != 1 {
		t.Errorf("a list, the number as the trigger stored it: %+v", x)
	}
	if x := match(map[string]any{"account": "9"}); x.Matched != 0 {
		t.Errorf("nobody: %+v", x)
	}
	if x := w.exclude(id, newNumber()); x != (campaign.ExcludeReply{}) {
		t.Errorf("a number in advance: %+v", x)
	}
	w.act(id, "start").expect(200)
	eventually(t, "the campaign completes without them", func() bool { return w.detail(id).Status == "completed" })
	if d := w.detail(id); d.Counters.Total != 4 || d.Counters.Excluded != 2 || d.Counters.Completed != 2 ||
		d.CompletionReason != "all_contacts_final" {
		t.Errorf("%s %+v", d.CompletionReason, d.Counters)
	}
	for i, want := range []int{1, 0, 0, 1} {
		if n := len(model.Ledger().To(engine.PhoneNumber(numbers[i]))); n != want {
			t.Errorf("contact %d: %d calls, want %d", i, n, want)
		}
	}
}

func TestExclusionsHoldWhileTheCampaignDials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer,
		Post: draw.Between(0, 300*time.Millisecond)}}})
	id := w.campaign(map[string]any{"concurrency": 10})
	const contacts = 30
	var rows []any
	numbers := make([]string, contacts)
	for i := range numbers {
		numbers[i] = newNumber()
		rows = append(rows, map[string]any{"mobile": numbers[i]})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	confirmed := make([]time.Time, contacts)
	answers := make([]answer, contacts)
	var all sync.WaitGroup
	for i := range numbers {
		all.Go(func() {
			answers[i] = w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "mobile": numbers[i]})
			confirmed[i] = time.Now()
		})
	}
	all.Wait()
	for _, a := range answers {
		var x campaign.ExcludeReply
		if a.expect(200).into(&x); x.Matched != 1 || x.Excluded != 1 {
			t.Errorf("%+v", x)
		}
	}
	eventually(t, "the campaign completes", func() bool {
		d := w.detail(id)
		return d.Status == "completed" && !d.Draining
	})
	for i, n := range numbers {
		for _, row := range model.Ledger().To(engine.PhoneNumber(n)) {
			if row.LeftAt.After(confirmed[i]) {
				t.Errorf("contact %d: an INVITE left %v after its exclusion was confirmed", i, row.LeftAt.Sub(confirmed[i]))
			}
			if row.FinalCode != 487 {
				t.Errorf("contact %d was not cancelled: %+v", i, row)
			}
		}
	}
	if d := w.detail(id); d.Counters.Excluded != contacts {
		t.Errorf("%+v", d.Counters)
	}
	w.quiet()
}

func TestAConversationIsLeftAloneByAnExclusion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 1500*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	to := newNumber()
	rep := w.trigger(id, to, nil)
	w.session(rep.AttemptID.Call(), "begun", func(s bot.Session) bool { return s.FramesIn > 5 })
	if x := w.exclude(id, to); x != (campaign.ExcludeReply{Matched: 1, Excluded: 1, InCall: 1}) {
		t.Errorf("%+v", x)
	}
	w.ended(rep.AttemptID.Call(), engine.OutcomeCompleted)
	eventually(t, "excluded after its conversation", func() bool { return w.contact(id, to).Status == "excluded" })
	row, _ := model.Ledger().Call(string(rep.AttemptID.Leg(1)))
	if talked := row.ByeAt.Sub(row.AnsweredAt); talked < 1400*time.Millisecond || row.ByeBy != carrier.Caller {
		t.Errorf("the conversation lasted %v: %+v", talked, row)
	}
	if a := w.stored(rep.AttemptID.Call()); a.Result == nil || a.Result.Disposition != "interested" {
		t.Errorf("its result is stored: %+v", a.Result)
	}
}

func TestAnAnswerThatCrossesTheCancelOfAnExclusionIsEndedAndServedByNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	s := startSipp(t, `< INVITE
		> 180
		< CANCEL
		> 200 of INVITE sdp
		< ACK
		< BYE CSeq=2 BYE
		> 200`)
	w.trunk("sipp", "127.0.0.1", s.port, nil)
	id := w.running(nil)
	to := newNumber()
	rep := w.trigger(id, to, nil)
	call := rep.AttemptID.Call()
	eventually(t, "it rings", func() bool { return w.call(call).State == "ringing" })
	if x := w.exclude(id, to); x != (campaign.ExcludeReply{Matched: 1, Excluded: 1, CancelledRinging: 1}) {
		t.Errorf("%+v", x)
	}
	if c := w.ended(call, engine.OutcomeExcluded); c.AnsweredAt != nil {
		t.Errorf("the API shows %+v", c)
	}
	a := w.one(call, s, "INVITE CANCEL ACK BYE")
	if a.SIPCode != 200 || a.Legs[0].Dialog == nil || a.AnsweredAt != nil || a.State != attempt.Ended || a.Session != "" {
		t.Errorf("row %+v", a)
	}
	for _, s := range w.bot.Sessions() {
		if !s.StartedAt.IsZero() { // a socket opened ahead is not told of the call
			t.Errorf("a bot was told of the call: %+v", s)
		}
	}
	if d := w.detail(id); d.Counters.Answered != 0 || d.Counters.LiveAnswers != 0 || d.Counters.Abandoned != 0 ||
		d.Counters.Excluded != 1 {
		t.Errorf("it counts as nobody's answer: %+v", d.Counters)
	}
}

func TestAnExclusionBindsOneCampaignAndTheSameNumberIsStillCalledInAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	to, beside := newNumber(), newNumber()
	one, other := w.campaign(nil), w.campaign(nil)
	w.addTo(one, to, beside).expect(200)
	w.addTo(other, to).expect(200)
	if x := w.exclude(one, to); x != (campaign.ExcludeReply{Matched: 1, Excluded: 1}) {
		t.Errorf("%+v", x)
	}
	for _, id := range []engine.CampaignID{one, other} {
		w.act(id, "start").expect(200)
	}
	for _, id := range []engine.CampaignID{one, other} {
		eventually(t, "it completes", func() bool { return w.detail(id).Status == "completed" })
	}
	for what, c := range map[string]struct {
		row      contactRow
		status   string
		attempts int
	}{
		"excluded":              {w.contact(one, to), "excluded", 0},
		"beside it":             {w.contact(one, beside), "completed", 1},
		"of the other campaign": {w.contact(other, to), "completed", 1},
	} {
		if c.row.Status != c.status || c.row.Attempts != c.attempts {
			t.Errorf("the contact %s: %+v", what, c.row)
		}
	}
	calls := func() int { return len(model.Ledger().To(engine.PhoneNumber(to))) }
	if n := calls(); n != 1 {
		t.Errorf("%d calls to the number that one campaign of two excluded", n)
	}
	// Nor does an earlier exclusion affect any other campaign.
	barred, free := w.running(nil), w.running(nil)
	w.exclude(barred, to)
	r := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": barred, "mobile": to})
	if r.expect(409).code() != "contact_excluded" {
		t.Errorf("triggered where it is excluded: %s", r)
	}
	if rep := w.trigger(free, to, nil); rep.Status != "dialled" {
		t.Errorf("triggered elsewhere: %+v", rep)
	}
	eventually(t, "it is called there", func() bool { return calls() == 2 && w.contact(free, to).Status == "completed" })
	w.quietly(barred)
	w.quietly(free)
}
