package persistence_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// A list that was just imported has no statistics of its own: the planner only knows those of the
// other lists. Whatever the planner assumes, a clone reads each contact and its variables only a
// few times.
func TestACloneIsLinearInItsContacts(t *testing.T) {
	t.Parallel()
	const beside, rows = 20_000, 4_000
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	for i := range 2 {
		run(t, url, fmt.Sprintf(`WITH c AS (
				INSERT INTO contacts (id, campaign_id, number, position, source, run, state, max, due_at, due_class, due_pass,
					created_at, updated_at, version)
				SELECT gen_random_uuid(), 'cmp_beside_%d', '+49151' || lpad(n::text, 8, '0'), n, 'csv', 1, 'pending', 3,
					now(), 2, 1, now(), now(), 1
				FROM generate_series(1, %d) n RETURNING id, position)
			INSERT INTO contact_variables (contact_id, hash, variables)
			SELECT id, position, jsonb_build_object('account', position) FROM c`, i, beside))
	}
	run(t, url, "ANALYZE contacts, contact_variables")
	run(t, url, `ALTER TABLE contacts SET (autovacuum_enabled = off);
		ALTER TABLE contact_variables SET (autovacuum_enabled = off)`)
	imported(t, s, "cmp_1", rows)

	before := rowsRead(t, url)
	began := time.Now()
	if _, err := s.CloneCampaign(t.Context(), campaign.Clone{Campaign: "cmp_1"}, "cmp_copy", time.Now()); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	s.Close() // closing makes its sessions report what they read
	each := float64(rowsRead(t, url)-before) / rows
	t.Logf("%d contacts beside %d in %s, %.1f rows read for each", rows, 2*beside, took, each)
	if each < 2 || each > 12 {
		t.Errorf("%.1f rows are read for each contact, wanted a few", each)
	}
	if same, err := pairs(t, url); err != nil || same != rows {
		t.Errorf("%d of %d copies have the variables of their original, %v", same, rows, err)
	}
	if took > 30*time.Second {
		t.Errorf("the clone took %s", took)
	}
}

// imported imports a list into a new campaign.
func imported(t *testing.T, s *persistence.Store, id engine.CampaignID, rows int) {
	t.Helper()
	draft := campaign.Campaign{ID: id, State: campaign.Draft, Version: 1, Run: 1, CreatedAt: time.Now()}
	if err := s.InsertCampaign(t.Context(), draft); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	imp := campaign.Import{ID: engine.ImportID(hexID()), Campaign: id, CreatedAt: time.Now()}
	if err := s.BeginImport(t.Context(), imp); err != nil {
		t.Fatal(err)
	}
	staged := make([]journal.StagedRow, rows)
	for i := range staged {
		staged[i] = journal.StagedRow{ID: engine.ContactID(hexID()), Line: i + 2, NewContact: campaign.NewContact{
			Number: engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)), Variables: map[string]string{"account": fmt.Sprint(i)}}}
	}
	if err := s.StageImport(t.Context(), imp.ID, staged, nil, rows, 0); err != nil {
		t.Fatal(err)
	}
	done, err := s.ActivateImport(t.Context(), journal.Activation{Import: imp.ID, Campaign: id, Run: 1, Source: "csv",
		Max:      3,
		DueClass: contact.DueFirst, At: time.Now(), Staged: rows, Since: imp.CreatedAt},
		func(context.Context) (journal.Gate, error) {
			return journal.Gate{Epoch: c.Epoch, Event: journal.Event{Campaign: id, Seq: c.Seq + 1, Run: 1, At: time.Now(),
				Type: journal.ContactsAdded, Version: 1}}, nil
		})
	if err != nil || done.Import.Added != rows {
		t.Fatalf("%+v, %v", done.Import, err)
	}
	if err := s.CloseImport(t.Context(), imp.ID); err != nil {
		t.Fatal(err)
	}
}

// pairs counts the contacts of cmp_copy whose variables equal those of the same number in cmp_1.
func pairs(t *testing.T, url string) (same int, err error) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(t.Context()) }()
	const list = `(SELECT c.number, v.hash, v.variables FROM contacts c JOIN contact_variables v ON v.contact_id = c.id
		WHERE c.campaign_id = '%s' OFFSET 0)`
	if _, err = conn.Exec(t.Context(), "SET enable_nestloop = off"); err != nil {
		return 0, err
	}
	sql := "SELECT count(*) FROM " + fmt.Sprintf(list, "cmp_1") + " a JOIN " + fmt.Sprintf(list, "cmp_copy") +
		" b USING (number, hash, variables)"
	err = conn.QueryRow(t.Context(), sql).Scan(&same)
	return same, err
}
