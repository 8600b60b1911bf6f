package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
)

// answersFor is how long a run that is handed over waits for its outstanding replies; beyond that,
// callers cannot know whether a command was carried out.
const answersFor = 2 * time.Second

// lastWord confirms that the campaign's actors may stop: at once unless the campaign
// is being handed over; then the replies that depend on the database come first.
func (s *State) lastWord(m *LastWord) {
	if !m.HandOver {
		s.emit(SayLastWord{Stays: s.M.C.ID != ""})
		return
	}
	s.HandOver = true
	s.HandOvers++
	for _, held := range s.Stash {
		s.reply(held.From, nil, ownership.ErrNotOwner)
	}
	for i := range s.Parked {
		s.reply(s.Parked[i].asks(), nil, ownership.ErrNotOwner)
	}
	s.Stash, s.Parked = nil, nil
	s.later(answersFor, &answersDue{s.HandOvers})
	s.sayLastWord(false)
}

// sayLastWord confirms the hand-over once no request is unanswered or the wait is over.
func (s *State) sayLastWord(over bool) {
	if !s.HandOver || !over && s.owesAnswers() {
		return
	}
	s.HandOver = false
	s.closeAllSockets()
	s.emit(SayLastWord{})
}

// owesAnswers says whether a request waits for something in progress.
func (s *State) owesAnswers() bool {
	return len(s.Ops)+len(s.Lifts)+len(s.Reads)+len(s.Triggers)+len(s.TriggersOf)+len(s.Pending)+s.Adding > 0 ||
		s.Preparing
}

// leavesFor is how long a run stops dialling for a hand-over, which may never come.
const leavesFor = 15 * time.Second

func (s *State) dialNoMore(from engine.Request) {
	s.LeavesUntil = s.now.Add(leavesFor)
	p := Placing{Attempts: map[engine.AttemptID]engine.ContactID{}, Round: s.Round != nil}
	for id, l := range s.Lines {
		if l.Phase == attempt.PhaseDialling && l.Attempt != "" {
			p.Attempts[l.Attempt] = id
		}
	}
	s.reply(from, p, nil)
}

// mayDial: time has passed since the run decided to dial. What an earlier life decided it
// decided for a seat that this one may have given to another line.
func (s *State) mayDial(m *call.MayDial) {
	l := s.Lines[m.Contact]
	if l == nil {
		return
	}
	d := *m.Dial
	d.SendWithin = s.callableFor(d.To)
	d.Eligible = true
	d.Withdrawn = s.M.C.State != campaign.Running || d.SendWithin <= 0 || l.Attempt != d.Attempt
	s.send(l, &d)
}
