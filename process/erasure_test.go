package process

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnErasureWaitsForWhatWaits(t *testing.T) {
	for _, c := range []struct {
		what          string
		written, left time.Duration // when the last record is written, and the client disconnects
		want          error
	}{
		{"nothing waits", 0, time.Hour, nil},
		{"it is written soon", 2 * time.Second, time.Hour, nil},
		{"it is not", time.Minute, time.Hour, errSpoolWaits},
		{"the client leaves", time.Minute, time.Second, errSpoolWaits},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.left)
			defer cancel()
			began := time.Now()
			err := spoolWritten(ctx, func() int64 {
				if time.Since(began) < c.written {
					return 1
				}
				return 0
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v", c.what, err)
			}
			if took := time.Since(began); took > spoolPatience {
				t.Errorf("%s: after %v", c.what, took)
			}
		})
	}
}
