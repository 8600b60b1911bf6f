package process

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/http"
	"dialler/persistence"
	"dialler/persistence/nodes"
)

// presenceEvery is how often the process says that it is there, and how soon it
// learns that another one took its place.
const presenceEvery = time.Second

// attend asks for the database, which nobody else may serve but, in a cluster,
// other nodes. Nothing is written before.
func (p *Process) attend(ctx context.Context, url string) (err error) {
	host, _ := os.Hostname() // it is told to people only
	name, err := p.flags.nodeName()
	if err != nil {
		name = p.name
	}
	me := ownership.Presence{Life: rand.Text(), Name: name, Host: host, PID: os.Getpid(), Since: p.started, Cluster: p.flags.Cluster != ""}
	if p.presence, err = nodes.Attend(ctx, url, persistence.Config{Log: p.log, Dial: p.tuning.toDatabase}, me); err != nil {
		if engine.ErrorCode(err) == "database_in_use" {
			return err
		}
		return fmt.Errorf("open the database: %w", err)
	}
	p.closing = append(p.closing, p.presence.Close)
	return nil
}

// stayPresent names the process in the database, and watches that no other one
// takes its place.
func (p *Process) stayPresent(ctx context.Context) error {
	if err := p.presence.Record(ctx); err != nil {
		return err
	}
	if p.flags.Cluster == "" { // a campaign of a node may rightly go to another one
		p.store.OnReplaced(func() {
			p.replace("another process took over the campaigns of this database (stale_epoch); stop one of the two, and start this one again")
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(presenceEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				// While the database is away others say so.
				if err := p.presence.Renew(ctx); engine.ErrorCode(err) == "database_in_use" {
					p.replace(err.Error() + ", and start this one again")
				}
			}
		}
	}()
	p.closing = append(p.closing, func() { cancel(); <-done })
	return nil
}

// replace has the process place no call any more: another one serves its database,
// until this one is started again.
func (p *Process) replace(why string) {
	if !p.replaced.CompareAndSwap(nil, &why) {
		return
	}
	p.log.Error().Str("reason", why).Msg("this process was replaced: it places no call and is not ready")
	if t := p.treeUp.Load(); t != nil {
		t.Drain()
	}
}

// refusesRequests is what the API answers once the process was replaced.
func (p *Process) refusesRequests() error {
	if why := p.replaced.Load(); why != nil {
		return engine.Unavailable("replaced", *why, 5*time.Second)
	}
	return nil
}

// presenceCheck says whether the process still serves its database.
func (p *Process) presenceCheck() http.Check {
	c := http.Check{Name: "replaced", OK: true}
	if why := p.replaced.Load(); why != nil {
		c.OK, c.Detail = false, *why
	}
	return c
}
