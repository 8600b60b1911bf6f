package process

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/spine"
	"dialler/persistence/storetest"
	"dialler/process/keys"
)

// seals are the entries in the file of the world's data folder.
func (w *world) seals() (list []spine.Entry) {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.flags.DataDir, SealsName))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := eachEntry(bytes.NewReader(raw), func(line int, e *spine.Entry) error {
		if e == nil {
			w.t.Fatalf("line %d is no entry", line)
		}
		list = append(list, *e)
		return nil
	}); err != nil {
		w.t.Fatal(err)
	}
	return list
}

func kindsOf(list []spine.Entry) (kinds []spine.Kind) {
	for i := range list {
		kinds = append(kinds, list[i].Kind)
	}
	return kinds
}

// called runs a campaign of one contact to its end.
func (w *world) called() engine.CampaignID {
	w.t.Helper()
	id := w.campaign(nil)
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()}}}).expect(200)
	w.act(id, "start").expect(200)
	eventually(w.t, "it completes", func() bool { return w.detail(id).Status == "completed" })
	return id
}

// auditCommand runs the shipped command with the world's file of seals.
func (w *world) auditCommand(args ...string) (string, error) {
	w.t.Helper()
	out, err := program(w.t, w.url, append([]string{"db", "audit", "--seals=" + filepath.Join(w.flags.DataDir, SealsName),
		"--signing-key=" + w.flags.SigningKey}, args...)...).CombinedOutput()
	return string(out), err
}

// A run is sealed when it ends, and whoever writes the chain anew then is found by the file outside.
func TestARunIsSealedAtItsEndAndAChainWrittenAnewIsFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second) // no seal by the minute
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	id := w.called()
	var head spine.Head
	eventually(t, "the end of the run is sealed, in the file too", func() bool {
		heads := spine.Heads{}
		list := w.seals()
		for i := range list {
			heads.Seen(&list[i])
		}
		head = heads[spine.Chain{Campaign: id, Run: 1}]
		return head.N > 0
	})
	if list := kindsOf(w.seals()); list[0] != spine.KindGenesis || list[1] != spine.KindStart {
		t.Errorf("the spine begins with %v", list)
	}
	if info, err := os.Stat(filepath.Join(w.flags.DataDir, SealsName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id)+"/runs/1/evidence", nil).expect(200)
	w.operator("DELETE", "/api/v1/persons/"+newNumber(), nil)
	eventually(t, "an export and an erasure are in the file", func() bool {
		list := kindsOf(w.seals())
		return slices.Contains(list, spine.KindExport) && slices.Contains(list, spine.KindErasure)
	})
	if out, err := w.auditCommand(); err != nil || !strings.Contains(out, "spine: ") {
		t.Fatalf("%v\n%s", err, out)
	}
	w.tampered = true
	w.exec(`DO $$ DECLARE b record; before bytea := decode(repeat('00', 32), 'hex'); BEGIN
		UPDATE events SET digest = sha256('made up') WHERE campaign_id = '` + string(id) + `' AND seq = 2;
		FOR b IN SELECT n, seqs, rows FROM event_batches WHERE campaign_id = '` + string(id) + `' AND run = 1 ORDER BY n LOOP
			before := sha256(before || coalesce((SELECT string_agg(digest, ''::bytea ORDER BY seq) FROM events
				WHERE campaign_id = '` + string(id) + `' AND seq = ANY (b.seqs)), '')
				|| coalesce(b.rows || int4send(length(b.rows)), ''));
			UPDATE event_batches SET hash = before WHERE campaign_id = '` + string(id) + `' AND run = 1 AND n = b.n;
		END LOOP;
		UPDATE event_heads SET hash = before WHERE campaign_id = '` + string(id) + `' AND run = 1; END $$`)
	if out, err := w.auditCommand(); err == nil ||
		!strings.Contains(out, "spine DIFFERS: "+string(id)+" run 1 event_batches batch ") ||
		!strings.Contains(out, "the chain was written anew") {
		t.Errorf("%v\n%s", err, out)
	}
	w.exec("TRUNCATE spine")
	if out, err := w.auditCommand(); err == nil || !strings.Contains(out, "spine DIFFERS: genesis_missing") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAProcessWithAnotherSigningKeyDoesNotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.p.Close()
	other := w.flags
	dir := t.TempDir()
	key, err := keys.Signing("", dir)
	if err != nil {
		t.Fatal(err)
	}
	other.SigningKey, other.DataDir = filepath.Join(dir, keys.SigningFile), dir
	p, err := startTuned(context.Background(), other, "main", zerolog.Nop(), w.times)
	if p != nil {
		p.Close()
	}
	ours, _ := keys.Signing(w.flags.SigningKey, "")
	for _, want := range []string{key.Public().Fingerprint(), ours.Public().Fingerprint(), "--signing-key"} {
		if engine.ErrorCode(err) != "signing_key_other" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	w.start()
}

