package storetest

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

func attemptsReport(t *testing.T, w *world) {
	var want []engine.AttemptID
	for i := range 25 {
		c := w.contact()
		if i%5 == 0 {
			c.Variables = nil
		}
		x, a := w.intent(&c)
		at := w.now.Add(time.Duration(i/2) * time.Second) // two at a time
		a.ReservedAt = &at
		if i%3 == 0 {
			a.Run = 2
		}
		x.Attempts = []attempt.Attempt{a}
		w.commit(x)
		want = append(want, a.ID)
		if i%2 == 1 && want[i-1] > want[i] {
			want[i-1], want[i] = want[i], want[i-1]
		}
	}
	read := func(q campaign.AttemptsQuery) (got []engine.AttemptID) {
		t.Helper()
		for {
			page, err := w.pg.Lists.AttemptsPage(t.Context(), q)
			must(t, err)
			for _, r := range page {
				got = append(got, r.ID)
				if r.ContactVariables != nil && r.ContactVariables["plan"] != "gold" {
					t.Errorf("variables %v", r.ContactVariables)
				}
				q.After.ReservedAt, q.After.ID = *r.ReservedAt, r.ID
			}
			if len(page) < q.Limit {
				return got
			}
		}
	}
	q := campaign.AttemptsQuery{Campaign: w.c.ID, Until: w.now.Add(time.Hour), Limit: 4}
	if got := read(q); !reflect.DeepEqual(got, want) {
		t.Errorf("attempts %v, want %v", got, want)
	}
	behind := q
	behind.After.ID = want[6]
	if got := read(behind); !reflect.DeepEqual(got, want[7:]) {
		t.Errorf("attempts behind the seventh %v, want %v", got, want[7:])
	}
	for _, id := range []engine.AttemptID{"x", engine.AttemptID(strings.Repeat("ab", 16))} {
		behind.After.ID = id
		if _, err := w.pg.Lists.AttemptsPage(t.Context(), behind); code(err) != "cursor_not_found" {
			t.Errorf("behind none: %v", err)
		}
	}
	behind.Campaign = "cmp_none"
	if _, err := w.pg.Lists.AttemptsPage(t.Context(), behind); code(err) != "campaign_not_found" {
		t.Errorf("%v", err)
	}
	q.Until = w.now.Add(4 * time.Second)
	if got := read(q); !reflect.DeepEqual(got, want[:10]) {
		t.Errorf("attempts until then %v, want %v", got, want[:10])
	}
	q.Until, q.Run = w.now.Add(time.Hour), 2
	if got := read(q); len(got) != 9 {
		t.Errorf("%d attempts of run 2", len(got))
	}
	q.Campaign = "cmp_none"
	if _, err := w.pg.Lists.AttemptsPage(t.Context(), q); code(err) != "campaign_not_found" {
		t.Errorf("%v", err)
	}
}
