package actortest

import (
	"slices"
	"time"

	"dialler/engine"
)

// Far legs of the world: bots that are called by SIP. They follow the script of
// the call that they belong to: BotIn until the 200, BotTalk until their BYE.

// placePeer places the INVITE to a bot; the lock is held.
func (w *World) placePeer(cmd engine.PlaceLeg, sink func(engine.LegEvent)) {
	c := w.calls[cmd.Attempt]
	l := &worldLeg{cmd: cmd, sink: sink, state: "ringing", far: true}
	w.legs[cmd.Leg] = l
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
		if l.script.BotTalk > 0 {
			l.timer = time.AfterFunc(l.script.BotTalk, func() {
				w.mu.Lock()
				defer w.mu.Unlock()
				if l.state == "answered" {
					w.leg(l, engine.LegHungUp, 0)
				}
			})
		}
	})
}

// invitesOf are the INVITEs to bots of one call; the lock is held.
func (w *World) invitesOf(a engine.AttemptID) (list []engine.PlaceLeg) {
	for _, cmd := range w.BotInvites {
		if cmd.Attempt == a {
			list = append(list, cmd)
		}
	}
	return list
}

// OpenPeer implements actors.Media.
func (w *World) OpenPeer(a engine.AttemptID, leg engine.LegID) ([]byte, error) {
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

// LivePeers counts the far legs that ring or are answered.
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
