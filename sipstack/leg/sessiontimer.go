package leg

import (
	"time"

	"dialler/sipstack/timing"
)

// sessionTimer watches a confirmed dialog (RFC 4028): one side refreshes it in
// time, and when it does not the other ends the call.
type sessionTimer struct {
	sec       uint32
	ours      bool          // we refresh
	refreshAt time.Duration // 0: not our turn, or a refresh runs
	endAt     time.Duration // then the session has expired: BYE
	noUpdate  bool          // the far side lists UPDATE and refuses it
	tries     int           // 422 in a row
}

// agreed restarts the timer. We refresh at half time and have until the end to
// get it through; a refresh of the far side is awaited until the smaller of 32 s
// and a third of the interval before the end (§10).
func (t *sessionTimer) agreed(now time.Duration, sec uint32, ours bool) {
	interval := time.Duration(sec) * time.Second
	t.sec, t.ours, t.refreshAt, t.tries = sec, ours, 0, 0
	if ours {
		t.refreshAt, t.endAt = now+interval/2, now+interval
		return
	}
	t.endAt = now + interval - min(32*time.Second, interval/3)
}

// next is when something is to be done; 0 while a refresh of ours runs, whose
// end decides.
func (t *sessionTimer) next() time.Duration {
	if t.ours && t.refreshAt == 0 {
		return 0
	}
	return timing.Earliest(t.refreshAt, t.endAt)
}

// refreshAnswer is what a 2xx to a refresh of the far side says and does.
type refreshAnswer struct {
	lines string
	sec   uint32 // 0: no session timer
	ours  bool
	// theirs: the far side knows timers, so that it ends a session that is not refreshed.
	theirs bool
}
