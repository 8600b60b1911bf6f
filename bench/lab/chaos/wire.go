package chaos

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// wire is the way from the dialler to PostgreSQL. It passes the messages of
// both sides on and knows enough of the protocol to see where a transaction
// stands: there something can happen to the dialler, to the connection or to
// time.
type wire struct {
	listener net.Listener
	server   *pgconn.Config
	tasks    sync.WaitGroup

	mu     sync.Mutex
	trap   *trap
	slow   time.Duration // before each COMMIT
	stall  chan struct{} // while not nil nothing passes; closed when it is over
	links  map[*link]struct{}
	closed chan struct{}
}

// moment is where a transaction stands.
type moment string

const (
	// beforeChecks: the message that would begin the transaction has not
	// reached the server.
	beforeChecks moment = "before the transaction"
	// beforeCommit: the server has the rows, COMMIT has not reached it.
	beforeCommit moment = "before COMMIT"
	// unheard: the server has committed, the dialler has not heard of it.
	unheard moment = "committed, not heard"
	// heard: the dialler has just been told.
	heard moment = "committed and heard"
)

// trap waits for one transaction at one moment.
type trap struct {
	// mark is text in the messages of the transaction: the type of an event; for
	// beforeChecks the name of a prepared statement.
	mark   string
	moment moment
	// met is closed at the moment; what the connection carries is then held
	// until free is closed, and lost with the connection. After heard nothing is
	// held.
	met  chan struct{}
	free chan struct{}
}

// lay begins a wire that ends at a server.
func lay(server string) (*wire, error) {
	c, err := pgconn.ParseConfig(server)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &wire{listener: l, server: c, links: map[*link]struct{}{}, closed: make(chan struct{})}
	w.tasks.Go(w.accept)
	return w, nil
}

// URL is what the dialler is given.
func (w *wire) URL() string {
	u := url.URL{Scheme: "postgres", User: url.User(w.server.User), Host: w.listener.Addr().String(),
		Path: "/" + w.server.Database}
	q := url.Values{"sslmode": {"disable"}}
	for k, v := range w.server.RuntimeParams {
		q.Set(k, v)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Close cuts every connection and waits for what runs.
func (w *wire) Close() error {
	w.mu.Lock()
	select {
	case <-w.closed:
		w.mu.Unlock()
		return nil
	default:
	}
	close(w.closed)
	for l := range w.links {
		l.cut()
	}
	w.mu.Unlock()
	err := w.listener.Close()
	w.tasks.Wait()
	return err
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		network, address := pgconn.NetworkAddress(w.server.Host, w.server.Port)
		server, err := net.Dial(network, address)
		if err != nil { // the server is away
			_ = client.Close()
			continue
		}
		l := &link{w: w, client: client, server: server}
		w.mu.Lock()
		select {
		case <-w.closed:
			l.cut()
		default:
			w.links[l] = struct{}{}
			w.tasks.Go(l.forward)
			w.tasks.Go(l.backward)
		}
		w.mu.Unlock()
	}
}

// arm lays a trap; one at a time.
func (w *wire) arm(mark string, at moment) *trap {
	t := &trap{mark: mark, moment: at, met: make(chan struct{}), free: make(chan struct{})}
	w.rearm(t)
	return t
}

func (w *wire) rearm(t *trap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trap = t
}

// disarm takes a trap away; false when it was taken already.
func (w *wire) disarm(t *trap) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	ours := w.trap == t
	if ours {
		w.trap = nil
	}
	return ours
}

// armed is the trap that waits, nil when none does.
func (w *wire) armed() *trap {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trap
}

// delay makes every COMMIT take that much longer.
func (w *wire) delay(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.slow = d
}

// freeze stops everything that the dialler sends, until thaw.
func (w *wire) freeze() (thaw func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gate := make(chan struct{})
	w.stall = gate
	return sync.OnceFunc(func() {
		w.mu.Lock()
		w.stall = nil
		w.mu.Unlock()
		close(gate)
	})
}

// pass waits while the wire is frozen and says how long a COMMIT takes longer.
func (w *wire) pass() (slow time.Duration) {
	w.mu.Lock()
	gate, slow := w.stall, w.slow
	w.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-w.closed:
		}
	}
	return slow
}

// forget drops a connection that is over.
func (w *wire) forget(l *link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.links, l)
}

// ends says which statements end a transaction, by the name under which the
// dialler prepares them or as a query.
func ends(statement string) (end, commit bool) {
	switch strings.ToLower(strings.TrimRight(strings.TrimSpace(statement), ";")) {
	case "commit":
		return true, true
	case "rollback":
		return true, false
	}
	return false, false
}
