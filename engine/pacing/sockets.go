package pacing

// This file is the rule of SEMANTICS §6 that no line leaves whose answer nobody could take:
// with a socket of the bot that stands before the INVITE it is known that somebody can.
//
// Every line in flight, listened to, ringing or waiting for a worker, either has a socket
// that stands or is borne by credit: Σ lines ≤ standing sockets + credit. Sockets belong to
// no line before it is answered, so that only their number counts. An answer takes one, and
// both sides fall by one; a socket that fails later ends a conversation and abandons nobody.
// An answer that finds none tries the bot all the same: at worst it takes one of credit.
// So A ≤ c·L holds after every event but when more sockets are lost at once than stand for
// lines (the loss of all bots), or when those who knew of them are (a crash).

// governed says whether sockets bound the lines: always where the cap is kept after every
// event, in hybrid while it is passed, and wherever the bot missed a try lately.
func (in *Input) governed(w *Explanation) bool {
	return in.Sockets && (in.Mode != Hybrid || in.doubted(w))
}

// doubted: the cap is passed, or the bot missed one of the last tries. What has a worker
// is not left to credit then.
func (in *Input) doubted(w *Explanation) bool { return w.surplus < 0 || in.Proof != (Proof{}) }

// inFlight is how many lines may still want a socket.
func (in *Input) inFlight() int { return in.Ringing + in.Waiting + in.Held - in.Withdrawn }

// bearing is how many abandons of lines in flight the ledgers bear.
func (in *Input) bearing(w *Explanation) int {
	if in.Mode != Strict && in.Mode != Hybrid {
		return 0
	}
	return max(w.Credit-in.Bare, 0)
}

// socketRoom is how many more lines may leave with the sockets that stand.
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

// socketsFor is how many sockets should stand for the lines in flight and so many more: no
// more than workers, as those without one are borne by credit. Lines in flight have the
// workers that they were dialled for, whatever was taken away since.
func (in *Input) socketsFor(w *Explanation, more int) int {
	borne := 0
	if !in.doubted(w) {
		borne = in.bearing(w)
	}
	n := in.inFlight() - borne
	return max(min(n+more, w.Free+in.Held), min(n, in.Kept), 0)
}

// Uncovered is how many of the lines in flight have neither socket nor credit while so
// many sockets stand: their answers could pass the cap. A period that is about to begin
// bears none of them and is passed by none: they are over by then.
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
