package bot

import (
	"time"

	"github.com/fasthttp/websocket"
)

// player is the bot's side of the conversation: sentence, mark, wait for the mark to come back,
// pause, next sentence.
type player struct {
	payloads []string // of the current sentence
	each     time.Duration
	at       int
	clearAt  int // payload after which the sentence is broken off; 0 means never
	count    int // sentences
	next     time.Time
	waiting  bool // for the mark
	over     bool
}

// heardOut handles that the platform has played everything.
func (p *player) heardOut(next time.Time) {
	p.waiting, p.next = false, next
}

// Tick is called every 20 ms.
func (s *session) Tick(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.row.EndedAt.IsZero() || s.leaving != "" || s.stopped {
		return
	}
	if !s.plan.dieAt.IsZero() && !now.Before(s.plan.dieAt) {
		s.leaving = EndedByDeath
		s.breakOff()
		return
	}
	s.talk(now) // even in the last turn, however late: a bot has spoken before it hangs up
	if !s.plan.hangUpAt.IsZero() && !now.Before(s.plan.hangUpAt) {
		s.leaving = EndedByBot
		s.goodbye()
	}
}

// talk continues the sentence, or begins the next one when it is due.
func (s *session) talk(now time.Time) {
	p := &s.script
	switch {
	case p.over:
	case p.payloads != nil:
		s.say(now)
	case p.waiting:
		if len(s.marks) > 0 && now.After(s.marks[0].due) {
			s.violation("mark_late")
			s.marks[0].due = now.Add(time.Hour) // said once
			p.heardOut(now)
		}
	case !now.Before(p.next):
		p.count++
		length := s.plan.Utterance.Draw(s.rng)
		p.payloads, p.each = s.bot.voices.sentence(s.rng, length, s.plan.Burst)
		p.at, p.clearAt = 0, 0
		if s.rng.Float64() < s.plan.Clear {
			p.clearAt = max(1, len(p.payloads)/2)
		}
		s.say(now)
	}
}

// say sends the part of the sentence that is due, and its mark at the end.
func (s *session) say(now time.Time) {
	p := &s.script
	for p.at < len(p.payloads) {
		if s.row.FirstSentAt.IsZero() {
			s.row.FirstSentAt = now
		}
		s.out = append(s.out[:0], s.prefix...)
		s.out = append(append(s.out, p.payloads[p.at]...), `"}}`...)
		if !s.send(s.out) {
			return
		}
		p.at++
		s.row.FramesOut++
		s.row.AudioOutMS += int(p.each / time.Millisecond)
		if p.at == p.clearAt {
			break
		}
		if !s.plan.Burst {
			if p.at < len(p.payloads) {
				return // the next frame in 20 ms
			}
		}
	}
	name := markName(p.count)
	if !s.send([]byte(`{"event":"mark","streamSid":"` + string(s.row.SessionID) + `","mark":{"name":"` + name + `"}}`)) {
		return
	}
	// In the worst case the whole sentence is still in the platform's buffer.
	s.marks = append(s.marks, mark{name, now.Add(time.Duration(len(p.payloads))*p.each + markGrace)})
	s.row.MarksSent++
	broken := p.at == p.clearAt
	p.payloads, p.waiting = nil, true
	if broken && s.send([]byte(`{"event":"clear","streamSid":"`+string(s.row.SessionID)+`"}`)) {
		s.row.Clears++
	}
}

// send writes one frame; if that fails, the session is over.
func (s *session) send(b []byte) bool {
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := s.conn.WriteMessage(websocket.TextMessage, b); err != nil {
		s.script.over = true
		s.breakOff()
		return false
	}
	return true
}
