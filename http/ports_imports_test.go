package http

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/campaign"
)

// importedFile is a file as it was received.
type importedFile struct {
	cmd  campaign.ImportContacts
	text string
	err  error
}

const theImport = engine.ImportID("0198c5a1b2c3d4e5f60718293a4b5c6d")

func anImport(c campaign.ImportContacts) campaign.Import {
	return campaign.Import{ID: theImport, Campaign: c.Campaign, State: campaign.ImportActive, Filename: c.Filename,
		Rows: 3, Added: 1, Invalid: 1, Duplicate: 1,
		CreatedAt: testAt, CreatedBy: c.Who, FinishedAt: &testAt}
}

// Import reads to the end, or to an error, as the campaign tree does.
func (p *ports) Import(ctx context.Context, c campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	p.mu.Lock()
	hook, fail := p.onImport, p.fail
	p.mu.Unlock()
	if hook != nil {
		return hook(ctx, c, file)
	}
	if fail != nil {
		return campaign.Import{}, fail
	}
	if err := asText(c.Filename); err != nil {
		return campaign.Import{}, err
	}
	text, err := io.ReadAll(file)
	defer p.lock()()
	p.imports = append(p.imports, importedFile{c, string(text), err})
	return anImport(c), err
}

func (p *ports) ImportByRequest(_ context.Context, id engine.CampaignID, request engine.Idempotency) (campaign.Import,
	bool, error) {
	defer p.lock()()
	for _, imp := range p.requested {
		if imp.Campaign == id && imp.Idempotency.Key == request.Key && imp.Idempotency.Token == request.Token &&
			imp.State != campaign.ImportFailed {
			return imp, true, p.fail
		}
	}
	return campaign.Import{}, false, p.fail
}

func (p *ports) CancelImport(_ context.Context, id engine.ImportID) (campaign.Import, error) {
	defer p.lock()()
	p.cancelled = append(p.cancelled, id)
	if p.cancelledAs.State != "" {
		return p.cancelledAs, p.fail
	}
	return anImport(campaign.ImportContacts{Campaign: "cmp_1"}), p.fail
}

func (p *ports) Imports(_ context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.Import, int, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	if id != "cmp_1" {
		return nil, 0, p.fail
	}
	if p.listed != nil {
		return p.listed, len(p.listed), p.fail
	}
	failed := anImport(campaign.ImportContacts{Campaign: id})
	failed.State, failed.Problem, failed.FinishedAt = campaign.ImportFailed, &campaign.ImportProblem{Code: "interrupted",
		Detail: "it was"}, nil
	return []campaign.Import{anImport(campaign.ImportContacts{Campaign: id, Filename: "f.csv"}), failed}, 2, p.fail
}

func (p *ports) ImportByID(_ context.Context, id engine.ImportID) (campaign.Import, error) {
	defer p.lock()()
	if id != theImport {
		return campaign.Import{}, notFound("import_not_found")
	}
	if p.theImport != nil {
		return p.theImport(), p.fail
	}
	return anImport(campaign.ImportContacts{Campaign: "cmp_1"}), p.fail
}

func (p *ports) UndoPreview(_ context.Context, _ engine.CampaignID, _ engine.ImportID) (campaign.UndoCounts, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.undoCounts, p.undoErr
}

func (p *ports) UndoImport(_ context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undone = append(p.undone, cmd)
	return campaign.ImportUndo{State: p.undoState, UndoCounts: p.undoCounts, CreatedAt: testAt, CreatedBy: cmd.Who},
		p.undoErr
}

func (p *ports) RejectedRows(_ context.Context, _ engine.ImportID, page campaign.Page) ([]campaign.RejectedRow, int,
	error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	return rejectedRows, 2, p.fail
}

var rejectedRows = []campaign.RejectedRow{{Line: 17, Number: "0151", Reason: "invalid_number", Message: "m"},
	{Line: 19, Number: mobile, Reason: "duplicate", Message: "m"}}

func (p *ports) RejectedAfter(_ context.Context, _ engine.ImportID, line int, whole bool) ([]campaign.RejectedRow,
	error) {
	defer p.lock()()
	list, err := rejectedRows, p.fail
	if p.onRejected != nil {
		list, err = p.onRejected(line)
	}
	var out []campaign.RejectedRow
	for _, r := range list {
		if !whole {
			r.Record = ""
		}
		if r.Line > line && len(out) < 1000 {
			out = append(out, r)
		}
	}
	return out, err
}
