package history

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/seal"
	"dialler/engine/spine"
)

// Once a run's events are gone, only its checkpoint is left, and no chain shows whether it was
// changed. So checkpoints are signed, with a key that is not available to those who can write to
// the database.

// sealMigration is the migration since which checkpoints are signed.
const sealMigration = 24

// sealedCheckpoint is a stored checkpoint with its signature.
type sealedCheckpoint struct {
	Campaign     string          `json:"campaign_id"`
	Run          int             `json:"run"`
	Counters     json.RawMessage `json:"counters"`
	AttemptsGone bool            `json:"attempts_gone"`
	EventsGone   bool            `json:"events_gone"`
	Seq          int64           `json:"seq"`
	Batches      int64           `json:"batches"`
	Hash         string          `json:"hash"`
	At           string          `json:"at"`

	at        time.Time
	signedBy  string
	signature []byte
}

const selectSealed = `SELECT campaign_id, run, counters::text, attempts_gone, events_gone, seq, batches, hash, at,
	coalesce(signed_by, ''), signature
	FROM run_checkpoints WHERE campaign_id = $1`

func scanSealed(row pgx.CollectableRow) (c sealedCheckpoint, err error) {
	var counters string
	var hash []byte
	err = row.Scan(&c.Campaign, &c.Run, &counters, &c.AttemptsGone, &c.EventsGone, &c.Seq, &c.Batches, &hash, &c.at,
		&c.signedBy, &c.signature)
	c.Counters, c.Hash, c.At = json.RawMessage(counters), hex.EncodeToString(hash),
		c.at.UTC().Format("2006-01-02T15:04:05.000000Z")
	return c, err
}

// text is the signed text: the kind of checkpoint, and the row in canonical JSON.
func (c *sealedCheckpoint) text() ([]byte, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return chain.AppendCanonical([]byte("dialler checkpoint 1\n"), raw)
}

// wrong says what is wrong with the signature, "" when it is valid; older means that the row has
// none because it predates signing.
func (c *sealedCheckpoint) wrong(since *sealedSince, trusted []seal.Public) (what string, older bool) {
	of := "what was kept of the run"
	if c.Campaign == "" {
		of = fmt.Sprintf("what was kept of the month %04d-%02d", c.Run/100, c.Run%100)
	}
	if c.signature == nil {
		if since.unsigned(c) {
			return "", true
		}
		return "the checkpoint has no signature: " + of + " was changed or added", false
	}
	text, err := c.text()
	if err != nil {
		return "the checkpoint cannot be read: " + of + " was changed", false
	}
	for _, k := range trusted {
		if k.Fingerprint() != c.signedBy {
			continue
		}
		if k.Verify(text, c.signature) {
			return "", false
		}
		return "the checkpoint does not match its signature: " + of + " was changed", false
	}
	return "the checkpoint is signed with the key " + c.signedBy +
			", which is not trusted: name its public half with --key if it is the installation's",
		false
}

// sealedSince is since when checkpoints are signed.
type sealedSince struct {
	migrated time.Time
	begun    *begun // knows better, where there is a spine
}

// unsigned says whether a checkpoint may have no signature.
func (s *sealedSince) unsigned(c *sealedCheckpoint) bool {
	if s.begun != nil {
		return s.begun.unsigned(spine.Chain{Campaign: engine.CampaignID(c.Campaign), Run: c.Run})
	}
	return c.at.Before(s.migrated)
}

func readSealedSince(ctx context.Context, tx pgx.Tx) (s sealedSince, err error) {
	err = tx.QueryRow(ctx, "SELECT max(tstamp)::timestamp AT TIME ZONE 'UTC' FROM goose_db_version "+
		"WHERE version_id = $1", sealMigration).Scan(&s.migrated)
	if err == nil {
		s.begun, err = readBegun(ctx, tx)
	}
	return s, err
}

