package http

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

const importsPath = "/api/v1/campaigns/cmp_1/imports"

const csvFile = "phone_number,name\n+4915112345678,Ada\n+4915112345679,Grace\n"

func TestAFileIsStreamedToTheCampaign(t *testing.T) {
	b := newBench(t)
	f := func(path, contentType string, status int, want campaign.ImportContacts) {
		t.Helper()
		a := b.byAdmin("POST", path, csvFile, "Content-Type", contentType).is(status, "")
		got := b.ports.imports[len(b.ports.imports)-1]
		want.Campaign, want.Who = "cmp_1", got.cmd.Who
		if !reflect.DeepEqual(got.cmd, want) || got.text != csvFile || got.err != nil ||
			got.cmd.Who.Name != "admin@example.org" {
			t.Errorf("%s: %+v", path, got)
		}
		if at := a.header.Get("Location"); at != importsPath+"/"+string(theImport) {
			t.Errorf("Location %q", at)
		}
		if a.get("import_id") != string(theImport) || a.get("added") != 1.0 {
			t.Errorf("%s", a.body)
		}
	}
	wait := campaign.ImportContacts{Wait: true}
	f(importsPath, "text/csv", 201, wait)
	f(importsPath, "Text/CSV; header=present; charset=\"UTF-8\"", 201, wait)
	f(importsPath+"?wait=true&filename=autumn.csv", "text/csv", 201,
		campaign.ImportContacts{Wait: true, Filename: "autumn.csv"})
	f(importsPath+"?filename=C%3A%5Clists%5Cautumn.csv", "text/csv;charset=us-ascii", 201,
		campaign.ImportContacts{Wait: true, Filename: "autumn.csv"})
	f(importsPath+"?wait=false&filename=%C3%BCber.csv", "text/csv", 202, campaign.ImportContacts{Filename: "über.csv"})
	f(importsPath+"?encoding=Windows-1250&delimiter=pipe&default_country=pl", "text/csv", 201,
		campaign.ImportContacts{Wait: true, Encoding: "windows-1250", Delimiter: "pipe", Country: "PL"})
	b.byAdmin("POST", importsPath+"?encoding=ebcdic&delimiter=%7C", csvFile, "Content-Type", "text/csv").is(422,
		"validation_failed", "encoding unknown_value", "delimiter unknown_value")
	f(importsPath+"?dry_run=true&mapping=%7B%22Mobile%20no%22%3A%22phone_number%22%2C%22%C3%BC%22%3A%22%22%7D", "text/csv",
		201, campaign.ImportContacts{Wait: true, DryRun: true, Mapping: map[string]string{"Mobile no": "phone_number",
			"ü": ""}})
}

