package actortest

import (
	"slices"
	"strings"
	"time"

	"dialler/engine"
)

// Far legs of the world: bots called by SIP. They follow the script of their call: BotIn until the
// 200, BotTalk until their BYE.

// placePeer places the INVITE to a bot; the lock is held.
func (w *World) placePeer(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	c := w.calls[cmd.Attempt]
	l := &worldLeg{cmd: cmd, sink: sink, state: "ringing", far: true}
	w.legs[cmd.Leg] = l
	if cmd.URI == "" || strings.Contains(cmd.URI, "@pbx.") {
		w.placeTarget(l)
		return
	}
	w.BotInvites = append(w.BotInvites, cmd)
	if c == nil {
		w.Overlaps++
		return
	}
	l.script = c.script
	w.leg(l, engine.LegSent, 0)
	if c.script.BotRefuses > 0 && len(w.invitesOf(cmd.Attempt)) <= c.script.BotRefuses {
		w.leg(l, engine.LegRefused, 503)
		return
	}
	if c.script.BotIn < 0 {
		return
	}
	l.timer = time.AfterFunc(c.script.BotIn, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.state != "ringing" {
			return
		}
		l.state = "answered"
		w.leg(l, engine.LegAnswered, 200)
		w.hangUpAfter(l, l.script.BotTalk)
	})
}

// answer ends the ringing of a leg according to its script; the lock is held.
func (w *World) answer(l *worldLeg) {
	if l.script.Code != 200 {
		w.leg(l, engine.LegRefused, l.script.Code)
		return
	}
	l.state = "answered"
	w.leg(l, engine.LegAnswered, 200)
	w.hangUpAfter(l, l.script.Talk)
}

// hangUpAfter makes the far side of an answered leg hang up after talk; 0 means it waits for the
// BYE. The lock is held.
func (w *World) hangUpAfter(l *worldLeg, talk time.Duration) {
	if talk <= 0 {
		return
	}
	l.timer = time.AfterFunc(talk, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.state == "answered" {
			w.leg(l, engine.LegHungUp, 0)
		}
	})
}

// talks says whether the callee of the call has answered; the lock is held.
func (w *World) talks(a engine.AttemptID) bool {
	for _, l := range w.legs {
		if l.cmd.Attempt == a && !l.far && l.state == "answered" {
			return true
		}
	}
	return false
}

// placeTarget calls the target of a transfer; the lock is held.
func (w *World) placeTarget(l *worldLeg) {
	w.Targets = append(w.Targets, l.cmd)
	l.script = w.Target
	w.leg(l, engine.LegSent, 0)
	w.leg(l, engine.LegProvisional, 180)
	l.timer = time.AfterFunc(l.script.Ring, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if l.state == "ringing" {
			w.answer(l)
		}
	})
}

// invitesOf returns the INVITEs to bots of one call; the lock is held.
func (w *World) invitesOf(a engine.AttemptID) (list []engine.PlaceLeg) {
	for _, cmd := range w.BotInvites {
		if cmd.Attempt == a {
			list = append(list, cmd)
		}
	}
	return list
}

// AnswerRefer implements actors.Telephony.
func (w *World) AnswerRefer(leg engine.LegID, accept bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Refers = append(w.Refers, accept)
	return true
}

// NotifyRefer implements actors.Telephony.
func (w *World) NotifyRefer(_ engine.LegID, code int, _ string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Notified = append(w.Notified, code)
}

// Refer makes the far side of a leg ask for a transfer.
func (w *World) Refer(leg engine.LegID, to string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.legs[leg]
	e := engine.LegEvent{Attempt: l.cmd.Attempt, Leg: leg, Seq: len(l.events) + 1, At: time.Now(),
		Kind: engine.LegReferred, ReferTo: to}
	l.events = append(l.events, e)
	l.sink(e)
}

// EndPeer makes a far leg hang up.
func (w *World) EndPeer(leg engine.LegID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.legs[leg]; l != nil && l.state == "answered" {
		w.leg(l, engine.LegHungUp, 0)
	}
}

// OpenPeer implements actors.Media.
func (w *World) OpenPeer(a engine.AttemptID, leg engine.LegID, _ engine.MediaProfile) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[a]
	if c == nil {
		return nil, engine.NotFound("no_media", "no such call")
	}
	if !slices.Contains(c.peers, leg) {
		c.peers = append(c.peers, leg)
	}
	return []byte("v=0"), nil
}

// JoinPeer implements actors.Media.
func (w *World) JoinPeer(a engine.AttemptID, leg engine.LegID, _ []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[a]
	if c == nil || !slices.Contains(c.peers, leg) {
		return engine.NotFound("no_media", "no such far leg")
	}
	if c.script.BotUnfit {
		return engine.Invalid("unfit", "no common codec")
	}
	if !c.bot {
		c.bot = true
		w.bots++
		w.PeakBots = max(w.PeakBots, w.bots)
	}
	c.joined = leg
	return nil
}

// ClosePeer implements actors.Media.
func (w *World) ClosePeer(a engine.AttemptID, leg engine.LegID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.calls[a]
	if c == nil {
		return
	}
	c.peers = slices.DeleteFunc(c.peers, func(l engine.LegID) bool { return l == leg })
	if c.joined == leg {
		c.joined = ""
		w.drop(c)
	}
}

// LivePeers counts the ringing and answered far legs.
func (w *World) LivePeers() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.legs {
		if l.far && l.state != "over" {
			n++
		}
	}
	return n
}

// EndCallee makes the callee of a call hang up.
func (w *World) EndCallee(a engine.AttemptID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.legs {
		if l.cmd.Attempt == a && !l.far && l.state == "answered" {
			w.leg(l, engine.LegHungUp, 0)
		}
	}
}

// RecoveredLegs counts the legs of earlier processes that were to be ended.
func (w *World) RecoveredLegs() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.Recovered
}

// SilencePeer makes the far leg joined to a call stop sending.
func (w *World) SilencePeer(a engine.AttemptID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.calls[a]; c != nil {
		w.media(a, c, engine.MediaEvent{Kind: engine.MediaPeerSilent, Session: engine.SessionID(c.joined)})
	}
}
