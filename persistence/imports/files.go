// Package imports takes in files of contacts: they are staged over connections of their own, and
// become contacts in one transaction.
package imports

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
	"dialler/persistence/table"
)

// An open import has a connection of its own, from its first row to its end: uploads take as long
// as clients like, and neither the group commits nor the queries of the hot path may wait for them.
// The connection holds an advisory lock in the import's name; when the process or the server dies,
// the lock is released, and CloseOrphanedImports knows that nobody will finish the import.

// Files are files of contacts that become contacts of a campaign.
type Files struct {
	db      *table.DB
	imports importSessions
}

// NewFiles returns the Files stored in db.
func NewFiles(db *table.DB) *Files { return &Files{db: db} }

// Close ends the open imports of this process.
func (f *Files) Close() { f.imports.closeAll() }

// importSessions are the open imports of this process.
type importSessions struct {
	mu   sync.Mutex
	open map[engine.ImportID]*importSession
}

type importSession struct {
	mu       sync.Mutex // a session serves one call at a time
	conn     *pgx.Conn
	rejected int // rows listed so far
}

var (
	errImportInProgress = engine.Conflict("import_in_progress",
		"")
	errImportsBusy = engine.Unavailable("imports_busy", "",
		5*time.Second)
)

// importLock is the advisory lock of an import, within its schema.
const importLock = "hashtextextended(current_schema() || '.import.' || id::text, 0)"

// BeginImport opens an import. It returns Conflict "import_in_progress" while another of the
// campaign is open, journal.ErrImportRequest when the same request already began one that did not
// fail, and Unavailable "imports_busy" when this process has its maximum open. The caller ends it
// with CloseImport.
func (s *Files) BeginImport(ctx context.Context, imp campaign.Import) error {
	session, err := s.imports.reserve(imp.ID, s.db.Config.Imports)
	if err != nil {
		return err
	}
	if err := s.begin(ctx, session, imp); err != nil {
		session.close()
		s.imports.remove(imp.ID)
		return err
	}
	return nil
}

func (s *Files) begin(ctx context.Context, session *importSession, imp campaign.Import) (err error) {
	if session.conn, err = pgx.ConnectConfig(ctx, s.db.Single.Copy()); err != nil {
		return s.db.Wrap("no connection to the database", err)
	}
	pool.ScanUTC(session.conn)
	// The lock precedes the row, so that no open row is ever without it.
	_, err = session.conn.Exec(ctx, "SELECT pg_advisory_lock("+importLock+") FROM (SELECT $1::uuid AS id) i",
		string(imp.ID))
	if err != nil {
		return s.db.Wrap("import not begun", err)
	}
	if _, err := s.failOrphans(ctx, imp.CreatedAt); err != nil {
		return err
	}
	tag, err := session.conn.Exec(ctx, `INSERT INTO imports (id, campaign_id, state, filename, created_at, created_by,
		dry_run, key_id, token, request_hash, country)
		SELECT $1, c.id, 'staging', $3, $4, $5, $6, $7, $8, $9, $10 FROM campaigns c WHERE c.id = $2`,
		string(imp.ID), string(imp.Campaign), column.Clean(imp.Filename), imp.CreatedAt, imp.CreatedBy, imp.DryRun,
		string(imp.Idempotency.Key), imp.Idempotency.Token, imp.Idempotency.BodyHash, imp.Country)
	switch _, constraint := failure.SQLState(err); constraint {
	case "imports_open":
		return errImportInProgress
	case "imports_request":
		return journal.ErrImportRequest
	}
	if err != nil {
		return s.db.Wrap("import not begun", err)
	}
	if tag.RowsAffected() == 0 {
		return table.ErrCampaignNotFound
	}
	return nil
}

func (i *importSessions) reserve(id engine.ImportID, limit int) (*importSession, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.open) >= limit {
		return nil, errImportsBusy
	}
	if i.open == nil {
		i.open = map[engine.ImportID]*importSession{}
	}
	s := &importSession{}
	i.open[id] = s
	return s, nil
}

func (i *importSessions) remove(id engine.ImportID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.open, id)
}

