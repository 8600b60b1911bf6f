package dialout

import (
	"time"

	"dialler/engine"
	"dialler/engine/quota"
)

// Calls that come in (engine/inbound) get their seats here: before the dialouts that wait, and before the
// campaigns dial more, since they want few seats and the fleet divides fairly.

// CallInPatience is how long a caller hears it ring while no seat is free.
const CallInPatience = 10 * time.Second

type (
	// CallIn asks for a seat for a call that came in; CallInSeated or CallInRefused follows.
	CallIn struct {
		Attempt engine.AttemptID
		Bot     engine.BotID
	}
	// CallInLeft says that its caller gave up, or that it is not begun after all.
	CallInLeft struct{ Attempt engine.AttemptID }
	// CallInSeated is an effect: the call has a seat until Over.
	CallInSeated struct {
		Attempt engine.AttemptID
		By      engine.BootTime // until when the call may begin with it, 0 = no limit
	}
	// CallInRefused is an effect: the call gets no seat.
	CallInRefused struct{ Attempt engine.AttemptID }
)

func (s *State) callIn(e *CallIn, barred error) {
	bot, known := s.Bots[e.Bot]
	if !known || !bot.Active || barred != nil {
		s.emit(CallInRefused{e.Attempt})
		return
	}
	s.Tries++
	s.Wants[e.Attempt] = &Want{Try: s.Tries, Bot: bot, CallIn: true}
	s.emit(Later{CallInPatience, &TooLate{e.Attempt, s.Tries}})
	s.await(&bot, e.Attempt)
}

func (s *State) callInSeated(id engine.AttemptID, w *Want, limited bool) {
	delete(s.Wants, id)
	s.Seated[id] = Placed{Bot: w.Bot.ID}
	seated := CallInSeated{Attempt: id}
	if limited {
		seated.By = quota.UseBy(s.boot)
	}
	s.emit(seated)
}

func (s *State) callInLeft(id engine.AttemptID) {
	switch placed, seated := s.Seated[id]; {
	case seated:
		delete(s.Seated, id)
		s.seatBack(placed.Bot)
	case s.Wants[id] != nil:
		s.fail(id, errNoSeat)
	}
}
