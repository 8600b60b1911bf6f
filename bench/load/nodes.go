package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/bench/ports"
	"dialler/persistence/private"
	"dialler/process/keys"
)

// nodesLimit is the maximum number of engines on one machine.
const nodesLimit = 8

// How the calls of a run are placed on the nodes.
const (
	alone  = "alone"  // one process, no cluster
	local  = "local"  // one campaign per node, which carries its calls
	evenly = "spread" // one campaign, whose calls are spread evenly over all nodes
)

// NodesFigures is the cost of a call with one node and with several.
type NodesFigures struct {
	Cores  int         `json:"cores"`
	Pinned bool        `json:"pinned"` // each engine had a core of its own
	Runs   []NodesRun  `json:"runs"`
	Ratios []NodeRatio `json:"ratios"`
}

// NodesRun is one run.
type NodesRun struct {
	Nodes     int     `json:"nodes"`
	Placement string  `json:"placement"`
	Rate      int     `json:"rate"` // of all nodes, calls/s
	Offered   int     `json:"offered"`
	Success   float64 `json:"success"`
	Reached   float64 `json:"reached"`
	// Engine is CPU per call in ms, of all engines together; Owner is the part of the engine that
	// owns the campaign, in a spread run.
	Engine   float64 `json:"engine_ms"`
	Owner    float64 `json:"owner_ms,omitempty"`
	Postgres float64 `json:"postgres_ms"`
	PostDial Spread  `json:"post_dial_ms"`
	// Carried is how many calls each node carried.
	Carried  []int          `json:"carried"`
	Failures map[string]int `json:"failures,omitempty"`
}

// NodeRatio compares the CPU time per call of several nodes, engines and PostgreSQL together, with
// that of one process at the rate of each node, and at that of all.
type NodeRatio struct {
	Nodes     int     `json:"nodes"`
	Placement string  `json:"placement"`
	PerNode   float64 `json:"of_one_at_the_rate_a_node"`
	InAll     float64 `json:"of_one_at_the_rate_in_all"`
}

// Nodes measures the cost of a call with one process and with clusters of two to n nodes on one
// PostgreSQL; the rate is that of all nodes together.
func Nodes(ctx context.Context, cfg Config, n int) (*NodesFigures, error) {
	cfg, err := cfg.withDefaults()
	switch {
	case err != nil:
		return nil, err
	case n < 2 || n > nodesLimit:
		return nil, fmt.Errorf("load: --nodes must be 2 to %d", nodesLimit)
	case cfg.Bot == "sip":
		return nil, errors.New("load: --nodes needs a bot with a socket: its results are counted")
	case cfg.Rate < n:
		return nil, errors.New("load: --rate must be at least a call a second for each node")
	}
	f := &NodesFigures{Cores: runtime.NumCPU()}
	_, err = exec.LookPath("taskset")
	f.Pinned = err == nil && f.Cores >= n+2 // carrier, bot and PostgreSQL use the others
	if !f.Pinned {
		cfg.Log("%d cores (or no taskset): the engines share them with everything else and are not pinned", f.Cores)
	}
	add := func(nodes int, placement string, rate int) error {
		c := cfg
		c.Rate = rate
		r, err := nodesRun(ctx, c, nodes, placement, f.Pinned)
		if err == nil {
			f.Runs = append(f.Runs, *r)
			cfg.Log("%d nodes, %s, %d/s: engines %.3f ms, PostgreSQL %.3f ms per call", nodes, placement, rate, r.Engine,
				r.Postgres)
		}
		return err
	}
	if err := add(1, alone, cfg.Rate); err != nil {
		return nil, err
	}
	for k := 2; k <= n; k++ {
		each := cfg.Rate / k
		for _, r := range []struct {
			nodes     int
			placement string
		}{{1, alone}, {k, local}, {k, evenly}} {
			if err := add(r.nodes, r.placement, each*r.nodes); err != nil {
				return nil, err
			}
		}
	}
	f.compare()
	return f, nil
}

