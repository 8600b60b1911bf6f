package truth

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
)

// TestTheProgramKeepsItsRules checks the shipped program against the rules that went wrong once,
// all on one installation.
func TestTheProgramKeepsItsRules(t *testing.T) {
	w := open(t, 200, 1)
	for _, row := range []struct {
		name string
		is   func(*testing.T, *world)
	}{
		{"a short conversation is redialled whatever its disposition", redialAfterShort},
		{"a short conversation without a result is redialled", redialWithoutResult},
		{"a long enough conversation is redialled when its disposition says so", redialByDisposition},
		{"a meaningful conversation is the last, a callback aside", stopAfterMeaningful},
		{"contradictory limits are refused", contradictoryLimits},
		{"do_not_call is not redialled, however short", doNotCallFirst},
		{"a campaign at rest completes when its last contact is excluded", restExcluded},
		{"a campaign at rest completes when its last contact is suppressed", restSuppressed},
		{"a campaign at rest completes when its last contact is erased", restErased},
		{"a second exclusion keeps the reason and counts nobody", secondExclusion},
		{"a failed run is shown again as failed when its restart is cancelled", failedStaysFailed},
		{"callbacks are counted one by one", callbacksCounted},
		{"a suppressed number stops ringing before the answer", suppressionConfirmed},
		{"rates divide by the time that has passed", ratesOfTheFirstMinute},
		{"the reason names what holds", reasons},
		{"an outcome is told when it is final", outcomeWhenFinal},
		{"a result while a dialout rings is kept", resultWhileRinging},
		{"a campaign with nobody to call does not start", nobodyCallable},
		{"a trigger of a final contact says that it is dialled", triggerOfFinal},
		{"machines are counted whatever becomes of the contact", machinesAreCalls},
		{"the states add up to the total", partition},
		{"refusals of one caller ID leave the trunk up", refusedCallerID},
		{"transfers wait for a token", transfersWait},
		{"a late result reaches a contact whose restart is prepared", lateResult},
		{"variables that a bot by SIP is not told are counted at the call", longVariable},
		{"a Config URL with contradictory limits fails the start", configURL},
		{"a trigger that meets an exclusion leaves nobody dialled", triggerMeetsExclusion},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.is(t, w)
		})
	}
}

func redialAfterShort(t *testing.T, w *world) {
	n := number(1, 1)
	w.knows(t, n, talks(), says(2*second, bot.Result{Disposition: "nope"}))
	id := w.run(t, map[string]any{"redial_only_under_s": 5, "max_attempts": 2, "retry_on_custom": []string{}}, n)
	w.completed(t, id, 20*second)
	if got := len(w.calls(n)); got != 2 {
		t.Errorf("dialled %d times, want 2", got)
	}
}

func redialWithoutResult(t *testing.T, w *world) {
	n := number(1, 2)
	w.knows(t, n, talks(), says(2*second, bot.Result{None: true}))
	w.run(t, map[string]any{"redial_only_under_s": 5, "max_attempts": 2}, n)
	w.settled(t, n, 2, 20*second)
}

func redialByDisposition(t *testing.T, w *world) {
	again, done := number(1, 3), number(1, 4)
	w.knows(t, again, talks(), says(3*second, bot.Result{Disposition: "again"}))
	w.knows(t, done, talks(), says(3*second, bot.Result{Disposition: "done"}))
	id := w.run(
		t,
		map[string]any{"redial_only_under_s": 2, "max_attempts": 2, "retry_on_custom": []string{"again"}},
		again,
		done,
	)
	w.completed(t, id, 25*second)
	if a, d := len(w.calls(again)), len(w.calls(done)); a != 2 || d != 1 {
		t.Errorf("the listed disposition was dialled %d times, the other %d: want 2 and 1", a, d)
	}
}

func stopAfterMeaningful(t *testing.T, w *world) {
	n := number(1, 5)
	w.knows(t, n, []carrier.Behaviour{{Kind: carrier.Human}, carrier.Busy()},
		says(3*second, bot.Result{Disposition: "later", Callback: true, CallbackIn: draw.Exactly(second)}))
	id := w.run(
		t,
		map[string]any{
			"stop_redials_after_s": 2,
			"max_attempts":         4,
			"callback_detection":   true,
			"retry_on_system":      []string{"busy"},
		},
		n,
	)
	w.completed(t, id, patience)
	if got := len(w.calls(n)); got != 2 {
		t.Errorf("dialled %d times, want the conversation and its callback", got)
	}
}

