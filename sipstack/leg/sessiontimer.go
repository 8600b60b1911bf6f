package leg

import (
	"time"

	"dialler/sipstack/timing"
)

// sessionTimer watches a confirmed dialog (RFC 4028): one side must refresh it in time, otherwise
// the other ends the call.
type sessionTimer struct {
	sec       uint32
	ours      bool          // we refresh
	refreshAt time.Duration // 0: not our turn, or a refresh is running
	endAt     time.Duration // when the session expires: BYE
	noUpdate  bool          // the far side lists UPDATE but refuses it
	tries     int           // consecutive 422s
}

// agreed restarts the timer. We refresh at half time and may retry until the end; a refresh of the
// far side is expected by the smaller of 32 s and a third of the interval before the end (§10).
func (t *sessionTimer) agreed(now time.Duration, sec uint32, ours bool) {
	interval := time.Duration(sec) * time.Second
	t.sec, t.ours, t.refreshAt, t.tries = sec, ours, 0, 0
	if ours {
		t.refreshAt, t.endAt = now+interval/2, now+interval
		return
	}
	t.endAt = now + interval - min(32*time.Second, interval/3)
}

// next is the next deadline; 0 while our own refresh is running, whose result decides.
func (t *sessionTimer) next() time.Duration {
	if t.ours && t.refreshAt == 0 {
		return 0
	}
	return timing.Earliest(t.refreshAt, t.endAt)
}

// refreshAnswer is the content and effect of a 2xx to a refresh by the far side.
type refreshAnswer struct {
	lines string
	sec   uint32 // 0: no session timer
	ours  bool
	// theirs means that the far side supports timers, so that it ends a session that is not
	// refreshed.
	theirs bool
}
