package engine

import (
	"testing"
	"time"
)

func TestATrunkIsProvenByAnySignOfLifeAndLostOnlyIfItUsedToAnswer(t *testing.T) {
	const now, within = time.Hour, 30 * time.Second
	lately, before := now-within, now-within-1
	f := func(s TrunkSigns, want TrunkLife) {
		t.Helper()
		s.Now, s.Within = now, within
		if got := s.Life(); got != want {
			t.Errorf("%+v: %s, want %s", s, got, want)
		}
	}
	f(TrunkSigns{}, TrunkUnproven)
	f(TrunkSigns{CalledAt: before}, TrunkAlive) // nobody asks
	f(TrunkSigns{Options: TrunkAnswers}, TrunkAlive)
	f(TrunkSigns{Options: TrunkAnswers, Trusted: true}, TrunkAlive)

	// OPTIONS that were never answered say nothing against it.
	f(TrunkSigns{Options: TrunkDeclines}, TrunkUnproven)
	f(TrunkSigns{Options: TrunkDeclines, CalledAt: lately}, TrunkAlive)
	f(TrunkSigns{Options: TrunkDeclines, CalledAt: before}, TrunkUnproven)
	f(TrunkSigns{Options: TrunkDeclines, Talks: true}, TrunkAlive)

	f(TrunkSigns{Options: TrunkDeclines, Trusted: true}, TrunkLost)
	f(TrunkSigns{Options: TrunkDeclines, Trusted: true, CalledAt: lately}, TrunkAlive)
	f(TrunkSigns{Options: TrunkDeclines, Trusted: true, CalledAt: before}, TrunkLost)
	f(TrunkSigns{Options: TrunkDeclines, Trusted: true, Talks: true}, TrunkAlive)

	// An INVITE without a response: what was heard before it no longer counts against declined OPTIONS.
	f(TrunkSigns{Options: TrunkDeclines, Trusted: true, CalledAt: lately, Talks: true, SilentAt: lately + 1}, TrunkLost)
	f(TrunkSigns{Options: TrunkDeclines, CalledAt: lately, Talks: true, SilentAt: lately + 1}, TrunkUnproven)
	f(TrunkSigns{Options: TrunkDeclines, Trusted: true, CalledAt: lately + 2, SilentAt: lately + 1}, TrunkAlive)
	f(TrunkSigns{Options: TrunkAnswers, Trusted: true, SilentAt: lately}, TrunkAlive)
	f(TrunkSigns{CalledAt: before, SilentAt: lately}, TrunkUnproven) // nobody asks

	f(TrunkSigns{Options: TrunkUnsent}, TrunkLost)
	f(TrunkSigns{Options: TrunkUnsent, CalledAt: lately}, TrunkAlive)
	f(TrunkSigns{Options: TrunkUnsent, CalledAt: before}, TrunkLost)
	f(TrunkSigns{Options: TrunkUnsent, Registers: true, Registered: true}, TrunkLost)

	f(TrunkSigns{Registers: true, Options: TrunkAnswers, CalledAt: lately, Talks: true}, TrunkLost)
	f(TrunkSigns{Registers: true, Registered: true}, TrunkAlive)
	f(TrunkSigns{Registers: true, Registered: true, Options: TrunkDeclines}, TrunkAlive)
	f(TrunkSigns{Registers: true, Registered: true, Options: TrunkDeclines, Trusted: true}, TrunkLost)
}

func TestWhatAProxySaysOfADeadServerIsNoSignOfLife(t *testing.T) {
	for status, want := range map[int]bool{
		100: true, 180: true, 200: true, 401: true, 403: true, 404: true, 405: true, 480: true, 483: true, 486: true,
		501: true, 603: true, 0: false, 408: false, 500: false, 503: false, 504: false,
	} {
		if SignOfLife(status) != want {
			t.Errorf("%d: %v", status, !want)
		}
	}
}