func contradictoryLimits(t *testing.T, w *world) {
	status, body := w.try(
		t,
		http.MethodPost,
		"/campaigns",
		map[string]any{"name": "x", "bot_id": botID, "number_pool": own[:1],
			"redial_only_under_s": 20, "stop_redials_after_s": 10},
	)
	if status != http.StatusUnprocessableEntity {
		t.Errorf("answered %d %v, want 422", status, body)
	}
}

func doNotCallFirst(t *testing.T, w *world) {
	n := number(1, 6)
	w.knows(t, n, talks(), says(2*second, bot.Result{Disposition: "nope", DoNotCall: true}))
	id := w.run(t, map[string]any{"redial_only_under_s": 5, "max_attempts": 3}, n)
	w.completed(t, id, 20*second)
	if got := len(w.calls(n)); got != 1 {
		t.Errorf("dialled %d times, want 1", got)
	}
}

// atRest is a campaign whose only contact was busy and is due in an hour.
func atRest(t *testing.T, w *world, n string) string {
	t.Helper()
	w.knows(t, n, busy())
	id := w.run(t, map[string]any{"max_attempts": 3, "retry_delay_s": 3600, "retry_on_system": []string{"busy"}}, n)
	w.until(
		t,
		15*second,
		"its contact waits for its retry",
		func() bool { return text(w.contact(t, id, n), "status") == "waiting" },
	)
	return id
}

// endsAtOnce checks that the campaign is completed within a second of the answer, and its counters
// too.
func endsAtOnce(t *testing.T, w *world, id, counter string) {
	t.Helper()
	c := w.completed(t, id, time.Second)
	if counter != "" && num(c, "counters", counter) != 1 {
		t.Errorf("%s is %v, want 1", counter, num(c, "counters", counter))
	}
	if got := num(c, "counters", "retries_left"); got != 0 {
		t.Errorf("%v retries are left", got)
	}
}

func restExcluded(t *testing.T, w *world) {
	n := number(2, 1)
	id := atRest(t, w, n)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/exclusions", map[string]any{"mobile": n})
	endsAtOnce(t, w, id, "excluded")
}

func restSuppressed(t *testing.T, w *world) {
	n := number(2, 2)
	id := atRest(t, w, n)
	w.must(t, http.MethodPost, "/suppressions", map[string]any{"number": n})
	endsAtOnce(t, w, id, "")
}

func restErased(t *testing.T, w *world) {
	n := number(2, 3)
	id := atRest(t, w, n)
	w.must(t, http.MethodDelete, "/persons/"+n, nil)
	endsAtOnce(t, w, id, "")
}

func secondExclusion(t *testing.T, w *world) {
	n := number(3, 1)
	id := w.campaign(t, nil, n, number(3, 2))
	path := "/campaigns/" + id + "/exclusions"
	first := w.must(t, http.MethodPost, path, map[string]any{"mobile": n, "reason": "court order 17"})
	again := w.must(t, http.MethodPost, path, map[string]any{"mobile": n})
	if num(first, "excluded") != 1 || num(again, "excluded") != 0 {
		t.Errorf("excluded %v and then %v, want 1 and 0", first["excluded"], again["excluded"])
	}
	list, _ := w.must(t, http.MethodGet, path, nil)["exclusions"].([]any)
	if len(list) != 1 {
		t.Fatalf("%d exclusions, want 1", len(list))
	}
	row, _ := list[0].(map[string]any)
	if got := text(row, "reason"); got != "court order 17" {
		t.Errorf("the list says %q", got)
	}
	if got := text(w.contact(t, id, n), "reason"); got != "court order 17" {
		t.Errorf("the contact says %q", got)
	}
}

