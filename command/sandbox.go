package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/rs/zerolog"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/promise"
	"dialler/engine/setup"
	"dialler/http/access"
	"dialler/process"
)

// sandboxCmd runs a dialler with a model carrier and a model bot around it.
type sandboxCmd struct {
	process.Flags `embed:""`
	Contacts      int    `help:"Contacts of the sandbox campaign." default:"400"`
	Seats         int    `help:"Seats of the model bot, and the campaign's concurrency." default:"24"`
	Seed          uint64 `help:"Seed of the model world: the same seed, the same callees." default:"1"`
	Name          string `help:"Name of the sandbox campaign; the time when empty." placeholder:"NAME"`
	Empty         bool   `help:"${help_sandbox_empty}"`
	Exit          bool   `help:"End when the campaign has ended; exit status 0 only if the ledgers agree."`
	JSON          bool   `name:"json" help:"Print the summary as JSON on standard output, and nothing else."`
	NoOpen        bool   `help:"Do not open the console in the browser."`
}

// Names of the sandbox's resources.
const (
	sandboxBot   engine.BotID   = "sandbox"
	sandboxTrunk engine.TrunkID = "sandbox"
)

// sandboxWorld is the model world: who answers, and how long conversations last.
func sandboxWorld(seed uint64, log *zerolog.Logger) (carrier.Config, bot.Config) {
	mix := carrier.Mix{
		AnswerRate: 0.55, MachineShare: 0.2, FaxShare: 0.01, Busy: 0.12, Invalid: 0.03, Unavailable: 0.06,
		Congestion: 0.02, Rejected: 0.03, EarlyMedia: 0.2, HangUpShare: 0.4,
		Post: draw.Between(50*time.Millisecond, 300*time.Millisecond),
		Ring: draw.Between(500*time.Millisecond, 4*time.Second),
		Talk: draw.Between(3*time.Second, 9*time.Second),
	}
	c := carrier.Config{Listen: "127.0.0.1:0", Seed: seed, Mix: &mix, Media: true, Log: log}
	b := bot.Config{Listen: "127.0.0.1:0", Seed: seed, Log: log,
		Conversations: []bot.Conversation{{Weight: 1, Talk: draw.Between(3*time.Second, 10*time.Second),
			Think:     draw.Between(100*time.Millisecond, 400*time.Millisecond),
			Utterance: draw.Between(time.Second, 2*time.Second), Pause: draw.Between(500*time.Millisecond,
				1500*time.Millisecond)}},
		Results: []bot.Result{
			{Weight: 30, Disposition: "interested"}, {Weight: 50, Disposition: "not_interested"},
			{Weight: 15, Disposition: "no_decision"}, {Weight: 5, Disposition: "do_not_call", DoNotCall: true},
		},
	}
	return c, b
}

// sandboxSummary is the sandbox's final report.
type sandboxSummary struct {
	Campaign         engine.CampaignID         `json:"campaign_id"`
	State            campaign.State            `json:"state"`
	CompletionReason campaign.CompletionReason `json:"completion_reason"`
	Seconds          float64                   `json:"seconds"`
	Counters         campaign.Counters         `json:"counters"`

	// earlierSent and earlierSeen are legs in /metrics and Call-IDs at the carrier from before this
	// campaign.
	earlierSent, earlierSeen int
	LegsInDatabase           int `json:"legs_in_database"`
	CallIDsAtCarrier         int `json:"call_ids_at_carrier"`
	LegsInMetrics            int `json:"legs_in_metrics"`
	OpenAttempts             int `json:"open_attempts"`
	ResultsMissing           int `json:"results_missing"`
	LeasesHeld               int `json:"leases_held"`
	Overlaps                 int `json:"overlapping_calls"`
	Duplicates               int `json:"duplicate_invites"`
	Violations               int `json:"bot_protocol_violations"`
	violations               map[string]int
	// PeakAbandonPercent is the highest abandon rate at any moment.
	PeakAbandonPercent float64 `json:"peak_abandon_percent"`
	// Overdialled is the largest number of lines dialled beyond free seats.
	Overdialled int      `json:"most_lines_beyond_free_seats"`
	Failures    []string `json:"failures"`
}

