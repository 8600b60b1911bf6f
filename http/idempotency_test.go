package http

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http/wire"
)

func TestARepeatedRequestIsAnsweredWithTheFirstAnswer(t *testing.T) {
	b := newBench(t)
	type call struct{ path, body string }
	for _, c := range []call{
		{triggerPath, triggerBody("")},
		{excludePath, `{"campaign_id":"cmp_1","mobile":"` + mobile + `"}`},
		{dialoutPath, `{"bot_id":"bot_1","to_number":"` + mobile + `"}`},
	} {
		first := b.byKey("POST", c.path, c.body, "Idempotency-Key", "key 1")
		again := b.byKey("POST", c.path, c.body, "Idempotency-Key", `"key 1"`)
		if first.status >= 300 || again.status != first.status || !bytes.Equal(first.body, again.body) {
			t.Errorf("%s: %d %s, then %d %s", c.path, first.status, first.body, again.status, again.body)
		}
		if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: replayed %q, %q", c.path, first.header.Get("Idempotent-Replayed"),
				again.header.Get("Idempotent-Replayed"))
		}
		b.byKey("POST", c.path, c.body+" ", "Idempotency-Key", "key 1").is(422, "idempotency_mismatch")
		if a := b.byKey("POST", c.path, c.body, "Idempotency-Key", "key 2"); a.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: another key was replayed", c.path)
		}
	}
	if len(b.ports.triggers) != 2 || len(b.ports.excludes) != 2 || len(b.ports.dialouts) != 2 {
		t.Error("a repeat was carried out")
	}
	id := b.ports.triggers[0].Idempotency
	if id.Route != "trigger" || id.Token != "key 1" || len(id.BodyHash) != 64 || id.Key != b.ports.keys[0].ID {
		t.Errorf("idempotency %+v", id)
	}
	// The same key of another sender is a different key.
	other := b.addKey(func(*engine.APIKey) {})
	if a := b.do("POST", triggerPath, triggerBody(""), "X-API-Key", other, "Idempotency-Key", "key 1").is(200,
		""); a.header.Get("Idempotent-Replayed") != "" {
		t.Error("replayed to another sender")
	}
}

func TestRefusalsAreReplayedAndServerErrorsAreNot(t *testing.T) {
	b := newBench(t)
	f := func(key string, err error, status int, kept bool) {
		t.Helper()
		b.ports.fail = err
		first := b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", key)
		b.ports.fail = nil
		again := b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", key)
		if first.status != status {
			t.Errorf("%s: first %d", key, first.status)
		}
		if kept && (again.status != status || again.header.Get("Idempotent-Replayed") != "true" ||
			!bytes.Equal(first.body, again.body)) {
			t.Errorf("%s: again %d %s", key, again.status, again.body)
		}
		if !kept && again.status != 200 {
			t.Errorf("%s: again %d", key, again.status)
		}
	}
	f("a", engine.Conflict("outside_window", "Closed."), 409, true)
	f("b", wire.ErrNoCampaign, 404, true)
	f("c", engine.Invalid("destination_not_allowed", "No."), 422, true)
	f("d", engine.Unavailable("database", "Away.", 0), 503, false)
	f("e", errBoom, 500, false)
	f("f", wire.Forbidden("campaign_not_allowed", "No."), 403, false)

	first := b.byKey("POST", triggerPath, `{}`, "Idempotency-Key", "g").is(422, "validation_failed")
	again := b.byKey("POST", triggerPath, `{}`, "Idempotency-Key", "g").is(422, "validation_failed")
	if !bytes.Equal(first.body, again.body) || again.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("again %s", again.body)
	}
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "h", "Content-Type", "text/plain").is(415, "")
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "h").is(200, "")
	b.do("POST", triggerPath, triggerBody(""), "Idempotency-Key", "i").is(401, "")
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "i").is(200, "")
}

