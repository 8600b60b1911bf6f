package commit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/private"
	"dialler/persistence/spool"
	"dialler/persistence/storetest"
)

// Config is the configuration of a measurement.
type Config struct {
	Loads     []int         // events offered per second
	Batches   []int         // events per COPY
	Groups    []int         // writes spooled at a time
	Duration  time.Duration // of each row
	Campaigns int           // that share the load, default 8
	Waiting   int           // waiting writes when as much as is accepted is offered, default 2048
	// Turns, unless 0, is how often each load is offered without and with digests of rows, in turns, in
	// place of everything else.
	Turns int
	Log   func(format string, args ...any)
}

const (
	// apart is the time between two writes of a call.
	apart = 250 * time.Millisecond
	// fastest bounds the row that offers as much as is accepted, in calls per second.
	fastest = 6000
	warmUp  = 2 * time.Second
	writers = 4
)

// Run measures on a PostgreSQL that it creates and removes.
func Run(ctx context.Context, cfg Config) (_ *Figures, err error) {
	if cfg.Campaigns <= 0 {
		cfg.Campaigns = 8
	}
	if cfg.Waiting <= 0 {
		cfg.Waiting = 2048
	}
	if cfg.Duration < 100*time.Millisecond {
		return nil, errors.New("commit: a row takes at least 100ms")
	}
	for _, n := range slices.Concat(cfg.Loads, cfg.Batches, cfg.Groups) {
		if n < 1 {
			return nil, errors.New("commit: loads, batches and groups are positive")
		}
	}
	dir, err := os.MkdirTemp("", "dialler-commit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL's own user passes through
		return nil, err
	}
	cfg.Log("making a PostgreSQL")
	pg, err := private.Start(ctx, private.Config{Dir: dir, Name: "postgresql", Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pg.Stop()) }()
	store, err := persistence.Open(ctx, pg.URL(), persistence.Config{Log: zerolog.Nop(), Writers: writers})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	l := &lab{cfg: cfg, store: store, pid: pg.Pid(), index: map[engine.CampaignID]int{},
		at: time.Now().Truncate(time.Microsecond)}
	f := &Figures{Seconds: cfg.Duration.Seconds()}
	if err := l.machine(ctx, f); err != nil {
		return nil, err
	}
	if err := l.people(ctx); err != nil {
		return nil, err
	}
	if err := l.age(ctx, pg.URL()); err != nil {
		return nil, err
	}
	if _, err := l.writer(ctx, 500, warmUp); err != nil {
		return nil, err
	}
	if cfg.Turns > 0 {
		digesting, err := persistence.Open(ctx, pg.URL(), persistence.Config{Log: zerolog.Nop(), Writers: writers})
		if err != nil {
			return nil, err
		}
		defer digesting.Close()
		digesting.UseRowKey(storetest.RowKey)
		f.Digests, err = l.turns(ctx, store, digesting)
		return f, err
	}
	for _, load := range append(slices.Clone(cfg.Loads), 0) {
		row, err := l.writer(ctx, load, cfg.Duration)
		if err != nil {
			return nil, err
		}
		f.Writer = append(f.Writer, row)
	}
	if f.Copy, err = l.floor(ctx, pg.URL()); err != nil {
		return nil, err
	}
	if f.Spool, err = l.spool(filepath.Join(dir, "spool")); err != nil {
		return nil, err
	}
	return f, nil
}

// lab is one run's database and contacts.
type lab struct {
	cfg    Config
	store  *persistence.Store
	pid    int // of the server
	at     time.Time
	epochs []int64
	seqs   []int64
	index  map[engine.CampaignID]int
	calls  []storetest.Call // of contacts not called yet
}

// most is how many calls the row that offers as much as is accepted may need.
func (l *lab) most() int {
	if l.cfg.Turns > 0 {
		return 0
	}
	return int(fastest * l.cfg.Duration.Seconds())
}

// turns offers each load to both stores in turns, each of them first every other time.
func (l *lab) turns(ctx context.Context, without, with *persistence.Store) (rows []DigestsRow, err error) {
	for _, load := range l.cfg.Loads {
		of := [2][]WriterRow{}
		for n := range 2 * l.cfg.Turns {
			which := (n + n/2) % 2
			l.store = [2]*persistence.Store{without, with}[which]
			row, err := l.writer(ctx, load, l.cfg.Duration)
			if err != nil {
				return nil, err
			}
			of[which] = append(of[which], row)
		}
		rows = append(rows, DigestsRow{false, median(of[0])}, DigestsRow{true, median(of[1])})
	}
	return rows, nil
}

