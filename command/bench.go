package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/load"
	"dialler/engine/callee"
	"dialler/engine/pacing/trial"
)

type benchCmd struct {
	AMD      benchAMDCmd      `cmd:"" name:"amd" help:"${help_bench_amd}"`
	Carrier  benchCarrierCmd  `cmd:"" help:"A model carrier: real SIP and RTP, and a ledger of every INVITE."`
	Bot      benchBotCmd      `cmd:"" help:"A model bot: a real Media Streams server that posts results."`
	Campaign benchCampaignCmd `cmd:"" help:"${help_bench_campaign}"`
	Cluster  benchClusterCmd  `cmd:"" help:"${help_bench_cluster}"`
	Console  benchConsoleCmd  `cmd:"" help:"${help_bench_console}"`
	Load     benchLoadCmd     `cmd:"" help:"${help_bench_load}"`
	Triggers benchTriggersCmd `cmd:"" help:"${help_bench_triggers}"`
}

type benchCarrierCmd struct {
	Listen string `help:"Address of SIP over UDP and TCP, host:port." default:"127.0.0.1:5070"`
	Spec   string `help:"JSON file with the carrier's behaviour." type:"existingfile"`
	Ledger string `help:"File for the ledger, one JSON line per change."`
	HTTP   string `name:"http" help:"Address for ledger queries, host:port."`
}

// Run serves the model carrier until a signal.
func (b *benchCarrierCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	var cfg carrier.Config
	if err := readJSON(b.Spec, &cfg); err != nil {
		return err
	}
	cfg.Listen, cfg.LedgerFile, cfg.HTTP, cfg.Log = b.Listen, b.Ledger, b.HTTP, &log
	return carrier.Run(ctx, cfg)
}

type benchBotCmd struct {
	Listen string `help:"Address of the bot's socket, host:port." default:"127.0.0.1:5080"`
	Spec   string `help:"JSON file with the bot's behaviour." type:"existingfile"`
	HTTP   string `name:"http" help:"Address for session queries, host:port."`
}

// Run serves the model bot until a signal.
func (b *benchBotCmd) Run(log zerolog.Logger) error {
	ctx, cancel := signals()
	defer cancel()
	var cfg bot.Config
	if err := readJSON(b.Spec, &cfg); err != nil {
		return err
	}
	cfg.Listen, cfg.HTTP, cfg.Log = b.Listen, b.HTTP, &log
	return bot.Run(ctx, cfg)
}

