package cluster

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/actors/cluster/link"
	"dialler/engine"
)

// transport carries frames between nodes.
type transport interface {
	address() string
	// send does not report whether the frame arrived.
	send(address string, frame []byte)
	close()
}

// inbox is the name of the actor that takes a node's frames. Releases before package link used
// another name, so the two do not hear each other.
const inbox = "link"

// clusterName is the cluster's name in the library.
const clusterName = "dialler"

const (
	writerBatch = 32 // messages in one frame
	writerQueue = 1024
	// gossipEvery turns gossip down: we send nothing over it.
	gossipEvery = 24 * time.Hour
)

// wire is a node's part of protoactor: its own actor system, the remote and the cluster.
type wire struct {
	n        *Node
	system   *actor.ActorSystem
	cluster  *cluster.Cluster
	provider provider
	inbox    *actor.PID

	mu      sync.Mutex
	closed  bool
	peers   map[string]struct{} // addresses that may have endpoints
	started bool
}

// provider is how nodes discover each other.
type provider interface {
	cluster.ClusterProvider
	close()
}

func newWire(n *Node, m membership) (w *wire, err error) {
	if err := n.cfg.Check(); err != nil {
		return nil, err
	}
	host, port, _ := splitAddress(n.cfg.Listen)
	if strings.Contains(host, ":") {
		host = "[" + host + "]" // the library joins host and port as they are
	}
	w = &wire{n: n, peers: map[string]struct{}{}}
	w.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	if w.provider, err = newProvider(n, w, m, port); err != nil {
		return nil, err
	}
	if w.inbox, err = w.system.Root.SpawnNamed(actor.PropsFromFunc(w.receive), inbox); err != nil {
		return nil, fmt.Errorf("cluster: spawn %s: %w", inbox, err)
	}
	w.system.EventStream.Subscribe(func(event any) {
		if e, ok := event.(*remote.EndpointTerminatedEvent); ok {
			n.broken(e.Address)
		}
	})
	config := cluster.Configure(clusterName, w.provider, lookup{n}, w.remoteConfig(host, port))
	config.GossipInterval = gossipEvery
	w.cluster = cluster.New(w.system, config)
	if err := w.start(); err != nil {
		w.stop()
		return nil, err
	}
	return w, nil
}

func splitAddress(hostport string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(hostport)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err == nil && host == "" {
		err = errors.New("cluster: no host")
	}
	return host, int(n), err
}

// start begins to accept messages; the library panics if it cannot.
func (w *wire) start() (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.n.log.Error().Str("listen", w.n.cfg.Listen).Str("why",
				fmt.Sprint(r)).Msg("cannot listen for messages between nodes")
			err = engine.Unavailable("cluster_not_started", "cannot listen for messages between nodes on "+w.n.cfg.Listen+
				"; is the port free, and is the address one of this machine's?", time.Second)
		}
	}()
	w.cluster.StartMember()
	w.started = true
	return nil
}

func (w *wire) remoteConfig(host string, port int) *remote.Config {
	options := []remote.ConfigOption{
		remote.WithEndpointWriterBatchSize(writerBatch),
		remote.WithEndpointWriterQueueSize(writerQueue),
		remote.WithDialOptions(
			grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: 2 * time.Second,
				Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}}),
			grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 3 * time.Second,
				PermitWithoutStream: true}),
			grpc.WithStreamInterceptor(w.show)),
		remote.WithServerOptions(
			grpc.MaxRecvMsgSize(writerBatch*(link.FrameCap+1024)),
			grpc.KeepaliveParams(keepalive.ServerParameters{Time: 10 * time.Second, Timeout: 3 * time.Second}),
			grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
			grpc.StreamInterceptor(w.admit),
			// The library's handlers of these calls panic.
			grpc.UnaryInterceptor(func(context.Context, any, *grpc.UnaryServerInfo, grpc.UnaryHandler) (any, error) {
				return nil, status.Error(codes.Unimplemented, "messages only")
			})),
	}
	if w.n.cfg.Advertise != "" {
		options = append(options, remote.WithAdvertisedHost(w.n.cfg.Advertise))
	}
	c := remote.Configure(host, port, options...)
	c.MaxRetryCount = 1 // it sleeps for two seconds after each try
	return c
}

// secretKey is the metadata key of the cluster's secret.
const secretKey = "dialler-cluster-secret"

func (w *wire) show(ctx context.Context, d *grpc.StreamDesc, c *grpc.ClientConn, method string, streamer grpc.Streamer,
	opts ...grpc.CallOption) (grpc.ClientStream, error) {
	if s := w.n.cfg.Secret; s != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, secretKey, s)
	}
	return streamer(ctx, d, c, method, opts...)
}

// admit accepts peers that know the secret, and recovers from the library's panics.
func (w *wire) admit(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo,
	handler grpc.StreamHandler) (err error) {
	if s := w.n.cfg.Secret; s != "" {
		md, _ := metadata.FromIncomingContext(stream.Context())
		shown := md.Get(secretKey)
		if len(shown) != 1 || subtle.ConstantTimeCompare([]byte(shown[0]), []byte(s)) != 1 {
			return status.Error(codes.Unauthenticated, "the cluster secret is missing or does not match")
		}
	}
	defer func() {
		if r := recover(); r != nil {
			w.n.log.Error().Str("why", fmt.Sprint(r)).Msg("could not read a message from another node; the connection is closed")
			err = status.Error(codes.InvalidArgument, "unreadable")
		}
	}()
	return handler(srv, stream)
}

func (w *wire) address() string { return w.system.Address() }

// knows records that an address may have an endpoint; false means it is too late.
func (w *wire) knows(address string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.peers[address] = struct{}{}
	}
	return !w.closed
}

func (w *wire) send(address string, frame []byte) {
	if w.knows(address) {
		w.system.Root.Send(actor.NewPID(address, inbox), wrapperspb.Bytes(frame))
	}
}

// receive takes what other nodes send.
func (w *wire) receive(c actor.Context) {
	if m, ok := c.Message().(*wrapperspb.BytesValue); ok {
		w.n.links.Receive(m.GetValue())
	}
}

func (w *wire) close() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	w.mu.Unlock()
	w.stop()
}

// stop ends what start began. The library's own way waits for seconds, and fails on messages that
// arrive meanwhile.
func (w *wire) stop() {
	if w.provider != nil {
		w.provider.close()
	}
	if w.started {
		w.cluster.Gossip.Shutdown()
	}
	w.mu.Lock()
	for address := range w.peers {
		if address != w.address() {
			w.system.EventStream.Publish(&remote.EndpointTerminatedEvent{Address: address})
		}
	}
	w.mu.Unlock()
	if w.started {
		w.cluster.Remote.Shutdown(false)
	}
	w.system.Shutdown()
}
