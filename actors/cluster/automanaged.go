package cluster

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/cluster"
	"github.com/asynkron/protoactor-go/cluster/clusterproviders/automanaged"
	"github.com/labstack/echo"
)

func newProvider(n *Node, w *wire, m membership, port int) (provider, error) {
	if m.scheme == schemeEtcd {
		return newEtcdMembers(n, m), nil
	}
	return newListed(n, w, m, port)
}

// listed is membership by a list of addresses: the library's provider, in which each node answers
// on the port above its message port.
type listed struct {
	*automanaged.AutoManagedProvider
	n *Node
}

func newListed(n *Node, w *wire, m membership, port int) (provider, error) {
	hosts := make([]string, 0, len(m.hosts))
	for _, h := range m.hosts {
		host, p, err := above(h)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, net.JoinHostPort(host, strconv.Itoa(p)))
	}
	// The library's own server prints a banner to standard output.
	l := &listed{n: n}
	answers := echo.New()
	answers.HideBanner, answers.HidePort = true, true
	answers.Logger.SetOutput(io.Discard)
	answers.GET("/_health", func(c echo.Context) error {
		host, at, err := splitAddress(w.address())
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, automanaged.NewNode(clusterName, w.system.ID, host, at, port+1, nil))
	})
	l.AutoManagedProvider = automanaged.NewWithTesting(time.Second, port+1, answers, hosts...)
	return l, nil
}

// StartMember implements cluster.ClusterProvider.
func (l *listed) StartMember(c *cluster.Cluster) error {
	c.ActorSystem.EventStream.Subscribe(func(ev any) {
		if t, ok := ev.(*cluster.ClusterTopology); ok {
			for _, m := range t.Left {
				if m.Id != c.ActorSystem.ID {
					l.n.memberLeft(m.Address())
				}
			}
		}
	})
	return l.AutoManagedProvider.StartMember(c)
}

func (l *listed) close() { _ = l.Shutdown(false) }
