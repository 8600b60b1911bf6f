package site

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"dialler/bench/ports"
	"dialler/persistence/private"
	"dialler/process/keys"
)

// Config says what to run, and where.
type Config struct {
	// Binary is the program.
	Binary string
	// Dir is the folder for data and logs. PostgreSQL runs as another user when this process is
	// root: every user must be able to enter it.
	Dir   string
	Nodes int
	// Args are flags for every node, besides those that make it a node.
	Args []string
	// Apart means that Ctrl-C does not reach the nodes; Close ends them.
	Apart bool
}

// Site is the nodes of a cluster and everything they depend on.
type Site struct {
	Nodes []*Node
	Door  *Door
	Etcd  *Etcd

	pg       *private.Server
	database private.Config
}

// Node is one node, with the paths to it and from it.
type Node struct {
	*Process
	ToDatabase *Way
	ToEtcd     *Way
	ToIt       *Way // from the other nodes, named as its callers
	Listen     string
}

// Open starts everything. The first node creates the schema.
func Open(ctx context.Context, cfg Config) (_ *Site, err error) {
	s := new(Site)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.database = private.Config{Dir: filepath.Join(cfg.Dir, "data"), Name: "postgresql", Log: zerolog.Nop()}
	if err := s.StartDatabase(ctx); err != nil {
		return nil, err
	}
	if s.Etcd, err = StartEtcd(ctx, cfg.Dir, cfg.Apart); err != nil {
		return nil, err
	}
	for i := range cfg.Nodes {
		if err := s.add(cfg, "n"+strconv.Itoa(i+1)); err != nil {
			return nil, err
		}
	}
	if err := s.connect(cfg); err != nil {
		return nil, err
	}
	for i, n := range s.Nodes {
		if err := n.Start(); err != nil {
			return nil, err
		}
		if i == 0 {
			if err := n.Ready(ctx); err != nil {
				return nil, err
			}
		}
	}
	for _, n := range s.Nodes {
		if err := n.Joined(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add adds a node without starting it.
func (s *Site) add(cfg Config, name string) error {
	dir := filepath.Join(cfg.Dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // logs, to be read
		return err
	}
	p, err := NewProcess(cfg.Binary, name, dir)
	if err != nil {
		return err
	}
	p.Apart = cfg.Apart
	n := &Node{Process: p}
	s.Nodes = append(s.Nodes, n)
	if n.Listen, err = ports.Address(); err != nil {
		return err
	}
	database, err := pgconn.ParseConfig(s.pg.URL())
	if err != nil {
		return err
	}
	network, address := pgconn.NetworkAddress(database.Host, database.Port)
	n.ToDatabase, err = Lay(func() (net.Conn, error) { return net.Dial(network, address) }, nil)
	if err != nil {
		return err
	}
	// The name shows in the database which node did what.
	at := url.URL{Scheme: "postgres", User: url.User(database.User), Host: n.ToDatabase.Address,
		Path: "/" + database.Database}
	at.RawQuery = url.Values{"sslmode": {"disable"}, "application_name": {name}}.Encode()
	n.URL = at.String()
	n.ToEtcd, err = Lay(func() (net.Conn, error) { return net.Dial("tcp", s.Etcd.Address) }, nil)
	return err
}

// connect makes the nodes one cluster, and opens the door.
func (s *Site) connect(cfg Config) (err error) {
	var doors []string
	callers := map[string]string{}
	for _, n := range s.Nodes {
		doors = append(doors, n.HTTP)
		if n.ToIt, err = Lay(func() (net.Conn, error) { return net.Dial("tcp", n.Listen) }, callers); err != nil {
			return err
		}
	}
	for _, n := range s.Nodes { // nobody connects yet
		callers[n.ToIt.Address] = n.Name
	}
	if s.Door, err = OpenDoor(doors); err != nil {
		return err
	}
	if _, err := keys.Signing("", cfg.Dir); err != nil {
		return err
	}
	for _, n := range s.Nodes {
		n.Args = append([]string{"--signing-key", filepath.Join(cfg.Dir, keys.SigningFile), "--node", n.Name,
			"--cluster", "etcd://" + n.ToEtcd.Address + "/site", "--cluster-listen", n.Listen,
			"--cluster-advertise", n.ToIt.Address, "--public-url", "http://" + s.Door.Address}, cfg.Args...)
	}
	return nil
}

// DatabaseURL is a URL of the database that bypasses the paths that can be cut.
func (s *Site) DatabaseURL() string { return s.pg.URL() }

// StartDatabase starts PostgreSQL, at the same place as before.
func (s *Site) StartDatabase(ctx context.Context) (err error) {
	s.pg, err = private.Start(ctx, s.database)
	return err
}

// KillDatabase ends PostgreSQL as a power cut would, and waits until it is gone.
func (s *Site) KillDatabase() error {
	if err := syscall.Kill(s.pg.Pid(), syscall.SIGKILL); err != nil {
		return err
	}
	return s.pg.Stop()
}

// Addresses are the addresses of the nodes' APIs.
func (s *Site) Addresses() (all []string) {
	for _, n := range s.Nodes {
		all = append(all, n.HTTP)
	}
	return all
}

// Part cuts the messages between two nodes: those the first one sends (Out), receives (In), or
// both.
func (s *Site) Part(a, b *Node, d Direction) {
	back := d<<1&In | d>>1&Out
	b.ToIt.Cut(d, a.Name)
	a.ToIt.Cut(back, b.Name)
}

// Mend repairs every path.
func (s *Site) Mend() {
	for _, n := range s.Nodes {
		for _, w := range []*Way{n.ToDatabase, n.ToEtcd, n.ToIt} {
			if w != nil {
				w.Mend()
			}
		}
	}
}

// joinLimit is how long a node may take to become ready.
const joinLimit = time.Minute

// Joined waits until the node is ready: its trunk is up, it has its lease.
func (n *Node) Joined(ctx context.Context) error {
	if err := n.Ready(ctx); err != nil {
		return err
	}
	limit, cancel := context.WithTimeout(ctx, joinLimit)
	defer cancel()
	api := NewAPI(1, n.HTTP)
	defer api.Close()
	err := Poll(limit, 50*time.Millisecond, func() (bool, error) {
		f, err := api.Figures(limit)
		return err == nil && f["dialler_cluster_joined"] == 1, nil
	})
	if err != nil {
		return fmt.Errorf("node %s has not joined (%w); %s", n.Name, err, n.Tail())
	}
	return nil
}

// Close shuts down the nodes cleanly, all at once, and then everything they depend on.
func (s *Site) Close() error {
	s.Mend()
	ended := make(chan error, len(s.Nodes))
	for _, n := range s.Nodes {
		go func() {
			if !n.Running() {
				ended <- nil
				return
			}
			_ = n.Resume() // it may be paused
			ended <- n.Stop()
		}()
	}
	var errs []error
	for range s.Nodes {
		errs = append(errs, <-ended)
	}
	for _, n := range s.Nodes {
		for _, w := range []*Way{n.ToDatabase, n.ToEtcd, n.ToIt} {
			if w != nil {
				errs = append(errs, w.Close())
			}
		}
	}
	if s.Door != nil {
		errs = append(errs, s.Door.Close())
	}
	if s.Etcd != nil {
		s.Etcd.Close()
	}
	if s.pg != nil {
		errs = append(errs, s.pg.Stop())
	}
	return errors.Join(errs...)
}
