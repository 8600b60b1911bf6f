package persistence_test

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

var chartStart = time.Date(2030, 5, 2, 9, 0, 0, 0, time.UTC)

// charted returns a store with a campaign in its second run. The first run has four calls in 20
// seconds: a conversation, one without an answer, an abandon, and one that still rings; the second
// has one that was busy.
func charted(t *testing.T, url string, cfg persistence.Config) *persistence.Store {
	s := storetest.OpenAt(t, url, cfg)
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Running, Run: 2,
		CreatedAt: chartStart}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	at := func(s float64) *time.Time {
		t := chartStart.Add(time.Duration(s * float64(time.Second)))
		return &t
	}
	calls := []attempt.Attempt{
		{From: "+49301", Outcome: engine.OutcomeCompleted, SIPCode: 200, SIPReason: "OK", ReservedAt: at(0),
			InviteAt: at(0.1), RingingAt: at(1),
			AnsweredAt: at(4), ServedAt: at(4), BotConnectedAt: at(4.1), BotFirstAudioAt: at(4.4), EndedAt: at(14)},
		{From: "+49302", Outcome: engine.OutcomeNoAnswer, SIPCode: 487, SIPReason: "Request Terminated", ReservedAt: at(2),
			InviteAt: at(2), RingingAt: at(3), EndedAt: at(8)},
		{From: "+49301", Outcome: engine.OutcomeAbandoned, SIPCode: 200, SIPReason: "OK", ReservedAt: at(11),
			InviteAt: at(11), RingingAt: at(12), AnsweredAt: at(13), EndedAt: at(16)},
		{From: "+49301", State: attempt.Dialling, ReservedAt: at(15), InviteAt: at(15), RingingAt: at(16)},
		{From: "+49301", State: attempt.Reserved, ReservedAt: at(19)}, // no dial yet
		{From: "+49302", Run: 2, Outcome: engine.OutcomeBusy, SIPCode: 486, SIPReason: "Busy Here", ReservedAt: at(60),
			InviteAt: at(60), EndedAt: at(61)},
	}
	for i := range calls {
		a := &calls[i]
		a.ID, a.Campaign, a.Contact = engine.AttemptID(strings.Repeat("0", 31)+
			string(rune('1'+i))), "cmp_1", "fedcba9876543210fedcba9876543210"
		a.To, a.Trunk, a.Run = "+4930123456", "main", max(a.Run, 1)
		if a.Outcome != "" {
			a.State, a.Consumed = attempt.Ended, true
		}
	}
	refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, Attempts: calls}})
	if err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	return s
}

func samePoints(t *testing.T, got, want []campaign.SeriesPoint) {
	t.Helper()
	got = append([]campaign.SeriesPoint(nil), got...)
	for i := range got {
		got[i].Ringing, got[i].Connected = math.Round(got[i].Ringing*1e6)/1e6, math.Round(got[i].Connected*1e6)/1e6
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("points\n%+v, want\n%+v", got, want)
	}
}

