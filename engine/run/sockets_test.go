package run

import (
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/fleet"
	"dialler/engine/pacing"
)

// withSockets gives the campaign's bot a socket, and its ledger the given number of live answers.
func withSockets(live int) func(*Loaded) {
	return func(l *Loaded) {
		l.Bots[0].Endpoints = []string{"ws://bot"}
		for _, c := range []*pacing.Ledger{&l.Ledgers.Books.Run, &l.Ledgers.Books.Day, &l.Ledgers.Books.Thirty} {
			c.Live = live
		}
	}
}

// opened takes the sockets that the run asked to open.
func (w *world) opened() (ids []engine.SocketID) {
	for _, e := range sent[OpenSocket](w) {
		ids = append(ids, e.Open.Socket)
	}
	return ids
}

func (w *world) stands(ids ...engine.SocketID) {
	for _, id := range ids {
		w.do(&engine.SocketEvent{Socket: id, Stands: true, Endpoint: "ws://bot"})
	}
}

// ringThree is a run with three ringing lines, each with an open socket.
func ringThree(t *testing.T) (*world, []engine.SocketID) {
	w := ready(t, withSockets(0))
	w.due(w.rows(3), 0)
	w.seats(10)
	none[ReserveTrunks](w)
	ids := w.opened()
	if len(ids) != 3 {
		t.Fatalf("%d sockets are opened for three contacts", len(ids))
	}
	w.stands(ids...)
	for len(w.s.Lines) < 3 {
		w.round()
	}
	for _, id := range []engine.ContactID{"c1", "c2", "c3"} {
		w.do(&call.Up{Contact: id})
		w.moved(id, attempt.PhaseRinging)
	}
	w.forget()
	return w, ids
}

func TestALineLeavesWhenItsSocketStands(t *testing.T) {
	w, ids := ringThree(t)
	w.moved("c2", attempt.PhaseWaiting)
	if g := told[*call.SeatGranted](w, "c2"); len(g) != 1 || g[0].Socket != ids[0] {
		t.Errorf("the answer has %+v, not the oldest socket", g)
	}
	if w.s.Standing != 2 || w.s.Bare != 0 {
		t.Errorf("%+v", w.s.SocketState)
	}
	w.moved("c1", attempt.PhaseOver) // not answered: its socket is left for the next line
	if none[CloseSocket](w); w.s.Standing != 2 {
		t.Errorf("%+v", w.s.SocketState)
	}
}

func TestOfARoundOnlyAsManyLinesLeaveAsHaveTheirSocketsLeft(t *testing.T) {
	for lost, leave := range []int{1, 1, 1, 0} {
		w := ready(t, withSockets(0))
		w.due(w.rows(3), 0)
		w.seats(10)
		ids := w.opened()
		w.stands(ids...)
		w.trunks(1000, "")
		for _, id := range ids[:lost] { // while the caller ID is being reserved
			w.do(&engine.SocketEvent{Socket: id, Reason: "closed"})
		}
		w.numbers(1000, "")
		back := len(sent[ReleaseNumber](w)) + len(sent[ReleaseTrunk](w))
		if len(w.s.Lines) != leave || back != 2*(1-leave) {
			t.Errorf("%d of three sockets lost: %d lines of one candidate, %d given back", lost, len(w.s.Lines), back)
		}
	}
}

// A bot that is reached in another way loses its sockets; with no open socket there is nothing to
// replace.
func TestSocketsOfABotsFormerEndpointsAreReplacedIfAnyStood(t *testing.T) {
	for _, change := range []func(*engine.Bot){
		func(b *engine.Bot) { b.Endpoints = []string{"ws://elsewhere"} },
		func(b *engine.Bot) { b.AuthToken = "another" },
		func(b *engine.Bot) { b.Headers = []engine.HTTPHeader{{Name: "Authorization", Value: "Bearer another"}} },
	} {
		moved := func(w *world) []engine.Bot {
			b := w.s.Bot
			change(&b)
			return []engine.Bot{b}
		}
		w := ready(t, withSockets(0))
		if w.s.setBot(moved(w)); w.s.Lost {
			t.Error("there was none")
		}
		w, _ = ringThree(t)
		if w.s.setBot([]engine.Bot{w.s.Bot}); w.s.Lost || w.s.Standing == 0 {
			t.Errorf("%+v", w.s.SocketState)
		}
		if w.s.setBot(moved(w)); !w.s.Lost || w.s.Standing != 0 {
			t.Errorf("%+v", w.s.SocketState)
		}
	}
}

