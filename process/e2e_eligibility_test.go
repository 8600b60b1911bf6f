package process

import (
	"encoding/json"
	"errors"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/actors"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/eligibility"
	"dialler/engine/webhook"
	"dialler/http/client"
	"dialler/persistence/storetest"
)

// judge is an operator's external system that says whether a contact may be called.
type judge struct {
	*httptest.Server
	secret string
	mu     sync.Mutex
	wrong  []string       // what was missing in its questions
	asked  map[string]int // by number
	answer func(nethttp.ResponseWriter, *nethttp.Request, string)
}

func newJudge(t *testing.T) *judge {
	t.Helper()
	j := &judge{secret: webhook.WriteSecret([]byte(strings.Repeat("j", 32))), asked: map[string]int{}}
	j.answers(`{"decision":"allow"}`)
	j.Server = httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		event, err := client.Verify(r.Header, body, j.secret)
		var q struct {
			CampaignID string `json:"campaign_id"`
			ContactID  string `json:"contact_id"`
			To         string `json:"to_number"`
			Attempt    int
			Variables  map[string]string
		}
		if err == nil {
			err = json.Unmarshal(event.Data, &q)
		}
		if err != nil || event.Type != eligibility.Type || q.CampaignID == "" || q.ContactID == "" || q.Attempt != 1 ||
			q.Variables["account"] != "A-17" {
			err = errors.Join(errors.New("a question is "+string(body)), err)
		}
		j.mu.Lock()
		if err != nil {
			j.wrong = append(j.wrong, err.Error())
		}
		j.asked[q.To]++
		answer := j.answer
		j.mu.Unlock()
		answer(w, r, q.To)
	}))
	t.Cleanup(j.Close)
	t.Cleanup(func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		if len(j.wrong) > 0 {
			t.Errorf("%d questions were wrong: %s", len(j.wrong), j.wrong[0])
		}
	})
	return j
}

func (j *judge) does(f func(nethttp.ResponseWriter, *nethttp.Request, string)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.answer = f
}

func (j *judge) answers(body string) {
	j.does(func(w nethttp.ResponseWriter, _ *nethttp.Request, _ string) { _, _ = io.WriteString(w, body) })
}

func (j *judge) count(number string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.asked[number]
}

// answersCome is for tests whose systems answer: late answers are accepted too.
var answersCome = tuning{eligibilityBudget: patience}

// newJudgedWorld starts a world that asks the judge before each dial.
func newJudgedWorld(t *testing.T, j *judge, fail string, times tuning) *world {
	t.Helper()
	url := storetest.URL(t)
	return bringUp(t, &world{url: url, hidden: []string{j.secret},
		flags: Flags{DatabaseURL: url, SpoolDir: filepath.Join(t.TempDir(), "spool"),
			EligibilityURL: j.URL + "/may", EligibilitySecret: j.secret, EligibilityFail: fail, EligibilityAllowPrivate: true}},
		times, 300*time.Millisecond)
}

