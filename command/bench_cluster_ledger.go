package command

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/promise"
	"dialler/persistence"
)

// clusterSummary is what the cluster reports at the end.
type clusterSummary struct {
	Seconds            float64              `json:"seconds"`
	Campaigns          []clusterCampaignSum `json:"campaigns"`
	LegsInDatabase     int                  `json:"legs_in_database"`
	LegsLostUnsent     int                  `json:"legs_lost_before_their_invite"`
	CallIDsAtCarrier   int                  `json:"call_ids_at_carrier"`
	OpenAttempts       int                  `json:"open_attempts"`
	Lost               int                  `json:"lost_attempts"`
	Overlaps           int                  `json:"overlapping_calls"`
	Duplicates         int                  `json:"duplicate_invites"`
	Violations         int                  `json:"bot_protocol_violations"`
	PeakAbandonPercent float64              `json:"peak_abandon_percent"` // of a campaign, without capacity_loss
	Failures           []string             `json:"failures"`
}

type clusterCampaignSum struct {
	ID       engine.CampaignID `json:"campaign_id"`
	Node     string            `json:"node"`
	State    campaign.State    `json:"state"`
	Counters campaign.Counters `json:"counters"`
}

// settleFor is how long the last BYEs and the legs of lost calls may take.
const settleFor = 90 * time.Second

// judge compares the ledgers: database, carrier, bot.
func (r *clusterRun) judge(ctx context.Context) (*clusterSummary, error) {
	sum := &clusterSummary{Seconds: time.Since(r.began).Seconds(), Failures: []string{}}
	store, err := persistence.Open(ctx, r.site.DatabaseURL(), persistence.Config{SkipMigrations: true, Writers: 1,
		Readers: 1})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	wait, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		open, err := store.OpenLegs(ctx)
		if err != nil {
			return nil, err
		}
		if len(open) == 0 && len(r.model.Ledger().Live()) == 0 {
			break
		}
		select {
		case <-wait.Done():
		case <-tick.C:
			continue
		}
		break
	}
	seen := map[string]bool{}
	calls := r.model.Ledger().Calls()
	for i := range calls {
		seen[calls[i].CallID] = true
	}
	sum.CallIDsAtCarrier, sum.Overlaps, sum.Duplicates = len(seen), len(calls.Overlaps()), len(calls.DuplicateInvites())
	for _, id := range r.campaigns {
		attempts, err := store.Lists.CampaignAttempts(ctx, id)
		if err != nil {
			return nil, err
		}
		sum.add(attempts, seen)
		one := clusterCampaignSum{ID: id, Node: r.owners[id]}
		var d clusterDetail
		if err := r.api.Must(ctx, http.MethodGet, "/api/v1/campaigns/"+string(id), nil, &d); err != nil {
			return nil, err
		}
		one.State, one.Counters = d.Status, d.Counters
		sum.Campaigns = append(sum.Campaigns, one)
	}
	for _, n := range r.voice.Summary().Violations {
		sum.Violations += n
	}
	sum.check()
	return sum, nil
}

// add counts the attempts of a campaign; seen are the Call-IDs at the carrier.
func (sum *clusterSummary) add(attempts []attempt.Attempt, seen map[string]bool) {
	for i := range attempts {
		a := &attempts[i]
		lost := a.Outcome == engine.OutcomeLost || a.Cause == engine.AbandonCapacityLoss
		if a.State != attempt.Ended {
			sum.OpenAttempts++
		}
		if lost {
			sum.Lost++
		}
		for j := range a.Legs {
			switch leg := &a.Legs[j]; {
			case leg.SentAt == nil && !seen[string(leg.ID)]:
			case lost && !seen[string(leg.ID)]:
				sum.LegsLostUnsent++
			default:
				sum.LegsInDatabase++
			}
		}
	}
	sum.PeakAbandonPercent = max(sum.PeakAbandonPercent,
		promise.PeakAbandons(attempts, engine.AbandonCapacityLoss)*100)
}

// check lists everything that is wrong.
func (sum *clusterSummary) check() {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			sum.Failures = append(sum.Failures, fmt.Sprintf(format, args...))
		}
	}
	for i := range sum.Campaigns {
		c := &sum.Campaigns[i]
		for _, wrong := range promise.Done(c.State, c.Counters) {
			must(false, "campaign %s: %s", c.ID, wrong)
		}
	}
	must(sum.LegsInDatabase == sum.CallIDsAtCarrier, "%d legs in the database, %d Call-IDs at the carrier",
		sum.LegsInDatabase, sum.CallIDsAtCarrier)
	must(sum.OpenAttempts == 0, "%d attempts have not ended", sum.OpenAttempts)
	must(sum.Overlaps == 0, "%d overlapping calls to a number", sum.Overlaps)
	must(sum.Duplicates == 0, "%d duplicate INVITEs", sum.Duplicates)
	must(sum.Violations == 0, "%d violations of the Media Streams protocol", sum.Violations)
	must(sum.PeakAbandonPercent <= 3, "abandons reached %.2f %% of live answers", sum.PeakAbandonPercent)
}

func (r *clusterRun) report(sum *clusterSummary) {
	if r.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		_ = e.Encode(sum)
		return
	}
	r.say("completed in %.0f s: %d legs in the database, %d Call-IDs at the carrier; %d attempts lost with nodes, %d "+
		"overlapping calls, %d duplicate INVITEs; abandons at most %.2f %% of live answers",
		sum.Seconds, sum.LegsInDatabase, sum.CallIDsAtCarrier, sum.Lost, sum.Overlaps, sum.Duplicates, sum.PeakAbandonPercent)
	if len(sum.Failures) == 0 {
		r.say("the ledgers agree")
	}
	for _, f := range sum.Failures {
		r.say("NOT AS IT SHOULD BE: %s", f)
	}
}
