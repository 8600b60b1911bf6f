package carrier

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// admin is the HTTP interface of a carrier that runs as a process:
//
//	GET  /ledger      every row; ?number= and ?call_id= narrow it
//	GET  /live        rows of calls that may occupy a phone now
//	GET  /summary     counts, with strays
//	GET  /overlaps    pairs of calls to one number that overlap
//	GET  /duplicates  Call-IDs that were dialled twice
//	POST /config      Config in JSON, for the calls to come
//	POST /hangup      ?call_id=: the callee hangs up now
type admin struct {
	addr   string
	server *http.Server
	done   chan struct{}
}

const maxConfig = 64 << 20 // a script may name a million numbers

func startAdmin(c *Carrier, listen string, remoteOK bool) (*admin, error) {
	at, err := netip.ParseAddrPort(listen)
	if err != nil {
		return nil, fmt.Errorf("carrier: http %q: give a literal IP address and a port", listen)
	}
	if !at.Addr().IsLoopback() && !remoteOK {
		return nil, fmt.Errorf("carrier: http %q is not a loopback address; set allow_remote if that is wanted", listen)
	}
	ln, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("carrier: %w", err)
	}
	mux := http.NewServeMux()
	l := c.Ledger()
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, r *http.Request) {
		number, id := phoneNumber([]byte(r.FormValue("number"))), r.FormValue("call_id")
		out := Rows{}
		for _, row := range l.Calls() {
			if (number == "" || row.Number.E164() == number) && (id == "" || row.CallID == id) {
				out = append(out, row)
			}
		}
		writeJSON(w, out)
	})
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, append(Rows{}, l.Live()...)) })
	mux.HandleFunc("GET /summary", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, struct {
			Summary
			Stray map[string]int `json:"stray"`
		}{l.Summary(), l.Stray()})
	})
	mux.HandleFunc("GET /overlaps", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, append([]Overlap{}, l.Overlaps()...))
	})
	mux.HandleFunc("GET /duplicates", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, append([]Duplicate{}, l.DuplicateInvites()...))
	})
	mux.HandleFunc("POST /config", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxConfig))
		var cfg Config
		if err == nil {
			err = json.Unmarshal(body, &cfg)
		}
		if err == nil {
			err = c.Configure(cfg)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /hangup", func(w http.ResponseWriter, r *http.Request) {
		if !c.HangUp(r.FormValue("call_id")) {
			http.Error(w, "no such call is answered", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	a := &admin{
		addr: ln.Addr().String(), done: make(chan struct{}),
		server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
	}
	go func() {
		defer close(a.done)
		if err := a.server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			c.cfg.Log.Error().Err(err).Msg("admin interface ended")
		}
	}()
	return a, nil
}

func (a *admin) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if a.server.Shutdown(ctx) != nil {
		_ = a.server.Close()
	}
	<-a.done
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone when this fails
}
