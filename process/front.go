package process

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"dialler/actors"
	"dialler/actors/cluster/routing"
	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/inbound"
	"dialler/engine/numberpool"
	"dialler/engine/setup"
	"dialler/http"
	"dialler/http/access"
	"dialler/http/telephony"
	"dialler/persistence"
	accounts "dialler/persistence/access"
	"dialler/persistence/failure"
	"dialler/persistence/history"
	"dialler/persistence/lists"
	"dialler/persistence/recordings"
	"dialler/persistence/webhooks"
)

// commands are carried out by the owner of a campaign or call: this node's tree, or in a cluster any
// node's.
type commands = routing.Tree

// Front is the dialler as the API sees it: commands go to the owner of what they are about, lists
// come from the store.
type Front struct {
	commands
	*persistence.Store
	*accounts.Accounts
	*history.Records
	*lists.Lists
	*recordings.Recordings
	*webhooks.Endpoints
	tree *actors.Tree
	p    *Process

	mu      sync.Mutex
	counted map[engine.CampaignID]counted
	past    map[pastRun]counted
	pages   map[campaign.Page]listedPage
}

// CreateKey implements access.Keys.
func (f *Front) CreateKey(ctx context.Context, key engine.APIKey, who engine.Who) error {
	if err := f.scoped(ctx, key.Scopes); err != nil {
		return err
	}
	return f.Store.Accounts.CreateKey(ctx, key, who)
}

// ChangeKey implements access.Keys.
func (f *Front) ChangeKey(
	ctx context.Context,
	id engine.KeyID,
	change access.KeyChange,
	who engine.Who,
) (engine.APIKey, error) {
	if change.Scopes != nil {
		if err := f.scoped(ctx, *change.Scopes); err != nil {
			return engine.APIKey{}, err
		}
	}
	if change.Secret != nil {
		if err := f.upgraded(ctx); err != nil {
			return engine.APIKey{}, err
		}
	}
	return f.Store.Accounts.UpdateKey(ctx, id, func(k *engine.APIKey) error {
		return change.Apply(k, f.p.clock.Now())
	}, who)
}

// Suppress implements http.Suppressions: ringing calls are cancelled. The numbers are on the list
// even if not every node confirmed.
func (f *Front) Suppress(ctx context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (int,
	error) {
	added, err := f.Store.Suppress(ctx, numbers, reason, who)
	if err == nil {
		err = f.tree.Suppressed(ctx, numbers)
	}
	return added, err
}

// BotStatuses implements http.Bots.
func (f *Front) BotStatuses(ctx context.Context) (map[engine.BotID]telephony.BotStatus, error) {
	owned, err := f.tree.BotStatuses(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[engine.BotID]telephony.BotStatus, len(owned))
	for id, s := range owned {
		out[id] = telephony.BotStatus(s)
	}
	return out, nil
}

// PutBot implements http.Bots: the tree is told of the change.
func (f *Front) PutBot(ctx context.Context, b engine.Bot, keepSecret bool, who engine.Who) (engine.Bot, bool, error) {
	if b.Account == "" {
		account, err := f.account(ctx, b.ID)
		if err != nil {
			return engine.Bot{}, false, err
		}
		b.Account = account
	}
	stored, created, err := f.Store.PutBot(ctx, b, keepSecret, who)
	f.p.doubt(err)
	if err == nil {
		f.configured(ctx, "")
		err = f.tree.BotsChanged(ctx)
	}
	return stored, created, err
}

// DeleteBot implements http.Bots: the tree is told, and campaigns running with the bot fail.
func (f *Front) DeleteBot(ctx context.Context, id engine.BotID, force bool, who engine.Who) error {
	if err := f.Store.DeleteBot(ctx, id, force, who); err != nil {
		f.p.doubt(err)
		return err
	}
	f.configured(ctx, "")
	return f.tree.BotsChanged(ctx)
}

// PutCadence implements http.Cadences: the runs are told of the change.
func (f *Front) PutCadence(ctx context.Context, c cadence.Named, at time.Time,
	who engine.Who) (cadence.Named, bool, error) {
	stored, created, err := f.Store.PutCadence(ctx, c, at, who)
	f.p.doubt(err)
	if err == nil {
		f.cadencesChanged(ctx)
	}
	return stored, created, err
}

// cadencesChanged tells everybody of a change that is stored. Who is not told now is told when the
// configuration is read again: a repeat of the request would be told of another version.
func (f *Front) cadencesChanged(ctx context.Context) {
	f.configured(ctx, "")
	if err := f.tree.CadencesChanged(ctx); err != nil {
		f.p.unsettled.Store(true)
	}
}

// DeleteCadence implements http.Cadences.
func (f *Front) DeleteCadence(ctx context.Context, id engine.CadenceID, who engine.Who) error {
	if err := f.Store.DeleteCadence(ctx, id, who); err != nil {
		f.p.doubt(err)
		return err
	}
	f.cadencesChanged(ctx)
	return nil
}

// PutCalendar implements http.Calendars: the runs are told of the change.
func (f *Front) PutCalendar(ctx context.Context, c calendar.Named, keepFile bool, at time.Time,
	who engine.Who) (calendar.Named, bool, error) {
	if len(c.Hours.Countries) > 0 {
		if err := f.upgraded(ctx); err != nil {
			return calendar.Named{}, false, err
		}
	}
	stored, created, err := f.Store.PutCalendar(ctx, c, keepFile, at, who)
	f.p.doubt(err)
	if err == nil {
		f.calendarsChanged(ctx)
	}
	return stored, created, err
}

// calendarsChanged tells everybody, as cadencesChanged does.
func (f *Front) calendarsChanged(ctx context.Context) {
	f.configured(ctx, "")
	if err := f.tree.CalendarsChanged(ctx); err != nil {
		f.p.unsettled.Store(true)
	}
}

// DeleteCalendar implements http.Calendars.
func (f *Front) DeleteCalendar(ctx context.Context, id engine.CalendarID, who engine.Who) error {
	if err := f.Store.DeleteCalendar(ctx, id, who); err != nil {
		f.p.doubt(err)
		return err
	}
	f.calendarsChanged(ctx)
	return nil
}

// FetchHolidays implements http.Calendars.
func (f *Front) FetchHolidays(ctx context.Context, address string) (string, error) {
	return f.p.holidays.Fetch(ctx, address)
}

// account returns the "AC" identifier of a bot, or a new one.
func (f *Front) account(ctx context.Context, id engine.BotID) (string, error) {
	bots, err := f.Store.Bots(ctx)
	if err != nil {
		return "", err
	}
	for _, b := range bots {
		if b.ID == id && b.Account != "" {
			return b.Account, nil
		}
	}
	var fresh [16]byte
	_, _ = rand.Read(fresh[:]) // never fails
	return "AC" + hex.EncodeToString(fresh[:]), nil
}

// ModelPeers implements http.SetUp.
func (f *Front) ModelPeers() *setup.Model { return f.p.model.Load() }

// OfferModel lets the console's set-up offer a model carrier and bot that run beside the dialler.
func (p *Process) OfferModel(m setup.Model) { p.model.Store(&m) }

// NumberStatuses implements http.Numbers.
func (f *Front) NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error) {
	return f.tree.NumberStatuses(ctx)
}

