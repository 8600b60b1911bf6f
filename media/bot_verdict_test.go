package media

import (
	"context"
	"testing"
	"time"

	"dialler/engine"
)

// says sends the kind of answer that the bot takes the call for.
func (s *session) says(v engine.Verdict) {
	s.t.Helper()
	s.send(map[string]any{"event": "verdict", "streamSid": "x", "verdict": map[string]any{"name": v}})
}

func TestTheBotsVerdictIsToldOnce(t *testing.T) {
	e, b, p, ev := start(t, nil), newBot(t), newPhone(t, 1), record(t)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1), AMD: engine.AMDParallel}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now().Add(-time.Minute))
	e.AttachBot(attach(attempt(1), b.url()))
	s := b.session()
	ev.next(engine.MediaBotConnected)
	s.says("somebody")
	s.says(engine.VerdictHuman)
	s.says(engine.VerdictFax)
	got := ev.next(engine.MediaBotVerdict)
	if got.Verdict != engine.VerdictFax || got.AMDTook < time.Minute || got.Confidence != 1 || got.Features["bot"] != 1 {
		t.Errorf("%+v", got)
	}
	s.says(engine.VerdictMachine) // a bot that repeats it in every turn does no harm
	s.says(engine.VerdictMachine)
	s.say(make([]byte, 1600))
	ev.next(engine.MediaBotFirstAudio)
}

// The bot says so before classification has decided: the message is left nevertheless.
func TestAMessageIsLeftAfterTheBotsVerdict(t *testing.T) {
	message := func(context.Context, engine.VoicemailID) ([]byte, error) { return tone(320), nil }
	e, p, ev := listening(t, engine.AMDRules{Voicemail: "vm1"}, message)
	b := newBot(t)
	e.AttachBot(attach(attempt(1), b.url()))
	s := b.session()
	ev.next(engine.MediaBotConnected)
	s.says(engine.VerdictMachine)
	ev.next(engine.MediaBotVerdict)
	e.DetachBot(attempt(1))
	e.LeaveVoicemail(engine.LeaveVoicemail{Attempt: attempt(1), Message: "vm1"})
	answers(t, "human_short_de").quiet(4*time.Second).beep(1000, 400*time.Millisecond).quiet(2*time.Second).into(e, p)
	if got := ev.next(engine.MediaPlayed); got.Error != "" {
		t.Errorf("%+v", got)
	}
}