func TestARepeatWhileTheFirstStillRuns(t *testing.T) {
	b := newBench(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	b.ports.onTrigger = func(_ context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
		if c.Idempotency.Token == "slow" {
			close(entered)
			<-leave
		}
		return campaign.TriggerReply{Status: "queued", ContactID: "c", CampaignID: c.Campaign}, nil
	}
	var wait sync.WaitGroup
	wait.Go(func() { b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "slow") })
	<-entered
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "slow").is(409, "idempotency_in_progress")
	b.byKey("POST", triggerPath, triggerBody(" "), "Idempotency-Key", "slow").is(422, "idempotency_mismatch")
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "other").is(200, "")
	close(leave)
	wait.Wait()
	if b.server.replays.Running() != 0 {
		t.Error("a claim was left behind")
	}
}

func TestAnotherNodeThatWasFasterIsReplayed(t *testing.T) {
	b := newBench(t)
	b.ports.onTrigger = func(_ context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
		reply := campaign.TriggerReply{Status: "queued", ContactID: "theirs", CampaignID: c.Campaign}
		return campaign.TriggerReply{Status: "queued", ContactID: "ours", CampaignID: c.Campaign},
			errors.Join(b.ports.commit(c.Idempotency, 200, reply), journal.ErrReplyExists)
	}
	a := b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(200, "")
	if a.get("contact_id") != "theirs" || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("body %s", a.body)
	}
	b.ports.onTrigger = func(context.Context, campaign.Trigger) (campaign.TriggerReply, error) {
		return campaign.TriggerReply{}, journal.ErrReplyExists
	}
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k2").is(409, "idempotency_in_progress")
}

// While a cluster is upgraded, a trigger with further numbers is refused; one that was answered before is not.
func TestATriggerThatWasAnsweredIsAnsweredAgainWhateverRefusesItNow(t *testing.T) {
	b := newBench(t)
	first := b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(200, "")
	b.ports.fail = engine.Unavailable("node_version", "Finish the upgrade first.", 0)
	a := b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(200, "")
	if a.get("contact_id") != first.get("contact_id") || a.header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("body %s", a.body)
	}
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "j").is(503, "node_version")
}

func TestWithoutRepliesNothingIsCarriedOut(t *testing.T) {
	b := newBench(t)
	b.ports.findFail = engine.Unavailable("database", "Away.", 0)
	b.byKey("POST", excludePath, `{"campaign_id":"cmp_1","mobile":"`+mobile+`"}`, "Idempotency-Key", "k").is(503,
		"database")
	if len(b.ports.excludes) != 0 {
		t.Error("carried out")
	}
	// A trigger's own write detects a repeat; if the trigger is refused, it is not detected.
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "j").is(200, "")
	b.ports.fail = engine.Conflict("outside_window", "Closed.")
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "j").is(503, "database")
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "i").is(503, "database")
	b.ports.fail = engine.Unavailable("timeout", "Not in time.", 0)
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "i").is(503, "timeout")
	// A refusal that cannot be stored is still answered, because it changed nothing.
	b.ports.fail, b.ports.findFail, b.ports.storeFail = nil, nil, errBoom
	b.byKey("POST", triggerPath, `{}`, "Idempotency-Key", "k").is(422, "validation_failed")
}

func TestAPanicReleasesTheClaim(t *testing.T) {
	b := newBench(t)
	b.ports.onTrigger = func(context.Context, campaign.Trigger) (campaign.TriggerReply, error) { panic("x") }
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(500, "internal")
	b.ports.onTrigger = nil
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "k").is(200, "")
}

func TestAnIdempotencyKeyOfAnotherSyntaxIsRefused(t *testing.T) {
	b := newBench(t)
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "").is(422, "idempotency_key_invalid")
	b.byKey("POST", triggerPath, triggerBody(""), "Idempotency-Key", "a", "Idempotency-Key", "b").is(422,
		"idempotency_key_invalid")
}