// PutNumber implements http.Numbers.
func (f *Front) PutNumber(ctx context.Context, n engine.NumberSettings, who engine.Who) (bool, error) {
	if n.CallbackPolicy != "" && n.CallbackPolicy != string(inbound.Reject) {
		if err := f.upgraded(ctx); err != nil {
			return false, err
		}
	}
	created, err := f.Store.PutNumber(ctx, n, who)
	f.p.doubt(err)
	if err == nil {
		f.configured(ctx, "")
		f.tree.NumberChanged(n)
	}
	return created, err
}

// Alive implements http.Health.
func (f *Front) Alive() error { return f.tree.Alive() }

// Checks implements http.Health.
func (f *Front) Checks(ctx context.Context) []http.Check {
	db := http.Check{Name: "database", OK: true}
	if s := f.tree.Database(); !s.Up {
		since := s.Since.UTC()
		db.OK, db.Since, db.Detail = false, &since, s.Detail+". No new call is placed; live calls go on."
	}
	// A warning only, because the request that adds the first trunk must reach us.
	trunks := http.Check{Name: "trunks", OK: true}
	switch list, err := f.Store.Trunks(ctx); {
	case failure.Why(err) != "": // their state is unknown
	case err != nil:
		trunks.OK, trunks.Detail = false, "the trunks cannot be read; see the log"
		f.p.log.Warn().Err(err).Msg("the check of the trunks cannot read them")
	case !slices.ContainsFunc(list, func(t engine.TrunkSettings) bool { return t.Active }):
		trunks.Warning, trunks.Detail = http.NoTrunk, "no active trunk is configured"
	}
	f.p.mu.Lock()
	draining := http.Check{Name: "draining", OK: !f.p.draining}
	f.p.mu.Unlock()
	if !draining.OK {
		draining.Detail = "the process is stopping; live calls finish"
	}
	ports := http.Check{Name: "rtp_ports", OK: true}
	if usable, all := f.p.media.Ports(); usable == 0 {
		ports.OK, ports.Detail = false, fmt.Sprintf("none of the %d RTP sockets can be read; see the log, and the RTP "+
			"port range", all)
	}
	descriptors := http.Check{Name: "descriptors", OK: !f.p.api.Starved()}
	if !descriptors.OK {
		descriptors.Detail = "the process has no descriptors left: not every client or bot can be reached; raise its " +
			"limit of open files (ulimit -n, LimitNOFILE)"
	}
	checks := []http.Check{db, trunks, ports, draining, descriptors, f.p.presence.check()}
	if len(f.p.externalWatches) > 0 {
		checks = append(checks, f.p.externalCheck())
	}
	if f.p.spool != nil {
		checks = append(checks, spoolCheck(f.p.spool.Stats()))
	}
	if f.p.several != nil {
		checks = append(checks, f.p.several.check())
	}
	checks = append(checks, f.calendarCheck(ctx))
	if f.p.anchorer != nil {
		checks = append(checks, f.p.anchorCheck())
	}
	return checks
}