func campaignID(n int) engine.CampaignID { return engine.CampaignID(fmt.Sprintf("cmp_%d", n)) }

// people creates the campaigns and all the contacts that the rows will need.
func (l *lab) people(ctx context.Context) error {
	need := l.most() + int(500*warmUp.Seconds())
	for _, load := range l.cfg.Loads {
		need += max(1, 2*l.cfg.Turns) * (int(float64(load)*l.cfg.Duration.Seconds())/storetest.CallSteps + l.cfg.Campaigns)
	}
	l.cfg.Log("adding %d contacts to %d campaigns", need, l.cfg.Campaigns)
	each := need/l.cfg.Campaigns + 1
	lists := make([][]contact.Contact, l.cfg.Campaigns)
	for n := range l.cfg.Campaigns {
		c := campaign.Campaign{ID: campaignID(n), State: campaign.Running, Run: 1, CreatedAt: l.at,
			Settings: campaign.Settings{Name: "commit", MaxAttempts: 3}}
		if err := l.store.InsertCampaign(ctx, c); err != nil {
			return err
		}
		c, err := l.store.AcquireCampaign(ctx, c.ID)
		if err != nil {
			return err
		}
		for from := 0; from < each; from += 10_000 {
			add := journal.ContactInsert{Campaign: c.ID, Epoch: c.Epoch, Run: 1, Source: "csv", Max: 3, At: l.at,
				DueClass: contact.DueFirst,
				Event: journal.Event{Campaign: c.ID, Seq: int64(from + 1), Run: 1, At: l.at, Type: journal.ContactsAdded,
					Version: 1}}
			for i := from; i < min(each, from+10_000); i++ {
				add.Contacts = append(
					add.Contacts,
					journal.IdentifiedContact{
						ID: engine.ContactID(storetest.RandomID()),
						NewContact: campaign.NewContact{
							Number: engine.PhoneNumber(fmt.Sprintf("+49151%02d%07d", n, i)),
							Variables: map[string]string{
								"name":     "Ada Lovelace",
								"plan":     "gold",
								"account":  fmt.Sprint(i),
								"language": "en",
							},
						},
					},
				)
			}
			if _, err := l.store.AddContacts(ctx, add); err != nil {
				return err
			}
		}
		if lists[n], err = l.store.DueContacts(ctx, c.ID, 1, contact.Order{Now: l.at.Add(time.Hour)}, each, nil); err != nil {
			return err
		}
		l.index[c.ID] = n
		l.epochs, l.seqs = append(l.epochs, c.Epoch), append(l.seqs, int64(each+10))
	}
	for i := range each * l.cfg.Campaigns {
		n := i % l.cfg.Campaigns
		if at := i / l.cfg.Campaigns; at < len(lists[n]) {
			l.calls = append(l.calls, storetest.Call{Contact: lists[n][at], Epoch: l.epochs[n]})
		}
	}
	return nil
}

// take returns that many calls, taken from all campaigns in turn.
func (l *lab) take(n int) []storetest.Call {
	n = min(n, len(l.calls))
	c := l.calls[:n:n]
	l.calls = l.calls[n:]
	return c
}

// watch is a clock for the writers.
type watch struct{ began time.Time }

func (watch) Now() time.Time          { return time.Now() }
func (w watch) Boot() engine.BootTime { return engine.BootTime(time.Since(w.began)) + 1 }

const walPosition = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"

