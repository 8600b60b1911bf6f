package exclusions

import (
	nethttp "net/http"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http/form"
	"dialler/http/wire"
)

// The suppression list (SEMANTICS §3): numbers that the whole installation never calls. Once the
// request is answered, no call to them begins; ringing ones are cancelled, live conversations go
// on. If a node does not confirm, the response is a 503, and the client retries.

const (
	maxSuppressionsPerRequest = 1000
	suppressionReasonCap      = 200
)

type suppressionView struct {
	Number    string `json:"number"`
	Reason    string `json:"reason"`
	CreatedAt string `json:"created_at"`
}

type suppressionList struct {
	Suppressions []suppressionView `json:"suppressions"`
	Page         int               `json:"page"`
	PageSize     int               `json:"page_size"`
	Total        int               `json:"total"`
}

type suppressed struct {
	Added int `json:"added"`
	Known int `json:"known"` // already on the list, or repeated in the request
}

type suppressedFile struct {
	numbersFile
	suppressed
}

func (s *API) ListSuppressions(r *wire.Request) error {
	var errs form.Errors
	f := form.Form{Errs: &errs}
	var n engine.PhoneNumber
	q := r.HTTP.QueryArgs()
	if q.Has("number") {
		n = f.ParsePhone("number", string(q.Peek("number")))
		q.Del("number")
	}
	number, size, _, err := r.Page(nil)
	if len(errs.List) > 0 {
		errs.Merge(err)
		err = errs.Err()
	}
	if err != nil {
		return err
	}
	list, total, err := s.Suppressions.Suppressions(r.Ctx(), n, campaign.Page{Number: number, Size: size})
	if err != nil {
		return err
	}
	out := suppressionList{Suppressions: make([]suppressionView, len(list)), Page: number, PageSize: size, Total: total}
	for i := range list {
		out.Suppressions[i] = viewSuppression(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

func viewSuppression(x *journal.Suppression) suppressionView {
	return suppressionView{Number: x.Number.E164(), Reason: x.Reason,
		CreatedAt: x.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00")}
}

// Suppress accepts one number or a list. An error in one refuses the whole list.
func (s *API) Suppress(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	one := f.Phone("number")
	list := f.Phones("numbers", maxSuppressionsPerRequest)
	reason := f.Text("reason", form.Optional, suppressionReasonCap)
	switch {
	case f.Has("number") == f.Has("numbers"):
		f.Fail("numbers", "exactly_one", "send exactly one of number and numbers")
	case f.Has("number"):
		list = []engine.PhoneNumber{one}
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	added, err := s.Suppressions.Suppress(r.Ctx(), list, reasonOr(reason, "manual"), r.Who())
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, suppressed{Added: added, Known: len(list) - added})
}

func reasonOr(given, otherwise string) string {
	if given == "" {
		return otherwise
	}
	return given
}

func (s *API) LiftSuppression(r *wire.Request) error {
	f := form.Form{Errs: &form.Errors{}}
	n := f.ParsePhone("number", r.Param("number"))
	if err := f.Errs.Err(); err != nil {
		return err
	}
	found, err := s.Suppressions.Unsuppress(r.Ctx(), n, r.Who())
	if err != nil {
		return err
	}
	if !found {
		return engine.NotFound("suppression_not_found", "")
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

// ImportSuppressions reads a file with a column phone_number and adds its numbers to the list as
// they come in: after an interruption the numbers read so far are suppressed, and sending the file
// again is harmless.
func (s *API) ImportSuppressions(r *wire.Request) error {
	reason, err := fileReason(r, suppressionReasonCap)
	if err != nil {
		return err
	}
	if err := r.WantCSV(); err != nil {
		return err
	}
	file, err := r.Upload(s.bodyCap)
	if err != nil {
		return err
	}
	var out suppressedFile
	out.numbersFile, err = readNumbers(file, maxSuppressionsPerRequest, func(numbers []engine.PhoneNumber) error {
		added, err := s.Suppressions.Suppress(s.Closing, numbers, reasonOr(reason, "import"), r.Who())
		out.Added += added
		out.Known += len(numbers) - added
		return err
	})
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, out)
}
