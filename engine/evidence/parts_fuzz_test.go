package evidence_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"dialler/engine/chain"
	"dialler/engine/evidence"
)

// signedParts makes a file from any parts: the manifest lists them with their hashes, and its key
// signs that.
func signedParts(t testing.TB, m evidence.Manifest, public string, parts map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	write := func(name string, text []byte) {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m.Parts = append([]evidence.Part{}, m.Parts...)
	for i := range m.Parts {
		p := &m.Parts[i]
		sum := sha256.Sum256([]byte(parts[p.File]))
		p.Bytes, p.SHA256 = int64(len(parts[p.File])), hex.EncodeToString(sum[:])
		write(p.File, []byte(parts[p.File]))
	}
	text, err := json.Marshal(&m)
	if err != nil {
		t.Fatal(err)
	}
	write(evidence.ManifestFile, text)
	signature, _ := key.Sign(text)
	write(evidence.SignatureFile, signature)
	write(evidence.PublicKeyFile, []byte(public))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// FuzzSignedParts checks that any parts signed by the holder of the key can be read to the end, and
// that the parts of a sound file contain the events and the ends of attempts that the chain's head
// covers.
func FuzzSignedParts(f *testing.F) {
	was := contents(file(f))
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(was[evidence.ManifestFile]), &m); err != nil {
		f.Fatal(err)
	}
	chained := func(events string) string { // the first line is older than the chain
		_, rest, _ := strings.Cut(strings.TrimRight(strings.ReplaceAll(events, "\r\n", "\n"), "\n"), "\n")
		return rest
	}
	f.Add(was[evidence.RulesFile], was[evidence.AttemptsFile], was[evidence.EventsFile], was[evidence.BatchesFile], m.Zone,
		m.Unchained)
	f.Add("{}", strings.ReplaceAll(was[evidence.AttemptsFile], ",", ";"), "{}\n{}\n",
		`{"batch":1,"events":1000000000,"hash":"`+chain.Hash{}.String()+`"}`, "UTC", 0)
	f.Add("null", was[evidence.AttemptsFile]+"\"", was[evidence.EventsFile]+"\n\n", was[evidence.BatchesFile]+"null",
		"Local", 1<<40)
	f.Add("", strings.Split(was[evidence.AttemptsFile], "\n")[0], "", "", "../x", -1)
	f.Fuzz(func(t *testing.T, rules, attempts, events, batches, zone string, unchained int) {
		if len(rules)+len(attempts)+len(events)+len(batches) > 32<<10 {
			return
		}
		changed := m
		changed.Zone, changed.Unchained = zone, unchained
		v, err := verify(signedParts(t, changed, was[evidence.PublicKeyFile], map[string]string{
			evidence.RulesFile: rules, evidence.AttemptsFile: attempts, evidence.EventsFile: events,
			evidence.BatchesFile: batches, evidence.ExclusionsFile: was[evidence.ExclusionsFile],
			evidence.SuppressionsFile: was[evidence.SuppressionsFile],
		}), nil)
		if err != nil {
			t.Fatalf("not read: %v", err)
		}
		if len(v.Wrong) > 0 {
			return
		}
		if unchained == m.Unchained && chained(events) != chained(was[evidence.EventsFile]) {
			t.Fatalf("sound with other events:\n%s", events)
		}
		if v.Manifest.Attempts != strings.Count(was[evidence.EventsFile], `"attempt.reserved"`) ||
			v.Manifest.Abandoned != m.Abandoned {
			t.Fatalf("sound with other figures: %+v", v.Manifest.Summary)
		}
	})
}
