package history

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/journal"
	"dialler/engine/pacing"
	"dialler/engine/spine"
	"dialler/persistence/column"
	"dialler/persistence/pool"
	"dialler/persistence/recordings"
	"dialler/persistence/table"
)

// Erasure of a person: number and variables are removed from every table and replaced by a
// tombstone, the same in all rows of the person, so that rows, counters, the history and its fold
// stay the same. The history itself holds neither numbers nor variables.
//
// Meanwhile the number is held, as for a call: nobody dials it until every table and process has
// forgotten it.

// ErasedReason is the reason on contacts and exclusions of an erased person.
const ErasedReason = "person_erased"

var (
	errPersonInCall = engine.Conflict("person_in_call",
		"a call with this person is not over yet, or its number is still held after one; end it (POST "+
			"/api/v1/calls/{call_id}/hang-up) or wait, then erase again")
	errPersonImported = engine.Conflict("person_in_import",
		"")
	errPersonOpen = engine.Conflict("person_open",
		"the person is still to be called in a campaign; erase through the API of the running dialler (DELETE "+
			"/api/v1/persons/{number}), which takes the contact out of it first")
	errPersonScheduled = engine.Conflict(errPersonOpen.Code,
		"a dialout to the person waits for its time; erase through the API of the running dialler (DELETE "+
			"/api/v1/persons/{number}), which cancels it first")
)

// Traces lists where a person is known.
type Traces struct {
	Campaigns []engine.CampaignID // with the number as a contact or an exclusion
	Open      []engine.CampaignID // those where the contact may still be called
	// Asked means that the person is on the suppression list, by a number that nobody else has, or
	// excluded from a campaign.
	Asked      bool
	Recordings []recordings.KeptRecording
	Numbers    []engine.PhoneNumber // the person's others, in any campaign
}