func readJSON(path string, into any) error {
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

type benchLoadCmd struct {
	Rate      int           `help:"Answered calls per second." default:"300"`
	Duration  time.Duration `help:"How long calls are offered." default:"20s"`
	Talk      time.Duration `help:"Length of a conversation." default:"2s"`
	Ring      time.Duration `help:"How long the model carrier rings." default:"200ms"`
	Media     bool          `help:"Callee and bot speak all the time."`
	AMD       bool          `name:"amd" help:"Classify who answered."`
	Seats     int           `help:"Seats of the bot; twice what the rate needs when 0."`
	Trunk     string        `help:"Another answerer in place of the model carrier, host:port." placeholder:"HOST:PORT"`
	Bot       string        `help:"${help_bench_load_bot}" enum:"ws,sip" default:"ws"`
	Symmetric string        `help:"${help_bench_load_symmetric}" enum:"off,auto,on" default:"auto"`
	SIPp      bool          `name:"sipp" help:"Let SIPp's built-in answerer (-sn uas) take the calls."`
	FindMax   bool          `help:"Find the highest rate at which 99.9 % of the calls succeed, from --rate upwards."`
	MaxRate   int           `help:"Where the search ends." default:"3000"`
	Step      int           `help:"Resolution of the search." default:"25"`
	List      int           `help:"${help_bench_load_list}" placeholder:"N"`
	ListMB    int           `name:"list-mb" help:"${help_bench_load_list_mb}" placeholder:"MB"`
	ListTimed bool          `name:"list-timed" help:"${help_bench_load_list_timed}"`
	Leak      int           `help:"${help_bench_load_leak}" placeholder:"N"`
	Soak      time.Duration `help:"${help_bench_load_soak}" placeholder:"30m"`
	Nodes     int           `help:"${help_bench_load_nodes}" placeholder:"N"`
	Pprof     string        `name:"profiles" aliases:"pprof" help:"${help_bench_load_profiles}" placeholder:"DIR"`
	JSON      bool          `name:"json" help:"Print the figures as JSON."`
	Keep      bool          `help:"Keep data and logs."`
	EngineEnv []string      `name:"engine-env" sep:"none" help:"KEY=VALUE for the engine's environment." placeholder:"K=V"`
}

// Run measures and prints; too many failures are an error.
func (b *benchLoadCmd) Run() error {
	ctx, cancel := signals()
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cfg := load.Config{
		Binary: self, Rate: b.Rate, Duration: b.Duration, Talk: b.Talk, Ring: b.Ring, Media: b.Media, AMD: b.AMD,
		Seats: b.Seats, Trunk: b.Trunk, SIPp: b.SIPp, Bot: b.Bot, Symmetric: b.Symmetric,
		FindMax: b.FindMax, MaxRate: b.MaxRate, Step: b.Step, ListTimed: b.ListTimed,
		Profiles: b.Pprof, Keep: b.Keep, Env: b.EngineEnv,
		Log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
	}
	switch {
	case b.FindMax:
		return b.search(ctx, cfg)
	case b.List != 0:
		return b.list(ctx, cfg)
	case b.Leak != 0:
		return b.leak(ctx, cfg)
	case b.Soak != 0:
		return b.soak(ctx, cfg)
	case b.Nodes != 0:
		return b.nodes(ctx, cfg)
	}
	f, err := load.Run(ctx, cfg)
	if err != nil {
		return err
	}
	if err := b.print(f, f); err != nil {
		return err
	}
	if good, why := f.Good(); !good {
		return errors.New(why)
	}
	return nil
}

func (b *benchLoadCmd) leak(ctx context.Context, cfg load.Config) error {
	f, err := load.Leak(ctx, cfg, b.Leak)
	if err != nil {
		return err
	}
	return b.judged(f, f, f.Leaks)
}

func (b *benchLoadCmd) soak(ctx context.Context, cfg load.Config) error {
	f, err := load.Soak(ctx, cfg, b.Soak)
	if err != nil {
		return err
	}
	return b.judged(f, f, f.Failures)
}

func (b *benchLoadCmd) nodes(ctx context.Context, cfg load.Config) error {
	f, err := load.Nodes(ctx, cfg, b.Nodes)
	if err != nil {
		return err
	}
	return b.judged(f, f, f.Wrong())
}

// judged prints the figures, and fails if any are wrong.
func (b *benchLoadCmd) judged(f any, page interface{ Print(out io.Writer) }, wrong []string) error {
	if err := b.print(f, nil); err != nil {
		return err
	}
	if !b.JSON {
		page.Print(os.Stdout)
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

func (b *benchLoadCmd) list(ctx context.Context, cfg load.Config) error {
	f, err := func() (*load.ListFigures, error) {
		if b.ListMB > 0 {
			return load.Import(ctx, cfg, b.List, b.ListMB*1_000_000)
		}
		return load.List(ctx, cfg, b.List)
	}()
	if err != nil {
		return err
	}
	if b.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(f)
	} else {
		f.Print(os.Stdout)
	}
	if err == nil && !f.WithinMiB {
		err = fmt.Errorf("%.0f MiB were used, %.0f are allowed", f.Peak, f.LimitMiB)
	}
	return err
}

func (b *benchLoadCmd) search(ctx context.Context, cfg load.Config) error {
	s, err := load.FindMax(ctx, cfg)
	if err != nil {
		return err
	}
	if err := b.print(s, s.Best); err != nil {
		return err
	}
	if s.Max == 0 {
		return fmt.Errorf("not even %d calls a second succeeded", cfg.Rate)
	}
	fmt.Fprintf(os.Stderr, "highest rate with at least 99.9 %% success: %d calls/s\n", s.Max)
	return nil
}

func (b *benchLoadCmd) print(all any, f *load.Figures) error {
	if b.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	if f != nil {
		f.Print(os.Stdout)
	}
	return nil
}

type benchCampaignCmd struct {
	Mode     string        `help:"Pacing mode: ${enum}." enum:"hybrid,strict,progressive" default:"hybrid"`
	Contacts int           `help:"Contacts of the list, each dialled once." default:"6000"`
	Seats    int           `help:"Seats of the bot, and the campaign's concurrency." default:"50"`
	Answer   float64       `help:"Share of dials that are answered." default:"0.3"`
	Ring     time.Duration `help:"Mean time until a person answers." default:"6s"`
	RingSD   time.Duration `name:"ring-sd" help:"Its standard deviation." default:"3s"`
	Timeout  time.Duration `help:"Ring timeout." default:"15s"`
	Talk     time.Duration `help:"Mean conversation." default:"20s"`
	Short    float64       `help:"Share of conversations that are short, 8 s on average." default:"0.3"`
	Cap      float64       `help:"Abandon cap, per cent." default:"3"`
	Seed     uint64        `help:"Seed of the people called." default:"1"`
	Runs     int           `help:"Runs of the simulator, with the seeds from --seed on." default:"20"`
	JSON     bool          `name:"json" help:"Print the comparison as JSON."`
	Keep     bool          `help:"Keep data and logs."`
}

// Run compares and prints; a campaign that differs from its simulation is an error.
func (b *benchCampaignCmd) Run() error {
	ctx, cancel := signals()
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sc := callee.Standard()
	sc.Workers, sc.Answer, sc.Machines, sc.Contacts = callee.Always(
		float64(b.Seats),
	), callee.Always(
		b.Answer,
	), 0, b.Contacts
	sc.RingMean, sc.RingSD, sc.Timeout, sc.TalkMean, sc.Short, sc.Cap =
		b.Ring, b.RingSD, b.Timeout, b.Talk, b.Short, b.Cap/100
	c, err := load.Campaign(
		ctx,
		load.CampaignConfig{
			Binary:   self,
			Scenario: sc,
			Policy:   trial.Policy(b.Mode),
			Seed:     b.Seed,
			Runs:     b.Runs,
			Keep:     b.Keep,
			Log:      func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) },
		},
	)
	if err != nil {
		return err
	}
	if b.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		if err := e.Encode(c); err != nil {
			return err
		}
	} else {
		c.Print(os.Stdout)
	}
	if len(c.Failures) > 0 {
		return errors.New(strings.Join(c.Failures, "; "))
	}
	return nil
}
