package process

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine/cdr"
)

// callRecords is the carrier's file, from its own ledger: with its comma, its time zone, and its
// numbers without a plus.
func callRecords(t *testing.T, calls carrier.Rows, withIDs bool) (rows [][]string) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	rows = [][]string{{"Call ID", "Called", "Caller", "Begin", "Seconds"}}
	for i := range calls {
		c := &calls[i]
		seconds := 0.0
		if !c.AnsweredAt.IsZero() {
			seconds = c.EndedAt.Sub(c.AnsweredAt).Seconds()
		}
		id := c.CallID
		if !withIDs {
			id = ""
		}
		rows = append(rows, []string{id, c.Number.E164()[1:], c.From.E164()[1:],
			c.InviteAt.In(berlin).Format("02.01.2006 15:04:05.000"), strconv.FormatFloat(seconds, 'f', 1, 64)})
	}
	return rows
}

func TestACarriersRecordsMatchOursBothWays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 1500*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(300 * time.Millisecond),
		carrier.Busy(), person(200 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 3, "max_attempts": 1})
	var contacts []any
	for range 9 {
		contacts = append(contacts, map[string]any{"mobile": newNumber()})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": contacts}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the campaign completes", func() bool { return w.detail(id).Status == "completed" })
	eventually(t, "no call is left", func() bool { return len(model.Ledger().Live()) == 0 })
	calls := model.Ledger().Calls()

	type outcome struct {
		status   int
		text     string
		findings []cdrFinding
		sum      cdr.Summary
	}
	audit := func(rows [][]string, args ...string) (got outcome) {
		t.Helper()
		var b bytes.Buffer
		b.WriteString("\uFEFF")
		file := csv.NewWriter(&b)
		file.Comma = ';'
		if err := file.WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "cdr.csv")
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		columns := "to=Called,from=Caller,start=Begin,duration=Seconds"
		if rows[1][0] != "" {
			columns += ",call_id=Call ID"
		}
		cmd := program(t, w.url, append([]string{"audit", "cdr", path, "--columns=" + columns, "--zone=Europe/Berlin",
			"--json"}, args...)...)
		out, _ := cmd.Output()
		got.status, got.text = cmd.ProcessState.ExitCode(), string(out)
		for line := range strings.Lines(got.text) {
			var sum struct{ Summary *cdr.Summary }
			var f cdrFinding
			if err := json.Unmarshal([]byte(line), &sum); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if sum.Summary != nil {
				got.sum = *sum.Summary
				continue
			}
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			got.findings = append(got.findings, f)
		}
		return got
	}
	for _, withIDs := range []bool{true, false} {
		whole := callRecords(t, calls, withIDs)
		if got := audit(whole); got.status != 0 || got.sum != (cdr.Summary{Matched: len(calls)}) || len(got.findings) > 0 {
			t.Fatalf("Call-IDs %v: status %d, %s", withIDs, got.status, got.text)
		}
		changed := slices.Clone(whole)
		for i := range changed {
			changed[i] = slices.Clone(changed[i])
		}
		changed[1][4] = "600"
		changed[2][2] = "4930999999"
		changed[3][1], changed[3][0] = "4915199999999", strings.Replace(changed[3][0], "0", "x", 1)+changed[3][0]
		if !withIDs {
			changed[3][0] = ""
		}
		got := audit(append(changed[:4], changed[5:]...), "--from="+calls[0].InviteAt.UTC().Format(time.RFC3339),
			"--to="+calls[len(calls)-1].InviteAt.Add(time.Minute).UTC().Format(time.RFC3339), "--show-numbers")
		if want := (cdr.Summary{Matched: len(calls) - 4, Differing: 2, OnlyOurs: 2, OnlyCarrier: 1}); got.status != 1 ||
			got.sum != want {
			t.Fatalf("Call-IDs %v: status %d, %s\nwant %+v", withIDs, got.status, got.text, want)
		}
		for _, want := range []string{`"differs":["duration"]`, `"differs":["from"]`, `"to":"+4915199999999"`,
			`"kind":"only_ours"`, calls[3].CallID, calls[2].CallID} {
			if !strings.Contains(got.text, want) {
				t.Errorf("%s is not in\n%s", want, got.text)
			}
		}
		masked := audit(changed[:2], "--trunk=nobody")
		if masked.status != 1 || masked.sum != (cdr.Summary{OnlyCarrier: 1}) ||
			strings.Contains(masked.text, calls[0].Number.E164()) {
			t.Errorf("status %d, %s", masked.status, masked.text)
		}
	}
	bad := callRecords(t, calls, true)
	bad[2][3] = "yesterday"
	if got := audit(bad); got.status != 2 {
		t.Errorf("status %d, %s", got.status, got.text)
	}
}
