package process

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
)

// contactFile makes a file of contacts with numbers that no other test dials.
func contactFile(n int) (text string, numbers []string) {
	var b strings.Builder
	b.WriteString("phone_number,first_name,account\n")
	for i := range n {
		numbers = append(numbers, newNumber())
		fmt.Fprintf(&b, "%s,Ada,%s\n", numbers[i], numbers[i][1:])
	}
	return b.String(), numbers
}

func importsOf(id engine.CampaignID) string { return "/api/v1/campaigns/" + string(id) + "/imports" }

// upload sends a file; the response comes when all its rows are contacts.
func (w *world) upload(id engine.CampaignID, file string) answer {
	w.t.Helper()
	client := *w.client
	client.Timeout = 3 * patience
	slow := *w
	slow.client = &client
	return slow.send("POST", importsOf(id)+"?filename=autumn.csv", file, "Authorization", "Bearer "+w.admin,
		"Content-Type", "text/csv")
}

func (w *world) imports(id engine.CampaignID) []campaign.Import {
	w.t.Helper()
	var list struct{ Imports []campaign.Import }
	w.operator("GET", importsOf(id), nil).expect(200).into(&list)
	return list.Imports
}

// slowUpload is an upload that the test sends piece by piece.
type slowUpload struct {
	t testing.TB
	c net.Conn
}

func (w *world) slowUpload(id engine.CampaignID) *slowUpload {
	w.t.Helper()
	u, err := url.Parse(w.p.URL())
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(2 * patience)); err != nil {
		w.t.Fatal(err)
	}
	s := &slowUpload{w.t, c}
	s.write("POST " + importsOf(id) + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + w.admin +
		"\r\nContent-Type: text/csv\r\nTransfer-Encoding: chunked\r\n\r\n")
	return s
}

func (s *slowUpload) write(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.c, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *slowUpload) piece(text string) { s.write(fmt.Sprintf("%x\r\n%s\r\n", len(text), text)) }

func (s *slowUpload) end() { s.write("0\r\n\r\n") }

