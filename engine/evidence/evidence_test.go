package evidence_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/chain"
	"dialler/engine/enginetest/golden"
	"dialler/engine/evidence"
	"dialler/engine/journal"
	"dialler/engine/seal"
	"dialler/engine/window"
)

var key = seal.NewKey(bytes.Repeat([]byte{3}, seal.SeedSize))

// file is the record of a run with four attempts: one served, two abandoned before and after a
// midnight in Berlin, and a live one.
func file(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	at := func(s string) time.Time {
		x, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	who := engine.Who{Name: "ada@example.org"}
	c := &campaign.Campaign{ID: "cmp_1", Run: 1, State: campaign.Running,
		Settings: campaign.Settings{Name: "March", AbandonCapPPM: 30_000, Window: window.Window{Zone: "Europe/Berlin"}}}
	w := evidence.NewWriter(&out, evidence.Manifest{Run: 1, MadeAt: at("2026-03-05T12:00:00Z"), MadeBy: "test",
		Program: "dialler"}, key)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	changes := []journal.Event{
		{Seq: 1, Run: 1, At: at("2026-03-01T08:00:00Z"), Type: journal.CampaignCreated,
			Data: journal.Data{Who: &who, Settings: &campaign.Settings{AbandonCapPPM: 50_000}}},
		{Seq: 5, Run: 1, At: at("2026-03-01T23:00:00Z"), Type: journal.CampaignEdited, Data: journal.Data{Who: &who,
			Changes: []campaign.Change{{Field: "abandon_cap_pct", From: []byte("5"), To: []byte("3")}}}}}
	must(w.Begin(c, changes))
	lines, answers := [][]byte{}, []journal.Event{}
	line := func(kind journal.Type, id, data string) {
		seq := int64(len(lines) + 1)
		e := journal.Event{Seq: seq, At: at("2026-03-01T22:58:00Z").Add(time.Duration(seq) * time.Minute), Type: kind,
			Attempt: engine.AttemptID(id)}
		must(json.Unmarshal([]byte(data), &e.Data))
		answers = append(answers, e)
		r := chain.Record{Campaign: "cmp_1", Run: 1, Seq: seq, At: e.At, Type: string(kind), Version: 1,
			Attempt: engine.AttemptID(id), Data: []byte(data)}
		text, err := r.AppendText(nil)
		must(err)
		lines = append(lines, text)
	}
	tell := func(e *journal.Event) {
		data, err := json.Marshal(&e.Data)
		must(err)
		line(e.Type, "", string(data))
	}
	tell(&changes[0])
	for i, x := range []struct {
		answered, ended string
		outcome         engine.Outcome
		cause           engine.AbandonCause
	}{
		{"2026-03-01T22:59:00Z", "2026-03-01T22:59:30Z", engine.OutcomeCompleted, ""},
		{"2026-03-01T22:59:50Z", "2026-03-01T22:59:59Z", engine.OutcomeAbandoned, engine.AbandonNoSeat},
		{"2026-03-01T23:00:10Z", "2026-03-01T23:00:20Z", engine.OutcomeAbandoned, engine.AbandonCapacityLoss},
		{"", "", "", ""},
	} {
		id := strings.Repeat("0", 31) + string("1234"[i])
		reserved := at("2026-03-01T22:58:00Z").Add(time.Duration(i) * time.Second)
		a := attempt.Attempt{ID: engine.AttemptID(id), Contact: "c", Pass: 1, Number: 1, To: "+4915112345678",
			From: "+4930111222", Trunk: "t1", ReservedAt: &reserved}
		line(journal.AttemptReserved, id, `{}`)
		var recorded []byte
		if x.outcome != "" {
			recorded = bytes.Repeat([]byte{byte(i)}, sha256.Size)
			answered, ended := at(x.answered), at(x.ended)
			a.Consumed, a.AnsweredAt, a.EndedAt, a.InviteAt, a.Outcome, a.Cause =
				true, &answered, &ended, &reserved, x.outcome, x.cause
			if x.cause == "" {
				a.ServedAt, a.BotConnectedAt = &answered, &answered
				line(journal.AttemptConnected, id, `{"pass":1}`)
			} else if x.cause == engine.AbandonNoSeat {
				a.Ending = &attempt.Ending{At: answered.Add(time.Second), OptedOut: true}
			}
			line(journal.AttemptEnded, id, `{"outcome":"`+string(x.outcome)+`","cause":"`+string(x.cause)+
				`","consumed":true}`)
			if i == 0 {
				tell(&changes[1])
			}
		}
		must(w.Attempt(&a, recorded))
	}
	must(w.Exclusion(journal.Exclusion{Number: "+4915187654321", Reason: "asked", CreatedAt: at("2026-03-01T08:30:00Z")}))
	must(w.Exclusion(journal.Exclusion{Match: map[string]string{"plan": "gold"}, CreatedAt: at("2026-03-01T08:31:00Z")}))
	must(w.Suppression(journal.Suppression{Number: "+4915100000000", Reason: "do_not_call",
		CreatedAt: at("2026-02-01T08:30:00Z")}))
	must(w.Event(lines[0], false))
	for _, l := range lines[1:] {
		must(w.Event(l, true))
	}
	var before chain.Hash
	n := int64(0)
	for part := range slices.Chunk(lines[1:], 3) {
		var digests []byte
		for _, l := range part {
			d := chain.Digest(l)
			digests = append(digests, d[:]...)
		}
		n++
		before = chain.Link(before, digests, nil)
		must(w.Batch(n, len(part), before, nil, nil))
	}
	for i := range answers {
		must(w.Answer(&answers[i]))
	}
	_, err := w.End()
	must(err)
	return out.Bytes()
}

func verify(b []byte, trusted *seal.Public) (evidence.Verdict, error) {
	return evidence.Verify(bytes.NewReader(b), int64(len(b)), trusted)
}

func TestARunsRecordIsSoundAsItWasWritten(t *testing.T) {
	public := key.Public()
	for _, trusted := range []*seal.Public{nil, &public} {
		v, err := verify(file(t), trusted)
		if err != nil || len(v.Wrong) > 0 || v.Key != public.Fingerprint() {
			t.Errorf("%+v %v", v, err)
		}
	}
	z, err := zip.NewReader(bytes.NewReader(file(t)), int64(len(file(t))))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(evidence.ManifestFile)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(f)
	golden.Check(t, "testdata/manifest.json", string(got))
}

func TestARecordOfTheFormatBeforeIsStillRead(t *testing.T) {
	b := rebuilt(t, file(t), evidence.AttemptsFile, func(text string) string {
		var out strings.Builder
		for line := range strings.Lines(text) {
			out.WriteString(line[:strings.LastIndexByte(line, ',')] + "\n")
		}
		return out.String()
	})
	attempts := contents(b)[evidence.AttemptsFile]
	b = rebuilt(t, b, evidence.ManifestFile, func(text string) string {
		var m evidence.Manifest
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			t.Fatal(err)
		}
		m.Format, m.Parts = "dialler.evidence.1", m.Parts[:6]
		for i, p := range m.Parts {
			if sum := sha256.Sum256([]byte(attempts)); p.File == evidence.AttemptsFile {
				m.Parts[i].Bytes, m.Parts[i].SHA256 = int64(len(attempts)), hex.EncodeToString(sum[:])
			}
		}
		out, err := json.MarshalIndent(&m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	})
	manifest := contents(b)[evidence.ManifestFile]
	signature, err := key.Sign([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	b = rebuilt(t, b, evidence.SignatureFile, func(string) string { return string(signature) })
	if v, err := verify(b, nil); err != nil || len(v.Wrong) > 0 {
		t.Errorf("%q %v", v.Wrong, err)
	}
}

func TestNoTextOfOthersIsAFormulaInARecord(t *testing.T) {
	var out bytes.Buffer
	w := evidence.NewWriter(&out, evidence.Manifest{Run: 1}, key)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	const formula = "=HYPERLINK(1)"
	must(w.Begin(&campaign.Campaign{ID: "cmp_1", Settings: campaign.Settings{Window: window.Window{Zone: "UTC"}}}, nil))
	must(w.Attempt(&attempt.Attempt{ID: "a", Trunk: "-1", Bot: "-2", SIPReason: formula,
		Result: &attempt.Result{Disposition: formula}}, nil))
	must(w.Exclusion(journal.Exclusion{Number: "+4915187654321", Reason: formula}))
	must(w.Exclusion(journal.Exclusion{Match: map[string]string{formula: formula}, Reason: formula}))
	must(w.Suppression(journal.Suppression{Number: "+4915100000000", Reason: formula}))
	_, err := w.End()
	must(err)
	z, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	must(err)
	for _, name := range []string{evidence.AttemptsFile, evidence.ExclusionsFile, evidence.SuppressionsFile} {
		f, err := z.Open(name)
		must(err)
		rows, err := csv.NewReader(f).ReadAll()
		must(err)
		if len(rows) < 2 {
			t.Errorf("%s has %d rows", name, len(rows))
		}
		for _, row := range rows {
			for _, cell := range row {
				if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "-") {
					t.Errorf("%s: %q", name, row)
				}
			}
		}
	}
}

func TestAnotherKeyIsNotTrusted(t *testing.T) {
	other := seal.NewKey(make([]byte, seal.SeedSize)).Public()
	v, err := verify(file(t), &other)
	if err != nil || len(v.Wrong) < 2 {
		t.Errorf("%+v %v", v.Wrong, err)
	}
}

// contents are what a reader of the file sees.
func contents(b []byte) map[string]string {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return nil
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil
		}
		out[f.Name] += string(text)
	}
	return out
}