// compare computes the ratios: each run of several nodes comes after one of a single process at the
// rate of each node, and all of them after one at the total rate.
func (f *NodesFigures) compare() {
	var one float64
	for i := range f.Runs {
		r := &f.Runs[i]
		if r.Placement == alone {
			one = r.cpu()
			continue
		}
		f.Ratios = append(f.Ratios, NodeRatio{Nodes: r.Nodes, Placement: r.Placement, PerNode: r.cpu() / one,
			InAll: r.cpu() / f.Runs[0].cpu()})
	}
}

func (r *NodesRun) cpu() float64 { return r.Engine + r.Postgres }

// Wrong says what makes the figures worthless.
func (f *NodesFigures) Wrong() (wrong []string) {
	for i := range f.Runs {
		if r := &f.Runs[i]; r.Success < Threshold || r.Reached < 0.95*float64(r.Rate) {
			wrong = append(wrong, fmt.Sprintf("%d nodes, %s, %d/s: %.2f %% of the calls succeeded, reached %.1f calls/s %v",
				r.Nodes, r.Placement, r.Rate, 100*r.Success, r.Reached, r.Failures))
		}
	}
	return wrong
}

// Print writes the table for people.
func (f *NodesFigures) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintf(t, "nodes\tplacement\trate/s\treached\tok %%\tengines ms/call\tof it the owner\tPostgreSQL "+
		"ms/call\tpost-dial p50, p99 ms\tcarried\n")
	for i := range f.Runs {
		r := &f.Runs[i]
		_, _ = fmt.Fprintf(t, "%d\t%s\t%d\t%.1f\t%.2f\t%.3f\t%.3f\t%.3f\t%.0f, %.0f\t%v\n", r.Nodes, r.Placement, r.Rate,
			r.Reached, 100*r.Success, r.Engine, r.Owner, r.Postgres, r.PostDial.P50, r.PostDial.P99, r.Carried)
	}
	_ = t.Flush()
	for _, r := range f.Ratios {
		_, _ = fmt.Fprintf(out, "%d nodes, %s: %.2f times one at the rate of a node, %.2f times one at the rate of all\n",
			r.Nodes, r.Placement, r.PerNode, r.InAll)
	}
	_, _ = fmt.Fprintf(out, "%d cores, engines pinned: %v\n", f.Cores, f.Pinned)
}

// cluster is a world with several engines on one PostgreSQL.
type cluster struct {
	*world
	engines  []*process
	apis     []*client
	profiled []string // host:port of their profiles
}

func nodesRun(ctx context.Context, cfg Config, nodes int, placement string, pin bool) (_ *NodesRun, err error) {
	c := &cluster{world: &world{cfg: cfg}}
	defer c.close()
	if err := c.open(ctx, nodes, placement, pin); err != nil {
		return nil, err
	}
	return c.measure(ctx, nodes, placement)
}

func (c *cluster) close() {
	for i := len(c.engines) - 1; i > 0; i-- { // the first belongs to the world
		c.engines[i].stop()
	}
	for _, a := range c.apis[min(1, len(c.apis)):] {
		a.close()
	}
	c.world.close()
}

func (c *cluster) open(ctx context.Context, nodes int, placement string, pin bool) (err error) {
	w := c.world
	if err := w.openFolder(); err != nil {
		return err
	}
	if err := w.openCallee(); err != nil {
		return err
	}
	if err := w.openBot(ctx); err != nil {
		return err
	}
	data := filepath.Join(w.dir, "data")
	if w.pg, err = private.Start(ctx, private.Config{Dir: data, Name: "postgresql", Log: zerolog.Nop()}); err != nil {
		return err
	}
	if w.pgPID, err = postmaster(w.pg.Dir()); err != nil {
		return err
	}
	if w.db, err = pgx.Connect(ctx, w.pg.URL()); err != nil {
		return err
	}
	if err := w.age(ctx); err != nil {
		return err
	}
	links := make([]string, nodes)
	for i := range links {
		if links[i], err = ports.Address(); err != nil {
			return err
		}
	}
	for i := range nodes {
		if err := c.openNode(ctx, i, links, placement, pin); err != nil {
			return err
		}
	}
	if err := w.furnish(ctx); err != nil {
		return err
	}
	for _, a := range c.apis {
		a.bearer = w.api.bearer
	}
	return nil
}

