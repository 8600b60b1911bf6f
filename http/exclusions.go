package http

import (
	"context"
	"errors"
	"io"
	nethttp "net/http"
	"strconv"
	"sync"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contactlist"
	"dialler/engine/journal"
)

// A campaign's exclusions (SEMANTICS §3): whom it leaves alone. External systems
// exclude by POST /contacts/exclude, which has the same words.

// excludedAtOnce is how many numbers of a file are excluded at the same time:
// their commits and look-ups go together.
const excludedAtOnce = 128

type exclusionView struct {
	Mobile    string            `json:"mobile,omitempty"`
	Match     map[string]string `json:"match,omitempty"`
	Reason    string            `json:"reason"`
	CreatedAt string            `json:"created_at"`
}

type exclusionList struct {
	Exclusions []exclusionView `json:"exclusions"`
	Page       int             `json:"page"`
	PageSize   int             `json:"page_size"`
	Total      int             `json:"total"`
}

type excludedFile struct {
	campaign.ExcludeReply
	Rows     int                    `json:"rows"`
	Invalid  int                    `json:"invalid"`
	Rejected []campaign.RejectedRow `json:"rejected"` // the first of the invalid ones
}

func (s *Server) listExclusions(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	var n engine.PhoneNumber
	number, size, _, err := r.pageOf(nil, func(key, val string, errs *fieldErrors) bool {
		if key == "number" {
			n = form{errs: errs}.parsePhone(key, val)
		}
		return key == "number"
	})
	if err != nil {
		return err
	}
	list, total, err := s.Campaigns.ListExclusions(r.ctx(), id, n, campaign.Page{Number: number, Size: size})
	if err == nil && total == 0 {
		_, err = s.Campaigns.Detail(r.ctx(), id)
	}
	if err != nil {
		return err
	}
	out := exclusionList{Exclusions: make([]exclusionView, len(list)), Page: number, PageSize: size, Total: total}
	for i := range list {
		out.Exclusions[i] = viewExclusion(&list[i])
	}
	return r.reply(nethttp.StatusOK, out)
}

func viewExclusion(x *journal.Exclusion) exclusionView {
	return exclusionView{Mobile: x.Number.E164(), Match: x.Match, Reason: x.Reason, CreatedAt: x.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00")}
}

// addExclusion is exclude for operators.
func (s *Server) addExclusion(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	f, err := r.body()
	if err != nil {
		return err
	}
	cmd := campaign.Exclude{Campaign: id, Reason: f.text("reason", optional, exclusionReasonCap), Who: r.who(), Deadline: r.deadline()}
	cmd.Number, cmd.Match = f.selector()
	f.done()
	if err := f.errs.err(); err != nil {
		return err
	}
	reply, err := s.Campaigns.Exclude(r.ctx(), cmd)
	if err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, reply)
}

// liftExclusion takes one back. The selector is in the body: a path would bring the
// number into logs.
func (s *Server) liftExclusion(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	f, err := r.body()
	if err != nil {
		return err
	}
	cmd := campaign.Lift{Campaign: id, Who: r.who(), Deadline: r.deadline()}
	cmd.Number, cmd.Match = f.selector()
	f.done()
	if err := f.errs.err(); err != nil {
		return err
	}
	reply, err := s.Campaigns.Lift(r.ctx(), cmd)
	if err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, reply)
}

// importExclusions reads a file with a column phone_number and excludes its
// numbers as they come in: a file that breaks off has excluded what was read, and
// sending it again is harmless.
func (s *Server) importExclusions(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	reason, err := r.fileReason(exclusionReasonCap)
	if err != nil {
		return err
	}
	if err := r.wantCSV(); err != nil {
		return err
	}
	if _, err := s.Campaigns.Detail(r.ctx(), id); err != nil {
		return err // before the file is sent
	}
	file, err := r.upload(s.ImportBodyCap)
	if err != nil {
		return err
	}
	out := excludedFile{Rejected: []campaign.RejectedRow{}}
	chunk := make([]engine.PhoneNumber, 0, excludedAtOnce)
	in := contactlist.NewReader(file)
	for {
		row, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		out.Rows++
		if row.Reason != "" {
			out.Invalid++
			if len(out.Rejected) < rejectedSample {
				out.Rejected = append(out.Rejected, campaign.RejectedRow{Line: row.Line, Number: row.Given, Reason: row.Reason, Message: row.Message})
			}
			continue
		}
		if chunk = append(chunk, row.Number); len(chunk) == cap(chunk) {
			if err := s.excludeAll(campaign.Exclude{Campaign: id, Reason: reasonOr(reason, "import"), Who: r.who()}, chunk, &out.ExcludeReply); err != nil {
				return err
			}
			chunk = chunk[:0]
		}
	}
	if err := s.excludeAll(campaign.Exclude{Campaign: id, Reason: reasonOr(reason, "import"), Who: r.who()}, chunk, &out.ExcludeReply); err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, out)
}

// excludeAll excludes numbers at the same time and adds up what became of them.
func (s *Server) excludeAll(cmd campaign.Exclude, numbers []engine.PhoneNumber, sum *campaign.ExcludeReply) error {
	ctx, cancel := context.WithTimeout(s.closing, s.CommandTimeout)
	defer cancel()
	cmd.Deadline = s.Now().Add(s.CommandTimeout)
	var wg sync.WaitGroup
	replies, errs := make([]campaign.ExcludeReply, len(numbers)), make([]error, len(numbers))
	for i, n := range numbers {
		one := cmd
		one.Number = n
		wg.Go(func() { replies[i], errs[i] = s.Campaigns.Exclude(ctx, one) })
	}
	wg.Wait()
	for i := range replies {
		sum.Matched += replies[i].Matched
		sum.Excluded += replies[i].Excluded
		sum.CancelledRinging += replies[i].CancelledRinging
		sum.InCall += replies[i].InCall
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// fileReason reads the parameters of a file of numbers: the reason, and nothing
// else.
func (r *request) fileReason(limit int) (string, error) {
	var errs fieldErrors
	reason := string(r.rc.QueryArgs().Peek("reason"))
	switch {
	case len(reason) > limit:
		errs.add("reason", "too_long", "must have at most "+strconv.Itoa(limit)+" bytes")
	case !printable(reason):
		errs.add("reason", "invalid_format", "must be printable text in UTF-8")
	}
	for k := range r.rc.QueryArgs().All() {
		if string(k) != "reason" {
			errs.add(clipName(string(k)), "unknown_field", "is not a parameter of this request")
		}
	}
	return reason, errs.err()
}