// Traces finds a person. It reads through campaigns, but not through contacts.
func (s *Records) Traces(ctx context.Context, n engine.PhoneNumber) (t Traces, err error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT c.id, coalesce(k.open, false) FROM campaigns c
		LEFT JOIN LATERAL (SELECT bool_or(k.state IN ('pending', 'unanswered', 'connected')) AS open FROM contacts k
		WHERE k.id = ANY(ARRAY(`+table.WithNumber("c.id", "$1")+`))) k ON true
		WHERE k.open IS NOT NULL OR EXISTS (SELECT FROM exclusions x WHERE x.campaign_id = c.id AND x.number = $1)`,
		n.E164())
	var id engine.CampaignID
	var open bool
	if _, err = pgx.ForEachRow(rows, []any{&id, &open}, func() error {
		t.Campaigns = append(t.Campaigns, id)
		if open {
			t.Open = append(t.Open, id)
		}
		return nil
	}); err != nil {
		return t, s.db.Wrap("campaigns of a person not read", err)
	}
	own, shared, err := numbersOf(ctx, s.db.Read, n)
	if err != nil {
		return t, s.db.Wrap("numbers of a person not read", err)
	}
	t.Numbers = slices.Concat(own, shared)
	err = s.db.Read.QueryRow(ctx, `SELECT EXISTS (SELECT FROM suppressions WHERE number = ANY($2::text[])
			AND until IS NULL)
		OR EXISTS (SELECT FROM campaigns c, LATERAL (SELECT FROM exclusions x WHERE x.campaign_id = c.id
		AND x.number = $1 AND NOT x.lifted AND x.reason <> $3) x)`,
		n.E164(), s.listedAs(n, own), ErasedReason).Scan(&t.Asked)
	if err != nil {
		return t, s.db.Wrap("exclusions of a person not read", err)
	}
	kept, _ := s.db.Read.Query(ctx, `SELECT r.attempt_id, r.place, r.started_at FROM attempts a
		JOIN recordings r ON r.attempt_id = a.id
		WHERE a.id IN (SELECT a.id FROM attempts a WHERE a.to_number = $1
			UNION SELECT a.id FROM attempts a WHERE `+attemptsOfPerson+`) AND r.deleted_at IS NULL`, n.E164())
	t.Recordings, err = pgx.CollectRows(kept, recordings.ScanKept)
	return t, s.db.Wrap("recordings of a person not read", err)
}

// attemptsOfPerson is the SQL condition that an attempt is one of a person's whose first number is $1,
// whichever number it called, or a call back that returns one: such a call has its number, by which an
// index finds it.
const attemptsOfPerson = `a.id IN (WITH own AS (
		SELECT o.id, o.to_number FROM campaigns c, contacts k, attempts o WHERE k.campaign_id = c.id AND k.number = $1
			AND o.campaign_id = k.campaign_id AND o.contact_id = k.id
	) SELECT id FROM own UNION ALL
	SELECT b.id FROM own JOIN attempts b ON b.to_number = own.to_number AND b.inbound AND b.returns = own.id)`

// Persons lists whom an erasure of a number erases, each as a person: the persons who have it, by their
// first numbers, before them their other numbers that nobody else has, and last the number itself.
func (s *Records) Persons(ctx context.Context, n engine.PhoneNumber) (list []engine.PhoneNumber, err error) {
	rows, _ := s.db.Read.Query(ctx, `WITH who AS (
			SELECT k.id, k.number FROM campaigns c, contacts k WHERE k.campaign_id = c.id AND k.number = $1
			UNION SELECT k.id, k.number FROM contact_numbers n JOIN contacts k ON k.id = n.contact_id WHERE n.number = $1
		), all_numbers AS (
			SELECT number, 1 AS place FROM who
			UNION SELECT n.number, 0 FROM who JOIN contact_numbers n ON n.contact_id = who.id
			WHERE NOT EXISTS (SELECT FROM contact_numbers o WHERE o.number = n.number
					AND o.contact_id NOT IN (SELECT id FROM who))
				AND NOT EXISTS (SELECT FROM campaigns c, contacts k WHERE k.campaign_id = c.id AND k.number = n.number)
		) SELECT number FROM all_numbers WHERE number <> $1 GROUP BY number ORDER BY max(place), number`, n.E164())
	list, err = pgx.CollectRows(rows, pgx.RowTo[engine.PhoneNumber])
	return append(list, n), s.db.Wrap("numbers of a person not read", err)
}

// numbersOf lists the other numbers of the person whose first number this is, in any campaign: the
// person's own, and those that somebody else has too.
func numbersOf(ctx context.Context, db interface {
	Query(context.Context, string, ...any) (pgx.Rows, error)
}, n engine.PhoneNumber) (own, shared []engine.PhoneNumber, err error) {
	rows, _ := db.Query(ctx, `WITH others AS (
			SELECT DISTINCT n.number FROM campaigns c, contacts k, contact_numbers n
			WHERE k.campaign_id = c.id AND k.number = $1 AND n.contact_id = k.id
		) SELECT o.number, EXISTS (SELECT FROM campaigns c, contacts k WHERE k.campaign_id = c.id AND k.number = o.number)
			OR EXISTS (SELECT FROM contact_numbers n JOIN contacts k ON k.id = n.contact_id
				WHERE n.number = o.number AND k.number <> $1)
		FROM others o ORDER BY 1`, n.E164())
	var other engine.PhoneNumber
	var both bool
	_, err = pgx.ForEachRow(rows, []any{&other, &both}, func() error {
		if both {
			shared = append(shared, other)
		} else {
			own = append(own, other)
		}
		return nil
	})
	return own, shared, err
}

// HoldPerson blocks every dial of the number, for at most the given time. It returns Conflict
// "person_in_call" while a call holds the number.
func (s *Records) HoldPerson(ctx context.Context, n engine.PhoneNumber, as engine.AttemptID, most time.Duration) error {
	tag, err := s.db.Read.Exec(ctx, `INSERT INTO number_holds AS h (number, attempt_id, hold_until)
		VALUES ($1, $2, now() + $3::interval)
		ON CONFLICT (number) DO UPDATE SET attempt_id = excluded.attempt_id, hold_until = excluded.hold_until
		WHERE h.hold_until <= now()`,
		n.E164(), string(as), most)
	if err == nil && tag.RowsAffected() == 0 {
		return errPersonInCall
	}
	return s.db.Wrap("number not held", err)
}

// ReleasePerson ends a hold of HoldPerson.
func (s *Records) ReleasePerson(ctx context.Context, n engine.PhoneNumber, as engine.AttemptID) error {
	_, err := s.db.Read.Exec(ctx, "DELETE FROM number_holds WHERE number = $1 AND attempt_id = $2", n.E164(),
		string(as))
	return s.db.Wrap("number not released", err)
}

// Erasure says whom to erase.
type Erasure struct {
	Number    engine.PhoneNumber
	Tombstone engine.PhoneNumber // engine.ErasedNumber
	// Suppress means that the person is not called again: a hash goes on the suppression list.
	Suppress bool
	// CalleePeriod is the longest period of the limits on calls to one number, 0 when there is none.
	// Without the number its calls can no longer be counted, so it is blocked for that long.
	CalleePeriod time.Duration
	Who          engine.Who
	At           time.Time
}

// Erased lists what was found of a person.
type Erased struct {
	engine.ErasedPerson
	// Matches are exclusions by variables that only this person had.
	Matches map[engine.CampaignID][]map[string]string
}

// erase are the statements that replace the number ($1) by the tombstone ($2), in order; $3 is the
// last digits of each of the person's numbers.
var erase = []struct {
	what string
	sql  string
}{
	// What was said to the person at another number goes with the rest, by the same statements.
	{"other numbers", "UPDATE attempts a SET to_number = $1 WHERE a.to_number <> $1 " +
		"AND NOT starts_with(a.to_number, '" + engine.ErasedPrefix + "') AND " + attemptsOfPerson},
	// Messages that are not delivered yet never will be.
	{"webhooks", `DELETE FROM webhook_messages m WHERE m.subject IN (SELECT a.id FROM attempts a WHERE a.to_number = $1
		UNION SELECT k.id FROM campaigns c, contacts k WHERE k.campaign_id = c.id AND k.number = $1)`},
	{"status callbacks", `DELETE FROM webhook_callbacks b WHERE b.subject IN (SELECT a.id FROM attempts a
		WHERE a.to_number = $1
		UNION SELECT k.id FROM campaigns c, contacts k WHERE k.campaign_id = c.id AND k.number = $1)`},
	{"ladders", "DELETE FROM sip_ladders l USING attempts a WHERE a.to_number = $1 AND l.attempt_id = a.id"},
	{"recordings", `, gone AS (
			UPDATE recordings r SET deleted_at = now() FROM attempts a WHERE a.to_number = $1 AND r.attempt_id = a.id
				AND r.deleted_at IS NULL RETURNING r.attempt_id
		) UPDATE attempts a SET quality = jsonb_set(a.quality, '{recording,deleted_at}', to_jsonb(now())) FROM gone
			WHERE a.id = gone.attempt_id AND a.quality ? 'recording'`},
	// A late write of the leg's row has no effect any more.
	{"legs", `UPDATE legs l SET dialog = NULL, seq = 2147483647,
			sip_reason = CASE WHEN ` + tells("l.sip_reason") + ` THEN '' ELSE l.sip_reason END, uri = CASE
				WHEN ` + tells("l.uri") + ` THEN '' ELSE l.uri END
		FROM attempts a WHERE a.to_number = $1 AND l.attempt_id = a.id`},
	{"replies", `UPDATE idempotency i SET body = convert_to(replace(convert_from(i.body, 'UTF8'), $1, $2), 'UTF8')
		FROM attempts a
		WHERE a.to_number = $1 AND a.campaign_id = '' AND (i.at BETWEEN a.reserved_at - interval '1 minute'
			AND a.reserved_at + interval '1 minute' OR EXISTS (SELECT FROM events e WHERE e.seq = 0 AND e.attempt_id = a.id
			AND e.type = 'dialout.scheduled' AND i.at BETWEEN e.at - interval '1 minute' AND e.at + interval '1 minute'))
			AND position(convert_to($1, 'UTF8') IN i.body) > 0`},
	{"attempts", `UPDATE attempts SET to_number = $2, variables = NULL, transfer = NULL,
			result = (result - '{summary,variables,transcript_url,recording_url,unknown_fields}'::text[]) #-
			'{callback,reason}',
			sip_reason = CASE WHEN ` + tells("sip_reason") + ` THEN '' ELSE sip_reason END,
			attestation = CASE WHEN ` + tells("attestation") + ` THEN '' ELSE attestation END
		WHERE to_number = $1`},
	{"variables", "UPDATE contact_variables v SET variables = '{}', hash = 0 FROM campaigns c, contacts k " +
		"WHERE k.campaign_id = c.id AND k.number = $1 AND v.contact_id = k.id"},
	{"contacts of earlier runs", `UPDATE contact_runs r SET number = $2, alternates = '', choice = 0,
		version = r.version + 1, reason = CASE
		WHEN r.state = 'excluded' THEN '` + ErasedReason + `' ELSE r.reason END
		FROM campaigns c, contacts k WHERE k.campaign_id = c.id AND k.number = $1
			AND r.campaign_id = k.campaign_id AND r.id = k.id`},
	{"contacts", `UPDATE contacts k SET number = $2, alternates = '', choice = 0, version = k.version + 1,
		reason = CASE WHEN k.state = 'excluded' THEN '` + ErasedReason +
		`' ELSE k.reason END
		FROM campaigns c WHERE k.campaign_id = c.id AND k.number = $1`},
	{"exclusions", "UPDATE exclusions x SET number = $2, reason = '" + ErasedReason +
		"' FROM campaigns c WHERE x.campaign_id = c.id AND x.number = $1"},
	{"rejected rows", `UPDATE import_rejected SET number = $2, message = 'the person was erased', record = ''
		WHERE EXISTS (SELECT FROM unnest(string_to_array($3, ' ')) d
			WHERE right(regexp_replace(number, '\D', '', 'g'), length(d)) = d)`},
	// Where it is a further number, or in any other cell, the row stays and its cells go. Records are there for
	// some days only and have an index (retention.go).
	{"records of rejected rows", "UPDATE import_rejected SET record = '' WHERE record <> '' AND record ~ " + grouped},
}

