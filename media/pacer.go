package media

import (
	"sync/atomic"
	"time"

	"dialler/media/datagram"
)

const (
	frameTime = 20 * time.Millisecond
	// catchUp is how many frames a stalled pacer sends at once before it gives up the lost time.
	catchUp = 10
)

// pacer ticks every 20 ms. It sleeps while there is nothing to serve.
type pacer struct {
	offset  time.Duration // spreads the pacers over the 20 ms
	wake    chan struct{} // there is a call to serve; buffer of one
	skipped *atomic.Uint64
}

// run calls tick at each beat until stop is closed; tick says whether it served any call.
func (p *pacer) run(stop <-chan struct{}, tick func(*datagram.Writer) (served bool)) {
	w := datagram.NewWriter(datagram.BatchSize)
	var next time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for {
		if next.IsZero() { // nobody to serve
			select {
			case <-stop:
				return
			case <-p.wake:
			}
			next = time.Now().Add(p.offset)
			timer.Reset(p.offset)
		}
		select {
		case <-stop:
			return
		case <-timer.C:
		}
		for {
			if !tick(w) {
				next = time.Time{}
				break
			}
			next = next.Add(frameTime)
			late := time.Since(next)
			if late < 0 {
				timer.Reset(-late)
				break
			}
			if late > catchUp*frameTime {
				skipped := late / frameTime
				p.skipped.Add(uint64(skipped))
				next = next.Add(skipped * frameTime)
			}
		}
	}
}

// called wakes the pacer.
func (p *pacer) called() {
	select {
	case p.wake <- struct{}{}:
	default: // it will wake up anyway
	}
}
