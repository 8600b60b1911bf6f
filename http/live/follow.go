package live

import (
	"bytes"
	"context"
	"encoding/json"
	"net"

	"dialler/engine"
	"dialler/http/wire"
)

// Followed is a short-lived subject that one client follows: its stream polls for itself.
type Followed struct {
	Event string // name of the event with its state
	Now   any    // as it stands
	Over  bool   // nothing more comes
	// Look queries its state. NotFound ends the stream.
	Look func(ctx context.Context) (now any, over bool, err error)
}

// Follow streams a subject's progress: its current state, each change, and an end once it is over.
func (f *Feeds) Follow(r *wire.Request, what Followed) error {
	st := stream{feeds: f, who: r.Subject(), allowed: f.gate.StillAllowed(r)}
	if err := f.hold(st.who); err != nil {
		return err
	}
	st.begin(r, func(ctx context.Context, conn net.Conn) { what.run(ctx, conn, &st) })
	return nil
}

func (w *Followed) run(ctx context.Context, conn net.Conn, st *stream) {
	f := st.feeds
	ctx, stopReading := st.whileRead(ctx, conn)
	defer stopReading()
	if st.write(ctx, conn, st.head, []byte(streamRetry)) != nil {
		return
	}
	var shown []byte
	failed := 0
	beat, stopBeat := f.After(f.Heartbeat)
	defer func() { stopBeat() }()
	for {
		now, err := json.Marshal(w.Now)
		if err != nil {
			return
		}
		if !bytes.Equal(now, shown) {
			if st.write(ctx, conn, []byte("event: "+w.Event+"\ndata: "), now, []byte("\n\n")) != nil {
				return
			}
			shown = now
		}
		if w.Over {
			_ = st.write(ctx, conn, []byte("event: end\ndata: {}\n\n"))
			return
		}
		tick, stop := f.After(f.Interval)
		select {
		case <-ctx.Done():
			stop()
			return
		case <-beat: // however much changes meanwhile
			stop()
			if st.revoked(ctx) || st.write(ctx, conn, []byte(streamBeat)) != nil {
				return
			}
			beat, stopBeat = f.After(f.Heartbeat)
			continue
		case <-tick:
		}
		if failed = w.lookAgain(ctx, failed); failed >= looksFailed {
			return
		}
	}
}

// lookAgain queries the state, and counts consecutive failures.
func (w *Followed) lookAgain(ctx context.Context, failed int) int {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	now, over, err := w.Look(ctx)
	switch {
	case err == nil:
		w.Now, w.Over = now, over
		return 0
	case wire.AsError(err).Kind == engine.KindNotFound:
		return looksFailed
	}
	return failed + 1
}