// grouped is the SQL of a pattern of the last digits of the person's numbers, as people group them. Digits of
// neighbouring cells are not taken together: what separates cells is no separator within a number.
const grouped = `(SELECT string_agg(regexp_replace(d, '(.)', '\1[ ./()\\u00a0\\u2011\\u2013-]*', 'g'), '|')
		FROM unnest(string_to_array($3, ' ')) d WHERE d ~ '^\d+$')`

// tells is the SQL condition that a text contains the last digits of one of the person's numbers,
// however they are grouped.
func tells(column string) string {
	return `EXISTS (SELECT FROM unnest(string_to_array($3, ' ')) d
		WHERE position(d IN regexp_replace(` + column + `, '\D', '', 'g')) > 0)`
}

// lastDigits is how many digits of a number are searched for in free text: the author may have left
// out the country code.
const lastDigits = 7

// ErasePerson erases in one transaction. The caller must hold the number (HoldPerson) and have
// removed it from the campaigns in which it is open. The caller also deletes the recordings' files.
// A person of whom nothing is known is no error.
func (s *Records) ErasePerson(ctx context.Context, e Erasure) (out Erased, err error) {
	err = s.db.InTx(ctx, "person not erased", func(tx pgx.Tx) error {
		out = Erased{}
		// No contacts are read into the search meanwhile. First: it may be waited for.
		if _, err := tx.Exec(ctx, table.LockSearched); err != nil {
			return err
		}
		// Whoever makes messages of events has read the number before, or will not find it any more.
		if _, err := tx.Exec(ctx, "SELECT FROM webhook_follower FOR UPDATE"); err != nil {
			return err
		}
		if err := erasable(ctx, tx, e.Number); err != nil {
			return err
		}
		own, shared, err := numbersOf(ctx, tx, e.Number)
		if err != nil {
			return err
		}
		others := slices.Concat(own, shared)
		written, err := s.going(ctx, tx, e.Number, others)
		if err != nil {
			return err
		}
		if err := s.eraseSuppression(ctx, tx, &e, e.Number, &out); err != nil {
			return err
		}
		if e.Suppress {
			for _, n := range own {
				if err := s.eraseSuppression(ctx, tx, &e, n, &out); err != nil {
					return err
				}
			}
		}
		for _, n := range shared {
			if err := s.restShared(ctx, tx, &e, n); err != nil {
				return err
			}
		}
		if out.Matches, err = eraseMatches(ctx, tx, &e); err != nil {
			return err
		}
		n := e.Number.E164()
		digits := n[max(0, len(n)-lastDigits):]
		for _, other := range others {
			digits += " " + other.E164()[max(0, len(other)-lastDigits):]
		}
		for _, x := range erase {
			// A statement has to name every parameter that it is given.
			tag, err := tx.Exec(ctx, "WITH p AS (SELECT $1::text, $2::text, $3::text) "+x.sql, n, e.Tombstone.E164(),
				digits)
			if err != nil {
				return err
			}
			switch x.what {
			case "contacts":
				out.Contacts = int(tag.RowsAffected())
			case "attempts":
				out.Attempts = int(tag.RowsAffected())
			case "recordings":
				out.Recordings = int(tag.RowsAffected())
			}
		}
		if err := eraseSearched(ctx, tx, e.Tombstone); err != nil {
			return err
		}
		tombstone := sha256.Sum256([]byte(e.Tombstone.E164()))
		if err := s.spine.Note(ctx, tx, spine.KindErasure, spine.Erasure{Tombstone: hex.EncodeToString(tombstone[:]),
			Contacts: out.Contacts, Attempts: out.Attempts}); err != nil {
			return err
		}
		ev := journal.Event{At: e.At, Type: journal.PersonErased, Version: 1, Data: journal.Data{Who: &e.Who,
			Count: out.Contacts + out.Attempts}}
		if err := s.erased(ctx, tx, written, &e, others); err != nil {
			return err
		}
		return s.db.TellWritten(ctx, tx, written, ev)
	})
	if err == nil {
		s.spine.Written()
	}
	return out, err
}

