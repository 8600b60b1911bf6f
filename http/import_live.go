package http

import (
	"bytes"
	"context"
	"encoding/json"
	"net"

	"dialler/http/form"

	nethttp "net/http"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// watchImport streams how an import comes on: it as it stands, again whenever
// that changes, and an end once it has come to its own. Imports are few and
// short: each stream looks for itself.
func (s *Server) watchImport(r *request) error {
	imp, err := r.importOf()
	if err != nil {
		return err
	}
	var errs form.Errors
	for k := range r.rc.QueryArgs().All() {
		errs.Add(form.ClipName(string(k)), "unknown_field", "is not a parameter of this request")
	}
	if err := errs.Err(); err != nil {
		return err
	}
	w := &importWatch{server: s, imp: imp, st: stream{server: s, who: r.subject(), allowed: r.stillAllowed()}}
	if err := s.feeds.hold(w.st.who); err != nil {
		return err
	}
	r.send(nethttp.StatusOK, contentEvents, nil)
	h := &r.rc.Response.Header
	h.Set("X-Accel-Buffering", "no") // proxies must not collect events
	h.SetConnectionClose()
	w.st.head = h.AppendBytes(nil)
	r.atLeisure(func() { s.feeds.release(w.st.who) }, w.run)
	return nil
}

type importWatch struct {
	server *Server
	st     stream
	imp    campaign.Import
}

func (w *importWatch) run(ctx context.Context, conn net.Conn) {
	s := w.server
	s.metrics.streams.Inc()
	defer s.metrics.streams.Dec()
	ctx, cancel := context.WithCancel(ctx)
	unread := make(chan struct{})
	go func() { // only a read notices that the client went
		defer close(unread)
		defer cancel()
		var b [1]byte
		_, _ = conn.Read(b[:])
	}()
	defer func() {
		cancel()
		_ = conn.SetReadDeadline(past)
		<-unread
	}()
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
