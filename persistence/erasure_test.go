package persistence_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

// A message of a call that ended a moment ago is being made while its person is erased: it is not left
// behind.
func TestAMessageThatIsBeingMadeIsErasedToo(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{})
	const number, id = engine.PhoneNumber("+4915112345678"), "0123456789abcdef0123456789abcdef"
	now := time.Now().UTC().Truncate(time.Microsecond)
	refused, err := s.Commit(t.Context(), []journal.Write{{Attempts: []attempt.Attempt{{ID: id, To: number,
		State: attempt.Ended, ReservedAt: &now, EndedAt: &now, Outcome: engine.OutcomeCancelled}}}})
	if err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	for _, sql := range []string{"BEGIN", "SELECT FROM webhook_follower FOR UPDATE",
		`INSERT INTO webhook_messages (id, type, campaign_id, subject, body, created_at)
			VALUES ('msg_1', 'dialout.ended', '', '` + id + `', '` + string(number) + `', now())`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	erased := make(chan error, 1)
	go func() {
		_, err := s.Records.ErasePerson(t.Context(), history.Erasure{Number: number,
			Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1"), At: now})
		erased <- err
	}()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for waits := 0; waits == 0; <-tick.C {
		select {
		case err := <-erased:
			t.Fatalf("erased beside the message: %v", err)
		default:
		}
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = "+
			"ANY(pg_blocking_pids(pid))").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-erased; err != nil {
		t.Fatal(err)
	}
	var left int
	if err := s.QueryRow(t.Context(), "SELECT count(*) FROM webhook_messages", &left); err != nil || left != 0 {
		t.Errorf("%d messages are left, %v", left, err)
	}
}