func failedStaysFailed(t *testing.T, w *world) {
	w.must(
		t,
		http.MethodPut,
		"/bots/short-lived",
		map[string]any{"name": "Short-lived", "seats": 5, "endpoints": []string{w.bot.URL()}},
	)
	n := number(4, 1)
	w.knows(t, n, busy())
	id := w.run(
		t,
		map[string]any{
			"bot_id":          "short-lived",
			"max_attempts":    2,
			"retry_delay_s":   3600,
			"retry_on_system": []string{"busy"},
		},
		n,
	)
	w.settled(t, n, 1, 15*second)
	w.must(t, http.MethodDelete, "/bots/short-lived?force=true", nil)
	w.until(t, 15*second, "the run fails", func() bool { return text(w.state(t, id), "status") == "failed" })
	w.must(t, http.MethodPost, "/campaigns/"+id+"/restart", map[string]any{})
	w.must(t, http.MethodPost, "/campaigns/"+id+"/cancel-restart", nil)
	c := w.state(t, id)
	if text(c, "failure_reason") != "bot_deleted" || text(c, "completion_reason") == "manually_stopped" {
		t.Errorf(
			"it is %s, completion %q, failure %q",
			c["status"],
			text(c, "completion_reason"),
			text(c, "failure_reason"),
		)
	}
}

func callbacksCounted(t *testing.T, w *world) {
	x, y := number(5, 1), number(5, 2)
	wish := bot.Result{Disposition: "later", Callback: true, CallbackIn: draw.Exactly(2 * second)}
	far := bot.Result{Disposition: "later", Callback: true, CallbackIn: draw.Exactly(time.Hour)}
	w.knows(t, x, talks(), says(second, wish), says(second, far))
	w.knows(t, y, talks(), says(second, wish), says(second, bot.Result{Disposition: "done"}))
	id := w.run(t, map[string]any{"callback_detection": true, "max_attempts": 3}, x, y)
	want := "requested 3, pending 1, completed 2"
	var got string
	w.until(t, patience, want, func() bool {
		c := w.state(t, id)
		got = fmt.Sprintf(
			"requested %v, pending %v, completed %v",
			num(c, "callbacks", "requested"),
			num(c, "callbacks", "pending"),
			num(c, "callbacks", "completed"),
		)
		return got == want
	})
	w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
}

func suppressionConfirmed(t *testing.T, w *world) {
	people := make([]string, 20)
	for i := range people {
		people[i] = number(6, i)
		w.knows(t, people[i], rings())
	}
	id := w.run(t, map[string]any{"abandon_cap_pct": 0}, people...)
	w.until(t, 20*second, "all ring", func() bool { return num(w.state(t, id), "live", "ringing") == 20 })
	w.must(t, http.MethodPost, "/suppressions", map[string]any{"numbers": people})
	w.completed(t, id, 5*second)
	for _, n := range people {
		for _, c := range w.calls(n) {
			if c.CancelAt.IsZero() {
				t.Errorf("the phone of %s rang on", n)
			}
		}
	}
}

func ratesOfTheFirstMinute(t *testing.T, w *world) {
	people := make([]string, 30)
	for i := range people {
		people[i] = number(7, i)
		w.knows(t, people[i], busy())
	}
	id := w.run(t, nil, people...)
	began := time.Now()
	c := w.completed(t, id, 20*second)
	w.until(
		t,
		5*second,
		"30 attempts are counted",
		func() bool { c = w.state(t, id); return num(c, "counters", "attempts") == 30 },
	)
	// The rate over a minute would be half a dial per second if it divided by the whole minute.
	if rate := num(c, "live", "dials_per_s"); rate > 0 && rate < 30/(time.Since(began).Seconds()+5) {
		t.Errorf("%v dials/s after 30 dials in %v", rate, time.Since(began))
	}
	if rate := num(c, "counters", "answer_rate"); num(c, "counters", "decided") != 30 || rate != 0 {
		t.Errorf("answer rate %v over %v, want 0 over 30", rate, num(c, "counters", "decided"))
	}
}

func reasons(t *testing.T, w *world) {
	people := make([]string, 4)
	for i := range people {
		people[i] = number(9, i)
		w.knows(t, people[i], rings())
	}
	draft := w.campaign(t, nil, people...)
	if got := text(w.state(t, draft), "live", "constraint"); got == "paused" || got == "retry_delay" {
		t.Errorf("a draft is held by %q", got)
	}
	w.must(t, http.MethodPost, "/campaigns/"+draft+"/start", nil)
	w.until(t, 10*second, "all ring", func() bool { return num(w.state(t, draft), "live", "ringing") == 4 })
	w.stays(t, 5*second, "nobody waits for a retry while first attempts ring", func() bool {
		return text(w.state(t, draft), "live", "constraint") != "retry_delay"
	})
	w.must(t, http.MethodPost, "/campaigns/"+draft+"/stop", nil)
}