// eraseSearched removes the contacts with a tombstone from what is searched.
func eraseSearched(ctx context.Context, tx pgx.Tx, tombstone engine.PhoneNumber) error {
	rows, _ := tx.Query(ctx, "SELECT c.id, k.id FROM campaigns c, contacts k WHERE k.campaign_id = c.id "+
		"AND k.number = $1", tombstone.E164())
	of := map[string]string{}
	var campaign, id string
	_, err := pgx.ForEachRow(rows, []any{&campaign, column.Hex(&id)}, func() error {
		of[campaign] = id
		return nil
	})
	for campaign, id := range of {
		if err == nil {
			_, err = tx.Exec(ctx, table.BlankSearched, campaign, []string{id})
		}
	}
	return err
}

// going begins the rows of an erasure with those that will be gone, or whose name will be another one.
func (s *Records) going(ctx context.Context, tx pgx.Tx, n engine.PhoneNumber,
	others []engine.PhoneNumber) (*table.Rows, error) {
	rows, _ := tx.Query(ctx, "SELECT c.id FROM campaigns c WHERE EXISTS (SELECT FROM contacts k "+
		"WHERE k.campaign_id = c.id AND k.number = $1)", n.E164())
	campaigns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	written := s.db.Written()
	for _, id := range campaigns { // exclusions by variables that only this person has
		err := written.Remove(ctx, tx, table.Owner{Campaign: id}, table.PartExclusion,
			"t.campaign_id = $1 AND t.number = ''", id)
		if err != nil {
			return nil, err
		}
	}
	return written, written.Remove(ctx, tx, table.Owner{}, table.PartSuppression, "t.number = ANY($1::text[])",
		s.listedAs(n, others))
}

