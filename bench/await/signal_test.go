package await

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestUntilSeesEveryChange(t *testing.T) {
	var s Signal
	var n atomic.Int64
	for round := range int64(500) {
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			done <- s.Until(ctx, func() bool { return n.Load() > round })
		}()
		n.Add(1)
		s.Notify()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

func TestUntilEndsWithItsContext(t *testing.T) {
	var s Signal
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Until(ctx, func() bool { return false }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