func outcomeWhenFinal(t *testing.T, w *world) {
	n, silent := number(10, 1), number(10, 2)
	w.knows(t, n, talks(), says(second, bot.Result{Disposition: "sold", Delay: draw.Exactly(2 * second)}))
	w.knows(t, silent, talks(), says(second, bot.Result{None: true}))
	id := w.run(t, map[string]any{"result_timeout_s": 5}, n, silent)
	w.completed(t, id, 25*second)
	w.until(t, 10*second, "the webhook has all of it", func() bool {
		return slices.ContainsFunc(w.told(id), func(m message) bool { return m.Type == "campaign.completed" })
	})
	all := w.told(id)
	find := func(kind, number string) map[string]any {
		i := slices.IndexFunc(all, func(m message) bool {
			return m.Type == kind && (text(m.Data, "to_number") == number || text(m.Data, "phone_number") == number)
		})
		if i < 0 {
			t.Fatalf("no %s of %s", kind, number)
		}
		return all[i].Data
	}
	for _, m := range all {
		if m.Type == "attempt.ended" && (m.Data["outcome"] != nil || m.Data["awaiting_result"] != true) {
			t.Errorf("attempt.ended says outcome %v, awaiting_result %v", m.Data["outcome"], m.Data["awaiting_result"])
		}
	}
	// The result completes the contact: one event, two messages.
	ended, stored, completed := find("attempt.ended", n), find("result.stored", n), find("contact.completed", n)
	at := func(data map[string]any) float64 { return num(data, "sequence") }
	if at(stored) <= at(ended) || at(completed) != at(stored) || text(stored, "outcome") != "completed" {
		t.Errorf("the end, result and completion are %v, %v, %v", ended, stored, completed)
	}
	if text(find("result.timed_out", silent), "attempt_id") == "" {
		t.Errorf("nothing tells whose result did not come")
	}
}

func resultWhileRinging(t *testing.T, w *world) {
	n := number(10, 9)
	w.knows(
		t,
		n,
		[]carrier.Behaviour{{Kind: carrier.Human, Ring: draw.Exactly(3 * second)}},
		says(second, bot.Result{None: true}),
	)
	call := w.must(t, http.MethodPost, "/sip/dialout", map[string]any{"bot_id": botID, "to_number": n})
	id := text(call, "call_id")
	w.until(
		t,
		10*second,
		"the phone rings",
		func() bool { return len(w.calls(n)) == 1 && !w.calls(n)[0].RingingAt.IsZero() },
	)
	w.result(t, id, "early")
	var c map[string]any
	w.until(t, 20*second, "the call is over", func() bool {
		c = w.must(t, http.MethodGet, "/calls/"+id, nil)
		return text(c, "ended_at") != ""
	})
	if text(c, "outcome") != "completed" || text(c, "result", "disposition") != "early" {
		t.Errorf("the call is %q with the result %v", text(c, "outcome"), c["result"])
	}
	w.until(t, 10*second, "the webhook tells of the result, with its outcome", func() bool {
		return slices.ContainsFunc(w.told(""), func(m message) bool {
			return m.Type == "dialout.ended" && text(m.Data, "to_number") == n && text(m.Data, "outcome") == "completed"
		})
	})
}

func nobodyCallable(t *testing.T, w *world) {
	n := number(13, 1)
	id := w.campaign(t, nil, n)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/exclusions", map[string]any{"mobile": n})
	status, body := w.try(t, http.MethodPost, "/campaigns/"+id+"/start", nil)
	if status/100 != 4 || text(w.state(t, id), "status") != "draft" {
		t.Errorf("Start answered %d %v, and it is %s", status, body, w.state(t, id)["status"])
	}
}

func triggerOfFinal(t *testing.T, w *world) {
	n := number(14, 1)
	w.knows(t, n, talks(), says(second, bot.Result{Disposition: "done"}))
	id := w.run(t, map[string]any{"always_on": true}, n)
	w.until(
		t,
		15*second,
		"the contact is final",
		func() bool { return text(w.contact(t, id, n), "status") == "completed" },
	)
	status, reply := w.ask(
		t,
		http.MethodPost,
		"/campaigns/trigger",
		t.Name(),
		map[string]any{"campaign_id": id, "mobile": n},
	)
	if status/100 != 2 || text(reply, "status") != "dialled" {
		t.Errorf("answered %d %v, want dialled", status, reply)
	}
	w.settled(t, n, 2, 15*second)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
}