func (i *importSessions) get(id engine.ImportID) *importSession {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.open[id]
}

// closeAll is called when the store closes.
func (i *importSessions) closeAll() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for id, s := range i.open {
		s.close()
		delete(i.open, id)
	}
}

func (s *importSession) close() {
	if s.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.conn.Close(ctx)
}

// inImport runs f with the import's connection.
func (s *Files) inImport(id engine.ImportID, what string, f func(*importSession) error) error {
	session := s.imports.get(id)
	if session == nil {
		return journal.ErrImportGone
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	err := f(session)
	var e *engine.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return s.db.Wrap(what, err)
}

// StageImport adds rows to an open import, and lists those that cannot become contacts. rows and
// invalid are the totals of the file so far.
func (s *Files) StageImport(ctx context.Context, id engine.ImportID, rows []journal.StagedRow,
	rejected []campaign.RejectedRow, total, invalid int) error {
	return s.inImport(id, "rows not staged", func(session *importSession) error {
		return pgx.BeginFunc(ctx, session.conn, func(tx pgx.Tx) error {
			// Staged rows are lost with a crash of the server anyway.
			if _, err := tx.Exec(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, "UPDATE imports SET rows = $2, invalid = $3 WHERE id = $1 AND state = 'staging'",
				string(id), total, invalid)
			if err != nil {
				return err
			}
			if tag.RowsAffected() == 0 {
				return journal.ErrImportGone
			}
			if err := copyRows(ctx, tx, id, rows); err != nil {
				return err
			}
			return copyRejected(ctx, tx, id, session, rejected)
		})
	})
}

func copyRows(ctx context.Context, tx pgx.Tx, id engine.ImportID, rows []journal.StagedRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"import_rows"}, []string{"import_id", "line", "id", "number", "hash",
		"variables", "not_before", "expires_at", "precedence", "alternates", "record"},
		pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
			r := &rows[i]
			var vars []byte
			if len(r.Variables) > 0 {
				b, err := json.Marshal(r.Variables)
				if err != nil {
					return nil, err
				}
				vars = column.CleanJSON(b)
			}
			var times contact.Contact
			times.Take(r.Times)
			return []any{string(id), int64(r.Line), string(r.ID), r.Number.E164(), table.VariablesHash(r.Variables),
				vars, times.NotBefore, times.ExpiresAt, int32(times.Precedence), //nolint:gosec // from -4 to 5
				column.Clean(string(r.Alternates)), column.Clean(r.Record)}, nil
		}))
	return err
}

func copyRejected(ctx context.Context, tx pgx.Tx, id engine.ImportID, session *importSession,
	rejected []campaign.RejectedRow) error {
	rejected = rejected[:min(len(rejected), campaign.RejectedCap-session.rejected)]
	if len(rejected) == 0 {
		return nil
	}
	session.rejected += len(rejected)
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"import_rejected"}, []string{"import_id", "line", "number", "reason",
		"message", "record"},
		pgx.CopyFromSlice(len(rejected), func(i int) ([]any, error) {
			r := &rejected[i]
			return []any{string(id), int64(r.Line), column.Clean(r.Number), r.Reason, column.Clean(r.Message),
				column.Clean(r.Record)}, nil
		}))
	return err
}

// FailImport records why an open import failed. One that is active, or has failed already, is left
// unchanged.
func (s *Files) FailImport(ctx context.Context, id engine.ImportID, problem campaign.ImportProblem,
	at time.Time) error {
	_, err := s.db.Read.Exec(ctx, `UPDATE imports SET state = 'failed', problem = $2, finished_at = $3
		WHERE id = $1 AND state IN ('staging', 'activating')`, string(id), problem, at)
	return s.db.Wrap("the import's end not stored", err)
}

// CloseImport removes the staged rows of an import and releases its connection.
func (s *Files) CloseImport(ctx context.Context, id engine.ImportID) error {
	session := s.imports.get(id)
	if session == nil {
		return nil
	}
	session.mu.Lock()
	defer session.mu.Unlock()
	_, err := s.db.Read.Exec(ctx, "DELETE FROM import_rows WHERE import_id = $1", string(id))
	session.close()
	s.imports.remove(id)
	return s.db.Wrap("staged rows not removed", err)
}