// checkpointBefore checks the existing checkpoint of a run or month: one that was tampered with
// must not be signed again. older means that it has no signature and gets none: nobody can tell
// what it was.
func (s *Records) checkpointBefore(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int,
	key seal.Signer) (older bool, err error) {
	since, err := readSealedSince(ctx, tx)
	if err != nil {
		return false, err
	}
	rows, _ := tx.Query(ctx, selectSealed+" AND run = $2 FOR UPDATE", string(id), run)
	c, err := pgx.CollectExactlyOneRow(rows, scanSealed)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	what, older := c.wrong(&since, append(s.spine.Keys(), key.Public()))
	if what == "" {
		return older, nil
	}
	name := string(id)
	if id == "" {
		name = "no campaign"
	}
	return false, engine.Conflict("checkpoint_not_ours", fmt.Sprintf("%s run %d: %s; nothing of it is dropped: see "+
		"dialler db audit, and start with the former --signing-key if the key was changed", name, run, what))
}

// signCheckpoint signs a checkpoint as stored, and tells the spine.
func (s *Records) signCheckpoint(ctx context.Context, tx pgx.Tx, id engine.CampaignID, run int,
	key seal.Signer) error {
	rows, _ := tx.Query(ctx, selectSealed+" AND run = $2", string(id), run)
	c, err := pgx.CollectExactlyOneRow(rows, scanSealed)
	if err != nil {
		return err
	}
	text, err := c.text()
	if err != nil {
		return err
	}
	signature, err := key.Sign(text)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE run_checkpoints SET signed_by = $3, signature = $4 WHERE campaign_id = $1 "+
		"AND run = $2", string(id), run, key.Public().Fingerprint(), signature)
	if err != nil {
		return err
	}
	return s.spine.Note(ctx, tx, spine.KindCheckpoint, spine.Checkpoint{Chain: spine.Chain{Campaign: id, Run: run},
		Hash: chain.Digest(text).String(), AttemptsGone: c.AttemptsGone, EventsGone: c.EventsGone})
}

// keepMonth makes the checkpoint of a month's events that belong to no campaign: the number of
// events and of batches, and the SHA-256 of the chains' heads in order.
func (s *Records) keepMonth(ctx context.Context, tx pgx.Tx, table string, month int, at time.Time,
	key seal.Signer) error {
	if _, err := s.checkpointBefore(ctx, tx, "", month, key); err != nil {
		return err
	}
	tag, err := tx.Exec(ctx, `INSERT INTO run_checkpoints (campaign_id, run, counters, events_gone, seq, batches, hash,
		at)
		SELECT '', $1, '{}', true, (SELECT count(*) FROM `+table+`
		WHERE seq <= 0), sum(n), sha256(string_agg(hash, ''::bytea ORDER BY run)), $2
		FROM event_heads WHERE campaign_id = '' AND run BETWEEN $1 * 100 AND $1 * 100 + 99 HAVING count(*) > 0
		ON CONFLICT DO NOTHING`, month, at)
	if err != nil || tag.RowsAffected() == 0 {
		return err
	}
	return s.signCheckpoint(ctx, tx, "", month, key)
}

// checkpoints verifies the signatures of the checkpoints.
func (a *auditor) checkpoints(trusted []seal.Public) error {
	rows, _ := a.tx.Query(a.ctx, selectSealed+" ORDER BY run", string(a.id))
	list, err := pgx.CollectRows(rows, scanSealed)
	if err != nil || len(list) == 0 {
		return err
	}
	since, err := readSealedSince(a.ctx, a.tx)
	if err != nil {
		return err
	}
	for i := range list {
		what, older := list[i].wrong(&since, trusted)
		switch {
		case older:
			a.Unsigned = append(a.Unsigned, list[i].Run)
		case what != "":
			a.found(Finding{Table: "run_checkpoints", Run: list[i].Run, What: what})
		}
	}
	return nil
}
