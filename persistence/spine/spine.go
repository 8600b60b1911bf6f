// Package spine stores the installation's own chain (engine/spine): whoever appends an entry holds a
// lock of its table until the commit, so that every entry names the one before.
//
// It must not know the file outside the database: process keeps that in step.
package spine

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/anchor"
	"dialler/engine/chain"
	"dialler/engine/seal"
	"dialler/engine/spine"
	"dialler/persistence/table"
)

// Spine is the chain in the database.
type Spine struct {
	db     *table.DB
	opened atomic.Pointer[opened]
	// onAppend is called after an entry was committed.
	onAppend atomic.Pointer[func()]
}

// opened is who signs, and who has before.
type opened struct {
	by   seal.Signer
	ring spine.Keyring
}

// New returns the spine stored in db.
func New(db *table.DB) *Spine { return &Spine{db: db} }

// OnAppend makes f be called after each entry that this process appended.
func (s *Spine) OnAppend(f func()) { s.onAppend.Store(&f) }

// Written says that an entry was committed: who appends in a transaction of his own calls it then.
func (s *Spine) Written() {
	if f := s.onAppend.Load(); f != nil {
		(*f)()
	}
}

// Open makes the signer sign for the installation, and returns the key of the digests of rows. In a
// database without a genesis it writes one. It returns Conflict "signing_key_other" for a signer
// whose key is not in force.
func (s *Spine) Open(ctx context.Context, by seal.Signer) (rowKey [spine.RowKeySize]byte, err error) {
	var ring spine.Keyring
	made := false
	err = s.db.InTx(ctx, "the spine not opened", func(tx pgx.Tx) error {
		if ring, err = Keyring(ctx, tx); err != nil {
			return err
		}
		if made = len(ring.Keys) == 0; made {
			if err := Lock(ctx, tx); err != nil {
				return err
			}
			if ring, err = Keyring(ctx, tx); err != nil { // another process may have been first
				return err
			}
			if made = len(ring.Keys) == 0; made {
				if err := s.begin(ctx, tx, by); err != nil {
					return err
				}
				if ring, err = Keyring(ctx, tx); err != nil {
					return err
				}
			}
		}
		if err := ring.Admit(by.Public()); err != nil {
			return err
		}
		rowKey, err = spine.Unwrapped(by, ring.RowKey)
		return err
	})
	if err != nil {
		return rowKey, err
	}
	s.opened.Store(&opened{by, ring})
	if made {
		s.Written()
	}
	return rowKey, nil
}

// RowKey is the key of the digests of rows, for who only reads; false in a database without a genesis,
// and for a signer whose key is not in force.
func (s *Spine) RowKey(ctx context.Context, by seal.Signer) (rowKey [spine.RowKeySize]byte, ok bool, err error) {
	err = s.db.InTx(ctx, "the spine not read", func(tx pgx.Tx) error {
		ring, err := Keyring(ctx, tx)
		if err != nil || len(ring.Keys) == 0 || ring.Admit(by.Public()) != nil {
			return err
		}
		rowKey, err = spine.Unwrapped(by, ring.RowKey)
		ok = err == nil
		return err
	})
	return rowKey, ok, err
}

// Signer is who signs; nil before Open.
func (s *Spine) Signer() seal.Signer {
	if o := s.opened.Load(); o != nil {
		return o.by
	}
	return nil
}

// Keys are the keys that have signed for the installation, the last is in force; none before Open.
func (s *Spine) Keys() []seal.Public {
	if o := s.opened.Load(); o != nil {
		return o.ring.Keys
	}
	return nil
}

// Installation identifies the installation that the database is of, also in a copy of it.
func (s *Spine) Installation(ctx context.Context) (string, error) {
	secret, err := s.db.Secret(ctx, "installation")
	if err != nil {
		return "", err
	}
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("spine"))
	return hex.EncodeToString(m.Sum(nil)[:16]), nil
}

// begin writes the genesis.
func (s *Spine) begin(ctx context.Context, tx pgx.Tx, by seal.Signer) (err error) {
	g := spine.Genesis{Key: string(by.Public().PEM())}
	if g.Installation, err = s.Installation(ctx); err != nil {
		return err
	}
	var rowKey [spine.RowKeySize]byte
	var nonce [seal.WrapNonceSize]byte
	_, _ = rand.Read(rowKey[:]) // never fails
	_, _ = rand.Read(nonce[:])
	if g.RowKey, err = spine.Wrapped(by, rowKey, nonce); err != nil {
		return err
	}
	if g.Before, err = before(ctx, tx); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&g.Schema); err != nil {
		return err
	}
	_, err = s.add(ctx, tx, by, spine.KindGenesis, g)
	return err
}