// interrupted is the problem of an import whose process or connection died.
var interrupted = campaign.ImportProblem{Code: "interrupted",
	Detail: "The dialler or its database was stopped while the file was being imported; nothing was added, upload it " +
		"again."}

// CloseOrphanedImports fails the open imports that no living process holds, removes staged rows
// that belong to no open import, and says how many failed.
func (s *Files) CloseOrphanedImports(ctx context.Context, at time.Time) (failed int, err error) {
	if failed, err = s.failOrphans(ctx, at); err != nil {
		return failed, err
	}
	// It steps from one import to the next by the index, and deletes by their names those that it found: millions
	// of rows of an open import are not read every few seconds.
	rows, _ := s.db.Read.Query(ctx, `WITH RECURSIVE staged AS (
			(SELECT import_id FROM import_rows ORDER BY import_id LIMIT 1)
			UNION ALL
			SELECT (SELECT r.import_id FROM import_rows r WHERE r.import_id > s.import_id ORDER BY r.import_id LIMIT 1)
			FROM staged s WHERE s.import_id IS NOT NULL
		)
		SELECT s.import_id::text FROM staged s WHERE s.import_id IS NOT NULL
			AND NOT EXISTS (SELECT FROM imports i WHERE i.id = s.import_id AND i.state IN ('staging', 'activating'))`)
	orphans, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(orphans) > 0 {
		_, err = s.db.Read.Exec(ctx, "DELETE FROM import_rows WHERE import_id = ANY($1::uuid[])", orphans)
	}
	return failed, s.db.Wrap("staged rows not removed", err)
}

func (s *Files) failOrphans(ctx context.Context, at time.Time) (int, error) {
	// A free lock is taken for the duration of the statement.
	tag, err := s.db.Read.Exec(ctx, `UPDATE imports SET state = 'failed', problem = $1, finished_at = $2
		WHERE state IN ('staging', 'activating') AND pg_try_advisory_xact_lock(`+importLock+`)`, interrupted, at)
	return int(tag.RowsAffected()), s.db.Wrap("interrupted imports not closed", err)
}

// StagedNumber says whether an open import has a row with the number, as the first or beside it.
func (s *Files) StagedNumber(ctx context.Context, id engine.ImportID, n engine.PhoneNumber) (staged bool, err error) {
	err = s.db.Read.QueryRow(ctx, "SELECT EXISTS (SELECT FROM import_rows WHERE import_id = $1 AND number = $2) "+
		"OR $1 IN ("+table.StagedBeside("$2")+")", pool.PlannedEachTime, string(id), n.E164()).Scan(&staged)
	return staged, s.db.Wrap("staged rows not read", err)
}

const (
	importColumns = "i.id, i.campaign_id, i.state, i.filename, i.rows, i.added, i.invalid, i.duplicate, i.excluded, " +
		"i.created_at, i.created_by, i.finished_at, i.problem, i.dry_run, i.key_id, i.token, i.request_hash, " +
		"i.country, i.encoding, i.delimiter, i.header, i.readmitted"
	selectImport = "SELECT " + importColumns + ", (SELECT u.undo FROM import_contacts u WHERE u.import_id = i.id) " +
		"FROM imports i "
)

func scanImport(row pgx.CollectableRow) (i campaign.Import, err error) {
	err = row.Scan(column.Hex(&i.ID), &i.Campaign, &i.State, &i.Filename, &i.Rows, &i.Added, &i.Invalid, &i.Duplicate,
		&i.Excluded,
		&i.CreatedAt, &i.CreatedBy, &i.FinishedAt, &i.Problem, &i.DryRun, &i.Idempotency.Key, &i.Idempotency.Token,
		&i.Idempotency.BodyHash, &i.Country, &i.Encoding, &i.Delimiter, &i.Header, &i.Readmitted, &i.Undo)
	return i, err
}

// ErrImportNotFound means that no import has this identifier.
var ErrImportNotFound = engine.NotFound("import_not_found", "")

