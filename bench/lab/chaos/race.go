package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/site"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/promise"
)

// Race is what became of exclusions that raced dials.
type Race struct {
	Excluded int // acknowledged
	Dialled  int // of them before
	Ringing  int // of them cancelled
	InCall   int
	Crossed  int           // INVITEs that left while their exclusion was under way
	Closest  time.Duration // the least time from an INVITE to its exclusion's acknowledgement
	Took     time.Duration
	Failures []string
}

// String is the race in one line.
func (r *Race) String() string {
	return fmt.Sprintf("%d exclusions in %.1f s: %d had been dialled, %d were ringing, %d in a call; "+
		"%d INVITEs left while the exclusion was under way, the closest %v before its acknowledgement; "+
		"%d failures",
		r.Excluded, r.Took.Seconds(), r.Dialled, r.Ringing, r.InCall, r.Crossed, r.Closest.Round(10*time.Microsecond),
		len(r.Failures))
}

func (r *Race) fail(format string, args ...any) {
	r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
}

const (
	// excluders send exclusions at the same time.
	excluders = 64
	// spread is how far before and behind the last dial they are: some are
	// excluded before their dial, some ring.
	spread = 100
	// raceCPS are the dials a second.
	raceCPS = 150
	// stalled is how long the dials may stand still before the exclusions go on
	// without them.
	stalled  = time.Second
	raceSeat = 2000
	raceBot  = "race"
)

// racers ring, for the most part; some pick up. Nothing is said.
func racers() carrier.Config {
	return carrier.Config{Seed: 1, Profile: []carrier.Behaviour{
		{Kind: carrier.NoAnswer, Weight: 8, Post: draw.Between(0, 50*time.Millisecond)},
		{Kind: carrier.Human, Weight: 1, Ring: draw.Between(0, 200*time.Millisecond),
			Talk: draw.Between(100*time.Millisecond, 300*time.Millisecond)},
		{Kind: carrier.Refuse, Code: 486, Weight: 1},
	}}
}

// Race excludes n contacts of a campaign one by one while they are dialled: each
// at about the moment of its dial, some before, some while they ring. An INVITE
// that left after its exclusion was acknowledged is a failure; both moments are
// of the machine's wall clock: the kernel's, when the INVITE is sent, and ours,
// when the answer has been read.
func (l *Lab) Race(ctx context.Context, seed uint64, n int) (*Race, error) {
	rep := &Race{Closest: time.Hour}
	talk := bot.Config{Conversations: []bot.Conversation{{Mute: true, Talk: draw.Exactly(5 * time.Second)}}}
	if err := errors.Join(l.carrier.Configure(racers()), l.bot.Configure(talk)); err != nil {
		return rep, err
	}
	defer func() { _ = errors.Join(l.carrier.Configure(callees()), l.bot.Configure(voices())) }() // as they were
	id, err := l.raceCampaign(ctx, seed, n)
	if err != nil {
		return rep, err
	}
	began := time.Now()
	before := l.carrier.Ledger().Count()
	if err := l.api.Must(ctx, http.MethodPost, "/api/v1/campaigns/"+string(id)+"/start", nil, nil); err != nil {
		return rep, err
	}
	asked, acked := make([]time.Time, n), make([]time.Time, n)
	var front atomic.Int64 // how far down the list the dials are
	var past atomic.Int64  // contacts that were excluded before their dial
	work, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan struct{})
	go func() { defer close(watched); l.watchFront(work, before, &front, &past) }()
	var next atomic.Int64
	var mu sync.Mutex
	var all sync.WaitGroup
	for k := range excluders {
		rng := rand.New(rand.NewPCG(seed, uint64(k))) //nolint:gosec // a plan that can be drawn again
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ctx.Err() == nil; i = next.Add(1) - 1 {
				at := i + rng.Int64N(2*spread) - spread
				_ = site.Poll(work, time.Millisecond, func() (bool, error) { return front.Load() >= at, nil })
				asked[i] = time.Now()
				x, status, body, err := l.exclude(ctx, id, number(seed, raceKind, int(i)), fmt.Sprintf("race-%d-%d", seed, i))
				now := time.Now()
				mu.Lock()
				switch {
				case err != nil || status != http.StatusOK || x.Matched != 1 || x.Excluded != 1:
					rep.fail("exclusion %d was answered %d %s %v", i, status, body, err)
				default:
					acked[i] = now
					rep.Excluded++
					rep.Ringing += x.CancelledRinging
					rep.InCall += x.InCall
				}
				mu.Unlock()
				if x.CancelledRinging+x.InCall == 0 {
					past.Add(1)
				}
			}
		})
	}
	all.Wait()
	stop()
	<-watched
	r := &run{Lab: l, cfg: Campaign{Seed: seed}, id: id, rep: &Report{}, began: began}
	if err := r.end(ctx); err != nil {
		return rep, err
	}
	rep.Took = time.Since(began)
	if err := errors.Join(l.judgeRace(ctx, rep, r, asked, acked), l.judgeRaceRows(ctx, rep, id, n)); err != nil {
		return rep, err
	}
	rep.Failures = append(rep.Failures, r.rep.Failures...)
	return rep, nil
}