func TestImportsAndTheirRejectedRowsAreListed(t *testing.T) {
	b := newBench(t)
	view := []string{"Authorization", "Bearer " + b.token("usr_view")}
	a := b.do("GET", importsPath+"?page=2&page_size=20", "", view...).is(200, "")
	if a.get("total") != 2.0 || len(a.get("imports").([]any)) != 2 ||
		b.ports.pages[0] != (campaign.Page{Number: 2, Size: 20}) {
		t.Errorf("%s, %+v", a.body, b.ports.pages)
	}
	b.do("GET", importsPath+"?status=active", "", view...).is(422, "validation_failed", "status unknown_field")
	b.do("GET", "/api/v1/campaigns/cmp_2/imports", "", view...).is(200, "")
	b.do("GET", "/api/v1/campaigns/cmp_none/imports", "", view...).is(404, "campaign_not_found")
	b.do("GET", importsPath, "", "X-API-Key", b.key).is(403, "scope_missing")

	if a := b.do("GET", importsPath+"/"+string(theImport), "", view...).is(200, ""); a.get("state") != "active" {
		t.Errorf("%s", a.body)
	}
	b.do("GET", importsPath+"/nothing", "", view...).is(404, "import_not_found")
	b.do("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport), "", view...).is(404, "import_not_found")
	a = b.do("GET", importsPath+"/"+string(theImport)+"/rejected?page_size=200", "", view...).is(200, "")
	if a.get("total") != 2.0 || len(a.get("rows").([]any)) != 2 {
		t.Errorf("%s", a.body)
	}
	b.do("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport)+"/rejected", "", view...).is(404, "import_not_found")
	b.do("GET", importsPath+"/"+string(theImport)+"/rejected?page_size=201", "", view...).is(422, "validation_failed")
}

// The country that was chosen for the newest file is suggested for the next, before what the campaign's own
// numbers and zone say.
func TestTheListOfImportsSuggestsACountryForTheNextFile(t *testing.T) {
	b := newBench(t)
	list := func() answer {
		t.Helper()
		return b.byAdmin("GET", importsPath, "").is(200, "")
	}
	b.ports.onDetail = func(_ context.Context, id engine.CampaignID) (campaign.Detail, error) {
		return detail(id, campaign.Settings{Numbers: []engine.PhoneNumber{"+493012345601"}}, campaign.Running), nil
	}
	b.ports.listed = []campaign.Import{anImport(campaign.ImportContacts{Campaign: "cmp_1"})}
	if got := list().get("suggested_country"); got != "DE" {
		t.Errorf("%v is suggested by the campaign's numbers", got)
	}
	b.ports.listed[0].Country = "AT"
	if got := list().get("suggested_country"); got != "AT" {
		t.Errorf("%v is suggested after a file with AT", got)
	}
	b.ports.onDetail = func(context.Context, engine.CampaignID) (campaign.Detail, error) {
		return campaign.Detail{}, engine.Unavailable("database_unavailable", "no", time.Second)
	}
	if a := list(); a.get("total") != 1.0 || a.get("suggested_country") != nil {
		t.Errorf("with the campaign's node away: %s", a.body)
	}
}

func TestRejectedRowsAreDownloadedInTheFilesOwnLayout(t *testing.T) {
	b := newBench(t)
	imp := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
	b.ports.theImport = func() campaign.Import { return imp }
	b.ports.onRejected = func(int) ([]campaign.RejectedRow, error) {
		return []campaign.RejectedRow{{Line: 3, Number: "0151 12", Reason: "invalid_number", Message: "no country",
			Record: `"Müller; Jörg";0151 12;=1+1`},
			{Line: 4, Reason: "duplicate", Message: "the person was erased"}}, nil
	}
	path := importsPath + "/" + string(theImport) + "/rejected.csv?layout=file"
	b.byAdmin("GET", path, "").is(409, "import_layout_unknown")
	imp.FileLayout = campaign.FileLayout{Encoding: "windows-1252", Delimiter: "semicolon", Header: "Name;Telefon;Note"}
	a := b.byAdmin("GET", path, "").is(200, "")
	const want = "\uFEFFrejected_line;rejected_because;Name;Telefon;Note\n" +
		"3;no country;\"Müller; Jörg\";0151 12;'=1+1\n4;the person was erased;;;\n"
	if string(a.body) != want {
		t.Errorf("%q, want %q", a.body, want)
	}
	b.byAdmin("GET", path+"&layout=other", "").is(422, "validation_failed", "layout unknown_value")
}

// A completed file is not read again; an interrupted one is, and while one comes in, a second one
// is refused.
func TestAFileIsSentAgainUnderItsKey(t *testing.T) {
	b := newBench(t)
	post := func(path string) answer {
		t.Helper()
		return b.byAdmin("POST", path, csvFile, "Content-Type", "text/csv", "Idempotency-Key", "autumn")
	}
	post(importsPath+"?filename=a.csv").is(201, "")
	begun := b.ports.imports[0].cmd
	imp := anImport(begun)
	imp.Idempotency = begun.Idempotency
	if begun.Idempotency.Token != "autumn" || begun.Idempotency.Key != "usr_admin" {
		t.Errorf("%+v", begun)
	}
	for state, want := range map[campaign.ImportState]struct {
		status int
		code   string
	}{campaign.ImportActive: {201, ""}, campaign.ImportChecked: {201, ""}, campaign.ImportStaging: {409,
		"idempotency_in_progress"}, campaign.ImportActivating: {409, "idempotency_in_progress"}} {
		imp.State = state
		b.ports.requested = []campaign.Import{imp}
		a := post(importsPath+"?filename=a.csv").is(want.status, want.code)
		if replayed := a.header.Get("Idempotent-Replayed"); (replayed == "true") != (want.status == 201) ||
			len(b.ports.imports) != 1 {
			t.Errorf("%s: replayed %q, %d files were read", state, replayed, len(b.ports.imports))
		}
	}
	imp.State = campaign.ImportActivating
	b.ports.requested = []campaign.Import{imp}
	post(importsPath+"?filename=a.csv&wait=false").is(202, "") // its rows are accepted
	post(importsPath+"?filename=b.csv").is(422, "idempotency_mismatch")
	post(importsPath+"?filename=a.csv&dry_run=true").is(422, "idempotency_mismatch")
	imp.State = campaign.ImportFailed
	b.ports.requested = []campaign.Import{imp}
	post(importsPath+"?filename=a.csv").is(201, "")
	if len(b.ports.imports) != 2 || b.ports.imports[1].text != csvFile ||
		b.ports.imports[1].cmd.Idempotency != begun.Idempotency {
		t.Errorf("%+v", b.ports.imports)
	}
}

func TestAnImportIsCancelledUntilItHasComeToItsEnd(t *testing.T) {
	b := newBench(t)
	path := importsPath + "/" + string(theImport)
	open := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
	open.State, open.FinishedAt = campaign.ImportStaging, nil
	failed := open
	failed.State, failed.Problem, failed.FinishedAt = campaign.ImportFailed, &campaign.CancelledImport, &testAt
	b.ports.theImport, b.ports.cancelledAs = func() campaign.Import { return open }, failed
	if a := b.byAdmin("DELETE", path, "").is(200, ""); a.get("state") != "failed" || len(b.ports.cancelled) != 1 {
		t.Errorf("%s", a.body)
	}
	b.ports.cancelledAs.State = campaign.ImportActive // it was faster
	b.byAdmin("DELETE", path, "").is(409, "import_finished")
	b.ports.theImport = func() campaign.Import { return failed }
	b.byAdmin("DELETE", path, "").is(200, "")
	b.ports.theImport = nil // active
	b.byAdmin("DELETE", path, "").is(409, "import_finished")
	b.byAdmin("DELETE", importsPath+"/nothing", "").is(404, "import_not_found")
	if len(b.ports.cancelled) != 2 {
		t.Errorf("%d were cancelled", len(b.ports.cancelled))
	}
}

func TestAnImportIsTakenBack(t *testing.T) {
	b := newBench(t)
	path := importsPath + "/" + string(theImport) + "/undo"
	b.ports.undoCounts = campaign.UndoCounts{TakenBack: 5}
	if a := b.do("GET", path, "", "Authorization", "Bearer "+b.token("usr_view")).is(200, ""); !strings.Contains(
		string(a.body), `"taken_back":5,"stayed":0,"reasons":{}`) {
		t.Errorf("%s", a.body)
	}
	b.ports.undoCounts.Count(contact.StayDialled, 2)
	b.ports.undoState = campaign.UndoInProgress
	b.byAdmin("POST", path, "").is(202, "")
	b.ports.undoState = campaign.UndoDone
	if a := b.byAdmin("POST", path, "").is(200, ""); !strings.Contains(string(a.body),
		`"undo":{"state":"done","taken_back":5,"stayed":2,"reasons":{"dialled":2}`) {
		t.Errorf("%s", a.body)
	}
	if n := len(b.ports.undone); n != 2 || b.ports.undone[0].Import != theImport || b.ports.undone[0].Who.User == "" {
		t.Errorf("%+v", b.ports.undone)
	}
	// What is done is not asked for again.
	done := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
	done.Undo = &campaign.ImportUndo{State: campaign.UndoDone, CreatedAt: testAt, FinishedAt: &testAt}
	b.ports.theImport = func() campaign.Import { return done }
	b.byAdmin("POST", path, "").is(200, "")
	if n := len(b.ports.undone); n != 2 {
		t.Errorf("asked %d times", n)
	}
	b.ports.theImport = nil
	for code, err := range map[string]error{"import_not_active": journal.ErrImportNotActive,
		"import_of_earlier_run": journal.ErrImportOlder, "import_not_traceable": journal.ErrImportUnmarked} {
		b.ports.undoErr = err
		b.byAdmin("GET", path, "").is(409, code)
		b.byAdmin("POST", path, "").is(409, code)
	}
	b.do("POST", path, "", "Authorization", "Bearer "+b.token("usr_view")).is(403, "role_too_low")
	b.byAdmin("POST", path+"?x=1", "").is(422, "validation_failed", "x unknown_field")
	b.byAdmin("POST", importsPath+"/nothing/undo", "").is(404, "import_not_found")
}

func TestTheProgressOfAnImportIsStreamedToItsEnd(t *testing.T) {
	b := newBench(t)
	b.overTCP()
	b.server.feeds.Interval = time.Millisecond
	looks := 0
	b.ports.theImport = func() campaign.Import { // called with the lock held
		looks++
		imp := anImport(campaign.ImportContacts{Campaign: "cmp_1"})
		imp.State, imp.FinishedAt, imp.Rows = campaign.ImportStaging, nil, looks/3*1000
		if looks > 8 {
			imp.State, imp.FinishedAt = campaign.ImportActive, &testAt
		}
		return imp
	}
	a := b.do("GET", importsPath+"/"+string(theImport)+"/live", "", "Authorization", "Bearer "+b.token("usr_view")).is(200,
		"")
	var seen []string
	for event := range strings.SplitSeq(string(a.body), "\n\n") {
		name, data, _ := strings.Cut(event, "\ndata: ")
		switch name {
		case "event: import":
			var imp campaign.Import
			if err := json.Unmarshal([]byte(data), &imp); err != nil {
				t.Fatal(err)
			}
			seen = append(seen, fmt.Sprint(imp.State, " ", imp.Rows))
		case "event: end":
			seen = append(seen, "end")
		}
	}
	if want := []string{"staging 0", "staging 1000", "staging 2000", "active 3000", "end"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	b.byAdmin("GET", importsPath+"/"+string(theImport)+"/live?x=1", "").is(422, "validation_failed", "x unknown_field")
	b.byAdmin("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport)+"/live", "").is(404, "import_not_found")
	eventually(t, "no stream is counted", func() bool { return b.server.feeds.Count() == 0 })
}

func TestRejectedRowsAreDownloadedAsAFile(t *testing.T) {
	b := newBench(t)
	list := make([]campaign.RejectedRow, 2*1000+3)
	for i := range list {
		list[i] = campaign.RejectedRow{Line: i + 2, Number: "+4915112345678", Reason: "duplicate",
			Message: "the number stands on an earlier line"}
	}
	list[0].Number, list[1].Number, list[1].Message = "=HYPERLINK(1)", "+49 (x)", "-"
	b.ports.onRejected = func(int) ([]campaign.RejectedRow, error) { return list, nil }
	view := []string{"Authorization", "Bearer " + b.token("usr_view")}
	path := importsPath + "/" + string(theImport) + "/rejected.csv"
	a := b.do("GET", path, "", view...).is(200, "")
	rows, err := csv.NewReader(strings.NewReader(string(a.body))).ReadAll()
	if err != nil || len(rows) != len(list)+1 {
		t.Fatalf("%d rows of %d, %v", len(rows), len(list)+1, err)
	}
	for i, want := range [][]string{{"line", "phone_number", "reason", "message"},
		{"2", "'=HYPERLINK(1)", "duplicate", list[0].Message}, {"3", "'+49 (x)", "duplicate", "'-"},
		{"4", "+4915112345678", "duplicate", list[2].Message}} {
		if !slices.Equal(rows[i], want) {
			t.Errorf("row %d: %q", i, rows[i])
		}
	}
	list = nil
	if a := b.do("GET", path, "", view...).is(200, ""); string(a.body) != "line,phone_number,reason,message\n" {
		t.Errorf("of none: %q", a.body)
	}
	b.do("GET", path+"?page=2", "", view...).is(422, "validation_failed", "page unknown_field")
	b.do("GET", "/api/v1/campaigns/cmp_2/imports/"+string(theImport)+"/rejected.csv", "", view...).is(404,
		"import_not_found")
	b.ports.onRejected = func(int) ([]campaign.RejectedRow, error) {
		return nil, engine.Unavailable("database_unavailable", "no", time.Second)
	}
	b.do("GET", path, "", view...).is(503, "database_unavailable")
	eventually(t, "no report is counted", func() bool { return b.server.files.Sheets.Load() == 0 })
}