// why returns the explanation of a contact.
func (w *world) why(id engine.CampaignID, contactID string) (code string, next *time.Time) {
	w.t.Helper()
	var c struct {
		Explain struct {
			Code   string
			NextAt *time.Time `json:"next_at"`
		}
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/contacts/"+contactID, nil).expect(200).into(&c)
	return c.Explain.Code, c.Explain.NextAt
}

var ofAccount = map[string]any{"account": "A-17"}

func TestTheOperatorsOwnSystemDecidesWhoIsCalledAndWhoIsNot(t *testing.T) {
	t.Parallel()
	j := newJudge(t)
	w := newJudgedWorld(t, j, "closed", answersCome)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	allowed, later, never := newNumber(), newNumber(), newNumber()
	until := time.Now().Add(3 * time.Hour).UTC().Truncate(time.Second)
	verdicts := map[string]string{allowed: `{"decision":"allow"}`, never: `{"decision":"exclude","reason":"has paid"}`,
		later: `{"decision":"defer","until":"` + until.Format(time.RFC3339) + `"}`}
	j.does(func(rw nethttp.ResponseWriter, _ *nethttp.Request, to string) {
		_, _ = io.WriteString(rw, verdicts[to])
	})

	if rep := w.trigger(id, allowed, ofAccount); rep.Status != "dialled" {
		t.Errorf("who may be called: %+v", rep)
	}
	rep := w.trigger(id, later, ofAccount)
	if rep.Status != "queued" || rep.Reason != engine.CodeNotEligible || rep.NextEligibleAt == nil ||
		!rep.NextEligibleAt.Equal(until) {
		t.Errorf("who may be called later: %+v", rep)
	}
	if code, next := w.why(id, string(rep.ContactID)); code != engine.CodeNotEligible || next == nil ||
		!next.Equal(until) {
		t.Errorf("it is explained as %s, %v", code, next)
	}
	if r := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": never,
		"metadata": ofAccount}).expect(409); r.code() != "contact_excluded" {
		t.Errorf("who may never be called: %s", r)
	}
	eventually(t, "it is shown as excluded, and by whom", func() bool {
		c := w.contact(id, never)
		return c.Status == "excluded" && strings.Contains(c.Reason, "has paid")
	})
	// Contacts of a list are checked as well.
	first, second := newNumber(), newNumber()
	j.does(func(rw nethttp.ResponseWriter, _ *nethttp.Request, to string) {
		_, _ = io.WriteString(rw, map[bool]string{true: verdicts[never], false: verdicts[later]}[to == second])
	})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []map[string]any{
		{"mobile": first, "metadata": ofAccount}, {"mobile": second, "metadata": ofAccount}}}).expect(200)
	eventually(t, "one waits, the other is excluded", func() bool {
		return w.contact(id, first).Reason == engine.CodeNotEligible && w.contact(id, second).Status == "excluded"
	})
	eventually(t, "who was allowed was called", func() bool { return w.contact(id, allowed).Status == "completed" })
	if n := len(model.Ledger().Calls()); n != 1 {
		t.Errorf("%d calls were placed", n)
	}
	for answer, want := range map[string]float64{"allow": 1, "defer": 2, "exclude": 2, "failed": 0, "skipped": 0} {
		if got := w.labelled("dialler_eligibility_answers_total", "answer", answer); got != want {
			t.Errorf("%v answers %s, want %v", got, answer, want)
		}
	}
	w.act(id, "stop").expect(200)
	w.quiet()
}

func TestAHookThatIsDeadSlowOrLyingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	f := func(name, fail string, answer func(nethttp.ResponseWriter, *nethttp.Request, string)) {
		t.Run(name+" "+fail, func(t *testing.T) {
			t.Parallel()
			j := newJudge(t)
			j.does(answer)
			w := newJudgedWorld(t, j, fail, tuning{})
			w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
			id := w.running(nil)
			var numbers []string
			for range 12 {
				numbers = append(numbers, newNumber())
				rep := w.trigger(id, numbers[len(numbers)-1], ofAccount)
				if fail == "open" && rep.Reason == engine.CodeEligibilityUnknown || fail == "closed" && rep.Status != "queued" {
					t.Errorf("%+v", rep)
				}
			}
			eventually(t, "it is left alone", func() bool {
				return w.metric("dialler_eligibility_breaker_open") == 1 &&
					w.labelled("dialler_eligibility_answers_total", "answer", "failed") >= 5 &&
					w.labelled("dialler_eligibility_answers_total", "answer", "skipped") >= 1
			})
			if fail == "open" {
				for _, n := range numbers {
					eventually(t, "everybody is called", func() bool { return w.contact(id, n).Status == "completed" })
				}
			} else {
				eventually(t, "nobody is called, and it is said why", func() bool {
					c := w.contact(id, numbers[0])
					return c.Attempts == 0 && c.Reason == engine.CodeEligibilityUnknown
				})
			}
			w.act(id, "stop").expect(200)
			w.quiet()
		})
	}
	f("slow", "open", func(_ nethttp.ResponseWriter, r *nethttp.Request, _ string) { <-r.Context().Done() })
	f("lying", "closed", func(w nethttp.ResponseWriter, _ *nethttp.Request, _ string) {
		_, _ = io.WriteString(w, `{"decision":"allow","reason":"`+strings.Repeat("x", 1<<20)+`"}`)
	})
	f("dead", "open", func(w nethttp.ResponseWriter, _ *nethttp.Request, _ string) { panic(nethttp.ErrAbortHandler) })
}

