package process

import (
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/actors/cluster/link"
	carriers "dialler/actors/cluster/placement"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/engine/placement"
	"dialler/media"
	"dialler/process/metrics"
	"dialler/sipstack"
)

// capacity is what this process can carry, and which nodes of the cluster carry its campaigns'
// calls.
type capacity struct {
	p        *Process
	room     int
	carriers *carriers.Carriers

	mu       sync.Mutex
	at       time.Time     // of the last measurement
	used     time.Duration // CPU time until then
	load     float64
	unusable []engine.TrunkID
}

const (
	// otherFiles is the number of descriptors used neither by calls nor by the API.
	otherFiles = 512
	// rtpPortsMost bounds the RTP ports.
	rtpPortsMost = 1024
	// mostCalls bounds the capacity that a node reports.
	mostCalls = 1 << 20
)

// rtpPortCap is how many RTP ports may be open, each with one for RTCP: together an eighth of the
// descriptors at most.
func rtpPortCap() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil || files.Cur > mostCalls {
		return rtpPortsMost
	}
	return min(int(files.Cur)/16, rtpPortsMost)
}

// newCapacity measures what does not change: each call needs a descriptor for the bot's socket; RTP
// ports are shared by all.
func newCapacity(p *Process) *capacity {
	c := &capacity{p: p, room: mostCalls}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil && files.Cur < mostCalls {
		c.room = max(int(files.Cur)-p.connectionCap()-otherFiles-2*rtpPortCap(), 0)
	}
	if most := p.flags.MaxCalls; most > 0 {
		c.room = min(c.room, most)
	}
	policy := placement.Policy{OwnShare: placement.DefaultOwnShare}
	if p.flags.Placement == "even" {
		policy.OwnShare = 0
	}
	c.carriers = carriers.New(carriers.Config{Policy: policy, Boot: p.clock.Boot,
		Own: c.report, Tell: c.tell,
		Ready: func(id engine.Incarnation) bool { return p.gateway.Ready(id) }})
	return c
}

// report describes the present state of this node. Load and trunks are from the last second.
func (c *capacity) report() placement.Report {
	r := placement.Report{Room: c.room}
	if tree := c.p.treeUp.Load(); tree != nil {
		r.Calls = int(max(tree.LiveCalls()-c.p.gateway.Carried(), 0)) + c.p.gateway.Hosted()
	}
	c.p.mu.Lock()
	r.Draining = c.p.draining
	c.p.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) >= carriers.Interval {
		c.measure(now)
	}
	r.Load, r.Unusable = c.load, c.unusable
	return r
}

func (c *capacity) measure(now time.Time) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
		if !c.at.IsZero() {
			c.load = float64(used-c.used) / float64(now.Sub(c.at)) / float64(runtime.GOMAXPROCS(0))
		}
		c.used = used
	}
	c.at, c.unusable = now, c.p.sip.Unusable()
	if tree := c.p.treeUp.Load(); tree != nil {
		if lost := tree.Stats().Trunks.Lost.Load(); lost != nil {
			c.unusable = append(c.unusable, *lost...)
		}
	}
}

// seen records which nodes exist.
func (c *capacity) seen(all []ownership.Node) {
	others := make([]engine.Incarnation, 0, len(all))
	for i := range all {
		if id := all[i].Incarnation; all[i].Live && id != c.p.gateway.Here() {
			others = append(others, id)
		}
	}
	c.carriers.Know(others)
}

// tell sends the report to another node, if this one has its lease.
func (c *capacity) tell(to engine.Incarnation, say func(*link.Wire)) {
	s := c.p.lease.several.Load()
	if s == nil || s.node.Incarnation() == 0 {
		return
	}
	if l := c.p.links.To(to); l != nil {
		l.Tell(carriers.Name, 0, false, say)
	}
}

// begin starts to receive other nodes' reports, and to send this node's.
func (c *capacity) begin(s *several) {
	c.p.links.On(carriers.Name, func(said *link.Said) { c.carriers.Heard(said.Link.Peer(), said.Wire) })
	s.router.Carrier = c.carriers.Choose
	c.p.background(c.carriers.Run)
}

// carried lists the attempts for which this process has something that would continue by itself.
func carried(sip *sipstack.Stack, audio *media.Engine) []engine.AttemptID {
	all := audio.Calls()
	for _, l := range sip.Legs() {
		if l.Lives {
			all = append(all, l.Attempt)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// metrics are the node's metrics.
func (c *capacity) metrics() []prometheus.Collector {
	of, g, links := c.carriers, c.p.gateway, c.p.links.Stats()
	return []prometheus.Collector{
		metrics.Gauge(
			"dialler_cluster_capacity_calls",
			"Calls that this node can carry.",
			func() float64 { return float64(c.room) },
		),
		metrics.Gauge(
			"dialler_cluster_calls_carried",
			"Calls that this node carries, for its own campaigns and for other nodes.",
			func() float64 { return float64(of.Own().Calls) },
		),
		metrics.Gauge(
			"dialler_cluster_calls_hosted",
			"Calls that this node carries for campaigns of other nodes.",
			func() float64 { return float64(g.Hosted()) },
		),
		metrics.Gauge(
			"dialler_cluster_calls_away",
			"Calls of this node's campaigns that other nodes carry.",
			func() float64 { return float64(g.Carried()) },
		),
		metrics.Gauge(
			"dialler_cluster_load_ratio",
			"Share of its available processor time that the process used in the last second.",
			func() float64 { return of.Own().Load },
		),
		metrics.Gauge(
			"dialler_cluster_carriers",
			"Other nodes that could be given a call now.",
			func() float64 { return float64(of.Candidates()) },
		),
		metrics.Counter(
			"dialler_cluster_placed_here_total",
			"Calls of campaigns that were placed on this node, which acts for them.",
			func() float64 { return float64(of.Here.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_placed_away_total",
			"Calls of campaigns that were given to other nodes.",
			func() float64 { return float64(of.There.Load()) },
		),
		metrics.Counter(
			"dialler_cluster_placements_failed_total",
			"Calls that another node could not place.",
			func() float64 { return float64(of.Failures.Load()) },
		),
		metrics.Counter("dialler_cluster_link_repeats_total", "Times that something was sent again to another node.",
			func() float64 { return float64(links.Repeats.Load()) }),
		metrics.Counter("dialler_cluster_link_frames_total", "Frames that were sent to other nodes.",
			func() float64 { return float64(links.Frames.Load()) }),
		metrics.Counter("dialler_cluster_link_unreadable_total",
			"Frames and messages from other nodes that could not be read, or had no recipient here.",
			func() float64 { return float64(links.Malformed.Load() + links.Strays.Load()) }),
		metrics.Counter(
			"dialler_cluster_orphans_total",
			"Calls that were hung up because the node that owned them was gone and nobody took them over.",
			func() float64 { return float64(g.Orphans.Load()) },
		),
	}
}
