package chaos

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dialler/engine"
)

// history is what the database noted, by triggers of the harness, while nodes
// wrote: who acquired which campaign under which epoch, and who stored which
// intent. A node's connections have its name.
type history struct{ db *pgxpool.Pool }

const historySchema = `
CREATE SCHEMA witness;
CREATE TABLE witness.epochs (
	at timestamptz NOT NULL, campaign text NOT NULL, epoch bigint NOT NULL, node text NOT NULL);
CREATE TABLE witness.intents (
	at timestamptz NOT NULL, attempt uuid NOT NULL, campaign text NOT NULL, epoch bigint NOT NULL, node text NOT NULL);
CREATE FUNCTION witness.epoch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO witness.epochs VALUES (clock_timestamp(), NEW.id, NEW.epoch, current_setting('application_name'));
	RETURN NULL;
END $$;
CREATE FUNCTION witness.intent() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	INSERT INTO witness.intents
		VALUES (clock_timestamp(), NEW.id, NEW.campaign_id, NEW.epoch, current_setting('application_name'));
	RETURN NULL;
END $$;
CREATE TRIGGER witness_epoch AFTER UPDATE ON campaigns FOR EACH ROW
	WHEN (NEW.epoch <> OLD.epoch) EXECUTE FUNCTION witness.epoch();
CREATE TRIGGER witness_intent AFTER INSERT ON attempts FOR EACH ROW EXECUTE FUNCTION witness.intent();
`

// openHistory lays the triggers, and has the server tell who waits for whom.
func openHistory(ctx context.Context, url string) (*history, error) {
	db, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{historySchema, "ALTER SYSTEM SET log_lock_waits = on", "SELECT pg_reload_conf()"} {
		if _, err := db.Exec(ctx, sql); err != nil {
			db.Close()
			return nil, err
		}
	}
	return &history{db}, nil
}

func (h *history) close() { h.db.Close() }

// acquired is one time that a node became who acts for a campaign.
type acquired struct {
	at       time.Time
	campaign engine.CampaignID
	epoch    int64
	node     string
}

func scanAcquired(row pgx.CollectableRow) (e acquired, err error) {
	err = row.Scan(&e.at, (*string)(&e.campaign), &e.epoch, &e.node)
	return e, err
}

// acquiredAfter is the first time after a moment.
func (h *history) acquiredAfter(ctx context.Context, id engine.CampaignID, after time.Time) (acquired, bool, error) {
	rows, err := h.db.Query(ctx, `SELECT at, campaign, epoch, node FROM witness.epochs
		WHERE campaign = $1 AND at > $2 ORDER BY at LIMIT 1`, string(id), after)
	if err != nil {
		return acquired{}, false, err
	}
	e, err := pgx.CollectExactlyOneRow(rows, scanAcquired)
	if errors.Is(err, pgx.ErrNoRows) {
		return e, false, nil
	}
	return e, err == nil, err
}

// epochs are all of them, in the order in which they happened.
func (h *history) epochs(ctx context.Context) ([]acquired, error) {
	rows, err := h.db.Query(ctx, "SELECT at, campaign, epoch, node FROM witness.epochs ORDER BY at")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanAcquired)
}

// writer is the node that stored an attempt's intent, and the epoch in which it did: the row has that of
// the last owner.
type writer struct {
	node  string
	epoch int64
}

// writers says who stored the intent of each attempt.
func (h *history) writers(ctx context.Context) (map[engine.AttemptID]writer, error) {
	rows, err := h.db.Query(ctx, "SELECT replace(attempt::text, '-', ''), node, epoch FROM witness.intents")
	if err != nil {
		return nil, err
	}
	all, id, w := map[engine.AttemptID]writer{}, "", writer{}
	_, err = pgx.ForEachRow(rows, []any{&id, &w.node, &w.epoch}, func() error {
		all[engine.AttemptID(id)] = w
		return nil
	})
	return all, err
}

// life is one incarnation of a node and its lease.
type life struct {
	name    string
	expires time.Time
	left    *time.Time
}

// lives are all incarnations that there were.
func (h *history) lives(ctx context.Context) (map[engine.Incarnation]life, error) {
	rows, err := h.db.Query(ctx, "SELECT incarnation, name, expires_at, left_at FROM nodes")
	if err != nil {
		return nil, err
	}
	all := map[engine.Incarnation]life{}
	var id engine.Incarnation
	var l life
	_, err = pgx.ForEachRow(rows, []any{&id, &l.name, &l.expires, &l.left}, func() error {
		all[id] = l
		return nil
	})
	return all, err
}

// afterEnd lists what is told of attempts after their end: the ends of legs, results, and what becomes of their
// contacts may be.
func (h *history) afterEnd(ctx context.Context) ([]string, error) {
	rows, err := h.db.Query(ctx, `WITH ends AS (SELECT attempt_id, min(seq) AS seq, min(at) AS at FROM events
			WHERE type = 'attempt.ended' GROUP BY attempt_id)
		SELECT e.attempt_id || ' came ' || e.type || ', ' || (e.at - ends.at) FROM events e JOIN ends USING (attempt_id)
		WHERE (e.seq > ends.seq OR ends.seq = 0 AND e.at > ends.at)
			AND e.type NOT IN ('leg.closed', 'result.stored', 'contact.changed') ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