// Validate refuses to wait for the end of a campaign that is not started.
func (s *sandboxCmd) Validate() error {
	if s.Empty && (s.Exit || s.JSON) {
		return errors.New("--empty starts no campaign: leave out --exit and --json")
	}
	return nil
}

// Run starts the sandbox, runs its campaign, and reports.
func (s *sandboxCmd) Run(log zerolog.Logger) error {
	up := &serving{started: make(chan struct{})}
	ctx, cancel := signalsThen(up.abandon)
	defer cancel()
	if s.JSON {
		log = log.Level(zerolog.WarnLevel)
	}
	say := func(format string, args ...any) {
		if s.JSON {
			fmt.Fprintf(os.Stderr, format+"\n", args...)
			return
		}
		fmt.Printf(format+"\n", args...)
	}
	quiet := log.Level(zerolog.WarnLevel)
	cc, bc := sandboxWorld(s.Seed, &quiet)
	if s.Empty {
		cc.Mix, cc.Profile = nil, []carrier.Behaviour{{Kind: carrier.Human, Ring: draw.Between(2*time.Second, 4*time.Second)}}
		bc.Conversations[0].Talk = draw.Exactly(modelTalk)
	}
	bc.AllowRemote = true // so that it can post to us: we may listen on all addresses
	model, err := carrier.Start(cc)
	if err != nil {
		return fmt.Errorf("start the model carrier: %w", err)
	}
	defer func() { _ = model.Close() }()
	voice, err := bot.Start(bc)
	if err != nil {
		return fmt.Errorf("start the model bot: %w", err)
	}
	defer func() { _ = voice.Close() }()

	flags := s.Flags
	if flags.SIP == process.DefaultSIP {
		flags.SIP = "127.0.0.1:0" // the model carrier learns our address from our own INVITE
	}
	if flags.ListenHTTP == process.DefaultHTTP && taken(process.DefaultHTTP) {
		flags.ListenHTTP = "127.0.0.1:0" // the port is in use; ours is printed
	}
	p, err := up.start(ctx, flags, "sandbox", log)
	if err != nil {
		return err
	}
	defer p.Close()
	say("dialler sandbox: API %s, documentation %s/api/docs", p.URL(), p.URL())
	// Interrupted campaigns would go on dialling, and the ledgers of the new one would not agree.
	if err := p.EndInterrupted(ctx, say); err != nil {
		return err
	}
	if s.Empty {
		return s.offer(ctx, p, model, voice, say)
	}
	id, err := s.seed(ctx, p, model, voice)
	if err != nil {
		return err
	}
	if err := s.credentials(ctx, p, say); err != nil {
		return err
	}
	page := p.URL() + "/dashboard/campaigns/" + string(id)
	say("\n  Console: %s\n", page)
	if !s.NoOpen && !s.Exit && !s.JSON {
		openPage(page, os.Getenv, exec.LookPath)
	}
	began := time.Now()
	sent, seen := int(p.Tree().Stats().Calls.LegsSent.Load()), len(model.Ledger().Calls())
	if _, err := p.Tree().Act(ctx, campaign.Act{Campaign: id, Action: campaign.ActionStart,
		Who: engine.System}); err != nil {
		return fmt.Errorf("start the sandbox campaign: %w", err)
	}
	say("campaign %s: %d contacts, %d seats, abandon cap 3 %%", id, s.Contacts, s.Seats)
	sum := &sandboxSummary{Campaign: id, earlierSent: sent, earlierSeen: seen}
	ended, err := s.watch(ctx, p, id, sum, say)
	if err != nil {
		return err
	}
	if ended {
		sum.Seconds = time.Since(began).Seconds()
		if err := s.judge(ctx, p, model, voice, sum); err != nil {
			return err
		}
		s.report(sum, say)
	}
	if !s.Exit && ctx.Err() == nil {
		say("The campaign has ended; the API stays up. Ctrl-C ends the sandbox.")
		<-ctx.Done()
	}
	p.Drain(context.Background())
	if s.Exit && (!ended || len(sum.Failures) > 0) {
		return fmt.Errorf("the sandbox campaign did not end as it should: %v", sum.Failures)
	}
	return nil
}

