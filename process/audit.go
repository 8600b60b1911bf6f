package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"dialler/engine"
	"dialler/engine/seal"
	"dialler/persistence"
	"dialler/persistence/history"
)

func auditText(out io.Writer, a *history.Audit) {
	name := string(a.Campaign)
	if name == "" {
		name = "of no campaign"
	}
	for _, h := range a.Heads {
		_, _ = fmt.Fprintf(out, "%s run %d: %d batches, head %s\n", name, h.Run, h.Batch, h.Hash)
	}
	if a.Unchained > 0 {
		_, _ = fmt.Fprintf(out, "%s: %d events are older than the chain\n", name, a.Unchained)
	}
	for _, run := range a.Unsigned {
		_, _ = fmt.Fprintf(out, "%s run %d: what was kept of it is older than signatures, nothing vouches for it\n", name,
			run)
	}
	for _, r := range a.Runs {
		for _, x := range r.Differences {
			_, _ = fmt.Fprintf(out, "%s run %d: DIFFERS: %s: events %s, tables %s\n", name, r.Run, x.Figure, x.A, x.B)
		}
	}
	for _, f := range a.Findings {
		_, _ = fmt.Fprintf(out, "%s DIFFERS: %s\n", name, f)
	}
	if a.More {
		_, _ = fmt.Fprintf(out, "%s: there are more than these\n", name)
	}
}

// Audit prints the differences found in a campaign or, when id is "", in all of them and in events
// of none: as lines of text or as one JSON object each.
func Audit(ctx context.Context, s *persistence.Store, id engine.CampaignID, out io.Writer, asJSON bool,
	trusted ...seal.Public) (err error) {
	ids := []engine.CampaignID{id}
	if id == "" {
		if ids, err = s.Records.Campaigns(ctx); err != nil {
			return err
		}
	}
	events, wrong := 0, 0
	add := func(a history.Audit) {
		events += a.Events
		wrong += a.Wrong()
		if asJSON {
			_ = json.NewEncoder(out).Encode(&a) // contains nothing that JSON cannot represent
		} else {
			auditText(out, &a)
		}
	}
	for _, id := range ids {
		a, err := s.Records.Audit(ctx, id, trusted...)
		if err != nil {
			return fmt.Errorf("campaign %s: %w", id, err)
		}
		add(a)
	}
	if id == "" {
		a, err := s.Records.AuditLoose(ctx, trusted...)
		if err != nil {
			return err
		}
		add(a)
	}
	if wrong > 0 {
		return fmt.Errorf("%d figures or rows of %d campaigns do not match the events, or have changed since they were "+
			"written",
			wrong, len(ids))
	}
	if !asJSON {
		_, _ = fmt.Fprintf(out, "%d campaigns, %d events: the tables say the same, and the chains are whole\n", len(ids),
			events)
	}
	return nil
}
