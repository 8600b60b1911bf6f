package exclusions

import (
	"context"
	"encoding/json"
	"errors"
	nethttp "net/http"
	"sync"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http/download"
	"dialler/http/form"
	"dialler/http/idempotency"
	"dialler/http/wire"
)

// A campaign's exclusions (SEMANTICS §3): the contacts it leaves alone. External systems exclude by
// POST /contacts/exclude, which has the same fields.

// excludedAtOnce is how many numbers of a file are excluded concurrently, so that their commits and
// look-ups are batched.
const excludedAtOnce = 128

// API serves exclusions, suppressions and the erasure of people.
type API struct {
	*wire.Host
	replays *idempotency.Replays
	files   *download.Files
	Ports
	bodyCap int64 // of a file
}

// Ports are what the API needs from the rest of the dialler.
type Ports struct {
	Campaigns    Campaigns
	Suppressions Suppressions
	Persons      Persons
}

// New makes the API.
func New(h *wire.Host, kept *idempotency.Replays, f *download.Files, p Ports, bodyCap int64) *API {
	return &API{Host: h, replays: kept, files: f, Ports: p, bodyCap: bodyCap}
}

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
	numbersFile
}

func (s *API) List(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	var n engine.PhoneNumber
	number, size, _, err := r.PageOf(nil, func(key, val string, errs *form.Errors) bool {
		if key == "number" {
			n = form.Form{Errs: errs}.ParsePhone(key, val)
		}
		return key == "number"
	})
	if err != nil {
		return err
	}
	list, total, err := s.Campaigns.ListExclusions(r.Ctx(), id, n, campaign.Page{Number: number, Size: size})
	if err == nil && total == 0 {
		_, err = s.Campaigns.Detail(r.Ctx(), id)
	}
	if err != nil {
		return err
	}
	out := exclusionList{Exclusions: make([]exclusionView, len(list)), Page: number, PageSize: size, Total: total}
	for i := range list {
		out.Exclusions[i] = viewExclusion(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

func viewExclusion(x *journal.Exclusion) exclusionView {
	return exclusionView{Mobile: x.Number.E164(), Match: x.Match, Reason: x.Reason,
		CreatedAt: x.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00")}
}

// readExclusion reads the subject of a campaign's request, and the reason if one is expected.
func readExclusion(r *wire.Request, id *engine.CampaignID, n *engine.PhoneNumber, match *map[string]string,
	reason *string) (err error) {
	if *id, err = r.CampaignOf(); err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	if reason != nil {
		*reason = f.Text("reason", form.Optional, exclusionReasonCap)
	}
	*n, *match = exclusionSelector(f)
	f.Done()
	return f.Errs.Err()
}

// Add is exclude for operators.
func (s *API) Add(r *wire.Request) error {
	cmd := campaign.Exclude{Who: r.Who(), Deadline: r.Deadline()}
	err := readExclusion(r, &cmd.Campaign, &cmd.Number, &cmd.Match, &cmd.Reason)
	if err != nil {
		return err
	}
	reply, err := s.Campaigns.Exclude(r.Ctx(), cmd)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, reply)
}

// Lift lifts an exclusion. The selector is in the body, because a path would put the number into
// logs.
func (s *API) Lift(r *wire.Request) error {
	cmd := campaign.Lift{Who: r.Who(), Deadline: r.Deadline()}
	err := readExclusion(r, &cmd.Campaign, &cmd.Number, &cmd.Match, nil)
	if err != nil {
		return err
	}
	reply, err := s.Campaigns.Lift(r.Ctx(), cmd)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, reply)
}

// Import reads a file with a column phone_number and excludes its numbers as they come in: after an
// interruption the numbers read so far are excluded, and sending the file again is harmless.
func (s *API) Import(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	reason, err := fileReason(r, exclusionReasonCap)
	if err != nil {
		return err
	}
	if err := r.WantCSV(); err != nil {
		return err
	}
	if _, err := s.Campaigns.Detail(r.Ctx(), id); err != nil {
		return err // before the file is sent
	}
	file, err := r.Upload(s.bodyCap)
	if err != nil {
		return err
	}
	var out excludedFile
	cmd := campaign.Exclude{Campaign: id, Reason: reasonOr(reason, "import"), Who: r.Who()}
	excluded := 0
	out.numbersFile, err = readNumbers(file, excludedAtOnce, func(numbers []engine.PhoneNumber) error {
		err := s.excludeAll(cmd, numbers, &out.ExcludeReply)
		if err == nil {
			excluded += len(numbers)
		}
		return err
	})
	if excluded > 0 { // even after an interruption
		err = errors.Join(err, s.noteExclusions(campaign.ExclusionsImported{Campaign: id, Numbers: excluded,
			Reason: cmd.Reason, Who: cmd.Who}))
	}
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *API) noteExclusions(cmd campaign.ExclusionsImported) error {
	ctx, cancel := context.WithTimeout(s.Closing, s.CommandTimeout)
	defer cancel()
	cmd.Deadline = s.Now().Add(s.CommandTimeout)
	return s.Campaigns.ExclusionsImported(ctx, cmd)
}

// excludeAll excludes numbers concurrently and adds up the results.
func (s *API) excludeAll(cmd campaign.Exclude, numbers []engine.PhoneNumber, sum *campaign.ExcludeReply) error {
	ctx, cancel := context.WithTimeout(s.Closing, s.CommandTimeout)
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

// exclusionsPart is how many exclusions are read at a time.
const exclusionsPart = 1000

// exclusionsFileColumns are the columns of the file of exclusions.
var exclusionsFileColumns = []string{"phone_number", "match", "reason", "created_at"}

// SendFile sends all exclusions as CSV.
func (s *API) SendFile(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	if err := r.NoQuery(); err != nil {
		return err
	}
	if _, err := s.Campaigns.Detail(r.Ctx(), id); err != nil {
		return err
	}
	var last journal.Exclusion
	return download.SendSheet(s.files, r, &download.Sheet{Campaign: id, Columns: exclusionsFileColumns},
		"exclusions-"+string(id)+".csv",
		func(ctx context.Context) ([]journal.Exclusion, error) {
			list, err := s.Campaigns.ExclusionsAfter(ctx, id, last, exclusionsPart)
			if len(list) > 0 {
				last = list[len(list)-1]
			}
			return list, err
		}, func(x *journal.Exclusion) []string {
			match := ""
			if len(x.Match) > 0 {
				text, _ := json.Marshal(x.Match) // of texts
				match = string(text)
			}
			return []string{x.Number.E164(), match, engine.SpreadsheetText(x.Reason), download.Time(&x.CreatedAt)}
		})
}
