package persistence_test

import (
	"context"
	"encoding/binary"
	"math"
	"net"
	"sync/atomic"
	"testing"

	"dialler/engine/journal"
	"dialler/persistence/storetest"
)

// What an answered call costs PostgreSQL: the statements of its five writes, BEGIN and COMMIT among them, when each is
// committed alone, and the bytes of log when writes of fifty calls are committed together. Whoever makes
// it more says in the commit why; less is written down here.
const callStatements, callWAL = 44, 9_500

// The statements are counted on the wire. The least of some turns counts: the pool asks a connection that was idle for
// a second whether it is alive, which is a statement too, and the first turn also logs whole pages, of those that it
// touches first after a checkpoint.
func TestACallTakesNoMoreStatementsAndNoMoreLogThanItDid(t *testing.T) {
	const turns, inTurn, group = 5, 100, 50
	w := newCalls(t, storetest.AloneURL(t), turns*(inTurn+1), 0, true)
	all := w.list

	least := int64(math.MaxInt64)
	for turn := range turns {
		w.list = all[turn:][:1]
		before := w.statements.n.Load()
		w.each(1, func(group []journal.Write) { w.commit(w.store, group) })
		least = min(least, w.statements.n.Load()-before)
	}
	if least != callStatements {
		t.Errorf("a call takes %d statements in %d commits, and took %d", least, storetest.CallSteps, callStatements)
	}

	least = math.MaxInt64
	for turn := range turns {
		w.list = all[turns+turn*inTurn:][:inTurn]
		before := w.wal()
		w.each(group, func(group []journal.Write) { w.commit(w.store, group) })
		bytes := (w.wal() - before) / inTurn
		t.Logf("%d bytes of log a call", bytes)
		least = min(least, bytes)
	}
	if least > callWAL {
		t.Errorf("a call takes %d bytes of log, and took %d", least, callWAL)
	}
}

// statementCount counts the statements that connections send to the server.
type statementCount struct{ n atomic.Int64 }

func (s *statementCount) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	return &countedConn{Conn: c, to: s}, err
}

type countedConn struct {
	net.Conn
	to    *statementCount
	begun bool   // the start-up message, which has no type, is through
	rest  []byte // of a message that is not whole yet
}

func (c *countedConn) Write(b []byte) (int, error) {
	for c.rest = append(c.rest, b...); ; {
		kind := 1
		if !c.begun {
			kind = 0
		}
		if len(c.rest) < kind+4 {
			break
		}
		end := kind + int(binary.BigEndian.Uint32(c.rest[kind:]))
		if len(c.rest) < end {
			break
		}
		if c.begun && (c.rest[0] == 'E' || c.rest[0] == 'Q') { // Execute, Query
			c.to.n.Add(1)
		}
		c.begun, c.rest = true, c.rest[end:]
	}
	return c.Conn.Write(b)
}
