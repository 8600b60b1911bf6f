// Package nodes stores which nodes are alive, what each of them owns, and which process serves the
// database.
package nodes

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/persistence/failure"
	"dialler/persistence/pool"
)

// Owners stores which nodes are alive and what each of them owns. It has two connections of its
// own, so that a slow query never costs a node its lease.
//
// All of its times are the server's. Once a node is gone (left_at), that is never undone, so
// decisions that depend on it may use an old snapshot.
type Owners struct{ pool *pgxpool.Pool }

// OpenOwners connects to the database of a pool; close it before the pool.
func OpenOwners(ctx context.Context, p *pool.Pool) (*Owners, error) {
	pc := p.Read.Config()
	pc.BeforeConnect, pc.PrepareConn, pc.ShouldPing = nil, nil, nil // the probe's
	pc.ConnConfig = p.Single.Copy()
	// The answer to a statement that waits for a lock longer than a lease lasts is useless.
	pool.Configure(pc.ConnConfig, p.Config, pool.Setting{Name: "statement_timeout", Value: "4000"})
	pc.MaxConns = 2
	own, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, failure.New(failure.AwayCode, "no connection to the database", err)
	}
	return &Owners{pool: own}, nil
}

// Close closes its connections.
func (o *Owners) Close() { o.pool.Close() }

func (o *Owners) wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	v, why := failure.Judge(err)
	if v != failure.AwayNow {
		return failure.New("database_error", what, err)
	}
	if why == failure.Unreachable || why == failure.ReadOnly {
		o.pool.Reset()
	}
	return failure.OfAway(why, err)
}

// Join starts a new incarnation of a node, with a lease of ttl from now. It uses the name, address
// and API of n and ignores the rest.
func (o *Owners) Join(ctx context.Context, n ownership.Node, ttl time.Duration) (ownership.Node, error) {
	if n.Name == "" || len(n.Name) > ownership.MaxName || n.Address == "" || len(n.Address) > ownership.MaxAddress ||
		len(n.API) > ownership.MaxAPI {
		return ownership.Node{}, engine.Invalid("node_invalid",
			"")
	}
	rows, _ := o.pool.Query(ctx, `INSERT INTO nodes AS n (name, address, api, joined_at, expires_at, digests)
		VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4 * interval '1 microsecond', true)
		RETURNING `+nodeColumns,
		n.Name, n.Address, n.API, ttl.Microseconds())
	n, err := pgx.CollectExactlyOneRow(rows, scanNode)
	return n, o.wrap("the node did not join", err)
}

// Renew extends the lease of a node to ttl from now. It returns ErrFenced when the lease has run
// out, or the node was declared dead or has left: none of these can be undone.
func (o *Owners) Renew(ctx context.Context, id engine.Incarnation, ttl time.Duration) error {
	tag, err := o.pool.Exec(ctx, `UPDATE nodes SET expires_at = clock_timestamp() + $2 * interval '1 microsecond'
		WHERE incarnation = $1 AND left_at IS NULL AND expires_at > clock_timestamp()`, id, ttl.Microseconds())
	if err == nil && tag.RowsAffected() == 0 {
		return ownership.ErrFenced
	}
	return o.wrap("the lease was not renewed", err)
}

// Drain marks the node as claiming nothing new.
func (o *Owners) Drain(ctx context.Context, id engine.Incarnation) error {
	_, err := o.pool.Exec(ctx, "UPDATE nodes SET draining = true WHERE incarnation = $1", id)
	return o.wrap("the node was not marked as draining", err)
}

// Leave ends an incarnation: whatever it owns may be claimed at once. It must have stopped acting
// for all of it.
func (o *Owners) Leave(ctx context.Context, id engine.Incarnation) error {
	_, err := o.pool.Exec(ctx, "UPDATE nodes SET left_at = clock_timestamp() WHERE incarnation = $1 "+
		"AND left_at IS NULL", id)
	return o.wrap("the node did not leave", err)
}

// Bury declares dead the nodes whose leases ended at least margin ago, and names them.
func (o *Owners) Bury(ctx context.Context, margin time.Duration) ([]engine.Incarnation, error) {
	rows, _ := o.pool.Query(ctx, `UPDATE nodes SET left_at = clock_timestamp()
		WHERE left_at IS NULL AND expires_at + $1 * interval '1 microsecond' <= clock_timestamp()
		RETURNING incarnation`, margin.Microseconds())
	dead, err := pgx.CollectRows(rows, pgx.RowTo[engine.Incarnation])
	return dead, o.wrap("nodes whose lease is over were not declared dead", err)
}

