package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/process"
)

// benchClusterCmd runs the nodes of a cluster with the sandbox's model world around them.
type benchClusterCmd struct {
	Nodes     int           `help:"Nodes of the cluster." default:"3"`
	Campaigns int           `help:"Campaigns, shared out among the nodes." default:"3"`
	Contacts  int           `help:"Contacts of each campaign." default:"400"`
	Seats     int           `help:"Seats of the model bot, and each campaign's concurrency." default:"12"`
	Seed      uint64        `help:"Seed of the model world: the same seed, the same callees." default:"1"`
	Revive    time.Duration `help:"How long after it ends a node is started again, as a supervisor would." default:"15s"`
	Exit      bool          `help:"End when the campaigns have ended; exit status 0 only if the ledgers agree."`
	JSON      bool          `name:"json" help:"Print the summary as JSON on standard output, and nothing else."`
	NoOpen    bool          `help:"Do not open the console in the browser."`
	Keep      bool          `help:"Keep data and logs."`
}

// clusterRun is what the command has started.
type clusterRun struct {
	*benchClusterCmd
	say   func(format string, args ...any)
	site  *site.Site
	api   *site.API
	model *carrier.Carrier
	voice *bot.Bot

	campaigns []engine.CampaignID
	names     map[engine.CampaignID]string
	password  string
	began     time.Time
	owners    map[engine.CampaignID]string // as last printed
	ended     map[string]time.Time         // nodes that are down, and since when that is known
}

// clusterNumber is the i-th contact of the k-th campaign.
func clusterNumber(k, i int) string { return fmt.Sprintf("+49151%04d%04d", k, i) }

// Run starts the cluster, runs the campaigns, and reports.
func (b *benchClusterCmd) Run(log zerolog.Logger) (err error) {
	if b.Nodes < 1 || b.Nodes > 9 || b.Campaigns < 1 || b.Campaigns > 99 || b.Contacts < 1 || b.Contacts > 9999 {
		return errors.New("--nodes must be 1 to 9, --campaigns 1 to 99, --contacts 1 to 9999")
	}
	ctx, cancel := signals()
	defer cancel()
	r := &clusterRun{benchClusterCmd: b, names: map[engine.CampaignID]string{}, ended: map[string]time.Time{},
		say: func(format string, args ...any) {
			out := os.Stdout
			if b.JSON {
				out = os.Stderr
			}
			_, _ = fmt.Fprintf(out, format+"\n", args...)
		}}
	quiet := log.Level(zerolog.WarnLevel)
	cc, bc := sandboxWorld(b.Seed, &quiet)
	bc.ResultTries = 40 // the node of the call may be gone
	if r.model, err = carrier.Start(cc); err != nil {
		return fmt.Errorf("start the model carrier: %w", err)
	}
	defer func() { _ = r.model.Close() }()
	if r.voice, err = bot.Start(bc); err != nil {
		return fmt.Errorf("start the model bot: %w", err)
	}
	defer func() { _ = r.voice.Close() }()
	dir, err := os.MkdirTemp("", "dialler-cluster-")
	if err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's user must enter it
		return err
	}
	defer func() {
		if b.Keep || err != nil {
			r.say("data and logs are in %s", dir)
			return
		}
		_ = os.RemoveAll(dir)
	}()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	r.say("starting PostgreSQL, etcd and %d nodes", b.Nodes)
	r.site, err = site.Open(ctx, site.Config{Binary: self, Dir: dir, Nodes: b.Nodes, Apart: true,
		Args: []string{"--drain-timeout", "15s"}})
	if err != nil {
		return ended(ctx, err)
	}
	defer func() {
		r.say("ending the nodes")
		err = errors.Join(err, r.site.Close())
	}()
	r.api = site.NewAPI(4, r.site.Door.Address)
	defer r.api.Close()
	if err := r.furnish(ctx); err != nil {
		return ended(ctx, err)
	}
	r.introduce()
	if err := r.watch(ctx); err != nil {
		return ended(ctx, err)
	}
	if ctx.Err() != nil {
		if b.Exit {
			return errors.New("interrupted before the campaigns had ended")
		}
		return nil
	}
	sum, err := r.judge(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	r.report(sum)
	if b.Exit {
		if len(sum.Failures) > 0 {
			return fmt.Errorf("the campaigns did not end as they should: %s", strings.Join(sum.Failures, "; "))
		}
		return nil
	}
	r.say("The campaigns have ended; the nodes stay up. Ctrl-C ends them.")
	return r.idle(ctx)
}

