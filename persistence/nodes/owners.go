// Package nodes keeps which nodes live, which of them acts for what, and who serves
// the database.
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

// Owners keeps which nodes live and which of them acts for what. It has two
// connections of its own: a query that takes long must not cost a node its
// lease.
//
// Every time in it is the server's. That a node is gone (left_at) is never
// undone, so whatever is decided by it may be decided from an old snapshot.
type Owners struct{ pool *pgxpool.Pool }

// OpenOwners connects to the database of a pool; it is closed before the pool is.
func OpenOwners(ctx context.Context, p *pool.Pool) (*Owners, error) {
	pc := p.Read.Config()
	pc.BeforeConnect, pc.PrepareConn, pc.ShouldPing = nil, nil, nil // the probe's
	pc.ConnConfig = p.Single.Copy()
	delete(pc.ConnConfig.RuntimeParams, "idle_in_transaction_session_timeout")
	// A statement that waits for a lock for as long as a lease lives has no
	// answer that is of use.
	pc.ConnConfig.RuntimeParams["statement_timeout"] = "4000"
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

// Join begins a life of a node, with a lease of ttl from now. Name, address and
// API are as ownership.Node has them; the rest is ignored.
func (o *Owners) Join(ctx context.Context, n ownership.Node, ttl time.Duration) (ownership.Node, error) {
	if n.Name == "" || len(n.Name) > ownership.MaxName || n.Address == "" || len(n.Address) > ownership.MaxAddress ||
		len(n.API) > ownership.MaxAPI {
		return ownership.Node{}, engine.Invalid("node_invalid",
			"")
	}
	rows, _ := o.pool.Query(ctx, `INSERT INTO nodes AS n (name, address, api, joined_at, expires_at)
		VALUES ($1, $2, $3, clock_timestamp(), clock_timestamp() + $4 * interval '1 microsecond')
		RETURNING `+nodeColumns,
		n.Name, n.Address, n.API, ttl.Microseconds())
	n, err := pgx.CollectExactlyOneRow(rows, scanNode)
	return n, o.wrap("the node did not join", err)
}

// Renew makes the lease of a node end ttl from now. ErrFenced when it has run
// out, or the node was declared dead or has left: nothing brings it back.
func (o *Owners) Renew(ctx context.Context, id engine.Incarnation, ttl time.Duration) error {
	tag, err := o.pool.Exec(ctx, `UPDATE nodes SET expires_at = clock_timestamp() + $2 * interval '1 microsecond'
		WHERE incarnation = $1 AND left_at IS NULL AND expires_at > clock_timestamp()`, id, ttl.Microseconds())
	if err == nil && tag.RowsAffected() == 0 {
		return ownership.ErrFenced
	}
	return o.wrap("the lease was not renewed", err)
}

// Drain says that the node claims nothing new.
func (o *Owners) Drain(ctx context.Context, id engine.Incarnation) error {
	_, err := o.pool.Exec(ctx, "UPDATE nodes SET draining = true WHERE incarnation = $1", id)
	return o.wrap("the node was not marked as draining", err)
}

// Leave ends the life of a node: what it owns may be claimed at once. It must
// act for nothing any more.
func (o *Owners) Leave(ctx context.Context, id engine.Incarnation) error {
	_, err := o.pool.Exec(ctx, "UPDATE nodes SET left_at = clock_timestamp() WHERE incarnation = $1 "+
		"AND left_at IS NULL", id)
	return o.wrap("the node did not leave", err)
}

// Bury declares dead whose lease has been over for margin, and names them.
func (o *Owners) Bury(ctx context.Context, margin time.Duration) ([]engine.Incarnation, error) {
	rows, _ := o.pool.Query(ctx, `UPDATE nodes SET left_at = clock_timestamp()
		WHERE left_at IS NULL AND expires_at + $1 * interval '1 microsecond' <= clock_timestamp()
		RETURNING incarnation`, margin.Microseconds())
	dead, err := pgx.CollectRows(rows, pgx.RowTo[engine.Incarnation])
	return dead, o.wrap("nodes whose lease is over were not declared dead", err)
}

// Nodes lists who has not left: those that live and those whose lease ran out
// and whom nobody has declared dead yet, in the order in which they joined.
func (o *Owners) Nodes(ctx context.Context) ([]ownership.Node, error) { return o.PerhapsAlive(ctx, 0) }

// PerhapsAlive lists them with those who were declared dead and whose lease ran out less than
// lapsed ago, unless the node has joined again: their processes may go on.
func (o *Owners) PerhapsAlive(ctx context.Context, lapsed time.Duration) ([]ownership.Node, error) {
	rows, _ := o.pool.Query(ctx, "SELECT "+nodeColumns+` FROM nodes n WHERE left_at IS NULL
		OR left_at > expires_at AND expires_at > clock_timestamp() - $1 * interval '1 microsecond'
		AND NOT EXISTS (SELECT FROM nodes m WHERE m.name = n.name AND m.incarnation > n.incarnation)
		ORDER BY incarnation`, lapsed.Microseconds())
	all, err := pgx.CollectRows(rows, scanNode)
	return all, o.wrap("nodes not read", err)
}

// Node gives one life of a node; ok is false when there was none.
func (o *Owners) Node(ctx context.Context, id engine.Incarnation) (n ownership.Node, ok bool, err error) {
	rows, _ := o.pool.Query(ctx, "SELECT "+nodeColumns+" FROM nodes n WHERE incarnation = $1", id)
	n, err = pgx.CollectExactlyOneRow(rows, scanNode)
	if errors.Is(err, pgx.ErrNoRows) {
		return ownership.Node{}, false, nil
	}
	return n, err == nil, o.wrap("node not read", err)
}

// PutSentBy keeps what a life of a node writes into the Via of its requests over
// each trunk; those that are not named stay as they were.
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

// SentBy gives it. Of a trunk of which it is not known it gives what another one of
// that node's has, which is the same where the node has one address; "" when nothing
// is known.
func (o *Owners) SentBy(ctx context.Context, id engine.Incarnation, trunk engine.TrunkID) (by string, err error) {
	err = o.pool.QueryRow(ctx, "SELECT sent_by FROM node_trunks WHERE incarnation = $1 "+
		"ORDER BY trunk = $2 DESC, trunk LIMIT 1", id, string(trunk)).Scan(&by)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return by, o.wrap("the node's address was not read", err)
}

// Loads lists the nodes that may claim (they live and do not drain) with how
// many identities of the kind each owns, the least loaded first.
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