func machinesAreCalls(t *testing.T, w *world) {
	n := number(15, 1)
	w.knows(t, n, []carrier.Behaviour{{Kind: carrier.Machine}})
	id := w.run(t, map[string]any{"amd": "sequential", "always_on": true}, n)
	w.until(
		t,
		patience,
		"a machine is counted",
		func() bool { return num(w.state(t, id), "counters", "machine_detected") == 1 },
	)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/exclusions", map[string]any{"mobile": n})
	w.stays(
		t,
		2*second,
		"the machine stays counted",
		func() bool { return num(w.state(t, id), "counters", "machine_detected") == 1 },
	)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
}

func partition(t *testing.T, w *world) {
	people := make([]string, 24)
	for i := range people {
		people[i] = number(16, i)
		w.knows(
			t,
			people[i],
			[][]carrier.Behaviour{busy(), talks(), rings(), {{Kind: carrier.Human, Talk: draw.Exactly(second / 2)}}}[i%4],
			says(second, bot.Result{Disposition: "done"}),
		)
	}
	id := w.run(t, map[string]any{"max_attempts": 2, "retry_on_system": []string{"busy", "no_answer"}}, people...)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/exclusions", map[string]any{"mobile": people[2]})
	for end := false; !end; {
		c := w.state(t, id)
		sum, counters := 0.0, at(c, "counters", "states")
		states, _ := counters.(map[string]any)
		for _, n := range states {
			v, _ := n.(float64)
			sum += v
		}
		if sum != num(c, "counters", "total") || sum != 24 {
			t.Fatalf("states of %v contacts, total %v", sum, num(c, "counters", "total"))
		}
		end = text(c, "status") == "completed"
	}
}

func refusedCallerID(t *testing.T, w *world) {
	people := make([]string, 6)
	for i := range people {
		people[i] = number(17, i)
		w.knows(t, people[i], []carrier.Behaviour{carrier.Refusal(403, "", 0)})
	}
	id := w.run(t, map[string]any{"number_pool": own[3:], "concurrency": 1, "abandon_cap_pct": 0}, people...)
	w.until(t, patience, "five of its calls are refused", func() bool {
		n := 0
		for _, p := range people {
			n += len(w.calls(p))
		}
		return n >= 5
	})
	list, _ := w.must(t, http.MethodGet, "/trunks", nil)["trunks"].([]any)
	for _, x := range list {
		if row, _ := x.(map[string]any); text(row, "status", "health") != "up" {
			t.Errorf("the trunk is %v: %v", text(row, "status", "health"), text(row, "status", "reason"))
		}
	}
	w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
}

func transfersWait(t *testing.T, w *world) {
	const calls = 7
	people := make([]string, calls)
	target := number(18, 99)
	w.knows(t, target, []carrier.Behaviour{{Kind: carrier.Human, Talk: draw.Exactly(second)}})
	for i := range people {
		people[i] = number(18, i)
		w.knows(t, people[i], talks(), says(60*second, bot.Result{None: true}))
	}
	id := w.run(t, map[string]any{"transfer_targets": []string{target}}, people...)
	w.until(t, 20*second, "all talk", func() bool { return num(w.state(t, id), "live", "in_progress") == calls })
	list, _ := w.must(t, http.MethodGet, "/calls?campaign_id="+id, nil)["calls"].([]any)
	if len(list) != calls {
		t.Fatalf("%d calls are listed, want %d", len(list), calls)
	}
	for _, x := range list {
		row, _ := x.(map[string]any)
		w.post(t, "/calls/"+text(row, "call_id")+"/transfer", map[string]any{"to": target})
	}
	w.until(t, 20*second, "all were transferred", func() bool { return len(w.calls(target)) == calls })
	w.must(t, http.MethodPost, "/campaigns/"+id+"/stop", nil)
}