func (s *slowUpload) answer() answer {
	s.t.Helper()
	resp, err := nethttp.ReadResponse(bufio.NewReader(s.c), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{t: s.t, status: resp.StatusCode, header: resp.Header, body: body}
}

// report reads the Attempt Report by column names.
func (w *world) report(id engine.CampaignID, query string) (rows []map[string]string) {
	w.t.Helper()
	a := w.crm("GET", "/api/v1/campaigns/"+string(id)+"/attempts.csv"+query, nil).expect(200)
	list, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list[1:] {
		row := map[string]string{}
		for i, name := range list[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// nothingOf fails when anything of an import is in the campaign or staged.
func (w *world) nothingOf(id engine.CampaignID, contacts int) {
	w.t.Helper()
	if n := w.rows("contacts"); n != contacts {
		w.t.Errorf("%d contacts are stored, want %d", n, contacts)
	}
	eventually(w.t, "nothing is staged", func() bool { return w.rows("import_rows") == 0 })
	if d := w.detail(id); d.Counters.Total != contacts {
		w.t.Errorf("the campaign shows %+v", d.Counters)
	}
}

func TestAFileIsImportedWhileItsCampaignDials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 4, "sticky_exclusion": true})
	first, there := contactFile(15)
	var imp campaign.Import
	w.upload(id, first).expect(201).into(&imp)
	if imp.Added != 15 || imp.State != campaign.ImportActive || imp.Filename != "autumn.csv" ||
		imp.CreatedBy.Name != FirstAdminEmail {
		t.Errorf("into a draft: %+v", imp)
	}
	file, numbers := contactFile(30)
	w.exclude(id, numbers[3])
	w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id,
		"match": map[string]any{"account": numbers[7][1:]}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "it dials", func() bool { return len(model.Ledger().Calls()) > 2 })
	file += there[0] + ",twice,x\nno number,Ada,x\n" + numbers[5] + ",twice,y\n"
	w.upload(id, file).expect(201).into(&imp)
	if imp.Rows != 33 || imp.Added != 28 || imp.Duplicate != 2 || imp.Invalid != 1 || imp.Excluded != 2 {
		t.Errorf("into a running campaign: %+v", imp)
	}
	eventually(t, "it completes", func() bool { d := w.detail(id); return d.Status == "completed" && !d.Draining })
	d := w.detail(id)
	if d.Counters.Total != 43 || d.Counters.Completed != 43 || d.Counters.Attempts != 43 {
		t.Errorf("%+v", d.Counters)
	}
	for i, n := range append(there, numbers...) {
		want := 1
		if excluded := i - len(there); excluded == 3 || excluded == 7 {
			want = 0
		}
		if calls := len(model.Ledger().To(engine.PhoneNumber(n))); calls != want {
			t.Errorf("number %d was called %d times, want %d", i, calls, want)
		}
	}
	var rejected struct {
		Rows  []campaign.RejectedRow
		Total int
	}
	w.operator("GET", importsOf(id)+"/"+string(imp.ID)+"/rejected", nil).expect(200).into(&rejected)
	var lines []string
	for _, r := range rejected.Rows {
		lines = append(lines, fmt.Sprintf("%d %s", r.Line, r.Reason))
	}
	if want := []string{"5 excluded", "9 excluded", "32 duplicate", "33 invalid_number",
		"34 duplicate"}; !slices.Equal(lines, want) || rejected.Total != 5 {
		t.Errorf("rejected %v, want %v", lines, want)
	}
	if list := w.imports(id); len(list) != 2 || list[0].ID != imp.ID {
		t.Errorf("imports %+v", list)
	}
	log, _, err := w.p.store.Lists.Activity(
		context.Background(),
		id,
		[]journal.Type{journal.ContactsAdded},
		campaign.Page{Number: 1, Size: 10},
	)
	if err != nil || len(log) != 2 || log[0].Data.Import != imp.ID || log[0].Data.Count != 28 ||
		log[0].Data.Who.Name != FirstAdminEmail {
		t.Errorf("activity %+v, %v", log, err)
	}
	w.upload(id, file).expect(409) // completed
	w.sameLedgers(model, id, 43)

	// Another run is dialled; the report contains both, or the requested one.
	w.act(id, "restart").expect(200)
	if r := w.upload(id, file).expect(409); r.code() != "contacts_locked" {
		t.Errorf("into a prepared run: %s", r)
	}
	w.act(id, "start").expect(200)
	eventually(t, "run 2 completes", func() bool { d := w.detail(id); return d.Status == "completed" && !d.Draining })
	w.sameLedgers(model, id, 86)
	if one, two := len(w.report(id, "?run=1")), len(w.report(id, "?run=2")); one != 43 || two != 43 {
		t.Errorf("run 1 has %d rows, run 2 %d", one, two)
	}
	w.quiet()
}