// Import gives one import.
func (s *Files) Import(ctx context.Context, id engine.ImportID) (campaign.Import, error) {
	if !column.IsID(string(id)) {
		return campaign.Import{}, ErrImportNotFound
	}
	rows, _ := s.db.Read.Query(ctx, selectImport+"WHERE i.id = $1", string(id))
	imp, err := pgx.CollectExactlyOneRow(rows, scanImport)
	if errors.Is(err, pgx.ErrNoRows) {
		return campaign.Import{}, ErrImportNotFound
	}
	return imp, s.db.Wrap("import not read", err)
}

// ImportByRequest returns the import that a request with an Idempotency-Key began and that did not
// fail; ok is false when there is none.
func (s *Files) ImportByRequest(ctx context.Context, id engine.CampaignID,
	request engine.Idempotency) (imp campaign.Import, ok bool, err error) {
	rows, _ := s.db.Read.Query(ctx, selectImport+"WHERE i.campaign_id = $1 AND i.key_id = $2 AND i.token = $3 "+
		"AND i.token <> '' AND i.state <> 'failed'",
		string(id), string(request.Key), request.Token)
	imp, err = pgx.CollectExactlyOneRow(rows, scanImport)
	if errors.Is(err, pgx.ErrNoRows) {
		return imp, false, nil
	}
	return imp, err == nil, s.db.Wrap("import not read", err)
}

// Imports returns one page of a campaign's imports, newest first, and the total.
func (s *Files) Imports(ctx context.Context, id engine.CampaignID, page campaign.Page) (list []campaign.Import,
	total int, err error) {
	if err := s.db.Read.QueryRow(ctx, "SELECT count(*) FROM imports WHERE campaign_id = $1",
		string(id)).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("imports not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, selectImport+"WHERE i.campaign_id = $1 ORDER BY i.created_at DESC, i.id "+
		"LIMIT $2 OFFSET $3",
		string(id), page.Size, pool.Offset(page))
	list, err = pgx.CollectRows(rows, scanImport)
	return list, total, s.db.Wrap("imports not read", err)
}

// RejectedAfter returns some of the rows of an import that did not become contacts, after a line of the file and in
// its order, with their records if they are wanted whole: at most a thousand rows, and about partBytes of records.
func (s *Files) RejectedAfter(ctx context.Context, id engine.ImportID, line int, whole bool) ([]campaign.RejectedRow,
	error) {
	rows, _ := s.db.Read.Query(ctx, `SELECT line, number, reason, message, record FROM (
			SELECT line, number, reason, message, record,
				sum(octet_length(record)) OVER (ORDER BY line ROWS UNBOUNDED PRECEDING) - octet_length(record) AS before
			FROM (
				SELECT line, number, reason, message, CASE WHEN $3 THEN record ELSE '' END AS record FROM import_rejected
				WHERE import_id = $1 AND line > $2 ORDER BY line LIMIT 1000
			) next
		) part WHERE before < $4 ORDER BY line`, string(id), line, whole, partBytes)
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[campaign.RejectedRow])
	return list, s.db.Wrap("rejected rows not read", err)
}

// partBytes ends a part: the record that reaches it is the last.
const partBytes = 4 << 20

// RejectedRows returns one page of the rows of an import that did not become contacts, in the order
// of the file, and how many are listed.
func (s *Files) RejectedRows(ctx context.Context, id engine.ImportID, page campaign.Page) (list []campaign.RejectedRow,
	total int, err error) {
	if err := s.db.Read.QueryRow(ctx, "SELECT count(*) FROM import_rejected WHERE import_id = $1",
		string(id)).Scan(&total); err != nil {
		return nil, 0, s.db.Wrap("rejected rows not counted", err)
	}
	rows, _ := s.db.Read.Query(ctx, `SELECT line, number, reason, message, '' FROM import_rejected
		WHERE import_id = $1 ORDER BY line LIMIT $2 OFFSET $3`, string(id), page.Size, pool.Offset(page))
	list, err = pgx.CollectRows(rows, pgx.RowToStructByPos[campaign.RejectedRow])
	return list, total, s.db.Wrap("rejected rows not read", err)
}
