package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"
)

// maxBody bounds a posted configuration: a script may contain a million numbers.
const maxBody = 256 << 20

// Server serves until Close.
type Server struct {
	server *http.Server
	addr   string
	done   chan struct{}
}

// Start serves h on host:port, and Go's profiles below /debug/pprof/, so that the models' cost can
// be told from the dialler's. Addresses other than loopback need allowRemote.
func Start(listen string, allowRemote bool, h http.Handler) (*Server, error) {
	if _, err := Address(listen, allowRemote); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	s := &Server{
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
		addr:   ln.Addr().String(), done: make(chan struct{}),
	}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(ln) // ends with Close
	}()
	return s, nil
}

// Addr returns host:port; empty for a nil Server.
func (s *Server) Addr() string {
	if s == nil {
		return ""
	}
	return s.addr
}

// Close ends the server; requests in progress get a second.
func (s *Server) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	<-s.done
}

// Address parses host:port; load and its control stay on loopback unless the operator allows
// otherwise.
func Address(listen string, allowRemote bool) (netip.AddrPort, error) {
	at, err := netip.ParseAddrPort(listen)
	if err != nil {
		return at, fmt.Errorf("address %q: give a literal IP address and a port, for example 127.0.0.1:5060", listen)
	}
	if !at.Addr().IsLoopback() && !allowRemote {
		return at, fmt.Errorf("address %q is not loopback; set allow_remote if that is wanted", listen)
	}
	return at, nil
}

// Write answers with JSON.
func Write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}

// Configure returns a handler that reads a configuration and applies it: 204, or 422 with the
// reason in plain text.
func Configure[T any](apply func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var cfg T
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil {
			err = json.Unmarshal(body, &cfg)
		}
		var tooBig *http.MaxBytesError
		switch {
		case errors.As(err, &tooBig):
			http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
			return
		case err == nil:
			err = apply(cfg)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}