func TestWithCreditForEveryLineNoSocketIsOpenedAhead(t *testing.T) {
	w := ready(t, withSockets(1000))
	w.due(w.rows(3), 0)
	w.seats(10)
	w.round()
	if ids := w.opened(); len(ids) > 0 || len(w.s.Lines) != 3 {
		t.Errorf("%d sockets, %d lines", len(ids), len(w.s.Lines))
	}
	w.do(&call.Up{Contact: "c1"})
	w.moved("c1", attempt.PhaseWaiting)
	if w.s.Bare != 1 {
		t.Errorf("%d answers may still be missed", w.s.Bare)
	}
	w.moved("c1", attempt.PhaseServed)
	if w.s.Bare != 0 {
		t.Error("it is served")
	}
}

func TestALineWhoseSocketIsLostAndCannotBeReplacedIsCancelled(t *testing.T) {
	w, ids := ringThree(t)
	w.do(&engine.SocketEvent{Socket: ids[1], Reason: "closed"})
	again := w.opened()
	if len(again) == 0 {
		t.Fatal("it is not opened again at once")
	}
	for _, id := range []engine.ContactID{"c1", "c2", "c3"} {
		if len(told[*call.End](w, id)) > 0 {
			t.Fatal("cancelled while another is about to stand")
		}
	}
	for len(again) > 0 { // each of them is refused
		w.do(&engine.SocketEvent{Socket: again[0], Reason: "refused"})
		again = append(again[1:], w.opened()...)
		if len(w.s.Sockets) > 10 || w.s.Openings.Failed > 20 {
			break
		}
	}
	var ended []engine.ContactID
	youngest := engine.ContactID("")
	for id, l := range w.s.Lines {
		if y := w.s.Lines[youngest]; y == nil || l.Attempt > y.Attempt {
			youngest = id
		}
		if e := told[*call.End](w, id); len(e) == 1 && e[0].Reason == engine.CodeBotLost {
			ended = append(ended, id)
		}
	}
	if !slices.Equal(ended, []engine.ContactID{youngest}) || w.s.Withdrawn != 1 {
		t.Errorf("%v are cancelled, the youngest is %s; %+v", ended, youngest, w.s.SocketState)
	}
	w.moved(youngest, attempt.PhaseReleased)
	w.moved(youngest, attempt.PhaseOver)
	if w.s.Withdrawn != 0 {
		t.Error("it is over")
	}
}

// A callee may pick up at any moment: four sockets are opened to replace lost ones even while
// openings are paused.
func TestFourSocketsAtATimeAreOpenedInPlaceOfLostOnes(t *testing.T) {
	for _, lost := range []bool{false, true} {
		w := ready(t, withSockets(0))
		w.seats(10)
		none[OpenSocket](w)
		w.s.Openings, w.s.Lost = fleet.Openings{Failed: 10, Since: w.s.boot}, lost
		w.due(w.rows(9), 0)
		n := len(w.opened())
		if want := map[bool]int{true: 4}[lost]; n != want {
			t.Errorf("lost %v: %d are opened, want %d", lost, n, want)
		}
	}
}

func TestTheFleetIsToldOfTheThirdSocketInARowThatIsRefused(t *testing.T) {
	w := ready(t, withSockets(0))
	w.due(w.rows(3), 0)
	w.seats(10)
	ids := w.opened()
	for i, id := range ids {
		w.do(&engine.SocketEvent{Socket: id, Reason: "refused"})
		if n := len(sent[*call.BotTried](w)); (n > 0) != (i == 2) {
			t.Errorf("after %d refused: told %d times", i+1, n)
		}
	}
	if len(ids) != 3 {
		t.Errorf("%d were opened", len(ids))
	}
}

// A node that has lost its lease, or whose fleet was away, is left with fewer seats than are in use.
func TestSocketsAreClosedWhenFewerSeatsAreLeftThanAreInUse(t *testing.T) {
	w, ids := ringThree(t)
	for _, c := range []engine.ContactID{"c1", "c2"} {
		w.moved(c, attempt.PhaseWaiting)
		w.moved(c, attempt.PhaseServed)
	}
	w.forget()
	w.seats(0)
	if got := sent[CloseSocket](w); len(got) != 1 || got[0].Socket != ids[2] || len(w.s.Sockets) != 0 {
		t.Errorf("closed %v, left %+v", got, w.s.Sockets)
	}
}

func TestSocketsThatNoLineWantsAreClosed(t *testing.T) {
	w, _ := ringThree(t)
	for _, id := range []engine.ContactID{"c1", "c2", "c3"} {
		w.moved(id, attempt.PhaseOver)
	}
	w.pass(seatsIdle - time.Second)
	none[CloseSocket](w)
	w.pass(2 * time.Second) // with their seats, as no contact is left to call
	if n := len(sent[CloseSocket](w)); n != 3 || w.s.Standing != 0 {
		t.Errorf("%d of three are closed", n)
	}
}
