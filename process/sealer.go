package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/seal"
	entries "dialler/engine/spine"
	"dialler/persistence"
	"dialler/persistence/failure"
	"dialler/persistence/spine"
	"dialler/process/keys"
	"dialler/process/metrics"
)

const (
	// sealEvery is how often heads that moved are sealed: as long, the end of a chain may be unsealed.
	sealEvery = time.Minute
	// keyPatience is how long a process goes on whose key is no longer in force, so that all nodes can be
	// given the new one.
	keyPatience = 10 * time.Minute
	// sealLimit bounds one seal, which waits for who appends at the same time.
	sealLimit = 30 * time.Second
)

// sealing seals where the chains of events stand, and keeps the file of seals in step.
type sealing struct {
	store  *persistence.Store
	sealer *spine.Sealer
	life   string                      // of this process, in its seals
	sealed func()                      // a run's end has been sealed
	step   func(context.Context) error // with the file
	// key is the one that is in its file now.
	key   func(context.Context) (seal.Key, error)
	every time.Duration
	give  time.Duration // keyPatience
	log   zerolog.Logger

	ends     chan struct{} // a run ended
	appended chan struct{}
	lost     chan error // the key is not in force for too long
	since    time.Time  // when that was noticed first

	seals, failed atomic.Int64
}

// openSpine makes this process sign for the installation, and begins to seal.
func (p *Process) openSpine(ctx context.Context, dir string) error {
	file := cmp.Or(p.flags.SigningKey, filepath.Join(dir, keys.SigningFile))
	inForce := func(ctx context.Context) (seal.Key, error) {
		if err := CompleteRotation(ctx, p.store, file, p.log); err != nil {
			return seal.Key{}, err
		}
		return p.signingKey()
	}
	key, err := inForce(ctx)
	if err != nil {
		return err
	}
	step, err := OpenSpine(ctx, p.store, key, dir, p.log)
	if err != nil {
		return err
	}
	life := rand.Text()
	s := &sealing{store: p.store, life: life, sealed: func() {
		if p.anchorer != nil {
			p.anchorer.Sealed()
		}
	}, sealer: p.store.Spine.NewSealer(life), step: step, key: inForce, every: sealEvery,
		give: keyPatience, log: p.log, ends: make(chan struct{}, 1), appended: make(chan struct{}, 1),
		lost: make(chan error, 1)}
	if p.tuning.sealEvery > 0 {
		s.every, s.give = p.tuning.sealEvery, 2*p.tuning.sealEvery
	}
	p.store.Spine.OnAppend(func() { wake(s.appended) })
	if _, err := p.store.Spine.Append(ctx, key, entries.KindStart, entries.Start{Process: life, Version: programVersion(),
		Key: key.Public().Fingerprint()}); err != nil {
		return err
	}
	p.sealing = s
	p.background(s.run)
	p.background(s.beginDigests)
	return nil
}

// beginDigests gives every row a digest, once in an installation's life: as soon as no node works of a
// release that leaves none.
func (s *sealing) beginDigests(ctx context.Context) {
	for tick := time.NewTicker(s.every); ; {
		began := time.Now()
		begun, err := s.store.BeginDigests(ctx)
		if begun {
			if took := time.Since(began); took > time.Second {
				s.log.Info().Dur("took_ms", took).Msg("every row has a digest now")
			}
			tick.Stop()
			return
		}
		if err != nil && failure.Why(err) == "" && ctx.Err() == nil {
			s.log.Error().Err(err).Msg("rows from before have no digests yet; it is tried again")
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run seals until ctx ends, and once more then: what ran is over, and the database is still there.
func (s *sealing) run(ctx context.Context) {
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	s.file(ctx)
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.Background(), sealLimit)
			defer cancel()
			s.seal(end)
			s.file(end)
			return
		case <-s.appended:
		case <-s.ends:
			s.seal(ctx)
			s.sealed()
		case <-tick.C:
			s.seal(ctx)
		}
		s.file(ctx)
	}
}

// seal seals what has moved. An outage of the database is reported elsewhere.
func (s *sealing) seal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sealLimit)
	defer cancel()
	sealed, err := s.sealer.Seal(ctx)
	if engine.ErrorCode(err) == "signing_key_other" {
		if s.reread(ctx) {
			sealed, err = s.sealer.Seal(ctx)
		} else {
			s.outOfForce(err)
		}
	}
	switch {
	case err != nil && failure.Why(err) == "" && !errors.Is(err, context.Canceled):
		s.failed.Add(1)
		s.log.Error().Err(err).Msg("the heads of the chains are not sealed; it is tried again")
	case sealed:
		s.seals.Add(1)
	}
	if err == nil {
		s.since = time.Time{}
	}
}

// reread takes the key that is in the file now, after a rotation; false if that is not in force either.
func (s *sealing) reread(ctx context.Context) bool {
	key, err := s.key(ctx)
	if err != nil {
		return false
	}
	rowKey, err := s.store.Spine.Open(ctx, key)
	if err != nil {
		return false
	}
	s.store.UseRowKey(rowKey)
	s.log.Info().Str("key", key.Public().Fingerprint()).Msg("signing with the installation's new key")
	return true
}

// outOfForce gives up when the key was not in force for too long.
func (s *sealing) outOfForce(err error) {
	if s.since.IsZero() {
		s.since = time.Now()
	}
	if time.Since(s.since) >= s.give {
		select {
		case s.lost <- err:
		default:
		}
	}
}

// file writes new entries to the file.
func (s *sealing) file(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sealLimit)
	defer cancel()
	if err := s.step(ctx); err != nil && failure.Why(err) == "" && ctx.Err() == nil &&
		engine.ErrorCode(err) != "signing_key_other" { // seal tells that
		s.failed.Add(1)
		s.log.Error().Err(err).Msg("the file of seals is not in step with the database; it is tried again")
	}
}

func (s *sealing) metrics() []prometheus.Collector {
	return []prometheus.Collector{
		metrics.Counter("dialler_seals_total", "Seals of the heads of chains that this process has signed.",
			func() float64 { return float64(s.seals.Load()) }),
		metrics.Counter("dialler_seal_errors_total",
			"Seals that failed, and times that the file of seals could not be completed; both are tried again.",
			func() float64 { return float64(s.failed.Load()) }),
	}
}

// sealingStore tells when a run ends.
type sealingStore struct {
	*persistence.Store
	ended func()
}

// Commit implements actors.Store.
func (s sealingStore) Commit(ctx context.Context, group []journal.Write) ([]error, error) {
	refused, err := s.Store.Commit(ctx, group)
	for i := range group {
		if c := group[i].CampaignRow; c != nil && (c.State == campaign.Completed || c.State == campaign.Failed) {
			s.ended()
		}
	}
	return refused, err
}