// openNode starts one engine.
func (c *cluster) openNode(ctx context.Context, i int, links []string, placement string, pin bool) error {
	w := c.world
	var at [3]string // addresses of the API, SIP and profiles
	for j := range at {
		var err error
		if at[j], err = ports.Address(); err != nil {
			return err
		}
	}
	name := "engine" + strconv.Itoa(i)
	args := []string{w.cfg.Binary, "serve", "--listen-http", at[0], "--sip", at[1], "--pprof", at[2], "--database-url",
		w.pg.URL(), "--data-dir", filepath.Join(w.dir, name), "--log-level", "warn", "--log-format", "json",
		"--drain-timeout", "5s"}
	if _, err := keys.Signing("", w.dir); err != nil { // of all nodes: made by the first
		return err
	}
	args = append(args, "--signing-key", filepath.Join(w.dir, keys.SigningFile))
	if placement != alone {
		m := "automanaged://" + links[0]
		for _, l := range links[1:] {
			m += "," + l
		}
		args = append(args, "--cluster", m, "--cluster-listen", links[i], "--node", name)
	}
	if placement == evenly { // placement by calls only: room for twice as many as there will be
		args = append(args, "--placement", "even", "--max-calls", strconv.Itoa(2*w.cfg.seats()))
	}
	if pin {
		args = append([]string{"taskset", "-c", strconv.Itoa(i)}, args...)
	}
	e, err := spawn(w.dir, name, w.cfg.Env, args[0], args[1:]...)
	if err != nil {
		return err
	}
	api := newClient(at[0])
	c.engines, c.apis, c.profiled = append(c.engines, e), append(c.apis, api), append(c.profiled, at[2])
	if i == 0 {
		w.engine, w.addr, w.profiles, w.api = e, at[0], at[2], api
	}
	return w.await(ctx, e, func() bool {
		m, err := api.metrics(ctx)
		return err == nil && (placement == alone || m["dialler_cluster_joined"] == 1)
	})
}

// campaigns creates the campaigns of a run, with all their contacts: one, or one per node.
func (c *cluster) campaigns(ctx context.Context, nodes int, placement string) (ids []string, err error) {
	n := c.cfg.calls()
	if placement != local {
		id, err := c.campaign(ctx, n)
		return []string{id}, err
	}
	owned := map[string]string{}
	for tries := 0; len(owned) < nodes; tries++ {
		if tries == 20*nodes {
			return nil, errors.New("load: not every node becomes the owner of a campaign")
		}
		id, err := c.campaign(ctx, 0)
		if err != nil {
			return nil, err
		}
		var node string
		if err := c.db.QueryRow(ctx, "SELECT n.name FROM owners o JOIN nodes n USING (incarnation) WHERE o.kind = "+
			"'campaign' AND o.identity = $1", id).Scan(&node); err != nil {
			return nil, fmt.Errorf("load: cannot tell who acts for a campaign: %w", err)
		}
		if _, has := owned[node]; !has {
			owned[node] = id
			ids = append(ids, id)
		}
	}
	for i, id := range ids {
		for from := i * (n / nodes); from < (i+1)*(n/nodes); from += 1000 {
			if err := c.addContacts(ctx, id, from, min(1000, (i+1)*(n/nodes)-from)); err != nil {
				return nil, err
			}
		}
	}
	return ids, nil
}

func (c *cluster) engineCPU() []time.Duration {
	out := make([]time.Duration, len(c.engines))
	for i, e := range c.engines {
		out[i] = cpu(e.pid(), false)
	}
	return out
}