// modelTalk is how long the model bot talks to whoever sets the dialler up.
const modelTalk = 20 * time.Second

// offer lets the console's checklist offer the model carrier and bot, and serves until it is told to end.
func (s *sandboxCmd) offer(ctx context.Context, p *process.Process, model *carrier.Carrier, voice *bot.Bot,
	say func(string, ...any)) error {
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		return err
	}
	p.OfferModel(setup.Model{Host: host, Port: port, Endpoint: voice.URL(), CallerID: "+493012345601",
		Callee: "+4915112345678"})
	if err := s.credentials(ctx, p, say); err != nil {
		return err
	}
	page := p.URL() + "/dashboard/"
	say("\n  Console: %s\n", page)
	if !s.NoOpen {
		openPage(page, os.Getenv, exec.LookPath)
	}
	say("No campaign is started: the console offers a model carrier and a model bot. Ctrl-C ends the sandbox.")
	<-ctx.Done()
	p.Drain(context.Background())
	return nil
}

// openPage opens a page in the browser of the machine's user. Without a display there is none. A
// browser that does not start is not an error: the address is printed.
func openPage(address string, env func(string) string, find func(string) (string, error)) {
	program := opener(runtime.GOOS, env)
	if program == "" {
		return
	}
	path, err := find(program)
	if err != nil {
		return
	}
	c := exec.Command(path, address) //nolint:gosec // the system's opener, an address of ours
	if c.Start() == nil {
		go func() { _ = c.Wait() }()
	}
}

// opener names the program that opens a page on a system; "" if there is no display.
func opener(system string, env func(string) string) string {
	switch {
	case system == "darwin":
		return "open"
	case env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "":
		return "xdg-open"
	}
	return ""
}

// taken says whether another program is listening on an address.
func taken(addr string) bool {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return true
	}
	_ = l.Close()
	return false
}

// credentials prints, once, what a person needs to use the API.
func (s *sandboxCmd) credentials(ctx context.Context, p *process.Process, say func(string, ...any)) error {
	password, err := p.FirstAdmin(ctx)
	if err != nil {
		return err
	}
	if password == "" { // the last run's was shown then and is stored nowhere
		if password, err = newAdminPassword(ctx, p); err != nil {
			return err
		}
	}
	say("administrator %s, password (shown once): %s", process.FirstAdminEmail, password)
	full, key := access.NewAPIKey("sandbox "+time.Now().Format(time.DateTime), time.Now())
	if err := p.Store().Accounts.CreateKey(ctx, key, engine.System); err != nil {
		return err
	}
	say("API key (shown once): %s", full)
	return nil
}

// newAdminPassword sets and returns a new password for the sandbox's administrator.
func newAdminPassword(ctx context.Context, p *process.Process) (string, error) {
	admin, ok, err := p.Store().Accounts.UserByEmail(ctx, process.FirstAdminEmail)
	if err != nil {
		return "", err
	}
	password := access.NewPassword()
	if !ok {
		return password, process.AddUser(ctx, p.Store(), process.FirstAdminEmail, "admin", password, engine.System)
	}
	_, err = p.Store().Accounts.UpdateUser(
		ctx,
		admin.ID,
		func(u *engine.User) { u.PasswordHash, u.Active = access.HashPassword(password), true },
		engine.System,
	)
	return password, err
}