// sameLedgers compares the Attempt Report with the carrier's calls and the legs in the database.
func (w *world) sameLedgers(model *carrier.Carrier, id engine.CampaignID, want int) {
	w.t.Helper()
	rows := w.report(id, "")
	attempts, err := w.p.store.Lists.CampaignAttempts(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	legs := 0
	for i := range attempts {
		legs += len(attempts[i].Legs)
	}
	if calls := len(model.Ledger().Calls()); len(rows) != want || calls != want || len(attempts) != want || legs != want {
		w.t.Fatalf("%d rows, %d calls at the carrier, %d attempts and %d legs in the database, want %d of each", len(rows),
			calls, len(attempts), legs, want)
	}
	last := ""
	for _, r := range rows {
		call, ok := model.Ledger().Call(string(engine.AttemptID(r["attempt_id"]).Leg(1)))
		if !ok || call.Number != engine.PhoneNumber(r["phone_number"]) || r["outcome"] != "completed" ||
			r["disposition"] != "interested" ||
			r["from_number"] != ourNumber || r["variables.first_name"] != "Ada" || r["attempt_number"] != "1" {
			w.t.Errorf("row %v, at the carrier %+v", r, call)
		}
		if r["reserved_at"] < last {
			w.t.Errorf("out of order: %s behind %s", r["reserved_at"], last)
		}
		last = r["reserved_at"]
	}
}

// Exclusions and triggers come throughout the staging and activation of a file, and the calls of
// another campaign go on.
func TestExclusionsAndTriggersMeetAnImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id, other := w.running(map[string]any{"concurrency": 4}), w.running(map[string]any{"concurrency": 4})
	const rows, each = 8000, 24
	file, numbers := contactFile(rows)
	answered := make(chan answer, 1)
	go func() {
		defer close(answered) // even without a response in time
		answered <- w.upload(id, file)
	}()
	eventually(t, "the file comes in",
		func() bool { return w.rows("imports") > 0 }) // its rows are gone again when it is active

	var all sync.WaitGroup
	var mu sync.Mutex
	confirmed := map[string]time.Time{}
	at := func(i int, f func()) { // spread over the import
		all.Go(func() {
			wait := time.NewTimer(time.Duration(i) * 60 * time.Millisecond)
			defer wait.Stop()
			<-wait.C
			f()
		})
	}
	for i := range each {
		// The first rows, which would be dialled at once.
		at(i, func() {
			a := w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "mobile": numbers[2*i]})
			mu.Lock()
			defer mu.Unlock()
			if a.status == 200 {
				confirmed[numbers[2*i]] = time.Now()
			} else if a.status != 503 {
				t.Errorf("exclude: %s", a)
			}
		})
		at(i, func() {
			by := map[string]any{"account": numbers[2*i+1][1:]}
			a := w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": id, "match": by})
			mu.Lock()
			defer mu.Unlock()
			if a.status == 200 {
				confirmed[numbers[2*i+1]] = time.Now()
			} else if a.status != 503 {
				t.Errorf("exclude: %s", a)
			}
		})
		at(i, func() {
			a := w.crm("POST", "/api/v1/campaigns/trigger", map[string]any{"campaign_id": id, "mobile": numbers[rows-1-i]})
			if a.status != 200 && (a.status != 503 || a.code() != "import_activating") {
				t.Errorf("trigger: %s", a)
			}
		})
		at(i, func() { w.trigger(other, newNumber(), nil) })
	}
	all.Wait()
	var imp campaign.Import
	got, ok := <-answered
	if !ok {
		t.FailNow() // the upload has reported why
	}
	got.expect(201).into(&imp)
	if imp.Rows != rows || imp.Added+imp.Duplicate+imp.Excluded != rows || len(confirmed) == 0 {
		t.Errorf("%+v, %d exclusions confirmed", imp, len(confirmed))
	}
	eventually(t, "some rows are dialled", func() bool { return len(model.Ledger().Calls()) > each+20 })
	w.act(id, "pause").expect(200)
	w.act(other, "pause").expect(200)
	eventually(t, "their calls are over", func() bool { return w.p.tree.LiveCalls() == 0 })
	for n, when := range confirmed {
		for _, call := range model.Ledger().To(engine.PhoneNumber(n)) {
			if call.LeftAt.After(when) {
				t.Errorf("an INVITE left %v after an exclusion was confirmed", call.LeftAt.Sub(when))
			}
		}
		var pending int
		w.query("SELECT count(*) FROM contacts WHERE number = '"+n+"' AND due_at IS NOT NULL", &pending)
		if pending > 0 {
			t.Error("an excluded contact waits for its call")
		}
	}
	eventually(t, "the figures are those of the tables", func() bool {
		return w.detail(id).Counters.Total == w.rows("contacts WHERE campaign_id = '"+string(id)+"'")
	})
	if dup := model.Ledger().DuplicateInvites(); len(dup) > 0 {
		t.Errorf("duplicates %v", dup)
	}
}

