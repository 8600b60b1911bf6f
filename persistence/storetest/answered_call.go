package storetest

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// CallSteps is the number of writes, with one event each, in the life of a Call.
const CallSteps = 5

// Call is an answered call as the store sees it.
type Call struct {
	Contact contact.Contact
	Epoch   int64
	attempt attempt.Attempt
}

// Write is the write at a step of the call's life, counted from 0: intent, answered, connected,
// ended, result. seq is its event's.
func (k *Call) Write(step int, seq int64, now time.Time) journal.Write {
	t := now.Add(time.Duration(step) * time.Second)
	c, a := &k.Contact, &k.attempt
	w := journal.Write{Campaign: c.Campaign, Epoch: k.Epoch}
	ev := journal.Event{Campaign: c.Campaign, Seq: seq, Run: 1, At: t, Version: 1, Contact: c.ID}
	before := c.Facts()
	switch step {
	case 0:
		*a = attempt.Attempt{ID: engine.AttemptID(RandomID()), Campaign: c.Campaign, Contact: c.ID, Run: 1, Pass: 1,
			Number: 1, Bot: "bot",
			To: c.Number, From: "+4930111222", Trunk: "t1", Epoch: k.Epoch, SendBy: t, State: attempt.Reserved, ReservedAt: &t}
		a.Legs = []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1"}}
		c.Attempt, c.DueAt = a.ID, nil
		c.Version++
		w.Intent = &journal.Intent{Attempt: a.ID, Number: c.Number}
		w.Contacts = []contact.Contact{*c}
		ev.Type, ev.Data = journal.AttemptReserved, journal.Data{Trunk: "t1", Number: 1, Pass: 1}
	case 1:
		a.State, a.InviteAt, a.RingingAt, a.AnsweredAt, a.SIPCode, a.SIPReason = attempt.Answered, &t, &t, &t, 200, "OK"
		a.Legs = []attempt.Leg{{ID: a.ID.Leg(1), Trunk: "t1", SentAt: &t, SIPCode: 200, SIPReason: "OK", Seq: 4,
			Dialog: &engine.DialogState{
				ToTag: "9fxced76sl", RemoteTarget: "sip:+4915112345678@192.0.2.10:5060", CSeq: 1, RemoteAddr: "192.0.2.10:5060",
				Transport: "udp", LocalAddr: "192.0.2.1:5060"}}}
		ev.Type = journal.AttemptAnswered
	case 2:
		a.State, a.ServedAt, a.BotConnectedAt, a.Session, a.Verdict, a.MediaSeq =
			attempt.Connected, &t, &t, "MZ0123", engine.VerdictHuman, 2
		c.State, c.ConnectedOnce = contact.Connected, true
		c.Version++
		w.Contacts = []contact.Contact{*c}
		after := c.Facts()
		ev.Type, ev.Data = journal.AttemptConnected, journal.Data{Before: &before, After: &after,
			Verdict: engine.VerdictHuman}
	case 3:
		a.State, a.EndedAt, a.Consumed, a.Outcome, a.HungUpBy =
			attempt.Ended, &t, true, engine.OutcomeConnectedNoResult, engine.PartyCallee
		a.Quality = &engine.MediaQuality{PacketsReceived: 1000, PacketsSent: 1000, Codec: "PCMU"}
		legs := []attempt.Leg{a.Legs[0]}
		legs[0].EndedAt, legs[0].Seq = &t, 5
		a.Legs = legs
		due := t.Add(time.Hour)
		c.Attempt, c.ResultDueAt, c.Used, c.LastOutcome = "", &due, 1, a.Outcome
		c.Version++
		w.Contacts = []contact.Contact{*c}
		w.Holds = []journal.HoldRelease{{Attempt: a.ID, Number: c.Number}}
		after := c.Facts()
		ev.Type, ev.Data = journal.AttemptEnded, journal.Data{Before: &before, After: &after, Outcome: a.Outcome,
			Consumed: true,
			Answered: true, Connected: true, Pass: 1, Number: 1, Trunk: "t1", SIPCode: 200, TalkMS: 1000, RingMS: 1000}
	case 4:
		a.Result = &attempt.Result{Disposition: "interested", Summary: "asked for a quote by e-mail", ReceivedAt: t}
		a.Outcome = engine.OutcomeCompleted
		c.State, c.HasResult, c.ResultDueAt, c.LastDisposition = contact.Completed, true, nil, "interested"
		c.Version++
		w.Contacts = []contact.Contact{*c}
		after := c.Facts()
		ev.Type, ev.Data = journal.ResultStored, journal.Data{Before: &before, After: &after, Connected: true,
			Disposition: "interested"}
	}
	ev.Attempt = a.ID
	w.Attempts, w.Events = []attempt.Attempt{*a}, []journal.Event{ev}
	return w
}

// Ring is the write of its ringing, after the intent: only where somebody is to be told of it.
func (k *Call) Ring(seq int64, now time.Time) journal.Write {
	a := &k.attempt
	a.State, a.InviteAt, a.RingingAt = attempt.Ringing, &now, &now
	return journal.Write{Campaign: a.Campaign, Epoch: k.Epoch, Attempts: []attempt.Attempt{*a},
		Events: []journal.Event{{Campaign: a.Campaign, Seq: seq, Run: 1, At: now, Type: journal.AttemptRinging, Version: 1,
			Contact: a.Contact, Attempt: a.ID, Data: journal.Data{Trunk: a.Trunk, Number: 1, Pass: 1}}}}
}

// RandomID is an identifier like those of attempts and contacts: it begins with the time.
func RandomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i))) //nolint:gosec // a byte of it
	}
	return hex.EncodeToString(b[:])
}
