package chaos

import (
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/site"
)

func TestAnINVITEThatIsReadAfterTheEndOfItsLifeIsCountedToThatLife(t *testing.T) {
	t.Parallel()
	at := time.Now()
	r := &run{Lab: &Lab{proc: &site.Process{Started: at}}, rep: &Report{}}
	ms := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond).Round(0) }
	r.judgeFigures(carrier.Rows{{InviteAt: ms(2), LeftAt: ms(-1)}, {InviteAt: ms(5), LeftAt: ms(4)}, {InviteAt: ms(6)}},
		map[string]float64{"dialler_legs_sent_total": 2})
	if len(r.rep.Failures) > 0 {
		t.Error(r.rep.Failures)
	}
}
