package persistence_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/persistence"
	"dialler/persistence/nodes"
	"dialler/persistence/storetest"
)

// A node that cancels the calls of a dead node writes the dead node's Via.
func TestWhatANodeWroteIntoItsViaIsKept(t *testing.T) {
	t.Parallel()
	o, first, second, _, _ := claimed(t)
	is := func(n ownership.Node, trunk engine.TrunkID, want string) {
		t.Helper()
		if by, err := o.SentBy(t.Context(), n.Incarnation, trunk); err != nil || by != want {
			t.Errorf("%q %v, want %q", by, err, want)
		}
	}
	for _, by := range []map[engine.TrunkID]string{{"a": "192.0.2.1:5060", "b": "192.0.2.1:5062"},
		{"a": "192.0.2.9:5060"}} {
		if err := o.PutSentBy(t.Context(), first.Incarnation, by); err != nil {
			t.Fatal(err)
		}
	}
	is(first, "a", "192.0.2.9:5060")
	is(first, "b", "192.0.2.1:5062")
	is(first, "c", "192.0.2.9:5060") // that of a node with one address
	is(first, "", "192.0.2.9:5060")
	is(second, "a", "")
}

// claimed returns two nodes, the first of which owns an identity and has had no lease for longer
// than the margin, and a connection for the test.
func claimed(t *testing.T) (o *nodes.Owners, first, second ownership.Node, id ownership.Identity, c *pgx.Conn) {
	t.Helper()
	url := storetest.URL(t)
	o, err := storetest.OpenAt(t, url, persistence.Config{}).Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Close)
	id = ownership.Identity{Kind: ownership.Campaign, ID: "cmp_1"}
	for _, n := range []*ownership.Node{&first, &second} {
		if *n, err = o.Join(t.Context(), ownership.Node{Name: "n", Address: "n:1"}, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if w, err := o.Claim(t.Context(), id, first.Incarnation, time.Second); err != nil ||
		w.Incarnation != first.Incarnation {
		t.Fatal(w, err)
	}
	run(t, url, "UPDATE nodes SET expires_at = clock_timestamp() - interval '2 seconds' WHERE incarnation = "+
		itoa(first.Incarnation))
	if c, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return o, first, second, id, c
}

// blocked starts a claim that has to wait for tx's locks, ends tx once it does, and returns the
// result of the claim.
func blocked(t *testing.T, o *nodes.Owners, id ownership.Identity, by ownership.Node, tx pgx.Tx) ownership.Owner {
	t.Helper()
	type answer struct {
		w   ownership.Owner
		err error
	}
	got := make(chan answer, 1)
	go func() {
		w, err := o.Claim(t.Context(), id, by.Incarnation, time.Second)
		got <- answer{w, err}
	}()
	var pid int32
	if err := tx.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Fatal(err)
	}
	deadline, tick := time.After(30*time.Second), time.NewTicker(5*time.Millisecond)
	defer tick.Stop()
	for waits := false; !waits; {
		select {
		case <-tick.C:
		case a := <-got:
			t.Fatalf("the claim did not wait: %+v, %v", a.w, a.err)
		case <-deadline:
			t.Fatal("the claim does not wait")
		}
		if err := tx.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE $1 = ANY "+
			"(pg_blocking_pids(pid)))", pid).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	a := <-got
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.w
}

// A renewal may be in time but its commit slow.
func TestALeaseWhoseRenewalIsBeingCommittedIsNotOver(t *testing.T) {
	t.Parallel()
	o, first, second, id, c := claimed(t)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "UPDATE nodes SET expires_at = clock_timestamp() + interval '1 hour' WHERE "+
		"incarnation = $1", first.Incarnation); err != nil {
		t.Fatal(err)
	}
	if w := blocked(t, o, id, second, tx); w.Incarnation != first.Incarnation || !w.Live || w.Epoch != 1 {
		t.Errorf("owner %+v", w)
	}
	if err := o.Renew(t.Context(), first.Incarnation, time.Hour); err != nil {
		t.Errorf("the lease is over: %v", err)
	}
}

// Two nodes find the owner gone; the second must see the first's claim, not the state when it
// started.
func TestAClaimThatWaitedForAnotherGetsNothing(t *testing.T) {
	t.Parallel()
	o, first, second, id, c := claimed(t)
	third, err := o.Join(t.Context(), ownership.Node{Name: "n", Address: "n:1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"UPDATE owners SET incarnation = " + itoa(third.Incarnation) + ", epoch = epoch + 1",
		"UPDATE nodes SET left_at = clock_timestamp() WHERE incarnation = " + itoa(first.Incarnation),
	} {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if w := blocked(t, o, id, second, tx); w.Incarnation != third.Incarnation || w.Epoch != 2 {
		t.Errorf("owner %+v", w)
	}
}

// A query that occupies all connections costs no node its lease.
func TestLeasesAreRenewedWhileEveryOtherConnectionIsBusy(t *testing.T) {
	t.Parallel()
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{Writers: 1, Readers: 1})
	o, err := s.Owners(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	n, err := o.Join(t.Context(), ownership.Node{Name: "n", Address: "n:1"}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	busy := make(chan error, 1)
	go func() { busy <- s.QueryRow(ctx, "SELECT pg_sleep(60)", new(string)) }()
	for range 3 {
		if err := o.Renew(t.Context(), n.Incarnation, time.Hour); err != nil {
			t.Error(err)
		}
	}
	select {
	case err := <-busy:
		t.Errorf("the query ended: %v", err)
	default:
	}
	cancel()
	<-busy //nolint:errcheck // it was cut off
}

func itoa(i engine.Incarnation) string { return strconv.Itoa(int(i)) }