// rebuilt is the file with one part changed, as a valid zip.
func rebuilt(t testing.TB, b []byte, name string, change func(string) string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for n, text := range contents(b) {
		if n == name {
			text = change(text)
		}
		w, err := z.Create(n)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A change of any byte of the file is found, unless every part is still unchanged.
func TestAChangedByteIsFound(t *testing.T) {
	whole := file(t)
	want := contents(whole)
	for i := rand.IntN(8); i < len(whole); i += 8 { // different ones each time
		b := bytes.Clone(whole)
		b[i] ^= byte(1 + rand.IntN(255))
		v, err := verify(b, nil)
		if err != nil || len(v.Wrong) > 0 {
			continue
		}
		got := contents(b)
		if len(got) != len(want) {
			t.Fatalf("byte %d: other parts, not found", i)
		}
		for name := range want {
			if got[name] != want[name] {
				t.Fatalf("byte %d: %s is another, not found", i, name)
			}
		}
	}
	for i := 0; i < len(whole); i += 29 {
		if v, err := verify(whole[:i], nil); err == nil && len(v.Wrong) == 0 {
			t.Fatalf("cut off at %d, not found", i)
		}
	}
}

func TestAChangedPartIsFound(t *testing.T) {
	whole := file(t)
	for name, text := range contents(whole) {
		for i := 0; i < len(text); i += max(1, len(text)/20) { // each packs the file again
			b := rebuilt(t, whole, name, func(s string) string { return s[:i] + string(s[i]^1) + s[i+1:] })
			if v, err := verify(b, nil); err == nil && len(v.Wrong) == 0 {
				t.Fatalf("%s: byte %d is another, not found", name, i)
			}
		}
		b := rebuilt(t, whole, name, func(s string) string { return s + "\n" })
		if v, err := verify(b, nil); err == nil && len(v.Wrong) == 0 {
			t.Errorf("%s is longer, not found", name)
		}
	}
}

// The holder of the key can sign anything, but inconsistencies are found even so.
func TestWhatDoesNotFitTogetherIsFoundWhoeverSignedIt(t *testing.T) {
	whole := file(t)
	f := func(name, old, fresh, want string) {
		t.Helper()
		b := rebuilt(t, whole, name, func(s string) string {
			if !strings.Contains(s, old) {
				t.Fatalf("%s has no %s", name, old)
			}
			return strings.Replace(s, old, fresh, 1)
		})
		b = resigned(t, b)
		v, err := verify(b, nil)
		if err != nil || !strings.Contains(strings.Join(v.Wrong, "\n"), want) {
			t.Errorf("%s: %q not found: %v %v", name, want, v.Wrong, err)
		}
	}
	f(evidence.AttemptsFile, "capacity_loss", "no_seat", "or different ones")
	f(evidence.AttemptsFile, ",abandoned,", ",completed,", "the manifest's figures")
	f(evidence.EventsFile, `"cause":"capacity_loss"`, `"cause":"no_seat"`, "or different ones")
	f(evidence.EventsFile, `attempt.reserved`, `attempt.answered`, "of the chain")
	f(evidence.BatchesFile, `"batch":2`, `"batch":3`, "batches are missing")
	f(evidence.ManifestFile, `"abandoned": 2`, `"abandoned": 1`, "the manifest's figures")
	f(evidence.ManifestFile, `"unchained_events": 1`, `"unchained_events": 2`, "chain")
}

// resigned lists the parts with their present hashes and signs that.
func resigned(t testing.TB, b []byte) []byte {
	t.Helper()
	parts := contents(b)
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(parts[evidence.ManifestFile]), &m); err != nil {
		t.Fatal(err)
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		sum := sha256.Sum256([]byte(parts[p.File]))
		p.Bytes, p.SHA256 = int64(len(parts[p.File])), hex.EncodeToString(sum[:])
	}
	text, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	b = rebuilt(t, b, evidence.ManifestFile, func(string) string { return string(text) })
	signature, _ := key.Sign(text)
	return rebuilt(t, b, evidence.SignatureFile, func(string) string { return string(signature) })
}

// Zeros compress to a thousandth: a file must not exhaust the memory of its checker.
func TestALineWithoutEndIsNotReadIntoMemory(t *testing.T) {
	was := contents(file(t))
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(was[evidence.ManifestFile]), &m); err != nil {
		t.Fatal(err)
	}
	const long = 4<<20 + 1
	for name, added := range map[string][]string{
		evidence.AttemptsFile: {strings.Repeat("0", long), `"` + strings.Repeat("\n", long)},
		evidence.EventsFile:   {strings.Repeat("0", long)}, evidence.BatchesFile: {strings.Repeat("0", long)},
	} {
		for _, add := range added {
			parts := maps.Clone(was)
			parts[name] += add
			v, err := verify(signedParts(t, m, was[evidence.PublicKeyFile], parts), nil)
			if err != nil || !strings.Contains(strings.Join(v.Wrong, "; "), "long") {
				t.Errorf("%s: %v, %q", name, err, v.Wrong)
			}
		}
	}
}

func FuzzVerify(f *testing.F) {
	f.Add(file(f))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = verify(b, nil) })
}
