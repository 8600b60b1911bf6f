package persistence_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

func hexID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// BenchmarkImport stages and activates a file of 200,000 rows with three
// variables each.
func BenchmarkImport(b *testing.B) {
	const rows, chunk = 200_000, 2000
	s := storetest.OpenAt(b, storetest.URL(b), persistence.Config{})
	var staging, activating, gated time.Duration
	for b.Loop() {
		c := campaign.Campaign{ID: engine.CampaignID("cmp_" + hexID()[:10]), State: campaign.Running, Version: 1, Run: 1,
			CreatedAt: time.Now()}
		if err := s.InsertCampaign(b.Context(), c); err != nil {
			b.Fatal(err)
		}
		imp := campaign.Import{ID: engine.ImportID(hexID()), Campaign: c.ID, CreatedAt: time.Now()}
		if err := s.BeginImport(b.Context(), imp); err != nil {
			b.Fatal(err)
		}
		began := time.Now()
		staged := make([]journal.StagedRow, chunk)
		for n := 0; n < rows; n += chunk {
			for i := range staged {
				staged[i] = journal.StagedRow{ID: engine.ContactID(hexID()), Line: n + i + 2, NewContact: campaign.NewContact{
					Number: engine.PhoneNumber(fmt.Sprintf("+49151%08d", n+i)), Variables: map[string]string{"first_name": "Ada",
						"account": fmt.Sprint(n + i), "region": "north"}}}
			}
			if err := s.StageImport(b.Context(), imp.ID, staged, nil, n+chunk, 0); err != nil {
				b.Fatal(err)
			}
		}
		staging += time.Since(began)
		began = time.Now()
		var gate time.Time
		done, err := s.ActivateImport(b.Context(), journal.Activation{Import: imp.ID, Campaign: c.ID, Run: 1, Source: "csv",
			Max:      3,
			DueClass: contact.DueFirst, At: time.Now(), Staged: rows, Since: imp.CreatedAt},
			func(context.Context) (journal.Gate, error) {
				gate = time.Now()
				return journal.Gate{Event: journal.Event{Campaign: c.ID, Seq: 1, Run: 1, At: time.Now(),
					Type: journal.ContactsAdded, Version: 1}}, nil
			})
		if err != nil || done.Import.Added != rows {
			b.Fatal(done.Import, err)
		}
		gated += time.Since(gate)
		activating += time.Since(began)
		if err := s.CloseImport(b.Context(), imp.ID); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(staging.Seconds()/float64(b.N), "s/staging")
	b.ReportMetric(activating.Seconds()/float64(b.N), "s/activating")
	b.ReportMetric(gated.Seconds()/float64(b.N)*1000, "ms/gated")
}
