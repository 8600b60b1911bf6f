package pacing

// This file implements the rule of SEMANTICS §6 that no line leaves whose answer nobody could take:
// if a socket of the bot is open before the INVITE, somebody can.
//
// Every line in flight, listened to, ringing or waiting for a worker, either has an open socket or
// is covered by credit: Σ lines ≤ standing sockets + credit. Sockets belong to no line before it is
// answered, so that only their number counts. An answer takes one, and both sides fall by one; a
// socket that fails later ends a conversation and abandons nobody. An answer that finds none still
// tries the bot: at worst it takes one of credit. So A ≤ c·L holds after every event, except when
// more sockets are lost at once than are open for lines (the loss of all bots), or when the process
// that knows them is (a crash).

// governed says whether sockets limit the lines: always where the cap is kept after every event, in
// hybrid while the cap is exceeded, and whenever the bot missed a recent try.
func (in *Input) governed(w *Explanation) bool {
	return in.Sockets && (in.Mode != Hybrid || in.doubted(w))
}

// doubted says that the cap is exceeded, or that the bot missed a recent try. Lines with a worker
// are then not left to credit.
func (in *Input) doubted(w *Explanation) bool { return w.surplus < 0 || in.Proof != (Proof{}) }

// inFlight is how many lines may still need a socket.
func (in *Input) inFlight() int { return in.Ringing + in.Waiting + in.Held - in.Withdrawn }

// bearing is how many abandons of lines in flight the ledgers can bear.
func (in *Input) bearing(w *Explanation) int {
	if in.Mode != Strict && in.Mode != Hybrid {
		return 0
	}
	return max(w.Credit-in.Bare, 0)
}

// socketRoom is how many more lines may leave with the open sockets.
func (in *Input) socketRoom(w *Explanation) int {
	seats := max(w.Free+in.Held, 0)
	switch {
	case in.doubted(w) && in.Standing < seats:
		return in.Standing - in.inFlight()
	case in.Mode == Hybrid:
		return Unlimited
	}
	return in.Standing + in.bearing(w) - in.inFlight()
}

// socketsFor is how many sockets should be open for the lines in flight and the given number of new
// ones: no more than workers, as the others are covered by credit. Lines in flight have the workers
// that they were dialled for, whatever was taken away since.
func (in *Input) socketsFor(w *Explanation, more int) int {
	borne := 0
	if !in.doubted(w) {
		borne = in.bearing(w)
	}
	n := in.inFlight() - borne
	return max(min(n+more, w.Free+in.Held), min(n, in.Kept), 0)
}

// Uncovered is how many of the lines in flight have neither socket nor credit with the present
// sockets: their answers could exceed the cap. A period that is about to begin is left out: these
// lines are over by then.
func (in *Input) Uncovered() int {
	if !in.Sockets || in.Mode == Hybrid {
		return 0
	}
	credit := Unlimited
	for i := range in.Ledgers {
		if l := &in.Ledgers[i]; l.Period != periodNext {
			credit = min(credit, l.Credit(in.CapPPM, in.PhiPPM))
		}
	}
	if in.Mode != Strict || len(in.Ledgers) == 0 {
		credit = 0
	}
	return max(in.inFlight()-in.Standing-max(credit-in.Bare, 0), 0)
}
