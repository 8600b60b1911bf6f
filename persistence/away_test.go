package persistence_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/failure"
	"dialler/persistence/storetest"
)

// Errors of the server in the middle of a commit (PostgreSQL, appendix A), and what they mean for
// the write.
var states = []struct {
	state string
	why   failure.Away // "" = these rows can never be stored
}{
	{"08000", failure.Unreachable}, {"08001", failure.Unreachable}, {"08003", failure.Unreachable},
	{"08004", failure.Unreachable}, {"08006", failure.Unreachable}, {"08P01", failure.Unreachable},
	{"25006", failure.ReadOnly}, {"25P03", failure.Unreachable},
	{"28000", failure.Closed}, {"28P01", failure.Closed}, {"3D000", failure.Closed},
	{"40001", failure.Busy}, {"40002", failure.Busy}, {"40003", failure.Busy}, {"40P01", failure.Busy},
	{"53000", failure.Exhausted}, {"53100", failure.Full}, {"53200", failure.Exhausted},
	{"53300", failure.Exhausted}, {"53400", failure.Exhausted},
	{"55000", failure.Busy}, {"55006", failure.Busy}, {"55P02", failure.Busy}, {"55P03", failure.Busy},
	{"57014", failure.Silent}, {"57P01", failure.Unreachable}, {"57P02", failure.Unreachable},
	{"57P03", failure.Unreachable}, {"57P04", failure.Closed}, {"57P05", failure.Unreachable},
	{"58000", failure.Failing}, {"58030", failure.Failing}, {"58P01", failure.Failing},
	{"22001", ""}, {"22021", ""}, {"22P02", ""}, {"23502", ""}, {"23505", ""}, {"23514", ""}, {"21000", ""}, {"54000", ""},
}

func TestAWriteIsRefusedOnlyForItsOwnRowsAndTriedAgainForAllElse(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 1})
	now := time.Now().UTC().Truncate(time.Microsecond)
	if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: "cmp_1", State: campaign.Running, Run: 1,
		CreatedAt: now}); err != nil {
		t.Fatal(err)
	}
	c, err := s.AcquireCampaign(t.Context(), "cmp_1")
	if err != nil {
		t.Fatal(err)
	}
	run(t, url, `CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN
			IF NEW.number = '+4915112000000' THEN
				RAISE 'injected' USING ERRCODE = (SELECT code FROM fault);
			END IF;
			RETURN NEW;
		END $$`)
	run(t, url, "CREATE TABLE fault (code text)")
	run(t, url, "INSERT INTO fault VALUES ('')")
	run(t, url, "CREATE TRIGGER fault BEFORE INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION fault()")
	write := func(n int, number engine.PhoneNumber) journal.Write {
		return journal.Write{Campaign: c.ID, Epoch: c.Epoch, Contacts: []contact.Contact{{
			ID: engine.ContactID(fmt.Sprintf("%032x", n)), Campaign: c.ID, Number: number, State: contact.Pending, Version: 1}}}
	}
	for i, f := range states {
		run(t, url, "UPDATE fault SET code = '"+f.state+"'")
		bad, good := write(2*i+1, "+4915112000000"), write(2*i+2, engine.PhoneNumber(fmt.Sprintf("+49151120001%02d", i)))
		refused, err := s.Commit(t.Context(), []journal.Write{bad, good})
		_, stored, readErr := s.ContactByID(t.Context(), good.Contacts[0].ID)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if f.why == "" {
			if err != nil || len(refused) != 2 || engine.ErrorCode(refused[0]) != "write_rejected" || refused[1] != nil ||
				!stored {
				t.Errorf("%s: refused %v, error %v, its neighbour stored %v", f.state, refused, err, stored)
			}
			continue
		}
		var e *engine.Error
		if !errors.As(err, &e) || e.Code != "database_unavailable" || e.Kind != engine.KindUnavailable || e.RetryAfter <= 0 ||
			refused != nil || stored {
			t.Errorf("%s: refused %v, error %v, its neighbour stored %v", f.state, refused, err, stored)
		}
		if got := failure.Why(err); got != f.why {
			t.Errorf("%s is %q, want %q", f.state, got, f.why)
		}
	}
	run(t, url, "DROP TRIGGER fault ON contacts")
	if refused, err := s.Commit(t.Context(), []journal.Write{write(1, "+4915112000000")}); err != nil ||
		refused[0] != nil {
		t.Errorf("once it has passed: %v %v", refused, err)
	}
}

func TestAReadOnlyDatabaseIsAwayForWritesAndAnswersQueries(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t) + "&default_transaction_read_only=on"
	s := storetest.OpenAt(t, strings.TrimSuffix(url, "&default_transaction_read_only=on"),
		persistence.Config{}) // the schema
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := persistence.Open(t.Context(), url, persistence.Config{SkipMigrations: true, Writers: 1, Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Ping(t.Context()); engine.ErrorCode(err) != "database_unavailable" ||
		failure.Why(err) != failure.ReadOnly {
		t.Errorf("it says %v", err)
	}
	listed := journal.Suppression{Number: "+4915112000000", CreatedAt: time.Now()}
	_, err = s.Commit(t.Context(), []journal.Write{{Suppressions: []journal.Suppression{listed}}})
	if failure.Why(err) != failure.ReadOnly {
		t.Errorf("a commit: %v", err)
	}
	if _, err := s.Bots(t.Context()); err != nil {
		t.Errorf("a query: %v", err)
	}
}

func TestQueriesDoNotWaitForADatabaseThatSaysNothing(t *testing.T) {
	t.Parallel()
	f := &storetest.Faults{}
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{Dial: f.Dial})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Hang()
	waits := make(chan error, 1)
	go func() {
		_, err := s.Bots(context.WithoutCancel(t.Context())) // without a deadline
		waits <- err
	}()
	f.Hung() // it was sent
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := s.Ping(ctx); failure.Why(err) != failure.Silent {
		t.Errorf("the probe: %v", err)
	}
	if err := <-waits; engine.ErrorCode(err) != "database_unavailable" {
		t.Errorf("a query that was waiting: %v", err)
	}
	if _, err := s.Bots(context.WithoutCancel(t.Context())); engine.ErrorCode(err) != "database_unavailable" {
		t.Errorf("the next one: %v", err)
	}
	f.Up()
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("it is back: %v", err)
	}
	if _, err := s.Bots(t.Context()); err != nil {
		t.Errorf("a query afterwards: %v", err)
	}
}

func TestADatabaseThatAnswersIsNotAway(t *testing.T) {
	if why := failure.Why(nil); why != "" {
		t.Errorf("no error says that the database is away: %s", why)
	}
}

func TestAConnectionOfTheProbeThatBreaksIsNoOutage(t *testing.T) {
	faults := &storetest.Faults{}
	s := storetest.OpenAt(t, storetest.URL(t), persistence.Config{Dial: faults.Dial})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	faults.Down()
	faults.Up()
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a database that was restarted between two questions: %v", err)
	}
}
