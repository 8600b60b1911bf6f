package client

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// said returns the last request.
func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.got[len(s.got)-1]
	return r.Method + " " + r.URL.RequestURI() + " " + s.body[len(s.body)-1]
}

func TestAnOperatorsWordOnOneContact(t *testing.T) {
	s := newServer(t, ok(`{"contact_id":"c1","status":"excluded"}`))
	c := s.client(t)
	said := func(got Contact, err error, want string) {
		t.Helper()
		if err != nil || got.ContactID != "c1" || s.said() != want {
			t.Errorf("%+v, %v: %s, want %s", got, err, s.said(), want)
		}
	}
	const path = "POST /api/v1/campaigns/k1/contacts/c%2F1/"
	got, err := c.ExcludeContact(t.Context(), "k1", "c/1", "moved away")
	said(got, err, path+`exclude {"reason":"moved away"}`)
	got, err = c.ExcludeContact(t.Context(), "k1", "c/1", "")
	said(got, err, path+`exclude {}`)
	got, err = c.CallBackContact(t.Context(), "k1", "c/1", time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC))
	said(got, err, path+`call-back {"at":"2030-01-02T03:04:05Z"}`)
	got, err = c.RetryContact(t.Context(), "k1", "c/1")
	said(got, err, path+"retry-now ")
}

func TestWhatMightDialTwiceIsNotRepeated(t *testing.T) {
	s := newServer(t, breaks)
	if _, err := s.client(t).RetryContact(t.Context(), "k1", "c1"); err == nil || len(s.got) != 1 {
		t.Errorf("%v after %d tries", err, len(s.got))
	}
	if _, err := s.client(t).LiftExclusion(t.Context(), "k1", "+4915112345678", nil); err == nil || len(s.got) != 2 {
		t.Errorf("%v after %d tries", err, len(s.got)-1)
	}
	s = newServer(t, breaks, ok(`{"contact_id":"c1"}`))
	if _, err := s.client(t).ExcludeContact(t.Context(), "k1", "c1", ""); err != nil || len(s.got) != 2 {
		t.Errorf("%v after %d tries", err, len(s.got))
	}
}

func TestExclusionsAreListedAddedLiftedAndExported(t *testing.T) {
	s := newServer(t, ok(`{"exclusions":[
			{"mobile":"+4915112345678","reason":"asked","created_at":"2030-01-02T03:04:05Z"},
			{"match":{"account":"A-17"},"reason":"","created_at":"2030-01-02T03:04:05Z"}],"total":2}`),
		ok(`{"matched":1,"excluded":1}`), ok(`{"readmitted":2}`), fails(503, "overloaded", "Retry-After", "0"),
		ok("phone_number,match\n+4915112345678,\n"), breaks,
		ok(`{"rows":2,"invalid":1,"matched":1,"excluded":1,"rejected":[{"line":3,"reason":"invalid_number"}]}`),
		fails(404, "exclusion_not_found"))
	c := s.client(t)
	var got []Exclusion
	for x, err := range c.Exclusions(t.Context(), "k1", "+4915112345678") {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, x)
	}
	if len(got) != 2 || got[0].Mobile != "+4915112345678" || got[0].CreatedAt.IsZero() ||
		got[1].Match["account"] != "A-17" || s.got[0].URL.Query().Get("number") != "+4915112345678" {
		t.Errorf("%+v by %s", got, s.said())
	}
	added, err := c.AddExclusion(t.Context(), Exclude{CampaignID: "k1", Match: map[string]string{"account": "A-17"},
		Reason: "paid"})
	if err != nil || added.Matched != 1 ||
		s.said() != `POST /api/v1/campaigns/k1/exclusions {"match":{"account":"A-17"},"reason":"paid"}` {
		t.Errorf("%+v, %v by %s", added, err, s.said())
	}
	n, err := c.LiftExclusion(t.Context(), "k1", "+4915112345678", nil)
	if err != nil || n != 2 || s.said() != `POST /api/v1/campaigns/k1/exclusions/lift {"mobile":"+4915112345678"}` {
		t.Errorf("%d, %v by %s", n, err, s.said())
	}
	file, err := c.ExclusionsCSV(t.Context(), "k1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if text, err := io.ReadAll(file); err != nil || !strings.HasPrefix(string(text), "phone_number,") ||
		s.got[3].URL.Path != "/api/v1/campaigns/k1/exclusions.csv" {
		t.Errorf("%s, %v", text, err)
	}
	broken, err := c.ExclusionsCSV(t.Context(), "k1")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = broken.Close() }()
	if _, err := io.ReadAll(broken); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("broken off: %v", err)
	}
	done, err := c.ImportExclusions(t.Context(), "k1", "robinson", strings.NewReader("phone_number\n"))
	if err != nil || done.Rows != 2 || done.Matched != 1 || len(done.Rejected) != 1 || done.Rejected[0].Line != 3 ||
		s.said() != "POST /api/v1/campaigns/k1/exclusions/imports?reason=robinson phone_number\n" {
		t.Errorf("%+v, %v by %s", done, err, s.said())
	}
	if _, err := c.LiftExclusion(t.Context(), "k1", "", map[string]string{"a": "1"}); Code(err) != "exclusion_not_found" {
		t.Error(err)
	}
}

func TestASimulationIsAskedForAgain(t *testing.T) {
	s := newServer(t, breaks, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"campaign_id":"k1","seed":7,"contacts":10,"people":{"answer_rate":0.4},
			"as_is":{"summary":{"ended":"list_done","dials":20}},"what_if":null}`)
	})
	rate := 0.4
	got, err := s.client(t).Simulate(t.Context(), "k1", Simulate{Seed: 7, People: &SimulatedPeople{AnswerRate: &rate},
		WhatIf: map[string]int{"seats": 3}})
	if err != nil || got.AsIs.Summary.Dials != 20 || got.WhatIf != nil || *got.People.AnswerRate != 0.4 ||
		len(s.got) != 2 ||
		s.said() != `POST /api/v1/campaigns/k1/simulate {"seed":7,"people":{"answer_rate":0.4},"what_if":{"seats":3}}` {
		t.Errorf("%+v, %v by %s", got, err, s.said())
	}
}
