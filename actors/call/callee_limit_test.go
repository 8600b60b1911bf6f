package call

import (
	"testing"
	"time"

	"dialler/engine/frequency"
)

func TestTheLimitsOfTheNextIntentAreThoseThatWereSetLast(t *testing.T) {
	var p Process
	now := time.Now()
	if c := p.CalleeCap("+4930123456", now); c != nil {
		t.Errorf("%+v before any is set", c)
	}
	all := frequency.Limit{What: frequency.Attempts, Most: 3, Period: time.Hour}
	german := frequency.Limit{What: frequency.Conversations, Most: 1, Period: time.Hour}
	p.CalleeLimit.Set(frequency.New([]frequency.Rule{{Limits: []frequency.Limit{all}},
		{Countries: []string{"DE"}, Limits: []frequency.Limit{german}}}))
	if c := p.CalleeCap("+4930123456", now); c == nil || len(c.Limits) != 2 || c.Limits[1] != german || !c.Now.Equal(now) {
		t.Errorf("%+v", c)
	}
	if c := p.CalleeCap("+431234567", now); c == nil || len(c.Limits) != 1 || c.Limits[0] != all {
		t.Errorf("%+v", c)
	}
	p.CalleeLimit.Set(frequency.Rules{})
	if c := p.CalleeCap("+4930123456", now); c != nil {
		t.Errorf("%+v, want none", c)
	}
}