// What a kill leaves behind: entries in the database that the file lacks, and half a line.
func TestTheFileOfSealsIsCompletedAfterAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.p.Close()
	file := filepath.Join(w.flags.DataDir, SealsName)
	before := w.seals()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.IndexByte(raw, '\n') + 1
	if err := os.WriteFile(file, raw[:second+20], 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	eventually(t, "the file is complete", func() bool { return len(w.seals()) > len(before) })
	for i, e := range w.seals()[:len(before)] {
		if e.Hash() != before[i].Hash() {
			t.Errorf("%s is not what it was", e.String())
		}
	}
	if out, err := w.auditCommand(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	// Cut off in the database, the end comes back from the file, and that is said.
	w.p.Close()
	w.exec("DELETE FROM spine WHERE n > 1")
	all := len(w.seals())
	w.start()
	eventually(t, "the spine goes on after the file", func() bool { return len(w.seals()) > all })
	list := w.seals()
	if list[all].Kind != spine.KindRestored || list[all].N != int64(all)+1 ||
		!strings.Contains(w.log.String(), "had lost the entries 2 to ") {
		t.Errorf("%v", kindsOf(list))
	}
	if out, err := w.auditCommand(); err == nil || !strings.Contains(out, "spine DIFFERS: older_backup") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err := program(t, w.url, "db", "accept-restore", "--signing-key="+w.flags.SigningKey,
		"--data-dir="+w.flags.DataDir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := w.auditCommand(); err != nil {
		t.Errorf("accepted: %v\n%s", err, out)
	}
}

// Whatever a kill leaves of a rotation, the next start has one key in force and in the file: the former one
// as if nothing had been done, or the new one. The steps are those of RotateKey.
func TestARotationThatIsKilledIsNotBegunOrCompletedByTheNextStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := keys.Signing("", dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, keys.SigningFile)
	url := storetest.URL(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, DataDir: dir, SigningKey: file}},
		tuning{sealEvery: 50 * time.Millisecond}, time.Second)
	ctx := t.Context()
	inFile := func() string {
		t.Helper()
		key, err := keys.Signing(file, "")
		if err != nil {
			t.Fatal(err)
		}
		return key.Public().Fingerprint()
	}
	var r keys.Rotation
	steps := []struct {
		name string
		step func() error
	}{
		{"the new key is beside the file", func() (err error) { r, err = keys.Rotate(file, ""); return err }},
		{"it is in force", func() error { return w.p.store.Spine.Rotate(ctx, r.Former, r.Next) }},
		{"the former one is kept", func() error {
			return os.Link(file, filepath.Join(dir, "signing_key."+r.Former.Public().Fingerprint()[:8]+".pem"))
		}},
		{"the file is exchanged", func() error { return os.Rename(file+".next", file) }},
	}
	for killed := 1; killed <= len(steps); killed++ {
		name := steps[killed-1].name
		before := inFile()
		for _, s := range steps[:killed] {
			if err := s.step(); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
		}
		w.p.Close()
		w.start()
		key, ok, err := w.p.store.Spine.InForce(ctx)
		if now := inFile(); err != nil || !ok || key.Fingerprint() != now || (now == before) != (killed == 1) {
			t.Errorf("killed when %s: %s is in the file, %s in force, before it was %s: %v", name, now, key.Fingerprint(),
				before, err)
		}
		if _, err := os.Stat(file + ".next"); (err == nil) != (killed == 1) {
			t.Errorf("killed when %s: the key that is to come: %v", name, err)
		}
		if out, err := w.auditCommand("--data-dir=" + dir); err != nil {
			t.Errorf("killed when %s: %v\n%s", name, err, out)
		}
	}
	// A command completes it as well, and so does the process that runs.
	for _, by := range []string{"an audit", "the process"} {
		for _, s := range steps[:2] {
			if err := s.step(); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
		}
		if by == "an audit" {
			w.p.Close()
			if out, err := w.auditCommand("--data-dir=" + dir); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			w.start()
		} else {
			w.operator("PUT", "/api/v1/numbers/"+ourNumber, map[string]any{"hour_cap": 7}).expect(200) // to be sealed
		}
		eventually(t, by+" completes the rotation", func() bool { return inFile() == r.Next.Public().Fingerprint() })
	}
}

func TestTheSigningKeyIsRotatedUnderARunningDialler(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	former, err := keys.Signing("", dir)
	if err != nil {
		t.Fatal(err)
	}
	url := storetest.URL(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, DataDir: dir,
		SigningKey: filepath.Join(dir, keys.SigningFile)}}, tuning{sealEvery: 50 * time.Millisecond}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	command := func(args ...string) string {
		t.Helper()
		out, err := program(t, url, append(args, "--data-dir="+dir, "--signing-key="+w.flags.SigningKey)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	command("key", "rotate")
	next, err := keys.Signing("", dir)
	if err != nil || next.Public().Fingerprint() == former.Public().Fingerprint() {
		t.Fatalf("the file has the same key: %v", err)
	}
	if out := command("key", "show"); !strings.HasPrefix(out, next.Public().Fingerprint()+"\n-----BEGIN PUBLIC KEY") {
		t.Errorf("%s", out)
	}
	kept := filepath.Join(dir, "signing_key."+former.Public().Fingerprint()[:8]+".pem")
	if key, err := keys.Signing(kept, ""); err != nil || key.Public().Fingerprint() != former.Public().Fingerprint() {
		t.Errorf("the former key is not kept: %v", err)
	}
	w.called()
	eventually(t, "the process seals with the new key", func() bool {
		list := w.seals()
		last := list[len(list)-1]
		return last.Kind == spine.KindSeal && last.SignedBy == next.Public().Fingerprint()
	})
	if out := command("db", "audit"); !strings.Contains(out, "signed with the key "+next.Public().Fingerprint()) {
		t.Errorf("%s", out)
	}
	// Without the new key in its file, a process ends.
	r, err := keys.Rotate(w.flags.SigningKey, "")
	if err == nil {
		err = w.p.store.Spine.Rotate(context.Background(), r.Former, r.Next)
	}
	if err == nil { // it was rotated on a copy, and the file here cannot be written
		err = os.Remove(w.flags.SigningKey + ".next")
	}
	if err != nil {
		t.Fatal(err)
	}
	w.called()
	select {
	case err := <-w.p.KeyLost():
		if engine.ErrorCode(err) != "signing_key_other" {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it goes on with a key that is not in force")
	}
	w.tampered = true // the file still has the former key: the audit trusts another
}