// before counts what there is already: the tables are read once in the life of an installation.
func before(ctx context.Context, tx pgx.Tx) (b spine.Before, err error) {
	if b.Heads, err = heads(ctx, tx); err != nil {
		return b, err
	}
	c := &b.Counts
	err = tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM attempts),
		(SELECT count(*) FROM contacts), (SELECT count(*) FROM exclusions), (SELECT count(*) FROM suppressions)`).
		Scan(&c.Events, &c.Attempts, &c.Contacts, &c.Exclusions, &c.Suppressions)
	if err != nil {
		return b, err
	}
	rows, _ := tx.Query(ctx, `SELECT CASE WHEN seq > 0 THEN campaign_id ELSE '' END AS owner, count(*) FROM events
		WHERE digest IS NULL GROUP BY 1`)
	var of spine.Chain
	var n int
	_, err = pgx.ForEachRow(rows, []any{&of.Campaign, &n}, func() error {
		if b.Unchained == nil {
			b.Unchained = map[engine.CampaignID]int{}
		}
		b.Unchained[of.Campaign] = n
		return nil
	})
	if err != nil {
		return b, err
	}
	rows, _ = tx.Query(ctx, "SELECT campaign_id, run FROM run_checkpoints WHERE signature IS NULL ORDER BY 1, 2")
	b.Unsigned, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c spine.Chain, err error) {
		err = row.Scan(&c.Campaign, &c.Run)
		return c, err
	})
	return b, err
}

func heads(ctx context.Context, tx pgx.Tx) ([]spine.Head, error) {
	rows, _ := tx.Query(ctx, "SELECT campaign_id, run, n, hash FROM event_heads ORDER BY campaign_id, run")
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (h spine.Head, err error) {
		var hash []byte
		err = row.Scan(&h.Campaign, &h.Run, &h.N, &hash)
		h.Hash = hex.EncodeToString(hash)
		return h, err
	})
}

// Lock makes this transaction the only one that appends. A transaction of one snapshot must begin
// with it: locking a table takes no snapshot, so that the one taken afterwards has the last entry.
func Lock(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "LOCK TABLE spine IN SHARE ROW EXCLUSIVE MODE")
	return err
}

// Append appends an entry in a transaction of its own.
func (s *Spine) Append(ctx context.Context, by seal.Signer, kind spine.Kind, data any) (e spine.Entry, err error) {
	err = s.db.InTx(ctx, "an entry of the spine not written", func(tx pgx.Tx) error {
		e, err = s.AppendIn(ctx, tx, by, kind, data)
		return err
	})
	if err == nil {
		s.Written()
	}
	return e, err
}

// AppendIn appends an entry in the caller's transaction, which locks the spine until it ends: it must
// do so before it writes events.
func (s *Spine) AppendIn(ctx context.Context, tx pgx.Tx, by seal.Signer, kind spine.Kind, data any) (spine.Entry,
	error) {
	if err := Lock(ctx, tx); err != nil {
		return spine.Entry{}, err
	}
	ring, err := Keyring(ctx, tx)
	if err == nil {
		err = ring.Admit(by.Public())
	}
	if err != nil {
		return spine.Entry{}, err
	}
	return s.add(ctx, tx, by, kind, data)
}

// Note is AppendIn by the signer of Open; it does nothing where there is none, as in a command that
// was not given the key.
func (s *Spine) Note(ctx context.Context, tx pgx.Tx, kind spine.Kind, data any) error {
	by := s.Signer()
	if by == nil {
		return nil
	}
	_, err := s.AppendIn(ctx, tx, by, kind, data)
	return err
}

// add appends an entry in a transaction that has the lock.
func (s *Spine) add(ctx context.Context, tx pgx.Tx, by seal.Signer, kind spine.Kind, data any) (e spine.Entry,
	err error) {
	n, hash, err := last(ctx, tx)
	if err != nil {
		return e, err
	}
	e = spine.Entry{N: n + 1, At: s.db.Config.Now().UTC().Truncate(time.Microsecond), Kind: kind, Previous: hash}
	if e.Data, err = json.Marshal(data); err != nil {
		return e, err
	}
	if err = e.Sign(by); err != nil {
		return e, err
	}
	return e, insert(ctx, tx, &e)
}

func insert(ctx context.Context, tx pgx.Tx, e *spine.Entry) error {
	hash := e.Hash()
	_, err := tx.Exec(ctx, `INSERT INTO spine (n, at, kind, data, previous, hash, signed_by, signature)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`, e.N, e.At, string(e.Kind), string(e.Data), e.Previous[:], hash[:],
		e.SignedBy, e.Signature)
	return err
}

// last is the number and hash of the last entry; 0 if there is none.
func last(ctx context.Context, tx pgx.Tx) (n int64, hash chain.Hash, err error) {
	rows, _ := tx.Query(ctx, selectEntry+"ORDER BY n DESC LIMIT 1")
	e, err := pgx.CollectOneRow(rows, scanEntry)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, hash, nil
	}
	return e.N, e.Hash(), err
}

const selectEntry = "SELECT n, at, kind, data::text, previous, signed_by, signature FROM spine "

func scanEntry(row pgx.CollectableRow) (e spine.Entry, err error) {
	var data string
	var previous []byte
	err = row.Scan(&e.N, &e.At, &e.Kind, &data, &previous, &e.SignedBy, &e.Signature)
	e.At, e.Data = e.At.UTC(), json.RawMessage(data)
	copy(e.Previous[:], previous)
	return e, err
}

// Keyring reads which keys have signed for the installation; it has none before the genesis.
func Keyring(ctx context.Context, tx pgx.Tx) (spine.Keyring, error) {
	rows, _ := tx.Query(ctx, selectEntry+"WHERE kind IN ('genesis', 'key') ORDER BY n")
	list, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return spine.Keyring{}, err
	}
	return spine.ReadKeyring(list)
}

// Page reads entries after a number, in order.
func Page(ctx context.Context, tx pgx.Tx, after int64, limit int) ([]spine.Entry, error) {
	rows, _ := tx.Query(ctx, selectEntry+"WHERE n > $1 ORDER BY n LIMIT $2", after, limit)
	return pgx.CollectRows(rows, scanEntry)
}

// Kinds is Page of the entries of some kinds.
func Kinds(ctx context.Context, tx pgx.Tx, after int64, limit int, kinds ...spine.Kind) ([]spine.Entry, error) {
	rows, _ := tx.Query(ctx, selectEntry+"WHERE n > $1 AND kind = ANY ($3) ORDER BY n LIMIT $2", after, limit, kinds)
	return pgx.CollectRows(rows, scanEntry)
}

// After reads entries after a number, in order.
func (s *Spine) After(ctx context.Context, after int64, limit int) (list []spine.Entry, err error) {
	err = s.db.InTx(ctx, "the spine not read", func(tx pgx.Tx) error {
		list, err = Page(ctx, tx, after, limit)
		return err
	})
	return list, err
}

// At reads one entry; false if there is none of this number.
func (s *Spine) At(ctx context.Context, n int64) (e spine.Entry, ok bool, err error) {
	list, err := s.After(ctx, n-1, 1)
	if err != nil || len(list) == 0 || list[0].N != n {
		return e, false, err
	}
	return list[0], true, nil
}

// LastSeal is the newest seal; false while there is none.
func (s *Spine) LastSeal(ctx context.Context) (e spine.Entry, ok bool, err error) {
	err = s.db.InTx(ctx, "the spine not read", func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, selectEntry+"WHERE kind = $1 ORDER BY n DESC LIMIT 1", spine.KindSeal)
		list, err := pgx.CollectRows(rows, scanEntry)
		if ok = len(list) > 0; ok {
			e = list[0]
		}
		return err
	})
	return e, ok, err
}

// Receipts calls f with each receipt of a witness (anchor.Receipt), in order.
func (s *Spine) Receipts(ctx context.Context, f func(json.RawMessage) error) error {
	const page = 500
	for after, n := int64(0), page; n == page; {
		var list []spine.Entry
		err := s.db.InTx(ctx, "receipts not read", func(tx pgx.Tx) (err error) {
			list, err = Kinds(ctx, tx, after, page, spine.KindAnchor)
			return err
		})
		if err != nil {
			return err
		}
		for i := range list {
			if err := f(list[i].Data); err != nil {
				return err
			}
			after = list[i].N
		}
		n = len(list)
	}
	return nil
}

// LastReceipt is the newest receipt of a witness; false without one.
func (s *Spine) LastReceipt(ctx context.Context, url string) (r anchor.Receipt, ok bool, err error) {
	err = s.db.InTx(ctx, "receipts not read", func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, selectEntry+"WHERE kind = $1 AND data->>'url' = $2 ORDER BY n DESC LIMIT 1",
			spine.KindAnchor, url)
		list, err := pgx.CollectRows(rows, scanEntry)
		if ok = len(list) > 0; ok && err == nil {
			err = json.Unmarshal(list[0].Data, &r)
		}
		return err
	})
	return r, ok, err
}

// Last is the number of the last entry; 0 if there is none.
func (s *Spine) Last(ctx context.Context) (n int64, err error) {
	err = s.db.InTx(ctx, "the spine not read", func(tx pgx.Tx) error {
		n, _, err = last(ctx, tx)
		return err
	})
	return n, err
}
