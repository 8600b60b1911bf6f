package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// readsFor reads rate bytes a second, for that long or until it is cut off.
func readsFor(t *testing.T, rate int, long time.Duration) (lasted time.Duration, err error) {
	t.Helper()
	near, far := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b := make([]byte, rate)
		for {
			if _, err := io.ReadFull(far, b); err != nil {
				return
			}
			time.Sleep(time.Second) // virtual
		}
	}()
	p, began, part := &Patient{Conn: near, Patience: ReportPatience}, time.Now(), make([]byte, 64<<10)
	for err == nil && time.Since(began) < long {
		_, err = p.Write(part)
	}
	lasted = time.Since(began)
	_ = near.Close()
	_ = far.Close()
	<-done
	return lasted, err
}

func TestAReaderOfAReportMayBeSlowButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if lasted, err := readsFor(t, 20<<10, 20*time.Minute); err != nil {
			t.Errorf("20 KiB a second: %v after %s", err, lasted)
		}
		lasted, err := readsFor(t, 2<<10, 20*time.Minute)
		if !errors.Is(err, os.ErrDeadlineExceeded) || lasted < ReportPatience/2 || lasted > 2*ReportPatience {
			t.Errorf("2 KiB a second: %v after %s", err, lasted)
		}
		if lasted, err := readsFor(t, 10<<10, 20*time.Minute); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("10 KiB a second: %v after %s", err, lasted)
		}
	})
}
