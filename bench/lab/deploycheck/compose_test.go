package deploycheck

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// folder contains the files for Docker Compose.
const folder = "../../../deploy/compose"

// composed loads the file as Docker Compose does; anything that the schema or the merge does not
// allow fails the test.
func composed(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(folder, "compose.yaml")},
		cli.WithWorkingDirectory(folder), cli.WithEnv(nil), cli.WithConsistency(true))
	if err != nil {
		t.Fatal(err)
	}
	p, err := options.LoadProject(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestComposeTakesTheFileAndItsDiallersAreGivenTimeToDrain(t *testing.T) {
	t.Parallel()
	p := composed(t)
	subnet := netip.MustParsePrefix(p.Networks["voice"].Ipam.Config[0].Subnet)
	seen := map[string]string{}
	nodes := 0
	for name, s := range p.Services {
		if a := s.Networks["voice"]; a != nil && a.Ipv4Address != "" {
			if other, ok := seen[a.Ipv4Address]; ok || !subnet.Contains(netip.MustParseAddr(a.Ipv4Address)) {
				t.Errorf("%s has the address %s, of %q or of no network", name, a.Ipv4Address, other)
			}
			seen[a.Ipv4Address] = name
		}
		if !strings.HasPrefix(name, "dialler-") {
			continue
		}
		nodes++
		own := s.Networks["voice"].Ipv4Address
		for _, flag := range []string{"--node=" + name, "--cluster-listen=" + own + ":7946", "--sip=" + own + ":5060"} {
			if !slices.Contains(s.Command, flag) {
				t.Errorf("%s is started without %s: %q", name, flag, s.Command)
			}
		}
		if s.StopGracePeriod == nil || time.Duration(*s.StopGracePeriod) < 2*time.Minute+20*time.Second {
			t.Errorf("%s is killed before a drain of two minutes is over", name)
		}
		if !s.ReadOnly || !slices.Contains(s.CapDrop, "ALL") || len(s.Volumes) != 2 ||
			!s.Volumes[1].ReadOnly ||
			s.Volumes[0].Target != "/var/lib/dialler" {
			t.Errorf("%s may do more than it has to", name)
		}
	}
	if nodes != 3 {
		t.Errorf("%d diallers, want 3", nodes)
	}
	for _, other := range []string{"postgres", "etcd", "carrier", "bot"} {
		if _, ok := p.Services[other]; !ok {
			t.Errorf("there is no %s", other)
		}
	}
}
