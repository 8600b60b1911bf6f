package http

import (
	"bytes"
	"cmp"
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

func (p *ports) Dialout(_ context.Context, c campaign.Dialout) (campaign.DialoutReply, error) {
	p.mu.Lock()
	p.dialouts = append(p.dialouts, c)
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		return campaign.DialoutReply{}, fail
	}
	if c.Times.NotBefore != nil {
		d := campaign.NewScheduledDialout(theAttempt, c, testAt)
		return d.Reply(), p.commit(c.Idempotency, 202, d.Reply())
	}
	reply := campaign.DialoutReply{Status: "ok", CallID: theCall, AttemptID: theAttempt, BotID: c.Bot,
		ToNumber: c.To.E164(), FromNumber: "+493023125000", CreatedAt: testAt}
	return reply, p.commit(c.Idempotency, 201, reply)
}

func (p *ports) Ladder(_ context.Context, id engine.CallID) ([]engine.SIPMessage, error) {
	defer p.lock()()
	if id != theCall {
		return nil, notFound("call_not_found")
	}
	return p.ladder, p.fail
}

func (p *ports) Calls(_ context.Context, q attempt.Query) ([]attempt.Attempt, engine.AttemptID, error) {
	defer p.lock()()
	p.asked = append(p.asked, q)
	return []attempt.Attempt{p.attempt}, p.older, p.fail
}

func (p *ports) Call(_ context.Context, id engine.CallID) (attempt.Attempt, error) {
	defer p.lock()()
	if id != theCall {
		return attempt.Attempt{}, notFound("call_not_found")
	}
	return p.attempt, p.fail
}

func (p *ports) Hold(context.Context, engine.PhoneNumber) (*attempt.Hold, error) {
	defer p.lock()()
	return p.hold, nil
}

func (p *ports) SubmitResult(_ context.Context, c campaign.SubmitResult) (bool, error) {
	defer p.lock()()
	p.results = append(p.results, c)
	return p.resultLater, cmp.Or(p.resultFail, p.fail)
}

func (p *ports) HangUp(_ context.Context, id engine.CallID, who engine.Who) error {
	defer p.lock()()
	p.hungUp, p.hungUpBy = append(p.hungUp, id), who
	return cmp.Or(p.hangFail, p.fail)
}

func (p *ports) CancelDialout(_ context.Context, c campaign.CancelDialout) error {
	defer p.lock()()
	p.unscheduled = append(p.unscheduled, c)
	return p.fail
}

func (p *ports) SendDigits(_ context.Context, _ engine.CallID, digits string) error {
	defer p.lock()()
	p.digits = append(p.digits, digits)
	return p.fail
}

func (p *ports) Transfer(_ context.Context, _ engine.CallID, to string) error {
	defer p.lock()()
	p.transfers = append(p.transfers, to)
	return p.transferFail
}

func (p *ports) AttemptsPage(_ context.Context, q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
	if err := asText(q.Campaign); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onPart == nil {
		return nil, p.fail
	}
	return p.onPart(q)
}

func (p *ports) ReportVariables(context.Context, engine.CampaignID, int) ([]string, error) {
	return []string{"city", "note"}, nil
}

type audioFile struct {
	*bytes.Reader
	closed func()
}

func (f audioFile) Close() error { f.closed(); return nil }

func (p *ports) OpenRecording(_ context.Context, id engine.AttemptID) (io.ReadSeekCloser, engine.CampaignID, error) {
	defer p.lock()()
	switch {
	case id != theAttempt:
		return nil, "", notFound("recording_not_found")
	case p.audio == nil:
		return nil, p.owner, engine.NotFound("recording_deleted", "It is kept no longer.")
	}
	p.opened++
	return audioFile{bytes.NewReader(p.audio), func() { defer p.lock()(); p.opened-- }}, p.owner, p.fail
}

func (p *ports) DeleteRecording(_ context.Context, id engine.AttemptID, who engine.Who) error {
	defer p.lock()()
	p.deleted, p.audio = append(p.deleted, id), nil
	p.suppressors = append(p.suppressors, who)
	return p.fail
}
