package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine"
)

// Doze stops the dialler for a while across the end of its calling window, in
// the middle of its dials, and says what was wrong. An INVITE must leave before
// the end, by the kernel's time, or not at all.
func (l *Lab) Doze(ctx context.Context, seed uint64, pause time.Duration) (failures []string, err error) {
	fail := func(format string, args ...any) { failures = append(failures, fmt.Sprintf(format, args...)) }
	end := time.Now().UTC().Add(20 * time.Second).Truncate(time.Minute).Add(time.Minute) // windows end with a minute
	id, err := l.dozeCampaign(ctx, seed, end)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := l.api.Must(ctx, http.MethodPost, "/api/v1/campaigns/"+string(id)+"/start", nil, nil); err != nil {
		return nil, err
	}
	if err := site.Until(ctx, end.Add(-pause/3)); err != nil {
		return nil, err
	}
	before := l.carrier.Ledger().Count()
	if err := l.proc.Pause(); err != nil {
		return nil, err
	}
	err = site.Until(ctx, end.Add(pause*2/3))
	if err := errors.Join(err, l.proc.Resume()); err != nil {
		return nil, err
	}
	// It says that the window is closed, and has looked at its pace since.
	r := &run{Lab: l, id: id, rep: &Report{}, began: began, cfg: Campaign{Seed: seed, Stop: true}}
	var d detail
	if err := site.Poll(ctx, 100*time.Millisecond, func() (bool, error) {
		err := r.detail(ctx, &d)
		return err == nil && strings.Contains(string(d.Live), `"constraint":"`+string(engine.ConstraintWindow)+`"`), nil
	}); err != nil {
		return nil, err
	}
	if err := site.Until(ctx, time.Now().Add(settleTime)); err != nil {
		return nil, err
	}
	if err := r.end(ctx); err != nil {
		return nil, err
	}
	dialled := 0
	calls := l.carrier.Ledger().Calls()
	for i := range calls {
		if !calls[i].InviteAt.Before(began) {
			dialled++
		}
	}
	if err := r.judgeRecord(ctx, calls, fail); err != nil {
		return nil, err
	}
	if dialled == 0 || dialled == dozeContacts {
		fail("%d of %d contacts were dialled: the end of the window was not in the middle", dialled, dozeContacts)
	}
	l.log("paused %v before the end of the window for %v: %d dialled before, %d in all; %d failures",
		pause/3, pause, before, dialled, len(failures))
	return append(failures, r.rep.Failures...), nil
}

const (
	dozeContacts = 2000
	dozeKind     = 9
)

func (l *Lab) dozeCampaign(ctx context.Context, seed uint64, end time.Time) (id engine.CampaignID, err error) {
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	if err := l.api.Must(ctx, http.MethodPost, "/api/v1/campaigns", map[string]any{
		"name": fmt.Sprintf("Doze %d", seed), "bot_id": botID, "concurrency": 12, "number_pool": ownNumbers,
		"window": map[string]any{"zone": "UTC", "start": end.Add(-time.Hour).Format("15:04"),
			"end": end.Format("15:04")},
		"max_attempts": 1, "ring_timeout_s": 15,
	}, &created); err != nil {
		return "", err
	}
	var file strings.Builder
	file.WriteString("phone_number\n")
	for i := range dozeContacts {
		file.WriteString(number(seed, dozeKind, i) + "\n")
	}
	r, err := l.api.File(ctx, "/api/v1/campaigns/"+string(created.ID)+"/imports", file.String())
	if err == nil && r.Status != http.StatusCreated {
		err = fmt.Errorf("import of %d: %d %s", dozeContacts, r.Status, r.Body)
	}
	return created.ID, err
}

// leftAt is when an INVITE left the dialler: by the kernel where it says so, else
// when the carrier read it.
func leftAt(c *carrier.Call) time.Time {
	if c.LeftAt.IsZero() {
		return c.InviteAt
	}
	return c.LeftAt
}
