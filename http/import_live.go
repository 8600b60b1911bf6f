package http

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/wire"
)

// watchImport streams how an import comes on: it as it stands, again whenever
// that changes, and an end once it has come to its own. Imports are few and
// short: each stream looks for itself.
func (s *contactsAPI) watchImport(r *wire.Request) error {
	imp, err := s.importOf(r)
	if err != nil {
		return err
	}
	if err := r.NoQuery(); err != nil {
		return err
	}
	w := &importWatch{server: s, imp: imp, st: stream{feeds: s.feeds, who: r.Subject(), allowed: s.gate.StillAllowed(r)}}
	if err := s.feeds.hold(w.st.who); err != nil {
		return err
	}
	w.st.begin(r, w.run)
	return nil
}

type importWatch struct {
	server *contactsAPI
	st     stream
	imp    campaign.Import
}

func (w *importWatch) run(ctx context.Context, conn net.Conn) {
	s := w.server
	ctx, stopReading := w.st.whileRead(ctx, conn)
	defer stopReading()
	if w.st.write(ctx, conn, w.st.head, []byte(streamRetry)) != nil {
		return
	}
	var shown []byte
	quiet, failed := time.Duration(0), 0
	for {
		now, err := json.Marshal(&w.imp)
		if err != nil {
			return
		}
		if !bytes.Equal(now, shown) {
			if w.st.write(ctx, conn, []byte("event: import\ndata: "), now, []byte("\n\n")) != nil {
				return
			}
			shown, quiet = now, 0
		}
		if !w.imp.Open() {
			_ = w.st.write(ctx, conn, []byte("event: end\ndata: {}\n\n"))
			return
		}
		tick, stop := s.feeds.after(s.feeds.interval)
		select {
		case <-ctx.Done():
			stop()
			return
		case <-tick:
		}
		if quiet += s.feeds.interval; quiet >= s.feeds.heartbeat {
			if w.st.revoked(ctx) || w.st.write(ctx, conn, []byte(streamBeat)) != nil {
				return
			}
			quiet = 0
		}
		if failed = w.look(ctx, failed); failed >= looksFailed {
			return
		}
	}
}

// look asks how the import stands, and counts how often that failed in a row.
func (w *importWatch) look(ctx context.Context, failed int) int {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	imp, err := w.server.Imports.ImportByID(ctx, w.imp.ID)
	switch {
	case err == nil:
		w.imp = imp
		return 0
	case engine.ErrorCode(err) == errNoImport.Code:
		return looksFailed
	}
	return failed + 1
}