// seed creates the bot, the trunk, the numbers and the campaign.
func (s *sandboxCmd) seed(ctx context.Context, p *process.Process, model *carrier.Carrier,
	voice *bot.Bot) (engine.CampaignID, error) {
	f := p.Front()
	who := engine.System
	if _, _, err := f.PutBot(ctx, engine.Bot{ID: sandboxBot, Name: "Sandbox bot", Active: true, Seats: s.Seats,
		Endpoints: []string{voice.URL()},
		Account:   "AC" + fmt.Sprintf("%032x", 1), CreatedAt: time.Now()}, false, who); err != nil {
		return "", fmt.Errorf("set up the sandbox bot: %w", err)
	}
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		return "", err
	}
	if _, err := f.PutTrunk(ctx, engine.TrunkSettings{ID: sandboxTrunk, Host: host, Port: port, Transport: "udp",
		CPSCap: 20, ChannelCap: 200,
		Weight: 1, OptionsSec: 10, Active: true}, false, who); err != nil {
		return "", fmt.Errorf("set up the sandbox trunk: %w", err)
	}
	numbers := []engine.PhoneNumber{"+493012345601", "+493012345602", "+493012345603"}
	for _, n := range numbers {
		if _, err := f.PutNumber(ctx, engine.NumberSettings{Number: n, State: "active"}, who); err != nil {
			return "", fmt.Errorf("set up the sandbox numbers: %w", err)
		}
	}
	name := s.Name
	if name == "" {
		name = "Sandbox " + time.Now().Format(time.DateTime)
	}
	set := campaign.Settings{
		Name: name, Bot: sandboxBot, Concurrency: s.Seats, Numbers: numbers,
		AMD: engine.AMDParallel, MaxAttempts: 2, RetryDelaySec: 10, RingTimeoutSec: 15, ResultTimeoutSec: 30,
		AbandonCapPPM: 30000,
	}
	set.Window.Zone = "UTC"
	set = set.WithDefaults()
	if err := set.Validate(); err != nil {
		return "", fmt.Errorf("the sandbox campaign is not valid: %w", err)
	}
	d, err := f.Create(ctx, campaign.Create{Settings: set, Who: who})
	if err != nil {
		return "", err
	}
	add := campaign.AddContacts{Campaign: d.Campaign.ID, Source: "api", Who: who}
	base := time.Now().UnixNano() / int64(time.Second) % 10_000 // new numbers for every run: suppressed ones stay so
	for i := range s.Contacts {
		add.Contacts = append(add.Contacts, campaign.NewContact{
			Number:    engine.PhoneNumber(fmt.Sprintf("+49151%04d%04d", base, i)),
			Variables: map[string]string{"first_name": fmt.Sprintf("Contact %d", i+1), "account": fmt.Sprintf("A-%05d", i+1)},
		})
	}
	if _, err := f.AddContacts(ctx, add); err != nil {
		return "", err
	}
	return d.Campaign.ID, nil
}

// watch shows progress until the campaign has ended and its calls are over.
func (s *sandboxCmd) watch(ctx context.Context, p *process.Process, id engine.CampaignID, sum *sandboxSummary,
	say func(string, ...any)) (ended bool, err error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		d, err := p.Tree().Detail(ctx, id)
		if err != nil {
			if ctx.Err() != nil {
				return false, nil
			}
			return false, err
		}
		l, k := d.Live, d.Counters
		sum.Overdialled = max(sum.Overdialled, l.Dialling+l.Ringing+l.Waiting-l.FreeSeats)
		sum.State, sum.CompletionReason, sum.Counters = d.Campaign.State, d.Campaign.CompletionReason, k
		done := d.Campaign.State != campaign.Running && !d.Draining
		if n%4 == 0 || done {
			say("%s", progressLine(d))
		}
		if done {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, nil
		case <-tick.C:
		}
	}
}

func progressLine(d campaign.Detail) string {
	l, k := d.Live, d.Counters
	percent := func(f *float64) string {
		if f == nil {
			return "--"
		}
		return fmt.Sprintf("%.1f %%", *f*100)
	}
	return fmt.Sprintf("%-9s %5s  total %d pending %d | dialling %d ringing %d talking %d/%d | served %d completed %d "+
		"machine %d abandoned %d (%s) | %s",
		d.Campaign.State, percent(k.Progress), k.Total, k.Pending, l.Dialling, l.Ringing, l.InProgress, l.Seats,
		k.ConnectedCalls, k.Completed, k.MachineDetected, k.Abandoned, percent(k.AbandonRate), l.Constraint)
}