// listedAs are the names of a person's numbers on the suppression list.
func (s *Records) listedAs(n engine.PhoneNumber, others []engine.PhoneNumber) (names []string) {
	for _, n := range append([]engine.PhoneNumber{n}, others...) {
		names = append(names, n.E164(), s.db.Hashed(n))
	}
	return names
}

// erased adds the person's rows as they are now, wherever they are: an exclusion may have come while the
// others were erased.
func (s *Records) erased(ctx context.Context, tx pgx.Tx, w *table.Rows, e *Erasure,
	others []engine.PhoneNumber) error {
	rows, _ := tx.Query(ctx, `SELECT c.id FROM campaigns c WHERE EXISTS (SELECT FROM contacts k
		WHERE k.campaign_id = c.id AND k.number = $1)
		OR EXISTS (SELECT FROM exclusions x WHERE x.campaign_id = c.id AND x.number = $1)
		UNION SELECT campaign_id FROM attempts WHERE to_number = $1`, e.Tombstone.E164())
	campaigns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	var now time.Time
	if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&now); err != nil {
		return err
	}
	const (
		contacts = "(SELECT k.id FROM contacts k WHERE k.campaign_id = $1 AND k.number = $2)"
		attempts = "(SELECT a.id FROM attempts a WHERE a.campaign_id = $1 AND a.to_number = $2)"
	)
	for _, id := range campaigns {
		of := table.Owner{Campaign: id}
		// The exclusion's former name.
		w.RemoveNamed(of, table.PartExclusion, id+" "+e.Number.E164()+" {}", now)
		for _, x := range []struct {
			part  *table.Part
			where string
		}{
			{table.PartContact, "t.id IN " + contacts},
			{table.PartKept, "t.campaign_id = $1 AND t.number = $2"},
			{table.PartVariables, "t.contact_id IN " + contacts},
			{table.PartAttempt, "t.id IN " + attempts},
			{table.PartResult, "t.id IN " + attempts},
			{table.PartQuality, "t.id IN " + attempts},
			{table.PartLeg, "t.attempt_id IN " + attempts},
			{table.PartExclusion, "t.campaign_id = $1 AND t.number IN ($2, '')"},
		} {
			if err := w.Add(ctx, tx, of, x.part, x.where, id, e.Tombstone.E164()); err != nil {
				return err
			}
		}
	}
	return w.Add(ctx, tx, table.Owner{}, table.PartSuppression, "t.number = ANY($1::text[])",
		s.listedAs(e.Number, others))
}

