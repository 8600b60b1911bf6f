package owners

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged"
	"github.com/asynkron/protoactor-go/cluster/identitylookup/disthash"
	"github.com/asynkron/protoactor-go/remote"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/engine"
)

// stock runs a node whose identities are placed by the library. An activation acts from its start
// to its end; its epoch is its start time.
func stock(ctx context.Context, cfg Config, out *notes) error {
	host, p, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(p)
	if err != nil {
		return err
	}
	var members []string
	for h := range strings.SplitSeq(strings.TrimPrefix(cfg.Membership, "automanaged://"), ",") {
		mh, mp, err := net.SplitHostPort(h)
		if err != nil {
			return err
		}
		port, err := strconv.Atoi(mp)
		if err != nil {
			return err
		}
		members = append(members, net.JoinHostPort(mh, strconv.Itoa(port+1)))
	}
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	}))
	kind := cluster.NewKind("campaign", actor.PropsFromProducer(func() actor.Actor {
		return &activation{by: fmt.Sprintf("%s.%d", cfg.Name, os.Getpid()), out: out}
	}))
	c := cluster.New(system, cluster.Configure("dialler", automanaged.NewWithConfig(time.Second, at+1, members...),
		disthash.New(), remote.Configure(host, at), cluster.WithKinds(kind), cluster.WithRequestTimeout(time.Second)))
	c.StartMember()
	var wg sync.WaitGroup
	for i := range cfg.Identities {
		wg.Go(func() {
			tick := time.NewTicker(10 * Every)
			defer tick.Stop()
			for ctx.Err() == nil {
				_, _ = c.Request(Identity(i).ID, "campaign", wrapperspb.Bytes(nil), cluster.WithTimeout(time.Second))
				select {
				case <-tick.C:
				case <-ctx.Done():
				}
			}
		})
	}
	<-ctx.Done()
	wg.Wait()
	return nil
}

// activation is an identity that the library has placed here.
type activation struct {
	by    string
	out   *notes
	epoch engine.BootTime
	id    string
}

type tick struct{}

// Receive implements actor.Actor.
func (a *activation) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *cluster.ClusterInit:
		a.epoch, a.id = Boot(), m.Identity.Identity
		a.next(c)
	case *wrapperspb.BytesValue:
		c.Respond(wrapperspb.Bytes(nil))
	case *tick:
		a.out.act(Boot(), a.id, int64(a.epoch), a.by)
		a.next(c)
	}
}

func (a *activation) next(c actor.Context) {
	self, system := c.Self(), c.ActorSystem()
	time.AfterFunc(Every, func() { system.Root.Send(self, &tick{}) })
}
