package nodes

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/ownership"
)

// Owner returns the owner of an identity; its epoch is 0 when there never was one.
func (o *Owners) Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error) {
	all, err := o.OwnersOf(ctx, id.Kind, []string{id.ID})
	if err != nil {
		return ownership.Owner{}, err
	}
	return all[0], nil
}

// OwnersOf returns the owners of the identities, in their order.
func (o *Owners) OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error) {
	rows, _ := o.pool.Query(ctx, "SELECT "+ownerColumns+` FROM unnest($2::text[]) WITH ORDINALITY AS q(id, place)
		LEFT JOIN owners w ON w.kind = $1 AND w.identity = q.id LEFT JOIN nodes n ON n.incarnation = w.incarnation
		ORDER BY place`, kind, ids)
	all, err := pgx.CollectRows(rows, scanOwner)
	for i := range all {
		all[i].Identity = ownership.Identity{Kind: kind, ID: ids[i]} //nolint:gosec // a row for each
	}
	return all, o.wrap("owners not read", err)
}

// Owned lists the identities of a kind that a node owns, in order.
func (o *Owners) Owned(ctx context.Context, kind ownership.Kind, by engine.Incarnation) ([]string, error) {
	rows, _ := o.pool.Query(ctx, "SELECT identity FROM owners WHERE incarnation = $1 AND kind = $2 ORDER BY identity",
		by, kind)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, o.wrap("what the node owns not read", err)
}

// Orphans lists in order up to limit identities of a kind whose owner has left, or whose owner's
// lease ended at least margin ago: each can be claimed.
func (o *Owners) Orphans(ctx context.Context, kind ownership.Kind, margin time.Duration, limit int) ([]string, error) {
	rows, _ := o.pool.Query(ctx, `SELECT w.identity FROM owners w JOIN nodes n USING (incarnation) WHERE w.kind = $1
		AND (n.left_at IS NOT NULL OR n.expires_at + $2 * interval '1 microsecond' <= clock_timestamp())
		ORDER BY w.identity LIMIT $3`,
		kind, margin.Microseconds(), limit)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return ids, o.wrap("identities without an owner not read", err)
}

// Claim makes the node the owner of an identity that is free: never claimed, released, or owned by
// a node that has left or whose lease ended at least margin ago; the claim declares that node dead.
// It returns the resulting owner, whichever node that is, and ErrFenced when the claiming node's
// own lease is over.
//
// A node that already is the owner keeps the identity with the same epoch, so a claim whose answer
// was lost may be repeated.
func (o *Owners) Claim(ctx context.Context, id ownership.Identity, by engine.Incarnation,
	margin time.Duration) (ownership.Owner, error) {
	if !id.Valid() {
		return ownership.Owner{}, engine.Invalid("identity_invalid",
			"")
	}
	// A condition that held when the statement began may no longer hold when it gets the row's
	// lock; only left_at never changes back. So the owner's node is declared dead first, and the
	// claim depends on nothing else.
	_, err := o.pool.Exec(ctx, `WITH me AS (
			SELECT incarnation FROM nodes WHERE incarnation = $3 AND left_at IS NULL AND expires_at > clock_timestamp()
		), dead AS (
			UPDATE nodes SET left_at = clock_timestamp()
			WHERE incarnation = (SELECT incarnation FROM owners WHERE kind = $1 AND identity = $2) AND EXISTS (SELECT
			FROM me)
				AND left_at IS NULL AND expires_at + $4 * interval '1 microsecond' <= clock_timestamp()
			RETURNING incarnation
		)
		INSERT INTO owners AS w (kind, identity, incarnation, epoch, claimed_at)
			SELECT $1, $2, incarnation, 1, clock_timestamp() FROM me
		ON CONFLICT (kind, identity) DO UPDATE SET incarnation = excluded.incarnation, epoch = w.epoch + 1,
		claimed_at = excluded.claimed_at
		WHERE w.incarnation IS NULL OR w.incarnation IN (SELECT incarnation FROM dead)
			OR EXISTS (SELECT FROM nodes n WHERE n.incarnation = w.incarnation AND n.left_at IS NOT NULL)`,
		id.Kind, id.ID, by, margin.Microseconds())
	if err != nil {
		return ownership.Owner{}, o.wrap("identity not claimed", err)
	}
	var me bool
	rows, _ := o.pool.Query(ctx, "SELECT "+ownerColumns+`, EXISTS (SELECT FROM nodes m WHERE m.incarnation = $3
		AND m.left_at IS NULL AND m.expires_at > clock_timestamp())
		FROM (VALUES (1)) AS one LEFT JOIN owners w ON w.kind = $1 AND w.identity = $2
		LEFT JOIN nodes n ON n.incarnation = w.incarnation`, id.Kind, id.ID, by)
	owner, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (w ownership.Owner, err error) {
		err = row.Scan(append(ownerFields(&w), &me)...)
		return w, err
	})
	owner.Identity = id
	if err == nil && !me {
		return owner, ownership.ErrFenced
	}
	return owner, o.wrap("owner not read", err)
}

// Release gives up an identity if the node owns it: any node may claim it at once. The node must
// have stopped acting for it.
func (o *Owners) Release(ctx context.Context, id ownership.Identity, by engine.Incarnation) error {
	_, err := o.pool.Exec(ctx, "UPDATE owners SET incarnation = NULL WHERE kind = $1 AND identity = $2 "+
		"AND incarnation = $3", id.Kind, id.ID, by)
	return o.wrap("identity not released", err)
}

const ownerColumns = `coalesce(w.incarnation, 0), coalesce(w.epoch, 0), coalesce(w.claimed_at, 'epoch'),
	coalesce(n.address, ''), coalesce(n.api, ''),
	coalesce(n.left_at IS NULL AND n.expires_at > clock_timestamp(), false)`

func ownerFields(w *ownership.Owner) []any {
	return []any{&w.Incarnation, &w.Epoch, &w.ClaimedAt, &w.Address, &w.API, &w.Live}
}

func scanOwner(row pgx.CollectableRow) (w ownership.Owner, err error) {
	err = row.Scan(ownerFields(&w)...)
	return w, err
}