func TestTheSeriesOfARunCountsItsDialsAndAveragesWhatLives(t *testing.T) {
	t.Parallel()
	s := charted(t, storetest.URL(t), persistence.Config{})
	now := chartStart.Add(20 * time.Second)
	series := func(q campaign.SeriesQuery) campaign.Series {
		t.Helper()
		q.Campaign, q.Now = "cmp_1", now
		out, err := s.Lists.Series(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	points := []campaign.SeriesPoint{
		{Dials: 2, Decided: 2, Answered: 1, LiveAnswers: 1, Ringing: 1, Connected: 0.2},
		{Ringing: 0.6, Connected: 1},
		{Dials: 1, Decided: 1, Answered: 1, LiveAnswers: 1, Abandoned: 1, Ringing: 0.2, Connected: 0.8},
		{Dials: 1, Ringing: 0.8},
	}
	// A call is live, so the series runs until now.
	whole := series(campaign.SeriesQuery{Run: 1, Points: 4})
	if whole.Run != 1 || whole.Step != 5*time.Second || !whole.From.Equal(chartStart) || !whole.Until.Equal(now) {
		t.Errorf("%+v", whole)
	}
	samePoints(t, whole.Points, points)
	// A call that began before a part counts in it too.
	part := series(campaign.SeriesQuery{Run: 1, From: chartStart.Add(10 * time.Second), Until: now, Points: 2})
	samePoints(t, part.Points, points[2:])
	early := series(campaign.SeriesQuery{Run: 1, From: chartStart, Until: chartStart.Add(10 * time.Second), Points: 2})
	samePoints(t, early.Points, points[:2])
	// The present run is over, so the series ends with the end of its last call.
	last := series(campaign.SeriesQuery{Points: 10})
	if last.Run != 2 || !last.From.Equal(chartStart.Add(time.Minute)) ||
		!last.Until.Equal(chartStart.Add(61*time.Second)) {
		t.Errorf("%+v", last)
	}
	samePoints(t, last.Points, []campaign.SeriesPoint{{Dials: 1, Decided: 1}})
}

func TestTheBreakdownOfARunCountsItsEndedDials(t *testing.T) {
	t.Parallel()
	s := charted(t, storetest.URL(t), persistence.Config{})
	got, err := s.Lists.Breakdown(t.Context(), "cmp_1", 1)
	if err != nil {
		t.Fatal(err)
	}
	heard := make([]int, len(campaign.FirstAudioBounds)+1)
	heard[3] = 1 // 400 ms: an upper bound belongs to its own bucket
	want := campaign.Breakdown{Run: 1, Dials: 3, FirstAudio: heard,
		Causes: []campaign.DialCause{
			{Code: 200, Reason: "OK", Outcome: engine.OutcomeAbandoned, Count: 1}, {Code: 200, Reason: "OK",
				Outcome: engine.OutcomeCompleted, Count: 1},
			{Code: 487, Reason: "Request Terminated", Outcome: engine.OutcomeNoAnswer, Count: 1}},
		Numbers: []campaign.NumberDials{{Number: "+49301", Dials: 2, Decided: 2, Answered: 2},
			{Number: "+49302", Dials: 1, Decided: 1}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
	if got, err = s.Lists.Breakdown(t.Context(), "cmp_1", 0); err != nil || got.Run != 2 || got.Dials != 1 ||
		len(got.Causes) != 1 ||
		got.Causes[0].Code != 486 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestNoChartIsDrawnOfARunThatIsNotThere(t *testing.T) {
	t.Parallel()
	s := charted(t, storetest.URL(t), persistence.Config{})
	for _, c := range []struct {
		id   engine.CampaignID
		run  int
		code string
	}{{"cmp_none", 0, "campaign_not_found"}, {"cmp_none", 1, "campaign_not_found"}, {"cmp_1", 3, "run_not_found"}} {
		if _, err := s.Lists.Series(t.Context(), campaign.SeriesQuery{Campaign: c.id, Run: c.run, Now: chartStart,
			Points: 10}); engine.ErrorCode(
			err,
		) != c.code {
			t.Errorf("series of run %d of %s: %v", c.run, c.id, err)
		}
		if _, err := s.Lists.Breakdown(t.Context(), c.id, c.run); engine.ErrorCode(err) != c.code {
			t.Errorf("breakdown of run %d of %s: %v", c.run, c.id, err)
		}
	}
	// A run without calls has an empty series.
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_2", State: campaign.Draft, Run: 1,
		CreatedAt: chartStart}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Lists.Series(t.Context(), campaign.SeriesQuery{Campaign: "cmp_2", Now: chartStart, Points: 10})
	if err != nil || len(got.Points) != 1 || got.Points[0] != (campaign.SeriesPoint{}) {
		t.Errorf("%v %+v", err, got)
	}
}

func TestAChartIsGivenUpWhenItTakesTooLong(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := charted(t, url, persistence.Config{ChartLimit: 20 * time.Millisecond})
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "LOCK TABLE attempts IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Lists.Series(t.Context(), campaign.SeriesQuery{Campaign: "cmp_1", Run: 1, Now: chartStart,
		Points: 10}); engine.ErrorCode(
		err,
	) != "chart_too_long" {
		t.Errorf("series: %v", err)
	}
	if _, err := s.Lists.Breakdown(t.Context(), "cmp_1", 1); engine.ErrorCode(err) != "chart_too_long" {
		t.Errorf("breakdown: %v", err)
	}
}