// Nodes lists the nodes that have not left, in the order in which they joined: those alive, and
// those whose lease ran out but which were not declared dead yet.
func (o *Owners) Nodes(ctx context.Context) ([]ownership.Node, error) { return o.PerhapsAlive(ctx, 0) }

// PerhapsAlive lists these and the nodes that were declared dead but whose lease ran out less than
// lapsed ago, unless the node has joined again: their processes may still be running.
func (o *Owners) PerhapsAlive(ctx context.Context, lapsed time.Duration) ([]ownership.Node, error) {
	rows, _ := o.pool.Query(ctx, "SELECT "+nodeColumns+` FROM nodes n WHERE left_at IS NULL
		OR left_at > expires_at AND expires_at > clock_timestamp() - $1 * interval '1 microsecond'
		AND NOT EXISTS (SELECT FROM nodes m WHERE m.name = n.name AND m.incarnation > n.incarnation)
		ORDER BY incarnation`, lapsed.Microseconds())
	all, err := pgx.CollectRows(rows, scanNode)
	return all, o.wrap("nodes not read", err)
}

// Node returns one incarnation of a node; ok is false when there was none.
func (o *Owners) Node(ctx context.Context, id engine.Incarnation) (n ownership.Node, ok bool, err error) {
	rows, _ := o.pool.Query(ctx, "SELECT "+nodeColumns+" FROM nodes n WHERE incarnation = $1", id)
	n, err = pgx.CollectExactlyOneRow(rows, scanNode)
	if errors.Is(err, pgx.ErrNoRows) {
		return ownership.Node{}, false, nil
	}
	return n, err == nil, o.wrap("node not read", err)
}

// PutSentBy stores what an incarnation writes into the Via of its requests over each trunk; trunks
// that are not named are left unchanged.
func (o *Owners) PutSentBy(ctx context.Context, id engine.Incarnation, by map[engine.TrunkID]string) error {
	trunks, sent := make([]string, 0, len(by)), make([]string, 0, len(by))
	for t, s := range by {
		trunks, sent = append(trunks, string(t)), append(sent, s)
	}
	_, err := o.pool.Exec(ctx, `INSERT INTO node_trunks (incarnation, trunk, sent_by) SELECT $1, *
		FROM unnest($2::text[], $3::text[])
		ON CONFLICT (incarnation, trunk) DO UPDATE SET sent_by = excluded.sent_by`, id, trunks, sent)
	return o.wrap("the node's addresses were not stored", err)
}

// SentBy returns the Via host stored for the trunk. If there is none, it returns that of another
// trunk of the node, which is the same if the node has a single address; "" when nothing is known.
func (o *Owners) SentBy(ctx context.Context, id engine.Incarnation, trunk engine.TrunkID) (by string, err error) {
	err = o.pool.QueryRow(ctx, "SELECT sent_by FROM node_trunks WHERE incarnation = $1 "+
		"ORDER BY trunk = $2 DESC, trunk LIMIT 1", id, string(trunk)).Scan(&by)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return by, o.wrap("the node's address was not read", err)
}

// Loads lists the nodes that may claim (alive and not draining) with how many identities of the
// kind each owns, the least loaded first.
func (o *Owners) Loads(ctx context.Context, kind ownership.Kind) ([]ownership.Load, error) {
	rows, _ := o.pool.Query(ctx, "SELECT "+nodeColumns+`, (SELECT count(*) FROM owners w
		WHERE w.incarnation = n.incarnation AND w.kind = $1) AS owned
		FROM nodes n WHERE left_at IS NULL AND expires_at > clock_timestamp() AND NOT draining
		ORDER BY owned, incarnation`, kind)
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l ownership.Load, err error) {
		err = row.Scan(append(nodeFields(&l.Node), &l.Owned)...)
		return l, err
	})
	return all, o.wrap("loads of the nodes not read", err)
}

const nodeColumns = "n.incarnation, n.name, n.address, n.api, n.joined_at, n.expires_at, n.draining, n.left_at, " +
	"n.left_at IS NULL AND n.expires_at > clock_timestamp()"

func nodeFields(n *ownership.Node) []any {
	return []any{&n.Incarnation, &n.Name, &n.Address, &n.API, &n.JoinedAt, &n.ExpiresAt, &n.Draining, &n.LeftAt,
		&n.Live}
}

func scanNode(row pgx.CollectableRow) (n ownership.Node, err error) {
	err = row.Scan(nodeFields(&n)...)
	return n, err
}
