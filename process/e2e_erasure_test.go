package process

import (
	"context"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/private"
)

// dump returns pg_dump's output for the world's schema.
func (w *world) dump() string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tool, err := private.Tool(ctx, "pg_dump")
	if err != nil {
		w.t.Fatal(err)
	}
	u, err := url.Parse(w.url)
	if err != nil {
		w.t.Fatal(err)
	}
	q := u.Query()
	schema := q.Get("search_path")
	q.Del("search_path")
	u.RawQuery = q.Encode()
	out, err := exec.CommandContext(ctx, tool, "--schema="+schema, "--inserts", "--dbname="+u.String()).Output()
	if err != nil {
		w.t.Fatalf("pg_dump: %v", err)
	}
	return string(out)
}

// imported waits for the end of a file's import.
func (w *world) imported(id engine.CampaignID, file string) (imp campaign.Import) {
	w.t.Helper()
	w.upload(id, file)
	eventually(w.t, "the file is imported", func() bool {
		list := w.imports(id)
		if len(list) == 0 {
			return false
		}
		imp = list[0]
		return imp.FinishedAt != nil
	})
	return imp
}

// digits returns a number as an operator writes it, because files may omit the country code.
func digits(number string) string { return strings.TrimPrefix(number, "+49") }

func TestAnErasedPersonIsNowhereAnyMore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 1200*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.p.Close()
	w.flags.SIPLadders = "all"
	w.start()

	gone, other := newNumber(), newNumber()
	vars := map[string]any{"name": "Wilhelmina", "crm": "K-4711"}
	id := w.running(map[string]any{"recording": "on"})
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
		map[string]any{"mobile": gone, "metadata": vars}, map[string]any{"mobile": other,
			"metadata": map[string]any{"name": "Bert"}}}}).expect(200)
	file := "phone_number,name\n" + gone + ",Wilhelmina\n" + digits(gone) + ",Wilhelmina\n12,see " + gone + "\n"
	w.imported(id, file)
	eventually(t, "both had their call", func() bool { return w.lifecycle(id).Counters.Completed == 2 })
	// The person is open in one other campaign, and excluded there by a variable.
	draft := w.campaign(nil)
	w.operator("POST", "/api/v1/campaigns/"+string(draft)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": gone, "metadata": vars}}}).expect(200)
	w.crm("POST", "/api/v1/contacts/exclude", map[string]any{"campaign_id": string(id),
		"match": map[string]any{"crm": "K-4711"}, "reason": "Wilhelmina wrote"}).expect(200)
	// A call outside campaigns, whose reply is stored; and a live one, which makes the erasure
	// refuse.
	reply := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": gone, "variables": vars},
		"Idempotency-Key", "once").expect(201)
	var placed struct {
		CallID engine.CallID `json:"call_id"`
	}
	reply.into(&placed)
	if r := w.operator("DELETE", "/api/v1/persons/"+gone, nil).expect(409); r.code() != "person_in_call" {
		t.Fatalf("while a call lives: %s", r)
	}
	w.ended(placed.CallID, engine.OutcomeCompleted)
	token := w.session(placed.CallID, "begun", func(bot.Session) bool { return true }).Parameters["result_token"]
	w.send("POST", "/api/v1/calls/"+string(placed.CallID)+"/result",
		map[string]any{"disposition": "sold", "remark": "Wilhelmina's neighbour"},
		"Authorization", "Bearer "+token).expect(200)
	w.quiet()
	eventually(t, "all recordings are whole", func() bool { return w.metric("dialler_recordings_live") == 0 })
	eventually(t, "the ladders are kept", func() bool { return w.rows("sip_ladders") >= 3 })
	before := w.lifecycle(id).Counters
	attempts := w.rows("attempts")

	secrets := []string{digits(gone), "Wilhelmina", "K-4711"}
	if text := w.dump(); !strings.Contains(text, secrets[0]) || !strings.Contains(text, secrets[1]) {
		t.Fatal("the search finds nothing that there is")
	}
	var erased struct {
		Contacts, Attempts, Recordings int
		Suppressed                     bool
	}
	w.operator("DELETE", "/api/v1/persons/"+gone, nil).expect(200).into(&erased)
	if erased.Contacts != 2 || erased.Attempts != 2 || erased.Recordings != 1 || erased.Suppressed {
		t.Errorf("erased %+v", erased)
	}

	for i, secret := range secrets {
		for line := range strings.Lines(w.dump()) {
			if strings.Contains(line, secret) {
				t.Errorf("the dump has secret %d: %.200s", i, line)
			}
		}
	}
	recordings := 0
	search := func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasSuffix(path, ".wav") {
			recordings++
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, secret := range secrets {
			if strings.Contains(string(b), secret) || strings.Contains(path, secret) {
				t.Errorf("%s has secret %d", filepath.Base(path), i)
			}
		}
		return nil
	}
	for _, dir := range []string{w.flags.RecordingsDir, w.flags.SpoolDir} {
		if err := filepath.WalkDir(dir, search); err != nil {
			t.Error(err)
		}
	}
	if recordings != 1 {
		t.Errorf("%d recordings are left, want that of the other person", recordings)
	}

	// Rows and counters are unchanged; the world's audit checks the history.
	if after := w.lifecycle(id).Counters; after.Completed != before.Completed || after.Total != before.Total ||
		after.Connected != before.Connected {
		t.Errorf("counters %+v, before %+v", after, before)
	}
	if n := w.rows("attempts"); n != attempts {
		t.Errorf("%d attempts, before %d", n, attempts)
	}
	if d := w.lifecycle(draft); d.Counters.Total != 1 || d.Counters.Excluded != 1 {
		t.Errorf("the draft's contact is not out of scope: %+v", d.Counters)
	}
	repeated := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": gone,
		"variables": vars}, "Idempotency-Key", "once").expect(201)
	if strings.Contains(string(repeated.body), digits(gone)) ||
		!strings.Contains(string(repeated.body), string(placed.CallID)) {
		t.Errorf("the repeated dialout is answered %s", repeated)
	}
	if r := w.send("POST", "/api/v1/calls/"+string(placed.CallID)+"/result",
		map[string]any{"disposition": "late", "summary": "Wilhelmina again"},
		"Authorization", "Bearer "+token).expect(404); r.code() != "person_erased" {
		t.Errorf("a late result: %s", r)
	}

	// The next run leaves the person out.
	w.act(id, "stop").expect(200)
	w.act(id, "restart").expect(200)
	eventually(t, "the restart leaves the erased out", func() bool {
		c := w.lifecycle(id).Counters
		return c.Total == 2 && c.Excluded == 1 && c.Pending == 1
	})
	// A repeated request finds nothing; a suppressed person stays so, as a hash.
	calls := len(model.Ledger().Calls())
	w.operator("DELETE", "/api/v1/persons/"+gone+"?suppress=true", nil).expect(200).into(&erased)
	if erased.Contacts != 0 || erased.Attempts != 0 || !erased.Suppressed {
		t.Errorf("erased again: %+v", erased)
	}
	if r := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot,
		"to_number": gone}).expect(409); r.code() != "suppressed" {
		t.Errorf("a dialout to the erased person: %s", r)
	}
	if imp := w.imported(draft, "phone_number\n"+gone+"\n"); imp.Excluded != 1 || imp.Added != 0 {
		t.Errorf("a file with the erased person: %+v", imp)
	}
	if n := len(model.Ledger().Calls()); n != calls {
		t.Errorf("%d calls were placed", n-calls)
	}
	if r := w.operator("GET", "/api/v1/suppressions?number="+url.QueryEscape(gone),
		nil).expect(200); !strings.Contains(string(r.body), "hmac:") || strings.Contains(string(r.body), digits(gone)) {
		t.Errorf("the list shows %s", r)
	}
	w.operator("DELETE", "/api/v1/suppressions/"+gone, nil).expect(204)
	w.ended(w.dialout(gone), engine.OutcomeCompleted)
	if r := w.operator("GET", "/api/v1/activity?kinds=erase_person", nil).expect(200); strings.Count(string(r.body),
		FirstAdminEmail) != 2 {
		t.Errorf("who asked: %s", r)
	}

	// The command refuses contacts who are still to be called, and erases others.
	w.quiet()
	command := func(number string) (string, error) {
		out, err := program(t, w.url, "db", "erase", "--number="+number, "--suppress",
			"--recordings-dir="+w.flags.RecordingsDir).CombinedOutput()
		return string(out), err
	}
	if out, err := command(other); err == nil || !strings.Contains(out, "person_open") {
		t.Errorf("of who is to be called: %v %s", err, out)
	}
	if out, err := command(gone); err != nil ||
		!strings.Contains(out, "erased: 0 contacts, 2 attempts, 0 recordings; called again: never") {
		t.Errorf("the command: %v %s", err, out)
	}
}
