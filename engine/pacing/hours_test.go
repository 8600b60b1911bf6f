package pacing

import (
	"testing"
	"time"
)

func TestARateOfTheLastDayForgetsTheHoursBefore(t *testing.T) {
	at := time.Date(2030, 3, 1, 9, 30, 0, 0, time.UTC)
	var h Hours
	for i := range 1000 { // one live answer an hour, every tenth abandoned
		c := Counts{Live: 1}
		if i%10 == 0 {
			c.Abandoned, c.CapacityLoss = 1, 1
		}
		h.Count(at.Add(time.Duration(i)*time.Hour), c)
	}
	now := at.Add(999 * time.Hour)
	if c := h.Over(now, 24*time.Hour); c.Live != 24 || c.Abandoned != 2 || c.CapacityLoss != 2 {
		t.Errorf("24 h: %+v", c)
	}
	if c := h.Over(now, ThirtyDays); c.Live != 720 || c.Abandoned != 72 {
		t.Errorf("30 days: %+v", c)
	}
	if c := h.Over(now.Add(24*time.Hour), 24*time.Hour); c.Live != 0 {
		t.Errorf("a day without a call: %+v", c)
	}
	if len(h.hours) > hoursKept {
		t.Errorf("%d hours are kept", len(h.hours))
	}
}

func TestHoursThatWereCountedElsewhereComeInAnyOrder(t *testing.T) {
	now := time.Date(2030, 3, 1, 9, 30, 0, 0, time.UTC)
	var h Hours
	for _, ago := range []int64{0, 23, 24, 3} {
		h.Put(HourOf(now)-ago, Counts{Live: 1, Machines: 2})
	}
	h.Count(now, Counts{Live: 1})
	if c := h.Over(now, 24*time.Hour); c.Live != 4 || c.Machines != 6 {
		t.Errorf("%+v", c)
	}
}
