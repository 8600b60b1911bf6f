package process

import (
	"bytes"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/engine/anchor"
	"dialler/engine/enginetest/authority"
	"dialler/engine/spine"
	"dialler/engine/webhook"
)

// journalOf is a webhook that keeps what it is shown, in a file.
func journalOf(t *testing.T, path string) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	s := httptest.NewServer(nethttp.HandlerFunc(func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		mu.Lock()
		defer mu.Unlock()
		out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) //nolint:gosec // the test's own
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = out.Close() }()
		body, _ := io.ReadAll(r.Body)
		if _, err := out.Write(append(body, '\n')); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// receipts are those in a witness's file.
func receipts(path string) (list []anchor.Receipt) {
	b, err := os.ReadFile(path) //nolint:gosec // the test's own
	if err != nil {
		return nil
	}
	_ = anchor.Read(bytes.NewReader(b), func(r anchor.Receipt) { list = append(list, r) })
	return list
}

// receipts is the newest seal of which the database has a receipt of a kind.
func (w *world) receipts(kind anchor.Kind) (n int64) {
	w.t.Helper()
	if err := w.p.store.QueryRow(w.t.Context(), "SELECT coalesce(max((data->>'n')::bigint), 0) FROM spine "+
		"WHERE kind = 'anchor' AND data->>'kind' = '"+string(kind)+"'", &n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Whoever has the database and the signing key can write the history anew so that nothing inside shows
// it. What a witness was shown of it does, up to the last time it was shown something.
func TestAnAttackWithDatabaseAndKeyIsFoundByAWitnessAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, hook := filepath.Join(dir, "witness.jsonl"), filepath.Join(dir, "webhook.jsonl")
	w := newWorld(t, tuning{}, time.Second) // no seal by the minute
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	w.tampered = true
	w.p.Close()
	stamps := authority.New(t, "")
	tsa := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		query, _ := io.ReadAll(r.Body)
		_, _ = w.Write(stamps.Answer(query))
	}))
	t.Cleanup(tsa.Close)
	w.flags.Anchor = []string{"file://" + file, journalOf(t, hook).URL, "tsa+" + tsa.URL}
	w.flags.AnchorRoots = stamps.Roots()
	w.flags.AnchorSecret, w.flags.AnchorAllowPrivate = webhook.WriteSecret(bytes.Repeat([]byte{1}, 32)), true
	w.start()
	shown := func() (engine.CampaignID, int64) {
		t.Helper()
		id, n := w.called(), int64(0)
		eventually(t, "the end of the run is shown to all", func() bool {
			list := w.seals()
			for i := range list {
				heads := spine.Heads{}
				heads.Seen(&list[i])
				if heads[spine.Chain{Campaign: id, Run: 1}].N > 0 {
					n = list[i].N // its last seal
				}
			}
			r, h := receipts(file), receipts(hook)
			return n > 0 && len(r) > 0 && len(h) > 0 && r[len(r)-1].N >= n && h[len(h)-1].N >= n &&
				w.receipts("timestamp") >= n && w.receipts("file") >= n && w.receipts("webhook") >= n
		})
		return id, receipts(file)[len(receipts(file))-1].N
	}
	first, _ := shown()
	x := newInsider(w)
	backup := x.keep("backup")
	stamps.Renew("stamps")
	second, last := shown()
	if !strings.Contains(w.log.String(), "signs with another certificate than before") {
		t.Error("another certificate of the authority is not told")
	}
	w.p.Close()
	w.flags.Anchor = nil
	w.start()
	late := w.called()
	w.p.Close()
	seals := x.keep("truth")

	elsewhere := filepath.Join(dir, "copy.jsonl")
	x.must(os.WriteFile(elsewhere, seals, 0o600))
	audit := func(name string, says string) {
		t.Helper()
		if out, err := x.audited(x.file); err != nil {
			t.Errorf("%s is found without a witness: it should have been done better\n%s", name, out)
		}
		if out, err := x.audited(elsewhere); (err != nil) != !strings.HasPrefix(name, "nothing") {
			t.Errorf("%s, by a copy of the seals: %v\n%s", name, err, out)
		}
		for _, witness := range []string{file, hook} {
			out, err := x.compared(witness)
			if (err != nil) != (says != "") || !strings.Contains(out, says) {
				t.Errorf("%s, by %s: %v, want %q\n%s", name, filepath.Base(witness), err, says, out)
			}
		}
		x.restore("truth", seals)
	}
	forged := func(id engine.CampaignID) []string {
		return []string{
			"UPDATE attempts SET to_number = '+4915100000001', trunk = 'other' WHERE campaign_id = '" + string(id) + "'",
			`UPDATE events SET data = jsonb_set(data, '{trunk}', '"other"') WHERE data ? 'trunk' AND campaign_id = '` +
				string(id) + "'",
			"UPDATE contacts SET number = '+4915100000001' WHERE campaign_id = '" + string(id) + "'"}
	}
	const another, isGone = "it has another hash now: the history was written anew", "it is gone"

	audit("nothing", "")
	x.lie()
	audit("nothing, written anew", "")
	x.lie(forged(first)...)
	audit("a changed attempt of the first run", another)
	x.lie(forged(second)...)
	audit("a changed attempt of the second run", another)
	x.lie(gone(string(second))...)
	audit("a run that is removed", another)
	x.restore("backup", backup)
	audit("the last hour put back by a backup", isGone)
	x.restore("backup", backup)
	x.goOn(last)
	audit("the last hour put back, and as many entries made up", another)
	x.begin()
	audit("a spine that begins anew", isGone)
	// The boundary: what no witness was shown yet.
	x.lie(forged(late)...)
	audit("a changed attempt after the last receipt", "")

	// What still holds is said, and where it ends.
	if out, err := w.auditCommand("--anchors=" + hook); err != nil ||
		!strings.Contains(out, fmt.Sprintf("seal %d, ", last)) ||
		!strings.Contains(out, "no receipt vouches for what came later") {
		t.Errorf("%v\n%s", err, out)
	}
	x.lie(forged(second)...)
	if out, err := w.auditCommand("--anchors=" + file); err == nil ||
		!strings.Contains(out, "as it was then up to seal ") {
		t.Errorf("%v\n%s", err, out)
	}
	x.restore("truth", seals)
	kept, err := program(t, w.url, "db", "anchors", "--data-dir="+w.flags.DataDir).Output()
	if err != nil || os.WriteFile(filepath.Join(dir, "kept"), kept, 0o600) != nil {
		t.Fatalf("%v\n%s", err, kept)
	}
	count := map[anchor.Kind]int{}
	for _, r := range receipts(filepath.Join(dir, "kept")) {
		count[r.Kind]++
	}
	if count[anchor.File] != len(receipts(file)) || count[anchor.Webhook] != len(receipts(hook)) ||
		count[anchor.TimeStamp] < 2 {
		t.Errorf("the receipts that the database has: %v\n%s", count, kept)
	}
	told := "are signed with the certificate "
	if out, err := x.compared(filepath.Join(dir, "kept")); err != nil || strings.Count(out, told) != 2 {
		t.Errorf("without roots: %v\n%s", err, out)
	}
	if out, err := w.auditCommand("--anchors="+filepath.Join(dir, "kept"), "--anchor-roots="+stamps.Roots()); err != nil ||
		strings.Contains(out, told) {
		t.Errorf("with roots: %v\n%s", err, out)
	}
	if out, err := w.auditCommand("--anchors="+filepath.Join(dir, "kept"),
		"--anchor-roots="+authority.New(t, "").Roots()); err == nil || !strings.Contains(out, "nobody among the trusted") {
		t.Errorf("with the roots of somebody else: %v\n%s", err, out)
	}
	if out, err := w.auditCommand("--anchors="+file, "--campaign="+string(first)); err == nil ||
		!strings.Contains(out, "leave --campaign out") {
		t.Errorf("receipts without the spine that they are of: %v\n%s", err, out)
	}
}
