package spine

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/chain"
	"dialler/engine/seal"
	"dialler/engine/spine"
)

// Sealer seals where the chains of events stand. It is used by one goroutine.
type Sealer struct {
	spine   *Spine
	process string      // this life of the process
	known   spine.Heads // as sealed
	seen    int64       // the last entry that known has
	begun   bool
}

// NewSealer returns a sealer of this process; its first seal has every head.
func (s *Spine) NewSealer(process string) *Sealer {
	return &Sealer{spine: s, process: process, known: spine.Heads{}}
}

// errOutside means that the copy outside of the database is not what the installation signed.
var errOutside = engine.Conflict("spine_broken", "the entries of seals.jsonl that the database lacks are not as "+
	"they were signed: put the file aside, and see dialler db audit --seals with it")

// errNothing ends a transaction in which no head has moved.
var errNothing = errors.New("no head has moved")

// Seal appends a seal if a chain has moved since the last one, of whichever process. An idle
// installation is only read.
func (l *Sealer) Seal(ctx context.Context) (sealed bool, err error) {
	s := l.spine
	by := s.Signer()
	if by == nil {
		return false, nil
	}
	idle := false
	err = s.db.InTx(ctx, "the heads of chains not read", func(tx pgx.Tx) error {
		now, err := heads(ctx, tx)
		idle = l.begun && len(l.known.Moved(now)) == 0
		return err
	})
	if err != nil || idle {
		return false, err
	}
	known, seen := spine.Heads{}, l.seen
	err = s.db.InTx(ctx, "the heads of chains not sealed", func(tx pgx.Tx) error {
		if err := Lock(ctx, tx); err != nil {
			return err
		}
		clear(known)
		for k, h := range l.known {
			known[k] = h
		}
		seen = l.seen
		if l.begun { // what others have sealed meanwhile
			rows, _ := tx.Query(ctx, selectEntry+"WHERE n > $1 AND kind IN ('seal', 'retention') ORDER BY n", seen)
			list, err := pgx.CollectRows(rows, scanEntry)
			if err != nil {
				return err
			}
			for i := range list {
				known.Seen(&list[i])
				seen = list[i].N
			}
		}
		now, err := heads(ctx, tx)
		if err != nil {
			return err
		}
		data := spine.Seal{Heads: known.Moved(now), Chains: int64(len(now)), Process: l.process}
		if len(data.Heads) == 0 {
			return errNothing
		}
		for _, h := range now {
			data.Batches += h.N
		}
		if err := tx.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&data.DatabaseAt); err != nil {
			return err
		}
		data.DatabaseAt = data.DatabaseAt.UTC()
		e, err := s.AppendIn(ctx, tx, by, spine.KindSeal, data)
		known.Seen(&e)
		seen = e.N
		return err
	})
	if errors.Is(err, errNothing) {
		err = nil
	} else if err == nil {
		sealed = true
	}
	if err != nil {
		return false, err
	}
	l.known, l.seen, l.begun = known, seen, true
	if sealed {
		s.Written()
	}
	return sealed, nil
}

// Readd adds the entries again that the database has lost, from a copy outside of it, and says so in
// an entry. It returns forked when the database went on in another way after the entries that both
// have: then nothing is added but that entry. Entries that are not signed as they should be are
// refused: Conflict "spine_broken".
func (s *Spine) Readd(ctx context.Context, by seal.Signer, after int64, lost []spine.Entry) (r spine.Restored,
	err error) {
	r.After = after
	err = s.db.InTx(ctx, "the spine not completed", func(tx pgx.Tx) error {
		if err := Lock(ctx, tx); err != nil {
			return err
		}
		n, hash, err := last(ctx, tx)
		if err != nil {
			return err
		}
		r.Forked, r.To = n > after || len(lost) == 0 || lost[0].Previous != hash, after
		if len(lost) > 0 {
			r.To = lost[len(lost)-1].N
		}
		if !r.Forked {
			for i := range lost {
				if lost[i].N != n+int64(i)+1 || lost[i].Previous != hash {
					return errOutside
				}
				hash = lost[i].Hash()
				if err := insert(ctx, tx, &lost[i]); err != nil {
					return err
				}
			}
			// All of them, and not only the new ones: the keyring follows the keys among them.
			if err := signed(ctx, tx, after, lost); err != nil {
				return err
			}
		}
		_, err = s.AppendIn(ctx, tx, by, spine.KindRestored, r)
		return err
	})
	if err == nil {
		s.Written()
	}
	return r, err
}

// Accept appends that what the database lost is accepted, in the caller's transaction.
func (s *Spine) Accept(ctx context.Context, tx pgx.Tx, by string) error {
	n, _, err := last(ctx, tx)
	if err != nil {
		return err
	}
	return s.Note(ctx, tx, spine.KindRestored, spine.Restored{After: n, To: n, By: by})
}

// signed checks that entries are signed with the keys that were in force.
func signed(ctx context.Context, tx pgx.Tx, after int64, lost []spine.Entry) error {
	rows, _ := tx.Query(ctx, selectEntry+"WHERE kind IN ('genesis', 'key') AND n <= $1 ORDER BY n", after)
	list, err := pgx.CollectRows(rows, scanEntry)
	if err != nil {
		return err
	}
	ring, err := spine.ReadKeyring(list)
	for i := 0; err == nil && i < len(lost); i++ {
		signer := ring.InForce()
		if k := lost[i].Kind; k == spine.KindGenesis || k == spine.KindKey {
			list = append(list, lost[i])
			if ring, err = spine.ReadKeyring(list); err == nil && k == spine.KindGenesis {
				signer = ring.InForce()
			}
		}
		if err == nil && !lost[i].SignedWith(signer) {
			err = errOutside
		}
	}
	return err
}

// HashAt is the hash of an entry, as stored; the zero hash if there is none of this number.
func (s *Spine) HashAt(ctx context.Context, n int64) (h chain.Hash, err error) {
	e, ok, err := s.At(ctx, n)
	if ok {
		h = e.Hash()
	}
	return h, err
}
