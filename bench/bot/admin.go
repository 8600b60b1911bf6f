package bot

import (
	"net/http"

	"dialler/bench/admin"
	"dialler/engine"
)

// routes is the HTTP interface of a bot that runs as a process:
//
//	GET  /sessions  every session; ?call_id= and ?open=1 narrow it
//	GET  /summary   counts
//	POST /config    Config in JSON, for the sessions to come
//	POST /hangup    ?call_id=: the bot closes that session now
func (b *Bot) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions", func(w http.ResponseWriter, r *http.Request) {
		id, open := engine.CallID(r.FormValue("call_id")), r.FormValue("open") != ""
		out := []Session{}
		for _, s := range b.Sessions() {
			if (id == "" || s.CallID == id) && (!open || s.EndedAt.IsZero()) {
				out = append(out, s)
			}
		}
		admin.Write(w, out)
	})
	mux.HandleFunc("GET /summary", func(w http.ResponseWriter, _ *http.Request) { admin.Write(w, b.Summary()) })
	mux.HandleFunc("POST /config", admin.Configure(b.Configure))
	mux.HandleFunc("POST /hangup", func(w http.ResponseWriter, r *http.Request) {
		if !b.HangUp(engine.CallID(r.FormValue("call_id"))) {
			http.Error(w, "no such session is open", http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}
