package botcheck

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"dialler/engine"
	"dialler/http/calls"
	"dialler/http/wire"
)

// bodyCap bounds what is read of a request.
const bodyCap = 1 << 20

// findingsCap bounds what is told of results: a bot that repeats itself needs no more.
const findingsCap = 32

// results takes the bot's results, on its socket and by HTTP, as the API does.
type results struct {
	call     identity
	listener net.Listener
	first    chan struct{} // closed with the first result

	mu   sync.Mutex
	list []Finding
}

// listen waits for results by HTTP where the bot's host can reach this one. With an error it takes
// only those on the socket.
func listen(call identity, endpoint string) (*results, error) {
	r := &results{call: call, first: make(chan struct{})}
	host, err := localHost(endpoint)
	if err != nil {
		return r, err
	}
	if r.listener, err = net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		return r, err
	}
	s := &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.Serve(r.listener) }() // ends with close
	return r, nil
}

func (r *results) base() string {
	if r.listener == nil {
		return ""
	}
	return "http://" + r.listener.Addr().String()
}

func (r *results) close() {
	if r.listener != nil {
		_ = r.listener.Close()
	}
}

func (r *results) all() []Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Finding(nil), r.list...)
}

func (r *results) add(result bool, level Level, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) < findingsCap {
		r.list = append(r.list, Finding{"result", level, text})
	}
	if result {
		select {
		case <-r.first:
		default:
			close(r.first)
		}
	}
}

// answer is what the API answers a result.
type answer struct {
	Status  string              `json:"status"`
	Call    engine.CallID       `json:"call_id"`
	Unknown []string            `json:"unknown_fields,omitempty"`
	Dropped []string            `json:"dropped_fields,omitempty"`
	Code    string              `json:"code,omitempty"`
	Detail  string              `json:"detail,omitempty"`
	Errors  []engine.FieldError `json:"errors,omitempty"`
}

// take reads a result and notes what is wrong with it.
func (r *results) take(body []byte, way string) answer {
	a := answer{Status: "ok", Call: r.call.id()}
	f, err := wire.ObjectOf(body)
	if err == nil {
		res, rest, wrong := calls.ReadResult(f, time.Now())
		err, a.Unknown, a.Dropped = wrong, rest.Names, rest.Dropped
		if res.Disposition == "" && err == nil {
			r.add(true, LevelWarning, "a result came "+way+" without a disposition: no rule can be made on it")
			return a
		}
	}
	if err != nil {
		e := wire.AsError(err)
		text := "a result came " + way + " that is refused, and lost: " + e.Detail
		for _, wrong := range e.Fields {
			text += "; " + wrong.Field + " " + wrong.Message
		}
		r.add(true, LevelFault, text)
		return answer{Status: "refused", Call: a.Call, Code: e.Code, Detail: e.Detail, Errors: e.Fields}
	}
	text := "a result came " + way
	if len(a.Unknown) > 0 {
		text += "; stored as unknown, perhaps mistyped: " + strings.Join(a.Unknown, ", ")
	}
	if len(a.Dropped) > 0 {
		r.add(true, LevelWarning, text+"; too large to be stored: "+strings.Join(a.Dropped, ", "))
		return a
	}
	r.add(true, LevelOK, text)
	return a
}

func (r *results) onSocket(body []byte) []byte {
	text, _ := json.Marshal(r.take(body, "on the socket")) // strings
	return text
}

func (r *results) serve(w http.ResponseWriter, q *http.Request) {
	reply := func(status int, a answer) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(a)
	}
	switch {
	case q.URL.Path != resultPath(r.call.id()) || q.Method != http.MethodPost:
		r.add(false, LevelOK, "the bot asked for "+q.Method+" "+q.URL.Path+", which only a running dialler answers")
		reply(http.StatusNotFound, answer{Status: "refused", Code: "call_not_found"})
		return
	case q.Header.Get("Authorization") != "Bearer "+r.call.token:
		r.add(true, LevelFault, "a result was posted without the bearer result_token, and is refused with 401")
		reply(http.StatusUnauthorized, answer{Status: "refused", Code: "unauthorized"})
		return
	case !strings.HasPrefix(strings.ToLower(q.Header.Get("Content-Type")), "application/json"):
		r.add(true, LevelFault,
			"a result was posted with another Content-Type than application/json, and is refused with 415")
		reply(http.StatusUnsupportedMediaType, answer{Status: "refused", Code: "unsupported_media_type"})
		return
	}
	body, err := io.ReadAll(io.LimitReader(q.Body, bodyCap))
	if err != nil {
		return // the bot is gone
	}
	a := r.take(body, "by HTTP")
	if a.Status == "ok" {
		reply(http.StatusOK, a)
		return
	}
	reply(http.StatusUnprocessableEntity, a)
}
