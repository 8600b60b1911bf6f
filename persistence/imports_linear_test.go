package persistence_test

import (
	"context"
	"fmt"
	"strings"
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

// The switch of an import costs each row the same, however many there are and as
// many exclusions with them, also in a database that has no statistics yet: what
// counts is the rows that are read and the CPU time of the server, not the time that
// passes.
func TestTheSwitchOfAnImportIsLinearInItsRows(t *testing.T) {
	t.Parallel()
	for _, dry := range []bool{false, true} {
		few, many := switched(t, 2000, dry), switched(t, 12_000, dry)
		t.Logf("dry run %v: each of 2,000 rows costs %v, each of 12,000 %v", dry, few, many)
		if many.Read > 1.5*few.Read+2 || many.CPU > 3*few.CPU {
			t.Errorf("dry run %v: each of 2,000 rows costs %v, each of 12,000 %v", dry, few, many)
		}
	}
}

// perRow is what a row of a file costs.
type perRow struct {
	Read float64       // rows of tables
	CPU  time.Duration // of the server's processes; 0 when they are on another machine
}

// switched switches a file with duplicates, suppressed and excluded numbers and
// exclusions by metadata, on a schema of its own.
func switched(t *testing.T, rows int, dry bool) perRow {
	t.Helper()
	url, app := storetest.URL(t), "import-"+hexID()[:12]
	separator := "?"
	if strings.Contains(url, "?") {
		separator = "&"
	}
	s := storetest.OpenAt(t, url+separator+"application_name="+app, persistence.Config{})
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Running, Version: 1, Run: 1, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	number := func(i int) engine.PhoneNumber { return engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)) }
	var x []journal.Exclusion
	for i := range rows / 20 {
		x = append(x, journal.Exclusion{Campaign: c.ID, Number: number(20 * i), CreatedAt: time.Now()},
			journal.Exclusion{Campaign: c.ID, Match: map[string]string{"account": fmt.Sprint(20*i + 1)}, CreatedAt: time.Now()})
		for j := range 3 { // of nobody in the file
			x = append(x, journal.Exclusion{Campaign: c.ID, Match: map[string]string{"account": fmt.Sprint(-3*i - j - 1)}, CreatedAt: time.Now()})
		}
	}
	if refused, err := s.Commit(t.Context(), []journal.Write{{Campaign: c.ID, Epoch: c.Epoch, Exclusions: x}}); err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	var suppressed []engine.PhoneNumber
	for i := range rows / 20 {
		suppressed = append(suppressed, number(20*i+2))
	}
	if _, err := s.Suppress(t.Context(), suppressed, "import", engine.System); err != nil {
		t.Fatal(err)
	}
	imp := campaign.Import{ID: engine.ImportID(hexID()), Campaign: c.ID, CreatedAt: time.Now(), DryRun: dry}
	if err := s.BeginImport(t.Context(), imp); err != nil {
		t.Fatal(err)
	}
	staged := make([]journal.StagedRow, rows)
	for i := range staged {
		of := i
		if i%20 == 19 {
			of = i - 1 // the number of the row before
		}
		staged[i] = journal.StagedRow{ID: engine.ContactID(hexID()), Line: i + 2, NewContact: campaign.NewContact{Number: number(of),
			Variables: map[string]string{"first_name": "Ada", "account": fmt.Sprint(i)}}}
	}
	if err := s.StageImport(t.Context(), imp.ID, staged, nil, rows, 0); err != nil {
		t.Fatal(err)
	}
	before, used := rowsRead(t, url), serverCPU(t, url, app)
	var done campaign.Import
	if dry {
		done, err = s.CheckImport(t.Context(), journal.Check{Import: imp.ID, Campaign: c.ID, Staged: rows, Sticky: true, Since: imp.CreatedAt, At: time.Now()})
	} else {
		var out journal.Activated
		out, err = s.ActivateImport(t.Context(), journal.Activation{Import: imp.ID, Campaign: c.ID, Run: 1, Source: "csv", Max: 3, DueClass: contact.DueFirst,
			At: time.Now(), Staged: rows, Sticky: true, Since: imp.CreatedAt}, func(context.Context) (journal.Gate, error) {
			return journal.Gate{Epoch: c.Epoch, Event: journal.Event{Campaign: c.ID, Seq: c.Seq + 1, Run: 1, At: time.Now(), Type: journal.ContactsAdded, Version: 1}}, nil
		})
		done = out.Import
	}
	if err != nil || done.Added != rows-4*rows/20 || done.Duplicate != rows/20 || done.Excluded != 3*rows/20 {
		t.Fatalf("%+v, %v", done, err)
	}
	used = serverCPU(t, url, app) - used
	if err := s.CloseImport(t.Context(), imp.ID); err != nil { // which ends the session: it has told its statistics then
		t.Fatal(err)
	}
	return perRow{Read: float64(rowsRead(t, url)-before) / float64(rows), CPU: used / time.Duration(rows)}
}

// serverCPU is the CPU time of an application's sessions, 0 when the server is on
// another machine.
func serverCPU(t *testing.T, url, app string) (sum time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, _ := conn.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE application_name = $1", app)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		sum += cpuOf(pid)
	}
	return sum
}

// rowsRead counts what was read of the tables that an import touches. Sessions tell
// their figures when they end or idle: it waits until they stay what they are.
func rowsRead(t *testing.T, url string) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for last, same := int64(-1), 0; same < 5; {
		err := conn.QueryRow(t.Context(), `SELECT coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables
			WHERE schemaname = current_schema() AND relname IN ('import_rows', 'import_exclusions', 'import_rejected', 'exclusions', 'suppressions', 'contacts', 'contact_variables')`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if same++; n != last {
			last, same = n, 0
		}
		if _, err := conn.Exec(t.Context(), "SELECT pg_stat_clear_snapshot(), pg_sleep(0.05)"); err != nil { // polls a condition
			t.Fatal(err)
		}
	}
	return n
}