func lateResult(t *testing.T, w *world) {
	n := number(19, 1)
	w.knows(t, n, talks(), says(second, bot.Result{None: true}))
	id := w.run(t, map[string]any{"result_timeout_s": 1}, n)
	w.completed(t, id, 20*second)
	trail, _ := w.contact(t, id, n)["attempt_trail"].([]any)
	first, _ := trail[0].(map[string]any)
	list, _ := w.must(t, http.MethodGet, "/calls?campaign_id="+id, nil)["calls"].([]any)
	call, _ := list[0].(map[string]any)
	if len(trail) != 1 || text(first, "outcome") != "connected_no_result" {
		t.Fatalf("the call ended as %v", first)
	}
	w.must(t, http.MethodPost, "/campaigns/"+id+"/restart", map[string]any{"only_unreached": true})
	w.result(t, text(call, "call_id"), "sold")
	w.must(t, http.MethodPost, "/campaigns/"+id+"/cancel-restart", nil)
	if c := w.contact(t, id, n); text(c, "status") != "completed" {
		t.Errorf("the contact is %v, want completed", c["status"])
	}
}

func longVariable(t *testing.T, w *world) {
	voice, err := carrier.Start(carrier.Config{Listen: "127.0.0.1:0", Media: true, KeepInvites: true,
		Profile: []carrier.Behaviour{{Kind: carrier.Human, Talk: draw.Exactly(second)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = voice.Close() })
	w.must(t, http.MethodPut, "/bots/by-sip", map[string]any{"name": "By SIP", "seats": 1,
		"endpoints": []string{"sip:+4930999999@" + voice.Addr()}})
	n := number(22, 1)
	w.knows(t, n, talks())
	call := w.must(t, http.MethodPost, "/sip/dialout", map[string]any{"bot_id": "by-sip", "to_number": n,
		"variables": map[string]any{"name": "Ada", "long": strings.Repeat("v", 1025), "call-id": "another"}})
	var c map[string]any
	w.until(t, 20*second, "the call is over", func() bool {
		c = w.must(t, http.MethodGet, "/calls/"+text(call, "call_id"), nil)
		return text(c, "ended_at") != ""
	})
	if left, _ := c["variables_left_out"].(float64); left != 1 {
		t.Errorf("%v variables were left out, want 1", c["variables_left_out"])
	}
	legs := voice.Ledger().Calls()
	if len(legs) != 1 {
		t.Fatalf("the bot was called %d times", len(legs))
	}
	if told := legs[0].Invite; !strings.Contains(told, "\r\nX-name: Ada\r\n") || strings.Contains(told, "X-long") ||
		strings.Contains(told, "another") {
		t.Errorf("the bot was told\n%s", told)
	}
}

func configURL(t *testing.T, w *world) {
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"redial_only_under_s": 20}`))
	}))
	defer srv.Close()
	id := w.campaign(t, map[string]any{"config_url": srv.URL, "stop_redials_after_s": 10}, number(20, 1))
	_, _ = w.try(t, http.MethodPost, "/campaigns/"+id+"/start", nil)
	w.until(t, 10*second, "the start fails", func() bool { return text(w.state(t, id), "status") == "failed" })
	if got := text(w.state(t, id), "failure_reason"); !strings.HasPrefix(got, "config_url_invalid") {
		t.Errorf("it failed for %q", got)
	}
	if n := len(w.calls(number(20, 1))); n != 0 {
		t.Errorf("dialled %d times", n)
	}
}

func triggerMeetsExclusion(t *testing.T, w *world) {
	n := number(21, 1)
	id := w.campaign(
		t,
		map[string]any{
			"sticky_exclusion": true,
			"retry_delay_s":    5,
			"max_attempts":     3,
			"retry_on_system":  []string{"busy"},
		},
		n,
	)
	w.knows(t, n, busy())
	w.must(
		t,
		http.MethodPost,
		"/campaigns/"+id+"/exclusions",
		map[string]any{"match": map[string]any{"case": "closed"}},
	)
	w.must(t, http.MethodPost, "/campaigns/"+id+"/start", nil)
	w.settled(t, n, 1, 15*second)
	status, body := w.ask(
		t,
		http.MethodPost,
		"/campaigns/trigger",
		t.Name(),
		map[string]any{"campaign_id": id, "mobile": n, "metadata": map[string]any{"case": "closed"}},
	)
	if status != http.StatusConflict {
		t.Errorf("answered %d %v, want 409", status, body)
	}
	dials := len(w.calls(n))
	w.completed(t, id, second)
	if got := len(w.calls(n)); got != dials || text(w.contact(t, id, n), "status") != "excluded" {
		t.Errorf("%d calls after the answer, the contact is %v", got-dials, w.contact(t, id, n)["status"])
	}
}
