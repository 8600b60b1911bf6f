package eligibility

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"dialler/engine"
)

var now = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

func TestOnlyAWellFormedAnswerIsOne(t *testing.T) {
	good := func(body string, want Answer) {
		t.Helper()
		if a, err := Read([]byte(body)); err != nil || a != want {
			t.Errorf("%s: %+v, %v", body, a, err)
		}
	}
	good(`{"decision":"allow"}`, Answer{Decision: Allow})
	good(`{"decision":"exclude","reason":"paid\u0000 \ud800"}`, Answer{Decision: Exclude, Reason: "paid "})
	good(`{"decision":"defer","until":"2030-01-02T03:04:05Z","more":1}`, Answer{Decision: Defer, Until: now})
	a, err := Read([]byte(`{"decision":"exclude","reason":"` + strings.Repeat("ü", 300) + `"}`))
	if err != nil || len(a.Reason) != 200 || strings.Trim(a.Reason, "ü") != "" {
		t.Errorf("a long reason: %q, %v", a.Reason, err)
	}
	bad := func(body string) {
		t.Helper()
		if a, err := Read([]byte(body)); !errors.Is(err, ErrAnswer) || a.Decision != "" {
			t.Errorf("%s: %+v, %v", body, a, err)
		}
	}
	bad(``)
	bad(`allow`)
	bad(`[]`)
	bad(`{}`)
	bad(`{"decision":"yes"}`)
	bad(`{"decision":true}`)
	bad(`{"decision":"defer"}`)
	bad(`{"decision":"defer","until":"tomorrow"}`)
	bad(`{"decision":"defer","until":4}`)
	bad(`{"decision":"allow","reason":"` + strings.Repeat("x", AnswerCap) + `"}`)
}

func TestEveryAnswerAndItsAbsenceIsAVerdict(t *testing.T) {
	f := func(a Answer, err error, closed bool, want Verdict) {
		t.Helper()
		if v := Judge(a, err, closed, now); v != want {
			t.Errorf("%+v, %v: %+v, want %+v", a, err, v, want)
		}
	}
	until := func(d time.Duration) Verdict {
		return Verdict{Decision: Defer, Until: now.Add(d), Code: engine.CodeNotEligible}
	}
	wish := func(d time.Duration) Answer { return Answer{Decision: Defer, Until: now.Add(d)} }
	f(Answer{Decision: Allow}, nil, true, Verdict{Decision: Allow})
	f(Answer{Decision: Exclude, Reason: "paid"}, nil, false, Verdict{Decision: Exclude, Reason: "paid"})
	f(wish(time.Hour), nil, false, until(time.Hour))
	f(wish(-time.Hour), nil, false, until(LeastDeferral))
	f(wish(1000*24*time.Hour), nil, false, until(MostDeferral))
	f(Answer{}, ErrAnswer, false, Verdict{Decision: Allow})
	f(Answer{}, ErrAnswer, true, Verdict{Decision: Defer, Until: now.Add(AgainAfter), Code: engine.CodeEligibilityUnknown})
}

func TestOfTwoVerdictsTheStricterHolds(t *testing.T) {
	allow, exclude := Verdict{Decision: Allow}, Verdict{Decision: Exclude, Reason: "paid"}
	soon := Verdict{Decision: Defer, Until: now.Add(time.Minute), Code: engine.CodeEligibilityUnknown}
	late := Verdict{Decision: Defer, Until: now.Add(time.Hour), Code: engine.CodeNotEligible}
	for i, v := range []Verdict{allow, soon, late, exclude} {
		for j, other := range []Verdict{allow, soon, late, exclude} {
			want := v
			if j > i {
				want = other
			}
			if got := Stricter(v, other); got != want {
				t.Errorf("%+v and %+v: %+v", v, other, got)
			}
		}
	}
}

func TestAHookThatFailsIsLeftAloneAndThenTriedByOneQuestion(t *testing.T) {
	var b Breaker
	at := now
	admit := func(want bool) {
		t.Helper()
		if b.Admit(at) != want {
			t.Fatalf("admitted %v at %v", !want, at.Sub(now))
		}
	}
	for range failureCap - 1 {
		admit(true)
		b.Note(false, at)
	}
	admit(true)
	b.Note(true, at) // an answer clears all earlier failures
	for range failureCap {
		admit(true)
		b.Note(false, at)
	}
	admit(false)
	at = at.Add(pause)
	admit(true)
	admit(false) // one is under way
	b.Note(false, at)
	admit(false)
	at = at.Add(pause)
	admit(true)
	b.Note(true, at)
	if admit(true); b.Open() {
		t.Error("open after an answer")
	}
}

func TestTheQuestionHasWhatAnIntegratorNeeds(t *testing.T) {
	q := Question{Campaign: "cmp_1", Run: 2, Contact: "con_1", Attempt: 3, To: "+4915112345678",
		Variables: map[string]string{"account": "A-17"}}
	var got struct {
		Type      string
		Timestamp time.Time
		Data      struct {
			CampaignID string `json:"campaign_id"`
			Run        int
			ContactID  string `json:"contact_id"`
			Attempt    int
			ToNumber   string `json:"to_number"`
			Variables  map[string]string
		}
	}
	if err := json.Unmarshal(q.Body(now), &got); err != nil {
		t.Fatal(err)
	}
	d := got.Data
	if got.Type != Type || !got.Timestamp.Equal(now) || d.CampaignID != "cmp_1" || d.Run != 2 || d.ContactID != "con_1" ||
		d.Attempt != 3 ||
		d.ToNumber != "+4915112345678" || d.Variables["account"] != "A-17" {
		t.Errorf("%+v", got)
	}
}