// A neighbour's group commits wait neither for a file's rows to become contacts nor for the switch
// after that.
func TestTriggersOfAnotherCampaignNeverWaitForAnImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 200*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id, other := w.running(nil), w.running(nil)
	called := func() {
		t.Helper()
		rep := w.trigger(other, newNumber(), nil)
		w.ended(rep.AttemptID.Call(), engine.OutcomeCompleted)
	}
	called()
	file, numbers := contactFile(20)
	// holds opens a transaction that the import must wait for once it gets there.
	holds := func(sql string) (pid int, end func()) {
		t.Helper()
		ctx := context.Background()
		c, err := pgx.Connect(ctx, w.url)
		if err != nil {
			t.Fatal(err)
		}
		closed := sync.OnceFunc(func() { _ = c.Close(ctx) })
		t.Cleanup(closed)
		if _, err := c.Exec(ctx, "BEGIN; "+sql); err != nil {
			t.Fatal(err)
		}
		return int(c.PgConn().PID()), closed
	}
	waits := func(what string, pid int) {
		t.Helper()
		eventually(t, what, func() bool {
			return w.rows(fmt.Sprintf("pg_stat_activity WHERE %d = ANY(pg_blocking_pids(pid))", pid)) > 0
		})
	}
	// Whether a row becomes a contact depends on a transaction with the same number.
	contact, release := holds(fmt.Sprintf(`INSERT INTO contacts SELECT (jsonb_populate_record(c, jsonb_build_object(
		'id', gen_random_uuid(), 'campaign_id', '%s', 'number', '%s'))).* FROM contacts c LIMIT 1`, id, numbers[10]))
	answered := make(chan answer, 1)
	go func() {
		defer close(answered) // even without a response in time
		answered <- w.upload(id, file)
	}()
	waits("its rows become contacts", contact)
	called()
	report, done := holds("SELECT id FROM imports FOR UPDATE")
	release()
	waits("all is decided but for its report", report)
	called()
	if len(answered) > 0 {
		t.Error("nothing has waited")
	}
	done()
	var imp campaign.Import
	got, ok := <-answered
	if !ok {
		t.FailNow() // the upload has reported why
	}
	if got.expect(201).into(&imp); imp.Added != 20 {
		t.Errorf("%+v", imp)
	}
	w.act(id, "stop").expect(200)
	w.act(other, "stop").expect(200)
	w.quiet()
}

func TestAnUploadThatBreaksOffLeavesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	id := w.running(nil)
	file, numbers := contactFile(3000)
	staged := func() bool { return w.rows("import_rows") > 0 }
	last := func() campaign.Import { return w.imports(id)[0] }

	// The client disconnects.
	u := w.slowUpload(id)
	u.piece(file)
	eventually(t, "rows are staged", staged)
	if imp := last(); imp.State != campaign.ImportStaging || imp.Rows == 0 {
		t.Errorf("%+v", imp)
	}
	if r := w.upload(id, file).expect(409); r.code() != "import_in_progress" {
		t.Errorf("a second file: %s", r)
	}
	if err := u.c.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the import has failed", func() bool { return last().State == campaign.ImportFailed })
	if imp := last(); imp.Problem == nil || imp.Problem.Code != "upload_broken" || imp.Added != 0 {
		t.Errorf("%+v", imp)
	}
	w.nothingOf(id, 0)

	// The file is malformed in its last line.
	if r := w.upload(id, file+numbers[0]+",\"Ada\n+49").expect(422); r.code() != "malformed_csv" {
		t.Errorf("a broken file: %s", r)
	}
	// The campaign is stopped meanwhile.
	other := w.running(nil)
	u = w.slowUpload(other)
	u.piece(file)
	eventually(t, "rows are staged", staged)
	w.act(other, "stop").expect(200)
	u.end()
	if r := u.answer().expect(409); r.code() != "contacts_locked" {
		t.Errorf("into a stopped campaign: %s", r)
	}
	// The process is restarted meanwhile.
	u = w.slowUpload(id)
	u.piece(file)
	eventually(t, "rows are staged", staged)
	w.restart()
	if r := u.answer().expect(503); r.code() != "closing" {
		t.Errorf("%s", r)
	}
	if imp := last(); imp.State != campaign.ImportFailed {
		t.Errorf("%+v", imp)
	}
	w.nothingOf(id, 0)
	never(t, model, 500*time.Millisecond, "a row was dialled", func(l carrier.Ledger) bool { return len(l.Calls()) > 0 })
	// Then it goes through, once.
	var imp campaign.Import
	w.upload(id, file).expect(201).into(&imp)
	if imp.Added != 3000 || w.rows("contacts") != 3000 || w.rows("import_rows") != 0 {
		t.Errorf("%+v, %d contacts", imp, w.rows("contacts"))
	}
	w.act(id, "stop").expect(200)
}

// --- a PostgreSQL that dies ---------------------------------------------------

// --- a large file -------------------------------------------------------------