func TestAHookIsConfiguredWholeOrNotAtAll(t *testing.T) {
	secret := webhook.WriteSecret(make([]byte, 32))
	f := func(ok bool, flags Flags) {
		t.Helper()
		p := &Process{flags: flags, clock: systemClock{}}
		var ports actors.Ports
		err := p.openEligibility(&ports)
		if (err == nil) != ok || (ports.Eligibility != nil) != ok || ok &&
			ports.Eligibility.Asks(eligibility.Hook{}) != (flags.EligibilityURL != "") {
			t.Errorf("%+v: %v", flags, err)
		}
	}
	f(true, Flags{})
	f(true, Flags{EligibilityURL: "https://crm.example/may", EligibilitySecret: secret})
	f(true, Flags{EligibilityURL: "http://10.0.0.1/may", EligibilitySecret: secret, EligibilityAllowPrivate: true})
	f(false, Flags{EligibilityURL: "http://10.0.0.1/may", EligibilitySecret: secret})
	f(false, Flags{EligibilityURL: "https://crm.example/may"})
	f(false, Flags{EligibilityURL: "https://crm.example/may", EligibilitySecret: "whsec_short"})
	f(false, Flags{EligibilityURL: "https://user:pw@crm.example/may", EligibilitySecret: secret})
}

func TestACampaignHasASystemOfItsOwnAskedBesideTheInstallations(t *testing.T) {
	t.Parallel()
	installation, own := newJudge(t), newJudge(t)
	own.secret = installation.secret
	w := newJudgedWorld(t, installation, "open", answersCome)
	w.hidden = append(w.hidden, "crm-token-4711")
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	plain, asking := w.running(nil), w.running(map[string]any{
		"eligibility_url": own.URL + "/campaign?token=crm-token-4711", "eligibility_fail": "closed"})

	trigger := func(id engine.CampaignID) (number string, rep campaign.TriggerReply) {
		t.Helper()
		number = newNumber()
		return number, w.trigger(id, number, ofAccount)
	}
	n, rep := trigger(plain)
	if rep.Status != "dialled" || own.count(n) != 0 || installation.count(n) != 1 {
		t.Errorf("of a campaign without one: %+v, %d", rep, own.count(n))
	}
	n, rep = trigger(asking)
	if rep.Status != "dialled" || own.count(n) != 1 || installation.count(n) != 1 {
		t.Errorf("who may be called by both: %+v, asked %d and %d times", rep, installation.count(n), own.count(n))
	}
	own.answers(`{"decision":"defer","until":"` + time.Now().Add(time.Hour).Format(time.RFC3339) + `"}`)
	if _, rep := trigger(asking); rep.Status != "queued" || rep.Reason != engine.CodeNotEligible {
		t.Errorf("by the campaign's later: %+v", rep)
	}
	own.answers(`{"decision":"allow"}`)
	installation.answers(`{"decision":"exclude","reason":"has paid"}`)
	w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": asking, "mobile": newNumber(),
		"metadata": ofAccount}).expect(409)
	installation.answers(`{"decision":"allow"}`)
	own.does(func(rw nethttp.ResponseWriter, _ *nethttp.Request, _ string) { rw.WriteHeader(500) })
	if _, rep := trigger(asking); rep.Status != "queued" || rep.Reason != engine.CodeEligibilityUnknown {
		t.Errorf("without the campaign's answer, closed: %+v", rep)
	}
	settings := "/api/v1/campaigns/" + string(asking)
	edit := func(change map[string]any) {
		t.Helper()
		var c struct{ Version int }
		w.act(asking, "pause").expect(200)
		w.operator("GET", settings, nil).expect(200).into(&c)
		change["version"] = c.Version
		w.operator("PATCH", settings, change).expect(200)
		w.act(asking, "resume").expect(200)
	}
	edit(map[string]any{"eligibility_fail": nil})
	if _, rep := trigger(asking); rep.Status != "dialled" {
		t.Errorf("without the campaign's answer, as the installation says: %+v", rep)
	}
	edit(map[string]any{"eligibility_url": nil})
	if n, rep := trigger(asking); rep.Status != "dialled" || own.count(n) != 0 {
		t.Errorf("after it was taken out: %+v", rep)
	}
	if log := w.operator("GET", settings+"/activity?kinds=edit", nil).expect(200); strings.Contains(string(log.body),
		"crm-token-4711") {
		t.Errorf("the activity log has what is behind the question mark: %s", log.body)
	}
	w.act(plain, "stop").expect(200)
	w.act(asking, "stop").expect(200)
	w.quiet()
}
