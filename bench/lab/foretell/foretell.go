// Package foretell compares what-if with reality: it runs real campaigns of several kinds with
// model carriers and bots, asks for a forecast before each, with people as measured in an earlier
// run of the kind, and compares.
package foretell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/forecast"
	"dialler/http/client"
	"dialler/process"
)

// kind is a kind of campaign in a kind of world.
type kind struct {
	name              string
	contacts, seats   int
	attempts          int
	amd               engine.AMDMode
	least, most       time.Duration // talk time of persons: from the answer until they hang up
	answers, machines float64
	door              bot.Door
}

const s = time.Second

var kinds = []kind{
	{"3–9 s, parallel, 2 attempts", 300, 60, 2, engine.AMDParallel, 3 * s, 9 * s, 0.55, 0.2, bot.Door{}},
	{"4–12 s, off, 1 attempt", 400, 60, 1, engine.AMDOff, 4 * s, 12 * s, 0.55, 0, bot.Door{}},
	{"10–30 s, parallel, 2 attempts", 240, 60, 2, engine.AMDParallel, 10 * s, 30 * s, 0.5, 0.15, bot.Door{}},
	{"20–60 s, off, 1 attempt", 240, 70, 1, engine.AMDOff, 20 * s, 60 * s, 0.6, 0, bot.Door{}},
	{"30–90 s, off, 2 attempts", 220, 90, 2, engine.AMDOff, 30 * s, 90 * s, 0.45, 0, bot.Door{}},
	{"4–10 s, parallel, 3 attempts", 250, 50, 3, engine.AMDParallel, 4 * s, 10 * s, 0.3, 0.2, bot.Door{}},
	{"5–15 s, off, 2 attempts, a tenth of sockets refused", 250, 60, 2, engine.AMDOff, 5 * s, 15 * s, 0.5, 0,
		bot.Door{RefuseShare: 0.1}},
	{"5–15 s, parallel, 2 attempts, a fifth of sockets late", 250, 60, 2, engine.AMDParallel, 5 * s, 15 * s, 0.5, 0.1,
		bot.Door{SlowShare: 0.2, Slow: draw.Between(4*s, 5*s)}},
	{"6–20 s, parallel, 1 attempt, many machines", 350, 60, 1, engine.AMDParallel, 6 * s, 20 * s, 0.6, 0.4, bot.Door{}},
	{"4–10 s, sequential, 3 attempts", 250, 50, 3, engine.AMDSequential, 4 * s, 10 * s, 0.4, 0.2, bot.Door{}},
}

// Config says what to run.
type Config struct {
	Kinds    []int // by their number from 1; all when empty
	Parallel int   // at a time
	Out, Log io.Writer
	Logger   zerolog.Logger
}

// Result is the result of one kind.
type Result struct {
	Kind                       string
	Duration, Connected, Dials forecast.Foretold
	Abandoned                  forecast.Foretold
	Asked                      time.Duration
}

// Run runs the kinds and writes the table.
func Run(ctx context.Context, c Config) error {
	chosen := c.Kinds
	if len(chosen) == 0 {
		for i := range kinds {
			chosen = append(chosen, i+1)
		}
	}
	results, errs := make([]*Result, len(chosen)), make([]error, len(chosen))
	places := make(chan struct{}, max(c.Parallel, 1))
	var wg sync.WaitGroup
	for i, n := range chosen {
		if n < 1 || n > len(kinds) {
			return fmt.Errorf("there is no kind %d", n)
		}
		wg.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			began := time.Now()
			results[i], errs[i] = run(ctx, &kinds[n-1], uint64(n), &c) //nolint:gosec // a small number
			_, _ = fmt.Fprintf(c.Log, "%d %s: %s, %v\n", n, kinds[n-1].name, time.Since(began).Round(s), errs[i])
		})
	}
	wg.Wait()
	table(c.Out, results)
	return errors.Join(errs...)
}

