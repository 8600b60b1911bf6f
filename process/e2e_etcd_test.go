package process

import (
	"io"
	"net"
	"testing"

	"dialler/bench/ports"
	"dialler/bench/site"
	"dialler/persistence/storetest"
)

// forward lets connections to an address through to another one.
func forward(t *testing.T, at, to string) {
	t.Helper()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			for a, b := range map[net.Conn]net.Conn{in: out, out: in} {
				go func() {
					_, _ = io.Copy(a, b)
					_ = a.Close()
				}()
			}
		}
	}()
}

func TestANodeSaysThatEtcdDoesNotAnswer(t *testing.T) {
	t.Parallel()
	etcd, err := site.StartEtcd(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(etcd.Close)
	url, at := storetest.URL(t), ports.AddressOf(t) // nobody listens at it yet
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, Cluster: "etcd://" + at + "/d", Node: "one",
		ClusterListen: ports.AddressOf(t)}}, tuning{}, 0)
	cluster := func() (warning, detail string, since bool) {
		t.Helper()
		var ready struct {
			Checks []struct {
				Name, Warning, Detail string
				OK                    bool
				Since                 *string
			}
		}
		w.send("GET", "/readyz", nil).expect(200).into(&ready)
		for _, c := range ready.Checks {
			if c.Name == "cluster" {
				return c.Warning, c.Detail, c.Since != nil
			}
		}
		t.Fatal("there is no check of the cluster")
		return "", "", false
	}
	eventually(t, "it says so", func() bool {
		warning, detail, since := cluster()
		return warning == "membership_away" && detail != "" && since
	})
	if got := w.metric(`dialler_check_warning{check="cluster"}`); got != 1 {
		t.Errorf("its check warns %v", got)
	}
	forward(t, at, etcd.Address)
	eventually(t, "etcd answers", func() bool {
		warning, detail, since := cluster()
		return warning == "" && detail == "" && !since
	})
}
