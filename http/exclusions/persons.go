package exclusions

import (
	nethttp "net/http"
	"strconv"

	"dialler/http/form"
	"dialler/http/wire"
)

// erased is the response to the erasure of a person.
type erased struct {
	Contacts   int     `json:"contacts"`
	Attempts   int     `json:"attempts"`
	Recordings int     `json:"recordings"`
	Suppressed bool    `json:"suppressed"`
	RestsUntil *string `json:"rests_until"`
}

// ErasePerson erases a person from everything that is stored. A repeated request finds nothing
// more.
func (s *API) ErasePerson(r *wire.Request) error {
	f := form.Form{Errs: &form.Errors{}}
	n := f.ParsePhone("number", r.Param("number"))
	var suppress *bool
	if q := r.HTTP.QueryArgs(); q.Has("suppress") {
		v, err := strconv.ParseBool(string(q.Peek("suppress")))
		if err != nil {
			f.Fail("suppress", "invalid", "must be true or false")
		}
		suppress = &v
		q.Del("suppress")
	}
	for k := range r.HTTP.QueryArgs().All() {
		f.Errs.UnknownParameter(string(k))
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	done, err := s.Persons.ErasePerson(r.Ctx(), n, suppress, r.Who())
	if err != nil {
		return err
	}
	out := erased{Contacts: done.Contacts, Attempts: done.Attempts, Recordings: done.Recordings,
		Suppressed: done.Suppressed}
	if done.RestsUntil != nil {
		at := done.RestsUntil.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		out.RestsUntil = &at
	}
	return r.Reply(nethttp.StatusOK, out)
}
