package persistence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/seal"
	entries "dialler/engine/spine"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/spine"
	"dialler/persistence/storetest"
)

// signed is a store whose record is signed, with a copy of the spine outside of it.
type signed struct {
	t      *testing.T
	url    string
	store  *persistence.Store
	sealer *spine.Sealer
	copied []entries.Entry
}

func newSigned(t *testing.T) *signed {
	t.Helper()
	w := &signed{t: t, url: storetest.URL(t)}
	w.store = storetest.OpenAt(t, w.url, persistence.Config{})
	if _, err := w.store.Spine.Open(t.Context(), keeper); err != nil {
		t.Fatal(err)
	}
	w.sealer = w.store.Spine.NewSealer("one")
	return w
}

func (w *signed) seal() bool {
	w.t.Helper()
	sealed, err := w.sealer.Seal(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return sealed
}

// copy keeps the spine as it is now.
func (w *signed) copy() {
	w.t.Helper()
	list, err := w.store.Spine.After(w.t.Context(), 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	w.copied = nil
	for i := range list { // as a file has it
		line, err := list[i].Line()
		if err != nil {
			w.t.Fatal(err)
		}
		e, err := entries.ParseLine(line)
		if err != nil {
			w.t.Fatal(err)
		}
		w.copied = append(w.copied, e)
	}
}

func (w *signed) audit(trusted ...seal.Public) history.SpineAudit {
	w.t.Helper()
	var copies []history.SpineCopy
	if w.copied != nil {
		copies = []history.SpineCopy{{Name: "seals.jsonl", Each: func(f func(int, *entries.Entry) error) error {
			for i := range w.copied {
				if err := f(i+1, &w.copied[i]); err != nil {
					return err
				}
			}
			return nil
		}}}
	}
	if trusted == nil {
		trusted = []seal.Public{keeper.Public()}
	}
	a, err := w.store.Records.AuditSpine(w.t.Context(), copies, nil, trusted...)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

func kinds(a *history.SpineAudit) string {
	var list []string
	for _, f := range a.Findings {
		name := f.Kind
		if f.Campaign != "" {
			name += " " + string(f.Campaign)
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

// rewrite makes every hash of a campaign's chain anew, as somebody can who writes the database.
const rewrite = `DO $$ DECLARE b record; before bytea := decode(repeat('00', 32), 'hex'); BEGIN
	UPDATE events SET data = data || '{"count": 7}', digest = sha256('x') WHERE campaign_id = 'cmp_1' AND seq = 3;
	FOR b IN SELECT n, seqs, rows FROM event_batches WHERE campaign_id = 'cmp_1' AND run = 1 ORDER BY n LOOP
		before := sha256(before || coalesce((SELECT string_agg(digest, ''::bytea ORDER BY seq) FROM events
			WHERE campaign_id = 'cmp_1' AND seq = ANY (b.seqs)), '') || coalesce(b.rows || int4send(length(b.rows)), ''));
		UPDATE event_batches SET hash = before WHERE campaign_id = 'cmp_1' AND run = 1 AND n = b.n;
	END LOOP;
	UPDATE event_heads SET hash = before WHERE campaign_id = 'cmp_1' AND run = 1; END $$`

func TestWhatIsDoneToChainsAfterTheirSealIsFoundAndNamed(t *testing.T) {
	t.Parallel()
	f := func(name, want string, sql ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Tampered(t)
			w := newSigned(t)
			writeHistory(t, w.store, "cmp_1", true)
			w.seal()
			w.copy()
			if a := w.audit(); len(a.Findings) > 0 || len(a.Unsealed) > 0 || a.Seals != 1 {
				t.Fatalf("before: %+v", a)
			}
			for _, s := range sql {
				run(t, w.url, s)
			}
			a := w.audit()
			if got := kinds(&a); !strings.Contains(got, want) {
				t.Errorf("found %q, want %s\n%+v", got, want, a.Findings)
			}
		})
	}
	f("a chain removed", "chain_removed cmp_1", "DELETE FROM event_batches WHERE campaign_id = 'cmp_1' AND run = 1",
		"DELETE FROM event_heads WHERE campaign_id = 'cmp_1' AND run = 1",
		"DELETE FROM events WHERE campaign_id = 'cmp_1' AND run = 1 AND seq > 0")
	f("a chain cut off with its head", "chain_shortened cmp_1",
		`DELETE FROM event_batches b USING event_heads h WHERE h.campaign_id = 'cmp_1' AND h.run = 1
			AND b.campaign_id = 'cmp_1' AND b.run = 1 AND b.n = h.n`,
		`UPDATE event_heads h SET n = b.n, hash = b.hash FROM event_batches b WHERE h.campaign_id = 'cmp_1' AND h.run = 1
			AND b.campaign_id = 'cmp_1' AND b.run = 1 AND b.n = h.n - 1`)
	f("a chain written anew", "chain_rewritten cmp_1", rewrite)
	f("a batch removed", "batch_removed cmp_1",
		`DELETE FROM event_batches b USING event_heads h WHERE h.campaign_id = b.campaign_id AND h.run = b.run
			AND b.campaign_id = 'cmp_1' AND b.run = 1 AND b.n = h.n`, `INSERT INTO event_batches (campaign_id, run, n, hash)
			SELECT campaign_id, run, n + 1, hash FROM event_heads WHERE campaign_id = 'cmp_1' AND run = 1`)
	f("a head removed", "head_removed cmp_1", "DELETE FROM event_heads WHERE campaign_id = 'cmp_1' AND run = 2")
	f("a loose chain removed", "chain_removed", "DELETE FROM event_batches WHERE campaign_id = ''",
		"DELETE FROM event_heads WHERE campaign_id = ''", "DELETE FROM events WHERE seq <= 0")
	f("a campaign with everything", "chain_removed cmp_1", "DELETE FROM campaigns WHERE id = 'cmp_1'",
		"DELETE FROM event_batches WHERE campaign_id = 'cmp_1'", "DELETE FROM event_heads WHERE campaign_id = 'cmp_1'",
		"DELETE FROM events WHERE campaign_id = 'cmp_1'")
	f("a campaign without its chain", "campaign_removed cmp_1", "DELETE FROM campaigns WHERE id = 'cmp_1'")
	f("the spine removed", "genesis_missing", "DELETE FROM spine")
	f("the genesis removed", "genesis_missing", "DELETE FROM spine WHERE n = 1")
	f("the end of the spine cut off", "older_backup", "DELETE FROM spine WHERE n > 1")
	f("an entry changed", "spine_entry_changed", "UPDATE spine SET data = jsonb_set(data, '{chains}', '1') WHERE n = 2")
	f("an entry made up", "unknown_signer", `INSERT INTO spine SELECT n + 1, at, kind, data, hash, hash, 'me', signature
		FROM spine WHERE n = 2`)
	f("an older time", "spine_entry_changed", "UPDATE spine SET at = at - interval '1 year' WHERE n = 1")
}

func TestAnEntryBetweenOthersIsMissed(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	for i := range 3 {
		writeHistory(t, w.store, engine.CampaignID("cmp_"+string("123"[i])), false)
		w.seal()
	}
	w.copy()
	run(t, w.url, "DELETE FROM spine WHERE n = 3")
	if a := w.audit(); !strings.Contains(kinds(&a), "spine_entry_removed") {
		t.Errorf("%+v", a.Findings)
	}
	w.copied = append(w.copied[:2], w.copied[3:]...)
	if a := w.audit(); !strings.Contains(kinds(&a), "seals_file_changed") {
		t.Errorf("a line of the file: %+v", a.Findings)
	}
}

func TestAnIdleInstallationIsNotSealedAgain(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	writeHistory(t, w.store, "cmp_1", false)
	other := w.store.Spine.NewSealer("two")
	if !w.seal() || w.seal() {
		t.Error("what moved is sealed, once")
	}
	if sealed, err := other.Seal(t.Context()); !sealed || err != nil {
		t.Errorf("the first seal of a process has every head: %v, %v", sealed, err)
	}
	if w.seal() {
		t.Error("what another process sealed is sealed again")
	}
	writeHistory(t, w.store, "cmp_2", false)
	if !w.seal() {
		t.Error("a new chain is not sealed")
	}
	if sealed, err := other.Seal(t.Context()); sealed || err != nil {
		t.Errorf("what another process sealed is sealed again: %v, %v", sealed, err)
	}
	var n int
	if err := w.store.QueryRow(t.Context(), "SELECT count(*) FROM spine", &n); err != nil || n != 4 {
		t.Errorf("%d entries, %v", n, err)
	}
}

func TestAChainThatIsNotSealedYetIsNamed(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	w.seal()
	writeHistory(t, w.store, "cmp_1", false)
	if a := w.audit(); len(a.Findings) > 0 || len(a.Unsealed) == 0 {
		t.Errorf("%+v", a)
	}
}

func TestOnlyTheInstallationsKeyOpensTheSpineAndAnotherFollowsIt(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	ctx := t.Context()
	rowKey, err := w.store.Spine.Open(ctx, keeper)
	if err != nil {
		t.Fatal(err)
	}
	next := seal.NewKey(bytes.Repeat([]byte{9}, seal.SeedSize))
	refused := func(by seal.Key) {
		t.Helper()
		if _, err := w.store.Spine.Open(ctx, by); engine.ErrorCode(err) != "signing_key_other" ||
			!strings.Contains(err.Error(), by.Public().Fingerprint()) {
			t.Errorf("another key: %v", err)
		}
		if _, err := w.store.Spine.Append(ctx, by, entries.KindStart, entries.Start{}); engine.ErrorCode(err) !=
			"signing_key_other" {
			t.Errorf("an entry of another key: %v", err)
		}
	}
	refused(next)
	if err := w.store.Spine.Rotate(ctx, keeper, next); err != nil {
		t.Fatal(err)
	}
	refused(keeper)
	again, err := w.store.Spine.Open(ctx, next)
	if err != nil || again != rowKey {
		t.Errorf("the key of rows is another after the rotation: %v", err)
	}
	writeHistory(t, w.store, "cmp_1", false)
	w.seal()
	if a := w.audit(next.Public()); len(a.Findings) > 0 || len(a.Keys) != 2 {
		t.Errorf("whoever trusts the new key: %+v", a)
	}
	if a := w.audit(keeper.Public()); kinds(&a) != entries.UnknownSigner {
		t.Errorf("whoever trusts the former one: %+v", a)
	}
	// Whoever knows nothing but the public half of a key cannot put it in force.
	run(t, w.url, "UPDATE spine SET data = jsonb_set(data, '{proof}', '\"AAAA\"') WHERE kind = 'key'")
	if a := w.audit(next.Public()); !strings.Contains(kinds(&a), entries.EntryChanged) {
		t.Errorf("%+v", a.Findings)
	}
}

func TestOfTwoFirstStartsOneMakesTheGenesis(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	result := make(chan error, 2)
	for i := range 2 {
		s := storetest.OpenAt(t, url, persistence.Config{})
		go func() {
			_, err := s.Spine.Open(context.Background(), seal.NewKey(bytes.Repeat([]byte{byte(i)}, seal.SeedSize)))
			result <- err
		}()
	}
	one, two := <-result, <-result
	if one != nil {
		one, two = two, one
	}
	if one != nil || engine.ErrorCode(two) != "signing_key_other" {
		t.Errorf("%v, %v", one, two)
	}
}

func TestWhatWasThereBeforeTheSpineIsSaidAndCounted(t *testing.T) {
	t.Parallel()
	storetest.Tampered(t)
	w := &signed{t: t, url: storetest.URL(t)}
	w.store = storetest.OpenAt(t, w.url, persistence.Config{})
	writeHistory(t, w.store, "cmp_1", true)
	if _, err := w.store.Spine.Open(t.Context(), keeper); err != nil {
		t.Fatal(err)
	}
	a := w.audit()
	if a.Before == nil || a.Before.Attempts != 2 || a.Before.Contacts < 3 || a.Before.Events == 0 {
		t.Errorf("before: %+v", a.Before)
	}
	// The genesis vouches for the chains as they were: without their digests, events are no older ones.
	run(t, w.url, "UPDATE events SET digest = NULL WHERE campaign_id = 'cmp_1'")
	run(t, w.url, "DELETE FROM event_batches WHERE campaign_id = 'cmp_1'")
	run(t, w.url, "DELETE FROM event_heads WHERE campaign_id = 'cmp_1'")
	run(t, w.url, "UPDATE goose_db_version SET tstamp = now() + interval '1 year'")
	if a := w.audit(); !strings.Contains(kinds(&a), "chain_removed cmp_1") {
		t.Errorf("%+v", a.Findings)
	}
	if one, err := w.store.Records.Audit(t.Context(), "cmp_1", keeper.Public()); err != nil || one.Unchained != 0 ||
		len(one.Findings) == 0 {
		t.Errorf("%+v, %v", one, err)
	}
	run(t, w.url, "UPDATE events SET digest = NULL WHERE seq <= 0")
	if one, err := w.store.Records.AuditLoose(t.Context(), keeper.Public()); err != nil || one.Unchained != 0 ||
		len(one.Findings) == 0 {
		t.Errorf("of no campaign: %+v, %v", one, err)
	}
}

func TestWhatADatabaseLostIsAddedAgainFromOutsideAndNamedUntilSomebodyAcceptsIt(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	ctx := t.Context()
	writeHistory(t, w.store, "cmp_1", false)
	w.seal()
	writeHistory(t, w.store, "cmp_2", false)
	w.seal()
	w.copy()
	// As a backup from between the two seals puts it back.
	for _, sql := range []string{"DELETE FROM spine WHERE n = 3", "DELETE FROM event_batches WHERE campaign_id = 'cmp_2'",
		"DELETE FROM event_heads WHERE campaign_id = 'cmp_2'", "DELETE FROM events WHERE campaign_id = 'cmp_2'"} {
		run(t, w.url, sql)
	}
	forged := append([]entries.Entry(nil), w.copied[2:]...)
	forged[0].Data = json.RawMessage(`{"heads":[]}`)
	if _, err := w.store.Spine.Readd(ctx, keeper, 2, forged); engine.ErrorCode(err) != "spine_broken" {
		t.Fatalf("entries that were changed: %v", err)
	}
	r, err := w.store.Spine.Readd(ctx, keeper, 2, w.copied[2:])
	if err != nil || r.Forked || r.After != 2 || r.To != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if a := w.audit(); !strings.Contains(kinds(&a), "older_backup") ||
		!strings.Contains(kinds(&a), "chain_removed cmp_2") {
		t.Errorf("%+v", a.Findings)
	}
	if _, err := w.store.InUse(ctx, persistence.LastUse{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.AcceptRestore(ctx, engine.Who{Name: "drill"}); err != nil {
		t.Fatal(err)
	}
	w.seal()
	if a := w.audit(); strings.Contains(kinds(&a), "older_backup") || strings.Contains(kinds(&a), "chain_removed") ||
		len(a.Notes) == 0 {
		t.Errorf("accepted: %+v", a)
	}
}

func TestWhatIsDroppedIsInTheSpineAndNoFinding(t *testing.T) {
	t.Parallel()
	w := newSigned(t)
	run(t, w.url, "UPDATE goose_db_version SET tstamp = now() - interval '1 year'")
	ctx, now := t.Context(), time.Now().UTC()
	past := now.Add(-200 * day)
	if err := w.store.Maintain(ctx, past); err != nil {
		t.Fatal(err)
	}
	closed := newCaller(t, w.store, "cmp_closed", past)
	if err := closed.call(); err != nil {
		t.Fatal(err)
	}
	closed.finish()
	w.seal()
	keep := history.Keep{Attempts: 100 * day, Events: 100 * day, Key: keeper}
	if _, err := w.store.Records.Retain(ctx, now, keep); err != nil {
		t.Fatal(err)
	}
	w.seal()
	w.copy()
	if a := w.audit(); len(a.Findings) > 0 {
		t.Errorf("what was dropped because its time had passed: %+v", a.Findings)
	}
	if a, err := w.store.Records.Audit(ctx, "cmp_closed", keeper.Public()); err != nil || a.Wrong() > 0 {
		t.Errorf("%+v, %v", a, err)
	}
	var said []string
	for _, e := range w.copied {
		said = append(said, string(e.Kind))
	}
	if got := strings.Join(said, " "); !strings.Contains(got, "checkpoint") || !strings.Contains(got, "retention") {
		t.Errorf("the spine has %s", got)
	}
	run(t, w.url, "UPDATE run_checkpoints SET signature = NULL, signed_by = NULL, at = '2000-01-01'")
	if a, err := w.store.Records.Audit(ctx, "cmp_closed", keeper.Public()); err != nil || a.Wrong() == 0 {
		t.Errorf("a checkpoint without a signature, dated before there were any: %+v, %v", a, err)
	}
}
