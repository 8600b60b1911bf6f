package carrier

import (
	"net/http"

	"dialler/bench/admin"
)

// routes is the HTTP interface of a carrier that runs as a process:
//
//	GET  /ledger      every row; ?number= and ?call_id= narrow it
//	GET  /live        rows of calls that may occupy a phone now
//	GET  /summary     counts, with strays
//	GET  /overlaps    pairs of calls to one number that overlap
//	GET  /duplicates  Call-IDs that were dialled twice
//	POST /config      Config in JSON, for the calls to come
//	POST /answer      ?call_id=: the callee of a ringing call picks up now
//	POST /hangup      ?call_id=: the callee hangs up now
func (c *Carrier) routes() http.Handler {
	mux := http.NewServeMux()
	l := c.Ledger()
	mux.HandleFunc("GET /ledger", func(w http.ResponseWriter, r *http.Request) {
		number, id := phoneNumber([]byte(r.FormValue("number")), c.cfg.CountryCode), r.FormValue("call_id")
		out := Rows{}
		for _, row := range l.Calls() {
			if (number == "" || row.Number == number) && (id == "" || row.CallID == id) {
				out = append(out, row)
			}
		}
		admin.Write(w, out)
	})
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) {
		admin.Write(w, append(Rows{}, l.Live()...)) // never null
	})
	mux.HandleFunc("GET /summary", func(w http.ResponseWriter, _ *http.Request) {
		admin.Write(w, struct {
			Summary
			Stray map[string]int `json:"stray"`
		}{l.Summary(), l.Stray()})
	})
	mux.HandleFunc("GET /overlaps", func(w http.ResponseWriter, _ *http.Request) {
		admin.Write(w, append([]Overlap{}, l.Overlaps()...))
	})
	mux.HandleFunc("GET /duplicates", func(w http.ResponseWriter, _ *http.Request) {
		admin.Write(w, append([]Duplicate{}, l.DuplicateInvites()...))
	})
	mux.HandleFunc("POST /config", admin.Configure(c.Configure))
	steer := func(path, otherwise string, do func(callID string) bool) {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			if !do(r.FormValue("call_id")) {
				http.Error(w, otherwise, http.StatusNotFound)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		})
	}
	steer("/answer", "no such call is ringing", c.Answer)
	steer("/hangup", "no such call is answered", c.HangUp)
	return mux
}