// table writes the results and compares them with what is promised.
func table(out io.Writer, results []*Result) {
	_, _ = fmt.Fprint(out, "| kind | end, s: foretold | came | off | conversations: foretold | came | off "+
		"| dials: foretold | came | abandoned: foretold | came | asked in |\n"+
		"|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	var off [2][]float64
	within := [2]int{}
	for _, r := range results {
		if r == nil {
			continue
		}
		cell := func(f forecast.Foretold) string { return fmt.Sprintf("%.0f (%.0f–%.0f)", f.Median, f.Low, f.High) }
		mark := func(f forecast.Foretold) string {
			if f.Holds(f.Real) {
				return ""
			}
			return " **out**"
		}
		_, _ = fmt.Fprintf(
			out,
			"| %s | %s | %.0f%s | %.1f %% | %s | %.0f%s | %.1f %% | %s | %.0f | %s | %.0f | %.1f s |\n",
			r.Kind,
			cell(r.Duration),
			r.Duration.Real,
			mark(r.Duration),
			100*r.Duration.Error(),
			cell(r.Connected),
			r.Connected.Real,
			mark(r.Connected),
			100*r.Connected.Error(),
			cell(r.Dials),
			r.Dials.Real,
			cell(r.Abandoned),
			r.Abandoned.Real,
			r.Asked.Seconds(),
		)
		for i, f := range []forecast.Foretold{r.Duration, r.Connected} {
			off[i] = append(off[i], 100*f.Error())
			if f.Holds(f.Real) {
				within[i]++
			}
		}
	}
	for i, name := range []string{"end", "conversations"} {
		_, _ = fmt.Fprintf(
			out,
			"\n%s: within the band in %d of %d, median error %.1f %%\n",
			name,
			within[i],
			len(off[i]),
			forecast.BandOf(off[i]).Median,
		)
	}
}

// world is a dialler with its carrier and bot.
type world struct {
	k     *kind
	p     *process.Process
	api   *client.Client
	voice *bot.Bot
	model *carrier.Carrier
	end   []func()
}

const (
	botID   engine.BotID   = "foretold"
	trunkID engine.TrunkID = "foretold"
	ours                   = "+493012345601"
)

func (w *world) close() {
	for _, f := range slices.Backward(w.end) {
		f()
	}
}

func open(ctx context.Context, k *kind, seed uint64, log *zerolog.Logger) (w *world, err error) {
	w = &world{k: k}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	dir, err := os.MkdirTemp("", "dialler-foretell-")
	if err != nil {
		return w, err
	}
	w.end = append(w.end, func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's own user passes through
		return w, err
	}
	mix := carrier.Mix{AnswerRate: k.answers, MachineShare: k.machines, Busy: 0.12, Invalid: 0.03, Unavailable: 0.05,
		Congestion: 0.01, Rejected: 0.03, EarlyMedia: 0.2, HangUpShare: 1, Post: draw.Between(s/20, 3*s/10),
		Ring: draw.Between(s/2, 4*s), Talk: draw.Between(k.least, k.most)}
	w.model, err = carrier.Start(carrier.Config{Listen: "127.0.0.1:0", Seed: seed, Mix: &mix, Media: true, Log: log})
	if err != nil {
		return w, err
	}
	w.end = append(w.end, func() { _ = w.model.Close() })
	w.voice, err = bot.Start(bot.Config{Listen: "127.0.0.1:0", Seed: seed, Log: log, Door: k.door,
		Conversations: []bot.Conversation{{Weight: 1}}, Results: []bot.Result{
			{Weight: 40, Disposition: "interested"}, {Weight: 60, Disposition: "not_interested"}}})
	if err != nil {
		return w, err
	}
	w.end = append(w.end, func() { _ = w.voice.Close() })
	var flags struct {
		process.Flags `embed:""`
	}
	parser, err := kong.New(&flags, kong.Vars(process.FlagHelp),
		kong.Vars{"default_http": process.DefaultHTTP, "default_sip": process.DefaultSIP})
	if err != nil {
		return w, err
	}
	if _, err := parser.Parse([]string{"--data-dir", filepath.Join(dir, "data"), "--listen-http", "127.0.0.1:0",
		"--sip", "127.0.0.1:0"}); err != nil {
		return w, err
	}
	if w.p, err = process.Start(ctx, flags.Flags, "foretell", *log); err != nil {
		return w, err
	}
	w.end = append(w.end, w.p.Close)
	password, err := w.p.FirstAdmin(ctx)
	if err != nil {
		return w, err
	}
	if w.api, err = client.New(w.p.URL()); err != nil {
		return w, err
	}
	if _, err := w.api.LogIn(ctx, process.FirstAdminEmail, password); err != nil {
		return w, err
	}
	return w, w.furnish(ctx)
}

func (w *world) furnish(ctx context.Context) error {
	f := w.p.Front()
	if _, _, err := f.PutBot(ctx, engine.Bot{ID: botID, Name: "Bot", Active: true, Seats: w.k.seats,
		Endpoints: []string{w.voice.URL()}, Account: "AC" + fmt.Sprintf("%032x", 1), CreatedAt: time.Now()}, false,
		engine.System); err != nil {
		return err
	}
	host, text, err := net.SplitHostPort(w.model.Addr())
	if err != nil {
		return err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	if _, err := f.PutTrunk(ctx, engine.TrunkSettings{ID: trunkID, Host: host, Port: port, Transport: "udp", CPSCap: 40,
		ChannelCap: 200, Weight: 1, OptionsSec: 10, Active: true}, false, engine.System); err != nil {
		return err
	}
	_, err = f.PutNumber(ctx, engine.NumberSettings{Number: ours, State: "active"}, engine.System)
	return err
}

// draft creates the nth campaign of the kind.
func (w *world) draft(ctx context.Context, n int) (engine.CampaignID, error) {
	k, f := w.k, w.p.Front()
	set := campaign.Settings{Name: fmt.Sprintf("%s, %d", k.name, n), Bot: botID, Concurrency: k.seats,
		Numbers: []engine.PhoneNumber{ours}, AMD: k.amd, MaxAttempts: k.attempts, RetryDelaySec: 10, RingTimeoutSec: 15,
		ResultTimeoutSec: 30, AbandonCapPPM: 30_000}
	set.Window.Zone = "UTC"
	set = set.WithDefaults()
	if err := set.Validate(); err != nil {
		return "", err
	}
	d, err := f.Create(ctx, campaign.Create{Settings: set, Who: engine.System})
	if err != nil {
		return "", err
	}
	add := campaign.AddContacts{Campaign: d.Campaign.ID, Source: "api", Who: engine.System}
	for i := range k.contacts {
		add.Contacts = append(add.Contacts, campaign.NewContact{
			Number: engine.PhoneNumber(
				fmt.Sprintf("+49151%04d%04d", n, i),
			), Variables: map[string]string{"n": fmt.Sprint(i)}})
	}
	_, err = f.AddContacts(ctx, add)
	return d.Campaign.ID, err
}

// dial runs a campaign to its end.
func (w *world) dial(ctx context.Context, id engine.CampaignID) (d campaign.Detail, err error) {
	act := campaign.Act{Campaign: id, Action: campaign.ActionStart, Who: engine.System}
	if _, err := w.p.Tree().Act(ctx, act); err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	tick := time.NewTicker(s / 2)
	defer tick.Stop()
	for {
		if d, err = w.p.Tree().Detail(ctx, id); err != nil || d.Campaign.State == campaign.Completed && !d.Draining {
			return d, err
		}
		select {
		case <-ctx.Done():
			return d, fmt.Errorf("%s does not end: %s", id, d.Campaign.State)
		case <-tick.C:
		}
	}
}

// run measures a first campaign of the kind, and forecasts a second one.
func run(ctx context.Context, k *kind, seed uint64, c *Config) (r *Result, err error) {
	log := c.Logger
	w, err := open(ctx, k, seed, &log)
	if err != nil {
		return nil, err
	}
	defer w.close()
	earlier, err := w.draft(ctx, 1)
	if err != nil {
		return nil, err
	}
	first, err := w.dial(ctx, earlier)
	if err != nil {
		return nil, err
	}
	_, before, _, err := w.p.Front().BackTestMoments(ctx, &first.Campaign)
	if err != nil {
		return nil, err
	}
	id, err := w.draft(ctx, 2)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	asked := client.Simulate{People: &client.SimulatedPeople{CampaignID: string(earlier)}}
	told, err := w.api.Simulate(ctx, string(id), asked)
	if err != nil {
		return nil, err
	}
	r = &Result{Kind: k.name, Asked: time.Since(began)}
	_, _ = fmt.Fprintf(c.Log, "%s: earlier %.0f s, %d conversations of %d dials; foretold %+v; people %+v\n", k.name,
		before.Ended.Sub(before.Started).Seconds(), before.Connected, before.Dials, told.AsIs.Forecast, told.People)
	d, err := w.dial(ctx, id)
	if err != nil {
		return nil, err
	}
	_, course, _, err := w.p.Front().BackTestMoments(ctx, &d.Campaign)
	if err != nil {
		return nil, err
	}
	f := &told.AsIs.Forecast
	foretold := func(b client.Band, real float64) forecast.Foretold {
		return forecast.Foretold{Band: forecast.Band(b), Real: math.Round(10*real) / 10}
	}
	r.Duration = foretold(f.Duration, course.Ended.Sub(course.Started).Seconds())
	r.Connected = foretold(f.Connected, float64(course.Connected))
	r.Dials = foretold(f.Dials, float64(course.Dials))
	r.Abandoned = foretold(f.Abandoned, float64(course.Abandoned))
	return r, nil
}
