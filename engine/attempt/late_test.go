package attempt

import (
	"testing"
	"time"
)

func TestALateResultChangesNothingThatCameAfterIt(t *testing.T) {
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	sold := Result{Disposition: "sold", ReceivedAt: at}
	for _, c := range []struct {
		name    string
		has     *Result
		late    Result
		changes bool
		want    Result
	}{
		{"the first", nil, sold, true, sold},
		{"a later one", &sold, Result{Disposition: "cancelled", ReceivedAt: at.Add(1)}, true,
			Result{Disposition: "cancelled", ReceivedAt: at.Add(1)}},
		{"an earlier one", &sold, Result{Disposition: "cancelled", ReceivedAt: at.Add(-1)}, false, sold},
		{"the same again", &sold, sold, false, sold},
		{"a person who must not be called", &sold,
			Result{Disposition: "angry", DoNotCall: true, ReceivedAt: at.Add(-1)}, true,
			Result{Disposition: "sold", DoNotCall: true, ReceivedAt: at}},
	} {
		left, changes := c.has.After(&c.late)
		if changes != c.changes || left.Disposition != c.want.Disposition || left.DoNotCall != c.want.DoNotCall ||
			!left.ReceivedAt.Equal(c.want.ReceivedAt) {
			t.Errorf("%s: %+v, %v", c.name, left, changes)
		}
	}
	if sold.DoNotCall {
		t.Error("what the call has was written over")
	}
}