// erasable refuses a person who has a call or an import in progress.
func erasable(ctx context.Context, tx pgx.Tx, n engine.PhoneNumber) error {
	var live, importing, open, scheduled bool
	err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM attempts WHERE to_number = $1 AND live)
			OR EXISTS (SELECT FROM attempts a WHERE a.live AND `+attemptsOfPerson+`),
		EXISTS (SELECT FROM imports i, LATERAL (SELECT FROM import_rows r WHERE r.import_id = i.id AND r.number = $1
				LIMIT 1) r WHERE i.state IN ('staging', 'activating'))
			OR EXISTS (SELECT FROM imports i WHERE i.state IN ('staging', 'activating')
				AND i.id IN (`+table.StagedBeside("$1")+`)),
		EXISTS (SELECT FROM campaigns c, LATERAL (SELECT FROM contacts k WHERE k.campaign_id = c.id AND k.number = $1
			AND k.state IN ('pending', 'unanswered', 'connected')) k),
		EXISTS (SELECT FROM scheduled_dialouts WHERE to_number = $1)`, pool.PlannedEachTime, n.E164()).
		Scan(&live, &importing, &open, &scheduled)
	switch {
	case err != nil:
		return err
	case live:
		return errPersonInCall
	case importing:
		return errPersonImported
	case open:
		return errPersonOpen
	case scheduled:
		return errPersonScheduled
	}
	return nil
}

// eraseSuppression replaces the number by its hash, forever or for as long as earlier calls
// restrict us.
func (s *Records) eraseSuppression(ctx context.Context, tx pgx.Tx, e *Erasure, n engine.PhoneNumber,
	out *Erased) error {
	hash := s.db.Hashed(n)
	var reason string
	err := tx.QueryRow(ctx, `SELECT reason FROM suppressions WHERE number IN ($1, $2) AND until IS NULL
		AND reason IN ('do_not_call', 'opt_out', 'manual', 'import') LIMIT 1`, n.E164(), hash).Scan(&reason)
	if errors.Is(err, pgx.ErrNoRows) {
		reason, err = ErasedReason, nil
	}
	if err != nil {
		return err
	}
	if !e.Suppress {
		if out.RestsUntil, err = rests(ctx, tx, e, n); err != nil {
			return err
		}
	}
	// A block left by an earlier erasure stays in force.
	if _, err := tx.Exec(ctx, "DELETE FROM suppressions WHERE number = $1 OR (number = $2 AND until IS NULL "+
		"AND NOT $3)", n.E164(), hash, e.Suppress); err != nil {
		return err
	}
	out.Suppressed = e.Suppress
	if !e.Suppress && out.RestsUntil == nil {
		return nil
	}
	return s.listHash(ctx, tx, e, n, reason, out.RestsUntil)
}

// restShared blocks a number that somebody else has too for as long as the erased person's calls to it
// restrict us: nobody finds them by the number any more. Whether it is suppressed is the other's.
func (s *Records) restShared(ctx context.Context, tx pgx.Tx, e *Erasure, n engine.PhoneNumber) error {
	until, err := rests(ctx, tx, e, n)
	if err != nil || until == nil {
		return err
	}
	return s.listHash(ctx, tx, e, n, ErasedReason, until)
}

// listHash puts the hash of a number on the suppression list, forever if until is nil.
func (s *Records) listHash(ctx context.Context, tx pgx.Tx, e *Erasure, n engine.PhoneNumber, reason string,
	until *time.Time) error {
	_, err := tx.Exec(ctx, `INSERT INTO suppressions AS s (number, reason, created_at, until) VALUES ($1, $2, $3, $4)
		ON CONFLICT (number) DO UPDATE SET until = CASE WHEN excluded.until IS NULL OR s.until IS NULL THEN NULL
		ELSE greatest(s.until, excluded.until) END`,
		s.db.Hashed(n), reason, e.At, until)
	return err
}

// rests says until when the calls that an erasure takes from a number restrict us, nil if they do not:
// all calls to the person's first number, and the person's to another.
func rests(ctx context.Context, tx pgx.Tx, e *Erasure, n engine.PhoneNumber) (rest *time.Time, err error) {
	var abandoned, called *time.Time
	err = tx.QueryRow(ctx, `SELECT max(a.ended_at) FILTER (WHERE NOT a.live AND NOT a.inbound
			AND a.outcome = 'abandoned'), max(a.reserved_at) FILTER (WHERE a.consumed)
		FROM attempts a WHERE a.to_number = $2 AND ($1 = $2 OR `+attemptsOfPerson+`)`,
		e.Number.E164(), n.E164()).Scan(&abandoned, &called)
	if err != nil {
		return nil, err
	}
	later := func(t *time.Time, by time.Duration) {
		if t == nil {
			return
		}
		if until := t.Add(by); until.After(e.At) && (rest == nil || until.After(*rest)) {
			rest = &until
		}
	}
	later(abandoned, pacing.SeatedAfterAbandon)
	if e.CalleePeriod > 0 {
		later(called, e.CalleePeriod)
	}
	return rest, nil
}

// eraseMatches removes the person's variables from exclusions by variables that cover nobody else.
func eraseMatches(ctx context.Context, tx pgx.Tx, e *Erasure) (map[engine.CampaignID][]map[string]string, error) {
	rows, _ := tx.Query(ctx, `WITH own AS (
			SELECT x.campaign_id, x.match FROM campaigns c JOIN contacts k ON k.campaign_id = c.id AND k.number = $1
			JOIN contact_variables v ON v.contact_id = k.id
			JOIN exclusions x ON x.campaign_id = c.id AND x.number = '' AND x.match <> '{}' AND v.variables @> x.match
			WHERE NOT EXISTS (SELECT FROM contact_variables ov JOIN contacts o ON o.id = ov.contact_id
				WHERE ov.variables @> x.match AND o.campaign_id = c.id AND o.id <> k.id)
		)
		UPDATE exclusions x SET match = jsonb_build_object('erased', left(md5(own.match::text || random()::text), 16)),
			reason = $2
		FROM own WHERE x.campaign_id = own.campaign_id AND x.number = '' AND x.match = own.match
		RETURNING own.campaign_id, own.match`, e.Number.E164(), ErasedReason)
	out := map[engine.CampaignID][]map[string]string{}
	var id engine.CampaignID
	var match map[string]string
	_, err := pgx.ForEachRow(rows, []any{&id, &match}, func() error {
		out[id] = append(out[id], match)
		match = nil
		return nil
	})
	return out, err
}
