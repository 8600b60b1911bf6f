package process

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/process/keys"
)

// audited compares the events of every campaign of the world with the tables: whatever a test did,
// they must agree.
func (w *world) audited() {
	w.t.Helper()
	if out, err := w.audit(""); err != nil {
		w.t.Errorf("the audit: %v\n%s", err, out)
	}
}

func (w *world) audit(id engine.CampaignID) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var b bytes.Buffer
	key, err := keys.Signing(w.flags.SigningKey, "")
	if err != nil {
		return "", err
	}
	err = Audit(ctx, w.p.store, AuditOf{Campaign: id, Out: &b}, key.Public())
	return b.String(), err
}

// The command prints the differences, and then fails.
func TestTheAuditFindsARowThatNoEventExplains(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaign(nil)
	n := newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": n}}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "it completes", func() bool { return w.detail(id).Status == "completed" })
	if out, err := w.audit(id); err != nil || out == "" {
		t.Fatalf("%v\n%s", err, out)
	}
	w.exec("UPDATE contacts SET has_result = false")
	if out, err := w.audit(""); err == nil || !strings.Contains(out, string(id)+
		" run 1: DIFFERS: completed: events 1, tables 0\n") ||
		!strings.Contains(out, ": has_result: events true, tables false\n") {
		t.Errorf("%v\n%s", err, out)
	}
	w.exec("UPDATE contacts SET has_result = true")
	if _, err := w.audit("cmp_nobody"); engine.ErrorCode(err) != "campaign_not_found" {
		t.Errorf("of no campaign: %v", err)
	}
}

func TestTheAuditNamesARunWhoseCheckpointWasTamperedWith(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaign(nil)
	n := newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": n}}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "it completes", func() bool {
		return w.detail(id).Status == "completed" && w.rows("attempts WHERE live") == 0
	})
	w.p.mu.Lock()
	w.p.flags.KeepAttempts = 100
	w.p.mu.Unlock()
	eventually(t, "the run's calls are dropped", func() bool {
		retain(context.Background(), time.Now().Add(200*day), w.p.store.Records, w.p.settings(), w.p.signingKey, w.p.log)
		return w.rows("attempts") == 0 && w.rows("run_checkpoints WHERE attempts_gone AND signature IS NOT NULL") == 1
	})
	command := func() (string, error) {
		out, err := program(t, w.url, "db", "audit", "--signing-key="+w.flags.SigningKey).CombinedOutput()
		return string(out), err
	}
	if out, err := command(); err != nil {
		t.Errorf("as it was signed: %v\n%s", err, out)
	}
	// A run that looks better than it was.
	w.exec("UPDATE run_checkpoints SET counters = jsonb_set(counters, '{counters,live_answers}', '1000')")
	if out, err := command(); err == nil || !strings.Contains(out, string(id)+
		" DIFFERS: run 1 run_checkpoints: the checkpoint does not match its signature: what was kept of the run was "+
		"changed\n") {
		t.Errorf("%v\n%s", err, out)
	}
	w.tampered = true
}

func TestMetricsShowTheFiguresOfRunningCampaigns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaign(map[string]any{"stop_ends_calls": true})
	n := newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": n}}}).expect(200)
	w.act(id, "start").expect(200)
	line := `dialler_campaign_lines{campaign_id="` + string(id) + `",phase="in_progress"} 1`
	eventually(t, "the conversation is a figure",
		func() bool { return strings.Contains(string(w.send("GET", "/metrics", nil).expect(200).body), line) })
	w.act(id, "stop").expect(200)
	eventually(t, "a campaign that is over has none", func() bool {
		return !strings.Contains(string(w.send("GET", "/metrics", nil).expect(200).body), "dialler_campaign_lines{")
	})
}

func TestTheAuditMissesNoContactOfADraftThatWasDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	id, n := w.campaign(nil), newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": n}}}).expect(200)
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/exclusions", map[string]any{"mobile": n}).expect(200)
	w.operator("DELETE", "/api/v1/campaigns/"+string(id), nil).expect(204)
	w.audited()
}
