package persistence_test

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine/anchor"
	"dialler/engine/chain"
	"dialler/engine/enginetest/authority"
	"dialler/engine/evidence"
	entries "dialler/engine/spine"
	"dialler/persistence"
	"dialler/persistence/storetest"
	"dialler/persistence/table"
)

// export makes the record of a run.
func export(t *testing.T, s *persistence.Store, run int) []byte {
	t.Helper()
	file, err := tryExport(t, s, run)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func tryExport(t *testing.T, s *persistence.Store, run int) ([]byte, error) {
	t.Helper()
	var out bytes.Buffer
	w := evidence.NewWriter(&out, evidence.Manifest{Run: run, MadeAt: time.Now(), MadeBy: "test", Program: "dialler"},
		keeper)
	if err := s.Records.Evidence(t.Context(), "cmp_1", run, w, keeper.Public()); err != nil {
		return nil, err
	}
	_, err := w.End()
	return out.Bytes(), err
}

func verified(t *testing.T, file []byte) string {
	t.Helper()
	public := keeper.Public()
	v, err := evidence.Verify(bytes.NewReader(file), int64(len(file)), &public)
	if err != nil {
		return err.Error()
	}
	return strings.Join(v.Wrong, "\n")
}

// stranger checks a record with a program that shares nothing with ours.
func stranger(t *testing.T, file []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "record.zip")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("python3", "testdata/verify_evidence.py", path).CombinedOutput() //nolint:gosec // our own
	if err == nil {
		return ""
	}
	return string(out)
}

