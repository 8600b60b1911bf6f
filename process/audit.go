package process

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"dialler/engine"
	"dialler/engine/seal"
	"dialler/engine/spine"
	"dialler/persistence"
	"dialler/persistence/history"
)

func auditText(out io.Writer, a *history.Audit) {
	name := string(a.Campaign)
	if name == "" {
		name = "of no campaign"
	}
	for _, h := range a.Heads {
		of := fmt.Sprintf("%s run %d", name, h.Run)
		if h.Run == 0 {
			of = name + ", of no run"
		}
		_, _ = fmt.Fprintf(out, "%s: %d batches, head %s\n", of, h.Batch, h.Hash)
	}
	if a.Unchained > 0 {
		_, _ = fmt.Fprintf(out, "%s: %d events are older than the chain\n", name, a.Unchained)
	}
	if a.Unattested > 0 {
		_, _ = fmt.Fprintf(out, "%s: %d rows have no digest: they are older than digests, or their events were dropped\n",
			name, a.Unattested)
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

const notCompared = "rows are not compared with their digests: that takes the signing key in force (--signing-key)"

// AuditOf is what Audit compares, and how it says what it found.
type AuditOf struct {
	Campaign engine.CampaignID // "": all, what belongs to none, and the spine
	Seals    []string          // files of seals to compare the spine with
	Out      io.Writer
	JSON     bool // one object a line instead of text
	// Since, unless 0, is how far back: from the last seal before that on.
	Since    time.Duration
	Progress io.Writer // nil: none
}

func (o *AuditOf) print(v any, text func()) {
	if o.JSON {
		_ = json.NewEncoder(o.Out).Encode(v) // contains nothing that JSON cannot represent
		return
	}
	text()
}

func (o *AuditOf) progress(what string) {
	if o.Progress != nil {
		_, _ = fmt.Fprintf(o.Progress, "\r\x1b[K%s", what)
	}
}

// Audit prints the differences found in a campaign, or in all of them, in events of none and in the
// spine.
func Audit(ctx context.Context, s *persistence.Store, o AuditOf, trusted ...seal.Public) (err error) {
	if !s.HasRowKey() {
		o.print(map[string]string{"note": notCompared}, func() { _, _ = fmt.Fprintln(o.Out, notCompared) })
	}
	ids := []engine.CampaignID{o.Campaign}
	if o.Campaign == "" {
		if ids, err = s.Records.Campaigns(ctx); err != nil {
			return err
		}
	}
	defer o.progress("")
	events, wrong, audited := 0, 0, 0
	add := func(a history.Audit) {
		if a.Campaign != "" {
			audited++
		}
		events += a.Events
		wrong += a.Wrong()
		o.progress("")
		o.print(&a, func() { auditText(o.Out, &a) })
	}
	// The spine first: it says whose checkpoints are genuine.
	sp, err := s.Records.AuditSpine(ctx, sealCopies(o.Seals), o.progress, trusted...)
	if err != nil {
		return err
	}
	trusted = append(trusted, sp.Keys...)
	if o.Campaign == "" {
		wrong += len(sp.Findings)
		o.progress("")
		o.print(&sp, func() { spineText(o.Out, &sp) })
	}
	where := "since the seal"
	records := s.Records.Reporting(func(what string) { o.progress(where + ", " + what) })
	if o.Since > 0 {
		sealed, err := records.AuditSince(ctx, time.Now().Add(-o.Since), add)
		if err != nil {
			return err
		}
		o.print(map[string]time.Time{"since": sealed}, func() {
			_, _ = fmt.Fprintf(o.Out, "what was written since the seal of %s was audited\n", sealed.Format(time.RFC3339))
		})
		ids = nil
	}
	for i, id := range ids {
		where = fmt.Sprintf("campaign %d of %d", i+1, len(ids))
		o.progress(where)
		a, err := records.Audit(ctx, id, trusted...)
		if err != nil {
			return fmt.Errorf("campaign %s: %w", id, err)
		}
		add(a)
	}
	if o.Campaign == "" && o.Since == 0 {
		where = "what belongs to no campaign"
		o.progress(where)
		a, err := records.AuditLoose(ctx, trusted...)
		if err != nil {
			return err
		}
		add(a)
	}
	if wrong > 0 {
		return fmt.Errorf("%d figures or rows of %d campaigns do not match the events, or have changed since they were "+
			"written", wrong, audited)
	}
	if !o.JSON {
		_, _ = fmt.Fprintf(o.Out, "%d campaigns, %d events: the tables say the same, and the chains are whole\n", audited,
			events)
	}
	return nil
}

// sealCopies are the entries of files of seals.
func sealCopies(files []string) (copies []history.SpineCopy) {
	for _, name := range files {
		copies = append(copies, history.SpineCopy{Name: name, Each: func(f func(int, *spine.Entry) error) error {
			file, err := os.Open(name) //nolint:gosec // the operator names the file
			if err != nil {
				return err
			}
			defer func() { _ = file.Close() }()
			return eachEntry(file, f)
		}})
	}
	return copies
}

// unsealedCap is how many chains without a seal are listed.
const unsealedCap = 20

func spineText(out io.Writer, a *history.SpineAudit) {
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, "spine: "+format+"\n", args...) }
	if a.Begun == nil {
		say("there is none: no start of a dialler has begun it")
	} else {
		say("%d entries, %d seals, signed with the key %s, head %s", a.Entries, a.Seals, a.Key, a.Hash)
		if b := *a.Before; b != (spine.Counts{}) {
			say("begun %s; nothing vouches for how the %d events, %d attempts, %d contacts, %d exclusions and %d suppressions "+
				"came to be that were there before", a.Begun.Format(time.RFC3339), b.Events, b.Attempts, b.Contacts, b.Exclusions,
				b.Suppressions)
		}
		since := *a.Begun
		if a.SealedAt != nil {
			since = *a.SealedAt
		}
		for i, c := range a.Unsealed {
			if i == unsealedCap {
				say("%d more chains are not yet sealed", len(a.Unsealed)-i)
				break
			}
			say("not yet sealed (since %s): %s run %d", since.Format(time.RFC3339), cmp.Or(string(c.Campaign), "of no campaign"),
				c.Run)
		}
	}
	for _, n := range a.Notes {
		say("%s", n)
	}
	for _, f := range a.Findings {
		_, _ = fmt.Fprintf(out, "spine DIFFERS: %s\n", f)
	}
	if a.More {
		say("there are more than these")
	}
}
