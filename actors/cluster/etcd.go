package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

const (
	etcdTTL     = 5 // seconds
	etcdRetry   = time.Second
	etcdRequest = 3 * time.Second
	membersMax  = 10_000
)

// etcdMembers is membership by etcd: each node keeps a key under a lease and watches the others'
// keys. While etcd is unreachable, the last known members stay.
type etcdMembers struct {
	n      *Node
	client *clientv3.Client
	hosts  []string
	prefix string
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	of    *cluster.Cluster
	known map[string]etcdMember // by key; used by a single goroutine
}

type etcdMember struct {
	ID      string `json:"id"` // of its actor system
	Name    string `json:"name"`
	Address string `json:"address"`
}

func newEtcdMembers(n *Node, m membership) *etcdMembers {
	e := &etcdMembers{n: n, hosts: m.hosts, prefix: m.prefix + "/members/", known: map[string]etcdMember{}}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	return e
}

// StartMember implements cluster.ClusterProvider.
func (e *etcdMembers) StartMember(c *cluster.Cluster) error {
	// Not earlier: starting the remote sets gRPC's logger, and no other goroutine may use it
	// meanwhile.
	client, err := clientv3.New(clientv3.Config{Endpoints: e.hosts, DialTimeout: etcdRequest, Logger: zap.NewNop(),
		DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second, Context: e.ctx})
	if err != nil {
		return err
	}
	e.of, e.client = c, client
	e.wg.Go(e.run)
	return nil
}

// StartClient implements cluster.ClusterProvider.
func (e *etcdMembers) StartClient(*cluster.Cluster) error { return nil }

// Shutdown implements cluster.ClusterProvider.
func (e *etcdMembers) Shutdown(bool) error { return nil }

func (e *etcdMembers) close() {
	e.cancel()
	e.wg.Wait()
	if e.client == nil {
		return
	}
	_ = e.client.Close() // its only error is that its context has ended
}

func (e *etcdMembers) run() {
	for e.ctx.Err() == nil {
		if err := e.session(); err != nil && e.ctx.Err() == nil && e.n.away.Load() == nil {
			now := time.Now()
			e.n.away.Store(&now)
			e.n.log.Warn().Str("why", err.Error()).Msg("etcd does not answer; membership is unknown until it does, leases " +
				"continue")
		}
		t := time.NewTimer(etcdRetry)
		select {
		case <-t.C:
		case <-e.ctx.Done():
			t.Stop()
		}
	}
}

var errEtcdEnded = errors.New("the lease or the watch ended")

// session registers the node and follows the others until an error or the end of the context.
func (e *etcdMembers) session() error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(e.ctx))
	defer cancel()
	brief := func(f func(context.Context) error) error {
		c, cancel := context.WithTimeout(ctx, etcdRequest)
		defer cancel()
		return f(c)
	}
	var lease clientv3.LeaseID
	me := etcdMember{ID: e.of.ActorSystem.ID, Name: e.n.cfg.Name, Address: e.of.ActorSystem.Address()}
	key := e.prefix + me.ID
	if err := brief(func(c context.Context) error {
		r, err := e.client.Grant(c, etcdTTL)
		if err == nil {
			lease = r.ID
		}
		return err
	}); err != nil {
		return err
	}
	defer func() { // also on shutdown: the others learn of it at once
		c, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, _ = e.client.Revoke(c, lease) // on failure the lease expires by itself
	}()
	if err := brief(func(c context.Context) error {
		value, err := json.Marshal(me)
		if err != nil {
			return err
		}
		_, err = e.client.Put(c, key, string(value), clientv3.WithLease(lease))
		return err
	}); err != nil {
		return err
	}
	alive, err := e.client.KeepAlive(ctx, lease)
	if err != nil {
		return err
	}
	var revision int64
	if err := brief(func(c context.Context) error {
		r, err := e.client.Get(c, e.prefix, clientv3.WithPrefix(), clientv3.WithLimit(membersMax))
		if err != nil {
			return err
		}
		revision = r.Header.Revision
		now := map[string]etcdMember{}
		for _, kv := range r.Kvs {
			e.put(now, string(kv.Key), kv.Value)
		}
		e.become(now)
		return nil
	}); err != nil {
		return err
	}
	if since := e.n.away.Swap(nil); since != nil {
		e.n.log.Info().Dur("away_ms", time.Since(*since)).Msg("etcd answers again")
	}
	changes := e.client.Watch(ctx, e.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1))
	for {
		select {
		case _, ok := <-alive:
			if !ok {
				return errEtcdEnded
			}
		case r, ok := <-changes:
			if !ok || r.Err() != nil {
				return errors.Join(errEtcdEnded, r.Err())
			}
			now := map[string]etcdMember{}
			for k, m := range e.known {
				now[k] = m
			}
			for _, ev := range r.Events {
				if ev.Type == clientv3.EventTypeDelete {
					delete(now, string(ev.Kv.Key))
				} else {
					e.put(now, string(ev.Kv.Key), ev.Kv.Value)
				}
			}
			e.become(now)
		}
	}
}

func (e *etcdMembers) put(all map[string]etcdMember, key string, value []byte) {
	var m etcdMember
	if json.Unmarshal(value, &m) == nil && m.Address != "" && len(all) < membersMax {
		all[key] = m
	}
}

// become publishes the current members.
func (e *etcdMembers) become(now map[string]etcdMember) {
	for k, m := range e.known {
		if _, ok := now[k]; !ok && m.ID != e.of.ActorSystem.ID {
			e.n.memberLeft(m.Address)
		}
	}
	e.known = now
	var all cluster.Members
	for _, m := range now {
		host, port, err := net.SplitHostPort(m.Address)
		p, perr := strconv.ParseInt(port, 10, 32)
		if err != nil || perr != nil {
			continue
		}
		all = append(all, &cluster.Member{Id: m.ID, Host: host, Port: int32(p)})
	}
	e.of.MemberList.UpdateClusterTopology(all)
}