// raceKind is the numbers' kind.
const raceKind = 6

func (l *Lab) raceCampaign(ctx context.Context, seed uint64, n int) (id engine.CampaignID, err error) {
	if err := l.api.Must(ctx, http.MethodPut, "/api/v1/bots/"+raceBot,
		map[string]any{"name": "Race", "seats": raceSeat, "endpoints": []string{l.bot.URL()}}, nil); err != nil {
		return "", err
	}
	if err := l.trunk(ctx, raceCPS, 10*raceCPS); err != nil {
		return "", err
	}
	var created struct {
		ID engine.CampaignID `json:"campaign_id"`
	}
	if err := l.api.Must(ctx, http.MethodPost, "/api/v1/campaigns", map[string]any{
		"name": fmt.Sprintf("Race %d", seed), "bot_id": raceBot, "concurrency": raceSeat, "number_pool": ownNumbers,
		"abandon_cap_pct": 0, "window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00"}, "max_attempts": 1,
		"ring_timeout_s": 30,
	}, &created); err != nil {
		return "", err
	}
	var file strings.Builder
	file.WriteString("phone_number\n")
	for i := range n {
		file.WriteString(number(seed, raceKind, i) + "\n")
	}
	r, err := l.api.File(ctx, "/api/v1/campaigns/"+string(created.ID)+"/imports", file.String())
	if err == nil && r.Status != http.StatusCreated {
		err = fmt.Errorf("import of %d: %d %s", n, r.Status, r.Body)
	}
	return created.ID, err
}

func (l *Lab) exclude(ctx context.Context, id engine.CampaignID, number, token string) (x campaign.ExcludeReply,
	status int, body []byte, err error) {
	r, err := l.api.Send(ctx, http.MethodPost, "/api/v1/contacts/exclude", token,
		map[string]any{"campaign_id": id, "mobile": number})
	if err != nil {
		return x, 0, nil, err
	}
	return x, r.Status, r.Body, json.Unmarshal(r.Body, &x)
}

// watchFront follows the dials down the list until ctx ends. When they stand
// still it goes on, so that everybody is excluded in the end.
func (l *Lab) watchFront(ctx context.Context, before int, front, past *atomic.Int64) {
	moved := time.Now()
	_ = site.Poll(ctx, time.Millisecond, func() (bool, error) { // ends with ctx
		at := int64(l.carrier.Ledger().Count()-before) + past.Load()
		switch {
		case at > front.Load():
			front.Store(at)
			moved = time.Now()
		case time.Since(moved) > stalled:
			front.Add(spread)
			moved = time.Now()
		}
		return false, nil
	})
}

func (l *Lab) judgeRace(ctx context.Context, rep *Race, r *run, asked, acked []time.Time) error {
	index := map[engine.PhoneNumber]int{}
	for i := range acked {
		to := engine.PhoneNumber(number(r.cfg.Seed, raceKind, i))
		if index[to] = i; !acked[i].IsZero() {
			r.record.Add(acked[i], promise.Excluded{Campaign: r.id, Number: to, Asked: acked[i]})
		}
	}
	calls := l.carrier.Ledger().Calls()
	for i := range calls {
		at, ours := index[calls[i].Number]
		if !ours || acked[at].IsZero() {
			continue
		}
		rep.Dialled++
		left := leftAt(&calls[i]).Round(0)
		if gap := acked[at].Round(0).Sub(left); gap >= 0 { // else the judge says it
			rep.Closest = min(rep.Closest, gap)
		}
		if left.After(asked[at].Round(0)) && !left.After(acked[at].Round(0)) {
			rep.Crossed++
		}
	}
	return r.judgeRecord(ctx, calls, rep.fail)
}

// judgeRecord: a campaign that is over, by what carrier and database noted.
func (r *run) judgeRecord(ctx context.Context, calls carrier.Rows, fail func(string, ...any)) error {
	for _, d := range calls.DuplicateInvites() {
		fail("Call-ID %s was dialled twice: %s", d.CallID, d.Why)
	}
	rows, err := r.store.Lists.CampaignAttempts(ctx, r.id)
	if err != nil {
		return err
	}
	r.record.attempts(rows)
	r.record.calls(calls, r.began)
	if err := r.noteCampaign(ctx, &r.record, r.id); err != nil {
		return err
	}
	r.record.judged(fail, r.cfg.Stop)
	return nil
}

// judgeRaceRows: everybody is excluded, and nobody is on the line.
func (l *Lab) judgeRaceRows(ctx context.Context, rep *Race, id engine.CampaignID, n int) error {
	var d detail
	if err := l.api.Must(ctx, http.MethodGet, "/api/v1/campaigns/"+string(id), nil, &d); err != nil {
		return err
	}
	if d.Counters.Total != n || d.Counters.Excluded != n {
		rep.fail("of %d contacts, all excluded, the campaign shows %d and %d", n, d.Counters.Total, d.Counters.Excluded)
	}
	if live := l.carrier.Ledger().Live(); len(live) > 0 {
		rep.fail("%d calls live on at the carrier; the first is %s", len(live), live[0].State)
	}
	slices.Sort(rep.Failures)
	return nil
}