func (c *cluster) measure(ctx context.Context, nodes int, placement string) (*NodesRun, error) {
	cfg := &c.cfg
	n := cfg.calls() / nodes * nodes
	r := &NodesRun{Nodes: nodes, Placement: placement, Rate: cfg.Rate, Offered: n}
	ids, err := c.campaigns(ctx, nodes, placement)
	if err != nil {
		return nil, err
	}
	if placement == evenly {
		if err := poll(ctx, 100*time.Millisecond, func() (bool, error) {
			m, err := c.sum(ctx)
			return int(m["dialler_cluster_carriers"]) == nodes*(nodes-1), err
		}); err != nil {
			return nil, err
		}
	}
	engines, pg := c.engineCPU(), treeCPU(c.pgPID)
	for _, id := range ids {
		if err := c.api.do(ctx, http.MethodPost, "/api/v1/campaigns/"+id+"/start", nil, nil); err != nil {
			return nil, err
		}
	}
	if c.cfg.Profiles != "" {
		if err := c.profileAll(ctx, filepath.Join(c.cfg.Profiles, fmt.Sprintf("%d-%s-%d", nodes, placement,
			c.cfg.Rate))); err != nil {
			return nil, err
		}
	}
	if err := c.over(ctx, n); err != nil {
		return nil, err
	}
	most := time.Duration(0)
	all := time.Duration(0)
	for i, now := range c.engineCPU() {
		most, all = max(most, now-engines[i]), all+now-engines[i]
	}
	perCall := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) / float64(n) }
	r.Engine, r.Postgres = perCall(all), perCall(treeCPU(c.pgPID)-pg)
	if placement == evenly {
		r.Owner = perCall(most)
	}
	return r, c.result(ctx, ids, r)
}

// profileAll saves a CPU profile of every engine over most of the time during which calls are
// offered.
func (c *cluster) profileAll(ctx context.Context, dir string) error {
	saved := make(chan error, len(c.apis))
	for i, a := range c.apis {
		to := filepath.Join(dir, strconv.Itoa(i))
		if err := os.MkdirAll(to, 0o750); err != nil {
			return err
		}
		go func() {
			saved <- a.profile(ctx, c.profiled[i], "profile",
				fmt.Sprintf("?seconds=%d", max(1, int(c.cfg.Duration.Seconds())-2)), to)
		}()
	}
	var all []error
	for range c.apis {
		all = append(all, <-saved)
	}
	return errors.Join(all...)
}

// sum adds up the figures of all nodes.
func (c *cluster) sum(ctx context.Context) (map[string]float64, error) {
	sum := map[string]float64{}
	for _, a := range c.apis {
		m, err := a.metrics(ctx)
		if err != nil {
			return nil, err
		}
		for k, v := range m {
			sum[k] += v
		}
	}
	return sum, nil
}

// over waits until every result has arrived, or nothing changes any more.
func (c *cluster) over(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*c.cfg.Duration+c.cfg.Talk+90*time.Second)
	defer cancel()
	was, moved := 0.0, time.Now()
	// Each query costs an engine as much as a few calls.
	err := poll(ctx, 3*time.Second, func() (bool, error) {
		for _, e := range c.engines {
			if err := e.ended(); err != nil {
				return false, err
			}
		}
		m, err := c.sum(ctx)
		if err != nil {
			return false, err
		}
		if now := m["dialler_attempts_total"] + m["dialler_results_total"]; now != was {
			was, moved = now, time.Now()
		}
		return int(m["dialler_results_total"]) >= n || time.Since(moved) > settleLimit+c.cfg.Talk, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // the figures will show it
	}
	return err
}

// result reads the outcomes of the calls from the database.
func (c *cluster) result(ctx context.Context, ids []string, r *NodesRun) error {
	r.Failures = map[string]int{}
	ok := 0
	for _, id := range ids {
		f := &Figures{Offered: 1, Failures: r.Failures}
		if err := c.read(ctx, id, f); err != nil {
			return err
		}
		ok += f.OK
		if f.PostDial.P50 > r.PostDial.P50 {
			r.PostDial = f.PostDial
		}
	}
	r.Success = float64(ok) / float64(r.Offered)
	at, err := c.db.Query(ctx, "SELECT invite_at FROM attempts WHERE campaign_id = ANY($1) AND invite_at IS NOT NULL "+
		"ORDER BY invite_at", ids)
	if err != nil {
		return err
	}
	invites, err := pgx.CollectRows(at, pgx.RowTo[time.Time])
	if err != nil {
		return err
	}
	r.Reached = steadyRate(invites)
	rows, err := c.db.Query(ctx, "SELECT count(*) FROM attempts WHERE campaign_id = ANY($1) GROUP BY incarnation", ids)
	if err != nil {
		return err
	}
	r.Carried, err = pgx.CollectRows(rows, pgx.RowTo[int])
	slices.Sort(r.Carried)
	return err
}
