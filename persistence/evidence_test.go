package persistence_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/engine/evidence"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// export makes the record of a run.
func export(t *testing.T, s *persistence.Store, run int) []byte {
	t.Helper()
	var out bytes.Buffer
	w := evidence.NewWriter(&out, evidence.Manifest{Run: run, MadeAt: time.Now(), MadeBy: "test", Program: "dialler"}, keeper)
	if err := s.Records.Evidence(t.Context(), "cmp_1", run, w, keeper.Public()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.End(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
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
	lines := strings.Count(readPart(t, file, rows), "\n")
	for i := range lines {
		without := remade(t, file, rows, func(text string) string {
			list := strings.SplitAfter(text, "\n")
			return strings.Join(append(list[:i:i], list[i+1:]...), "")
		})
		if verified(t, without) == "" || stranger(t, without) == "" {
			t.Errorf("without row %d of %d it passes: %s", i, lines, readLine(t, file, i))
		}
	}
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