// writer offers that many events per second for a time; 0 means as many as are accepted.
func (l *lab) writer(ctx context.Context, load int, length time.Duration) (row WriterRow, err error) {
	n := int(float64(load) * length.Seconds() / storetest.CallSteps)
	if load == 0 {
		l.cfg.Log("writer: as many events as are taken")
		n = l.most()
	} else {
		l.cfg.Log("writer: %d events/s", load)
	}
	calls := l.take(n)
	lag := max(1, int(float64(load)/storetest.CallSteps*apart.Seconds()))
	if load == 0 {
		lag = l.cfg.Waiting
	}
	total := len(calls) * storetest.CallSteps
	due := make([]time.Time, 0, total)
	waited := make([]time.Duration, 0, total)
	var mu sync.Mutex // the callback reads due
	var took []time.Duration
	var refused error
	var done atomic.Int64
	room := make(chan struct{}, max(l.cfg.Waiting, 1))
	finished := make(chan struct{}, 1)
	w, err := writer.Start(writer.Config{Writers: writers, OnCommit: func(_ int, t time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		took = append(took, t)
	}}, l.store, watch{time.Now()}, func(step int, err error) {
		now := time.Now()
		mu.Lock()
		waited = append(waited, now.Sub(due[step]))
		refused = errors.Join(refused, err)
		mu.Unlock()
		if load == 0 {
			<-room
		}
		done.Add(1)
		select {
		case finished <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return row, err
	}
	defer w.Close()

	var wal, was int64
	if err := l.store.QueryRow(ctx, walPosition, &was); err != nil {
		return row, err
	}
	client, server := cpuSelf(), cpuServer(l.pid)
	began := time.Now()
	sent := 0
	send := func(i, step int) {
		c := &calls[i]
		n := l.index[c.Contact.Campaign]
		l.seqs[n]++
		write := c.Write(step, l.seqs[n], l.at)
		var at time.Time
		if load > 0 {
			at = began.Add(time.Duration(float64(sent) / float64(load) * float64(time.Second)))
			time.Sleep(time.Until(at))
		} else {
			room <- struct{}{}
			at = time.Now()
		}
		mu.Lock()
		due = append(due, at)
		mu.Unlock()
		w.Persist(string(c.Contact.Campaign), write, sent)
		sent++
	}
offering:
	for at := 0; at < len(calls)+(storetest.CallSteps-1)*lag; at++ {
		for step := range storetest.CallSteps {
			if ctx.Err() != nil || load == 0 && time.Since(began) > length {
				break offering
			}
			if i := at - step*lag; i >= 0 && i < len(calls) {
				send(i, step)
			}
		}
	}
	late := time.NewTimer(time.Minute + 10*length)
	defer late.Stop()
	for done.Load() < int64(sent) {
		select {
		case <-finished:
		case <-late.C:
			return row, fmt.Errorf("commit: only %d of %d writes became durable", done.Load(), sent)
		case <-ctx.Done():
			return row, ctx.Err()
		}
	}
	wall := time.Since(began)
	client, server = cpuSelf()-client, cpuServer(l.pid)-server
	if err := l.store.QueryRow(ctx, walPosition, &wal); err != nil {
		return row, err
	}
	mu.Lock()
	defer mu.Unlock()
	if refused != nil {
		return row, fmt.Errorf("commit: the database refused writes: %w", refused)
	}
	e := float64(sent)
	return WriterRow{
		Offered: load, Row: Row{Events: sent, PerSecond: e / wall.Seconds(), Commit: percentiles(took),
			ClientUS: us(client) / e, ServerUS: us(server) / e},
		Group: e / float64(len(took)), Durable: percentiles(waited), WAL: float64(wal-was) / e,
	}, nil
}

// spool measures what replaces a commit while the database is unavailable.
func (l *lab) spool(dir string) (rows []BatchRow, err error) {
	s, err := spool.Open(spool.Config{Dir: dir, Size: 64 << 20, Lanes: 1, Owner: make([]byte, 16), Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	for _, size := range l.cfg.Groups {
		l.cfg.Log("spool: %d writes at a time", size)
		group := make([]journal.Write, 0, size)
		for len(group) < size {
			k := storetest.Call{
				Contact: contact.Contact{
					ID:       engine.ContactID(storetest.RandomID()),
					Campaign: "cmp_1",
					Number:   "+4915112345678",
				},
			}
			k.Write(0, 1, l.at)
			for step := 1; step < 4 && len(group) < size; step++ { // those of calls in progress
				group = append(group, k.Write(step, 1, l.at))
			}
		}
		var took []time.Duration
		client, written := cpuSelf(), 0
		began := time.Now()
		for time.Since(began) < l.cfg.Duration {
			at := time.Now()
			n, err := s.Append(0, group)
			if err != nil {
				return nil, err
			}
			took, written = append(took, time.Since(at)), written+n
			if n < size { // full: it is emptied as after an outage
				if err := s.Release(0, int(s.Stats().Records), 0); err != nil {
					return nil, err
				}
			}
		}
		e := float64(written)
		rows = append(rows, BatchRow{Batch: size, Row: Row{Events: written, PerSecond: e / time.Since(began).Seconds(),
			Commit: percentiles(took), ClientUS: us(cpuSelf()-client) / e}})
		if err := s.Release(0, int(s.Stats().Records), 0); err != nil {
			return nil, err
		}
	}
	return rows, nil
}