// ended drops the error of a start interrupted by Ctrl-C.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// furnish logs in and creates the bot, the trunk, the numbers and the campaigns, and starts them.
func (r *clusterRun) furnish(ctx context.Context) error {
	select {
	case r.password = <-r.site.Nodes[0].Password:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := r.api.Login(ctx, process.FirstAdminEmail, r.password); err != nil {
		return err
	}
	host, port, err := splitHostPort(r.model.Addr())
	if err != nil {
		return err
	}
	numbers := []string{"+493012345601", "+493012345602", "+493012345603"}
	put := map[string]map[string]any{
		"/api/v1/bots/" + string(sandboxBot): {"name": "Sandbox bot", "seats": r.Seats,
			"endpoints": []string{r.voice.URL()}},
		"/api/v1/trunks/" + string(sandboxTrunk): {"host": host, "port": port, "cps_cap": 20, "channel_cap": 200,
			"options_s": 10},
	}
	for _, n := range numbers {
		put["/api/v1/numbers/"+n] = map[string]any{}
	}
	for path, body := range put {
		if err := r.api.Must(ctx, http.MethodPut, path, body, nil); err != nil {
			return err
		}
	}
	for k := range r.Campaigns {
		if err := r.campaign(ctx, k, numbers); err != nil {
			return err
		}
	}
	r.began = time.Now()
	return nil
}

func (r *clusterRun) campaign(ctx context.Context, k int, numbers []string) error {
	name := fmt.Sprintf("Campaign %d", k+1)
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	if err := r.api.Must(ctx, http.MethodPost, "/api/v1/campaigns", map[string]any{
		"name": name, "bot_id": sandboxBot, "concurrency": r.Seats, "number_pool": numbers, "amd": "parallel",
		"window":       map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"},
		"max_attempts": 2, "retry_delay_s": 10, "ring_timeout_s": 15, "result_timeout_s": 30,
	}, &created); err != nil {
		return err
	}
	r.campaigns = append(r.campaigns, created.ID)
	r.names[created.ID] = name
	path := "/api/v1/campaigns/" + string(created.ID)
	var rows []map[string]any
	for i := range r.Contacts {
		rows = append(rows, map[string]any{"mobile": clusterNumber(k, i),
			"metadata": map[string]string{"first_name": fmt.Sprintf("Contact %d", i+1)}})
		if len(rows) == 1000 || i == r.Contacts-1 {
			if err := r.api.Must(ctx, http.MethodPost, path+"/contacts", map[string]any{"contacts": rows}, nil); err != nil {
				return err
			}
			rows = nil
		}
	}
	return r.api.Must(ctx, http.MethodPost, path+"/start", nil, nil)
}

// introduce prints where everything is and how to break it.
func (r *clusterRun) introduce() {
	page := "http://" + r.site.Door.Address + "/dashboard"
	r.say("\n  Console, through whichever node is ready: %s", page)
	for _, n := range r.site.Nodes {
		r.say("  Console of node %s: http://%s/dashboard  (process %d, its log %s)", n.Name, n.HTTP, n.Pid(),
			filepath.Join(n.Dir, n.Name+"-*.log"))
	}
	r.say("  administrator %s, password (shown once): %s\n", process.FirstAdminEmail, r.password)
	pid := r.site.Nodes[0].Pid()
	r.say("Break it, in another terminal:")
	r.say("  kill -9 %d       a node dies: others take its campaigns over within ten seconds; "+
		"it is started again after %v",
		pid, r.Revive)
	r.say("  kill -STOP %d    it freezes: taken over as well; kill -CONT %d and it joins again", pid, pid)
	r.say("  kill %d          it is drained: its campaigns move at once, its calls finish where they are", pid)
	r.say("  psql '%s' -c 'SELECT identity, incarnation, epoch FROM owners'\n", r.site.DatabaseURL())
	if !r.NoOpen && !r.Exit && !r.JSON {
		openPage(page, os.Getenv, exec.LookPath)
	}
}

// clusterDetail is the API's description of a campaign.
type clusterDetail struct {
	Status   campaign.State    `json:"status"`
	Draining bool              `json:"draining"`
	Counters campaign.Counters `json:"counters"`
	Live     *campaign.Live    `json:"live"`
}

// watch shows progress, restarts nodes, and ends when the campaigns have.
func (r *clusterRun) watch(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		if err := r.tend(ctx); err != nil {
			return err
		}
		running := 0
		for _, id := range r.campaigns {
			var d clusterDetail
			if err := r.api.Must(ctx, http.MethodGet, "/api/v1/campaigns/"+string(id), nil, &d); err != nil {
				running++ // its owner is gone
				continue
			}
			if d.Status == campaign.Running || d.Draining {
				running++
			}
			if n%6 == 0 {
				r.progress(id, &d)
			}
		}
		if running == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (r *clusterRun) progress(id engine.CampaignID, d *clusterDetail) {
	talking := 0
	if d.Live != nil {
		talking = d.Live.InProgress
	}
	k := d.Counters
	r.say("%s at %-2s  %-9s total %d pending %d | talking %d | served %d completed %d machine %d abandoned %d",
		r.names[id], r.owners[id], d.Status, k.Total, k.Pending, talking, k.ConnectedCalls, k.Completed, k.MachineDetected,
		k.Abandoned)
}

// idle maintains the nodes until Ctrl-C.
func (r *clusterRun) idle(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := r.tend(ctx); err != nil {
				return ended(ctx, err)
			}
		}
	}
}

// tend prints changes of ownership, and restarts nodes that have ended.
func (r *clusterRun) tend(ctx context.Context) error {
	for _, n := range r.site.Nodes {
		since, gone := r.ended[n.Name]
		switch {
		case n.Alive():
			delete(r.ended, n.Name)
		case !gone:
			r.ended[n.Name] = time.Now()
			r.say("node %s has ended", n.Name)
		case time.Since(since) > r.Revive:
			if err := n.Start(); err != nil {
				return err
			}
			r.say("node %s is started again (process %d)", n.Name, n.Pid())
		}
	}
	now, err := r.site.Owners(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	for _, id := range r.campaigns {
		switch is, was := now[id], r.owners[id]; {
		case is == was || is == "" && r.owners == nil:
		case is == "":
			r.say("%s: node %s has lost it, nobody acts for it", r.names[id], was)
		default:
			r.say("%s: node %s acts for it", r.names[id], is)
		}
	}
	r.owners = now
	return nil
}
