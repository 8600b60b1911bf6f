package persistence_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// yields makes every insertion into the table fail with an SQLSTATE until it has been tried that
// often: sequences are not rolled back.
func yields(t *testing.T, url, table, state string, times int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	for _, sql := range []string{
		"CREATE SEQUENCE tries",
		`CREATE FUNCTION yield() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('tries') <= TG_ARGV[0]::int THEN
				RAISE EXCEPTION 'another one goes first' USING ERRCODE = TG_ARGV[1];
			END IF;
			RETURN NEW; END $$`,
		"CREATE TRIGGER yield BEFORE INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION yield(" + string(rune('0'+times)) +
			", '" + state + "')",
	} {
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

// A transaction that the server aborted in favour of another is retried, so that two administrators
// at once do not get an error that the database is unavailable.
func TestATransactionThatYieldsToAnotherIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"40001", "40P01"} {
		url := storetest.URL(t)
		s, err := persistence.Open(t.Context(), url, persistence.Config{Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		yields(t, url, "numbers", state, 3)
		_, err = s.PutNumber(t.Context(), engine.NumberSettings{Number: "+493023125000", State: "active"}, engine.Who{})
		if err != nil {
			t.Errorf("%s: %v", state, err)
		}
		s.Close()
	}
}

func TestATransactionDoesNotYieldForEver(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s, err := persistence.Open(t.Context(), url, persistence.Config{Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	yields(t, url, "numbers", "40001", 9)
	_, err = s.PutNumber(t.Context(), engine.NumberSettings{Number: "+493023125000", State: "active"}, engine.Who{})
	if engine.ErrorCode(err) != "database_unavailable" {
		t.Errorf("%v", err)
	}
}