// judge compares the ledgers: database, carrier, metrics, bot.
func (s *sandboxCmd) judge(ctx context.Context, p *process.Process, model *carrier.Carrier, voice *bot.Bot,
	sum *sandboxSummary) error {
	// Seats are returned and the last BYEs answered a moment after the end.
	wait, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	st := p.Tree().Stats()
	held := func() int { return int(st.Fleet.SeatsHeld.Load() + st.Trunks.Leases.Load() + st.Numbers.Leases.Load()) }
	for held() > 0 || p.Tree().LiveCalls() > 0 || len(model.Ledger().Live()) > 0 {
		select {
		case <-wait.Done():
		case <-tick.C:
			continue
		}
		break
	}
	attempts, err := p.Store().Lists.CampaignAttempts(ctx, sum.Campaign)
	if err != nil {
		return err
	}
	for i := range attempts {
		a := &attempts[i]
		for j := range a.Legs {
			if a.Legs[j].SentAt != nil {
				sum.LegsInDatabase++
			}
		}
		if a.State != attempt.Ended {
			sum.OpenAttempts++
		}
		if a.WasConnected() && a.Result == nil {
			sum.ResultsMissing++
		}
	}
	calls := model.Ledger().Calls()
	sum.CallIDsAtCarrier = len(calls) - sum.earlierSeen
	sum.LegsInMetrics = int(st.Calls.LegsSent.Load()) - sum.earlierSent
	sum.LeasesHeld = held()
	sum.Overlaps, sum.Duplicates = len(calls.Overlaps()), len(calls.DuplicateInvites())
	sum.violations = voice.Summary().Violations
	for _, n := range sum.violations {
		sum.Violations += n
	}
	sum.PeakAbandonPercent = promise.PeakAbandons(attempts) * 100
	d, err := p.Tree().Detail(ctx, sum.Campaign)
	if err != nil {
		return err
	}
	sum.State, sum.CompletionReason, sum.Counters = d.Campaign.State, d.Campaign.CompletionReason, d.Counters
	sum.check()
	return nil
}

// check lists everything that is wrong.
func (sum *sandboxSummary) check() {
	sum.Failures = append([]string{}, promise.Done(sum.State, sum.Counters)...)
	must := func(ok bool, format string, args ...any) {
		if !ok {
			sum.Failures = append(sum.Failures, fmt.Sprintf(format, args...))
		}
	}
	must(sum.LegsInDatabase == sum.CallIDsAtCarrier, "%d legs in the database, %d Call-IDs at the carrier",
		sum.LegsInDatabase, sum.CallIDsAtCarrier)
	must(sum.LegsInMetrics == sum.CallIDsAtCarrier, "%d legs in /metrics, %d Call-IDs at the carrier", sum.LegsInMetrics,
		sum.CallIDsAtCarrier)
	must(sum.OpenAttempts == 0, "%d attempts have not ended", sum.OpenAttempts)
	must(sum.ResultsMissing == 0, "%d conversations have no result", sum.ResultsMissing)
	must(sum.LeasesHeld == 0, "%d leases are held", sum.LeasesHeld)
	must(sum.Overlaps == 0, "%d overlapping calls to a number", sum.Overlaps)
	must(sum.Duplicates == 0, "%d duplicate INVITEs", sum.Duplicates)
	must(sum.Violations == 0, "violations of the Media Streams protocol: %v", sum.violations)
	must(sum.PeakAbandonPercent <= 3, "abandons reached %.2f %% of live answers", sum.PeakAbandonPercent)
}

func (s *sandboxCmd) report(sum *sandboxSummary, say func(string, ...any)) {
	if s.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		_ = e.Encode(sum)
		return
	}
	say("completed in %.0f s (%s): %d legs in the database, %d Call-IDs at the carrier, %d in /metrics", sum.Seconds,
		sum.CompletionReason, sum.LegsInDatabase, sum.CallIDsAtCarrier, sum.LegsInMetrics)
	say("abandons at most %.2f %% of live answers at any moment, %d lines beyond free seats at most, %d overlapping "+
		"calls, %d duplicate INVITEs, %d leases held",
		sum.PeakAbandonPercent, sum.Overdialled, sum.Overlaps, sum.Duplicates, sum.LeasesHeld)
	if len(sum.Failures) == 0 {
		say("the ledgers agree")
	}
	for _, f := range sum.Failures {
		say("NOT AS IT SHOULD BE: %s", f)
	}
}

func splitHostPort(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if port, err = strconv.Atoi(p); err != nil {
		return "", 0, fmt.Errorf("port of %s: %w", addr, err)
	}
	return host, port, nil
}