// remade is the file with a part changed by somebody who has the key: everything that the manifest says of
// the part is right.
func remade(t *testing.T, file []byte, name string, change func(string) string) []byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string][]byte{}
	var order []string
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		order, texts[f.Name] = append(order, f.Name), b
	}
	was := string(texts[name])
	texts[name] = []byte(change(was))
	if string(texts[name]) == was {
		t.Fatalf("%s is not changed", name)
	}
	var m evidence.Manifest
	if err := json.Unmarshal(texts[evidence.ManifestFile], &m); err != nil {
		t.Fatal(err)
	}
	for i, p := range m.Parts {
		m.Parts[i] = evidence.PartOf(p.File, texts[p.File])
	}
	if texts[evidence.ManifestFile], err = json.MarshalIndent(&m, "", "  "); err != nil {
		t.Fatal(err)
	}
	if texts[evidence.SignatureFile], err = keeper.Sign(texts[evidence.ManifestFile]); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range order {
		f, err := w.Create(name)
		if err == nil {
			_, err = f.Write(texts[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Every row of a record is proven by the chain, and a stranger's program says of it what ours says,
// also of one that somebody with the key has changed.
func TestARecordProvesItsRowsToAStranger(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{})
	writeHistory(t, s, "cmp_1", true)
	for run := range 2 {
		file := export(t, s, run+1)
		if wrong := verified(t, file); wrong != "" {
			t.Fatalf("run %d: %s", run+1, wrong)
		}
		if wrong := stranger(t, file); wrong != "" {
			t.Fatalf("run %d: %s", run+1, wrong)
		}
	}
	file := export(t, s, 1)
	if page := readPart(t, file, evidence.SummaryFile); !strings.Contains(page, "not yet") {
		t.Error("a record of an installation without a genesis does not say so")
	}
	f := func(name, old, fresh string) {
		t.Helper()
		changed := remade(t, file, name, func(text string) string { return strings.Replace(text, old, fresh, 1) })
		if verified(t, changed) == "" {
			t.Errorf("%s: %s instead of %s passes", name, fresh, old)
		}
		if stranger(t, changed) == "" {
			t.Errorf("%s: %s instead of %s passes with the stranger", name, fresh, old)
		}
	}
	const rows = evidence.RowsFile
	f(rows, "+4915112345", "+4915112346")
	f(rows, `"outcome":"abandoned"`, `"outcome":"completed"`)
	f(rows, `"consumed":true`, `"consumed":false`)
	f(rows, `"pass":1`, `"pass":2`)
	f(rows, `"table":"attempts"`, `"table":"contacts"`)
	f(rows, `"part":1`, `"part":2`)
	f(rows, "{", "")
	f(evidence.BatchesFile, `"rows":"`, `"rows":"AAAA`)
	f(evidence.BatchesFile, `"batch":2`, `"batch":3`)
	f(evidence.CampaignBatchesFile, `"batch":1`, `"batch":2`)
	f(evidence.EventsFile, "attempt.ended", "attempt.endet")
	f(evidence.AttemptsFile, ",abandoned,", ",completed,")
	f(evidence.RateFile, ",2,1,500000,0\n", ",3,1,333333,0\n")
	f(evidence.RateFile, ",500000,0\n", ",500000,30000\n")
	f(evidence.RateFile, "attempt.connected", "attempt.answered")
	lines := strings.Count(readPart(t, file, rows), "\n")
	for i := range lines {
		without := remade(t, file, rows, func(text string) string {
			list := strings.SplitAfter(text, "\n")
			return strings.Join(append(list[:i:i], list[i+1:]...), "")
		})
		if verified(t, without) == "" || i%4 == 0 && stranger(t, without) == "" {
			t.Errorf("without row %d of %d it passes: %s", i, lines, readLine(t, file, i))
		}
	}
}

// What a witness was shown of a run is in its record, with what leads there from the run's chain: a
// stranger needs nothing but what the witness has.
func TestARecordHasWhatWitnessesWereShownOfItsRun(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	storetest.Tampered(t)
	file := anchor.Receipt{Kind: anchor.File, URL: "file:///mnt/other/seals"}
	hook := anchor.Receipt{Kind: anchor.Webhook, URL: "https://notary.example", Data: []byte(`{"body":"kept"}`)}
	tsa := authority.New(t, "")
	stamp := func(h anchor.Hash) []byte {
		t.Helper()
		query, err := anchor.Request(h, big.NewInt(1))
		if err != nil {
			t.Fatal(err)
		}
		return tsa.Answer(query)
	}
	show := func(r anchor.Receipt) {
		t.Helper()
		e, _, err := w.store.Spine.LastSeal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r.N, r.Hash, r.At = e.N, anchor.Hash(e.Hash()), time.Now().UTC()
		if r.Kind == anchor.TimeStamp {
			r.Data = stamp(r.Hash)
		}
		if _, err := w.store.Spine.Append(t.Context(), keeper, entries.KindAnchor, r); err != nil {
			t.Fatal(err)
		}
	}
	show(file) // before the run: it covers nothing of it
	writeHistory(t, w.store, "cmp_1", true)
	w.seal()
	show(file)
	writeHistory(t, w.store, "cmp_2", false)
	w.seal()
	show(hook) // two entries later
	show(anchor.Receipt{Kind: anchor.TimeStamp, URL: "https://tsa.example"})
	show(file) // again: it adds nothing
	for run := 1; run <= 2; run++ {
		record := export(t, w.store, run)
		for _, wrong := range []string{verified(t, record), stranger(t, record)} {
			if wrong != "" {
				t.Fatalf("run %d: %s", run, wrong)
			}
		}
	}
	record := export(t, w.store, 1)
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(readPart(t, record, evidence.ManifestFile)), &m); err != nil {
		t.Fatal(err)
	}
	if a := m.Anchors; len(a) != 3 || a[0].URL != file.URL || a[0].Receipts != 1 || a[0].N != 3 ||
		a[0].Batch != m.Batches || a[1].URL != hook.URL || a[1].N != 5 || a[1].Batch != m.Batches {
		t.Errorf("%+v", m.Anchors)
	}
	f := func(name, old, fresh string, n int) {
		t.Helper()
		changed := remade(t, record, name, func(text string) string { return strings.Replace(text, old, fresh, n) })
		if verified(t, changed) == "" {
			t.Errorf("%s: %s instead of %s passes", name, fresh, old)
		}
		if stranger(t, changed) == "" {
			t.Errorf("%s: %s instead of %s passes with the stranger", name, fresh, old)
		}
	}
	const lines = evidence.AnchorsFile
	f(lines, `\"process\":\"one\"`, `\"process\":\"two\"`, 1)
	f(lines, `\"process\":\"one\"`, `\"process\":\"two\"`, 2)
	f(lines, file.URL, "file:///mnt/another", -1)
	f(lines, `"n":5`, `"n":6`, 1)
	f(lines, chain.Digest([]byte(entryOf(t, record, 1))).String(), strings.Repeat("0", 64), -1)
	all := strings.SplitAfter(readPart(t, record, lines), "\n")
	var stamped struct{ Receipt anchor.Receipt }
	if err := json.Unmarshal([]byte(all[len(all)-2]), &stamped); err != nil || stamped.Receipt.Kind != anchor.TimeStamp {
		t.Fatalf("%v: %s", err, all[len(all)-2])
	}
	f(lines, base64.StdEncoding.EncodeToString(stamped.Receipt.Data),
		base64.StdEncoding.EncodeToString(stamp(anchor.Hash{1})), 1)
	for i := range all[:len(all)-1] {
		without := remade(t, record, lines, func(text string) string { return strings.Replace(text, all[i], "", 1) })
		if verified(t, without) == "" {
			t.Errorf("without line %d it passes: %s", i+1, all[i])
		}
	}

	// A seal of another history than that of the file is no proof of it, with the key or without.
	run(t, w.url, rewrite)
	if record, err := tryExport(t, w.store, 1); err != nil || !strings.Contains(verified(t, record),
		"not as entry 3 of the spine sealed it") || stranger(t, record) == "" {
		t.Errorf("%v: %s", err, verified(t, record))
	}
	run(t, w.url, `UPDATE spine SET data = jsonb_set(data, '{hash}', to_jsonb(repeat('0', 64))) WHERE kind = 'anchor'`)
	if record, err := tryExport(t, w.store, 2); err != nil || !strings.Contains(verified(t, record),
		"a receipt is not of the entry before it") {
		t.Errorf("%v: %s", err, verified(t, record))
	}
}

// entryOf is the text of an entry in a record, by its line.
func entryOf(t *testing.T, file []byte, line int) string {
	t.Helper()
	var l struct{ Entry string }
	lines := strings.Split(readPart(t, file, evidence.AnchorsFile), "\n")
	if err := json.Unmarshal([]byte(lines[line-1]), &l); err != nil {
		t.Fatal(err)
	}
	return l.Entry
}

func readPart(t *testing.T, file []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readLine(t *testing.T, file []byte, n int) string {
	t.Helper()
	return strings.Split(readPart(t, file, evidence.RowsFile), "\n")[n]
}

// Whoever changes a row of a run before its record is made gains nothing: the record says so.
func TestARecordOfAFalsifiedRunIsNeverWhole(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	writeHistory(t, s, "cmp_1", true)
	if ok, err := s.BeginDigests(t.Context()); !ok || err != nil {
		t.Fatal(ok, err)
	}
	storetest.Tampered(t)
	f := &forger{signed: &signed{t: t, url: url, store: s}}
	f.connect()
	tried := 0
	for _, p := range []*table.Part{table.PartAttempt, table.PartResult, table.PartLeg, table.PartContact, table.PartKept,
		table.PartVariables, table.PartExclusion, table.PartCampaign} {
		f.exec("DROP TABLE IF EXISTS kept_row; CREATE TABLE kept_row AS SELECT * FROM " + p.Table)
		var n int
		if err := f.conn.QueryRow(t.Context(), "SELECT count(*) FROM kept_row").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			continue
		}
		changes := []string{"DELETE FROM " + p.Table}
		rows, _ := f.conn.Query(t.Context(), `SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`, p.Table)
		columns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Name, Type string }])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			if p.Has(c.Name) && c.Name != "id" && c.Name != "campaign_id" && c.Name != "settings" {
				changes = append(changes, "UPDATE "+p.Table+" SET "+c.Name+" = "+changeOf(c.Name, c.Type))
			}
		}
		if p == table.PartCampaign {
			changes = append(changes[1:], `UPDATE campaigns SET settings = settings || '{"abandon_cap_ppm": 900000}'`)
		}
		for _, sql := range changes {
			f.exec(sql)
			tried++
			whole := true
			for run := 1; run <= 2 && whole; run++ {
				file, err := tryExport(t, s, run)
				whole = err == nil && verified(t, file) == ""
			}
			if whole {
				t.Errorf("%s: both records are whole", sql)
			}
			f.exec("DELETE FROM " + p.Table + "; INSERT INTO " + p.Table + " SELECT * FROM kept_row")
		}
	}
	if tried < 100 {
		t.Errorf("only %d changes were tried", tried)
	}
}

// A record says since when the installation has evidence, and that nothing vouches for what is older.
func TestARecordSaysWhatIsOlderThanEvidence(t *testing.T) {
	t.Parallel()
	s, err := persistence.Open(t.Context(), storetest.URL(t), persistence.Config{Writers: 2, Readers: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	writeHistory(t, s, "cmp_1", false)
	if _, err := s.Spine.Open(t.Context(), keeper); err != nil {
		t.Fatal(err)
	}
	s.UseRowKey(storetest.RowKey)
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(readPart(t, export(t, s, 1), evidence.ManifestFile)), &m); err != nil {
		t.Fatal(err)
	}
	if m.Since == nil || time.Since(*m.Since) > time.Minute || m.OlderRows == 0 {
		t.Errorf("since %v, %d rows", m.Since, m.OlderRows)
	}
}
