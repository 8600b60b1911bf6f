package process

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"dialler/actors"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/forecast"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/people"
	"dialler/persistence/failure"
)

// listedPage is the last known content of a page of the campaign list.
type listedPage struct {
	rows  []campaign.Campaign
	total int
}

// listedCap bounds how many pages are kept.
const listedCap = 16

// pastRun is a run before the current one.
type pastRun struct {
	campaign engine.CampaignID
	run      int
}

// counted is the cached count of an idle campaign.
type counted struct {
	run      int
	seq      int64
	counters campaign.Counters
	at       time.Time
}

// countedFor is how long a count stays valid without other information, countedCap how many are
// kept.
const (
	countedFor = 5 * time.Minute
	countedCap = 10_000
)

// Create implements http.Campaigns.
func (f *Front) Create(ctx context.Context, cmd campaign.Create) (campaign.Detail, error) {
	if err := f.kept(ctx, &cmd.Settings); err != nil {
		return campaign.Detail{}, err
	}
	now := f.p.clock.Now()
	c := campaign.Campaign{ID: actors.NewCampaignID(), Settings: cmd.Settings, State: campaign.Draft, Version: 1, Run: 1,
		CreatedAt: now, CreatedBy: cmd.Who}
	who := cmd.Who
	created := journal.Event{Campaign: c.ID, Seq: 1, Run: 1, At: now, Type: journal.CampaignCreated, Version: 1,
		Data: journal.Data{Who: &who}}
	if err := f.Store.InsertCampaign(ctx, c, created); err != nil {
		return campaign.Detail{}, err
	}
	return f.Detail(ctx, c.ID)
}

// Clone implements http.Campaigns.
func (f *Front) Clone(ctx context.Context, cmd campaign.Clone) (campaign.Detail, error) {
	original, err := f.Store.Campaign(ctx, cmd.Campaign)
	if err != nil {
		return campaign.Detail{}, err
	}
	if err := f.kept(ctx, &original.Settings); err != nil {
		return campaign.Detail{}, err
	}
	c, err := f.Store.CloneCampaign(ctx, cmd, actors.NewCampaignID(), f.p.clock.Now())
	if err != nil {
		return campaign.Detail{}, err
	}
	return f.Detail(ctx, c.ID)
}

// List implements http.Campaigns: a campaign whose actors are up is asked
// itself, the others are counted.
func (f *Front) List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error) {
	rows, total, err := f.rows(ctx, page)
	if err != nil {
		return nil, 0, err
	}
	list := make([]campaign.Detail, 0, len(rows))
	acting := f.acting(ctx, rows)
	for i := range rows {
		d, err := f.listed(ctx, &rows[i], acting(rows[i].ID))
		switch e := (*engine.Error)(nil); {
		case err == nil:
			list = append(list, d)
		case errors.As(err, &e) && e.Kind == engine.KindNotFound:
			total-- // deleted after its row was read
		default:
			return nil, 0, err
		}
	}
	return list, total, nil
}

// rows reads a page of campaigns; while the database is down it returns the last page read, because
// the actors know what has happened to running campaigns.
func (f *Front) rows(ctx context.Context, page campaign.Page) ([]campaign.Campaign, int, error) {
	rows, total, err := f.Store.Campaigns(ctx, page)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if last, ok := f.pages[page]; ok && failure.Why(err) != "" {
			return slices.Clone(last.rows), last.total, nil
		}
		return nil, 0, err
	}
	if len(f.pages) >= listedCap || f.pages == nil {
		f.pages = make(map[campaign.Page]listedPage)
	}
	f.pages[page] = listedPage{slices.Clone(rows), total}
	return rows, total, nil
}

// acting says whether some node may act for a campaign of the page: in a cluster the database is
// queried once for all of them.
func (f *Front) acting(ctx context.Context, rows []campaign.Campaign) func(engine.CampaignID) bool {
	perhaps := func(engine.CampaignID) bool { return true }
	if f.p.several == nil {
		return perhaps
	}
	ids := make([]engine.CampaignID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	some, err := f.p.several.router.ActingFor(ctx, ids)
	if err != nil {
		return perhaps
	}
	return func(id engine.CampaignID) bool { return some[id] }
}

func (f *Front) listed(ctx context.Context, row *campaign.Campaign, acting bool) (campaign.Detail, error) {
	if row.State == campaign.Running || row.State == campaign.Paused {
		return f.Detail(ctx, row.ID)
	}
	if acting {
		if d, up, err := f.DetailIfUp(ctx, row.ID); err != nil || up {
			return d, err
		}
	}
	d := campaign.Detail{Campaign: *row}
	var err error
	d.Counters, err = f.counters(ctx, row)
	return d, err
}

// counters counts an idle campaign once: with many finished campaigns, a constantly viewed list
// would otherwise cost more than the calls.
func (f *Front) counters(ctx context.Context, row *campaign.Campaign) (campaign.Counters, error) {
	now := f.p.clock.Now()
	f.mu.Lock()
	c, ok := f.counted[row.ID]
	f.mu.Unlock()
	if ok && c.run == row.Run && c.seq == row.Seq && now.Sub(c.at) < countedFor {
		return c.counters, nil
	}
	counters, err := f.Store.Counters(ctx, row.ID, row.Run)
	if ok && failure.Why(err) != "" {
		return c.counters, nil // as before the database went down
	}
	if err != nil {
		return campaign.Counters{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.counted) >= countedCap || f.counted == nil {
		f.counted = make(map[engine.CampaignID]counted)
	}
	f.counted[row.ID] = counted{run: row.Run, seq: row.Seq, counters: counters, at: now}
	return counters, nil
}

// Runs implements http.Campaigns. The results of earlier runs are cached for a while, because
// counting a run takes a second with a million contacts.
func (f *Front) Runs(ctx context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.RunRecord, int, error) {
	row, err := f.Store.Campaign(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	events, err := f.Store.Lists.RunEvents(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	runs := journal.Runs(&row, events)
	total := len(runs)
	from := min((page.Number-1)*page.Size, total)
	runs = runs[from:min(from+page.Size, total)]
	for i := range runs {
		if runs[i].Run == row.Run {
			d, err := f.listed(ctx, &row, true)
			if err != nil {
				return nil, 0, err
			}
			runs[i].Counters = d.Counters
			continue
		}
		if runs[i].Counters, err = f.earlier(ctx, id, runs[i].Run); err != nil {
			return nil, 0, err
		}
	}
	return runs, total, nil
}

// earlier counts a run before the current one; only a late result can still change it.
func (f *Front) earlier(ctx context.Context, id engine.CampaignID, run int) (campaign.Counters, error) {
	key, now := pastRun{id, run}, f.p.clock.Now()
	f.mu.Lock()
	c, ok := f.past[key]
	f.mu.Unlock()
	if ok && now.Sub(c.at) < countedFor {
		return c.counters, nil
	}
	counters, err := f.Store.Counters(ctx, id, run)
	if err != nil {
		return campaign.Counters{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.past) >= countedCap || f.past == nil {
		f.past = make(map[pastRun]counted)
	}
	f.past[key] = counted{counters: counters, at: now}
	return counters, nil
}

// CancelImport implements http.Imports: the process with the import notices that it is no longer
// open, at the next rows or at the end of the switch.
func (f *Front) CancelImport(ctx context.Context, id engine.ImportID) (campaign.Import, error) {
	if err := f.Store.FailImport(ctx, id, campaign.CancelledImport, f.p.clock.Now()); err != nil {
		return campaign.Import{}, err
	}
	return f.Store.Import(ctx, id)
}

// ImportByID implements http.Imports.
func (f *Front) ImportByID(ctx context.Context, id engine.ImportID) (campaign.Import, error) {
	return f.Store.Import(ctx, id)
}

// Contacts implements http.Campaigns; live attempts are shown as their owners know them.
func (f *Front) Contacts(ctx context.Context, id engine.CampaignID, page campaign.Page) (campaign.ContactList, error) {
	list, err := f.Store.Contacts(ctx, id, page)
	if err != nil {
		return list, err
	}
	var wg sync.WaitGroup
	for i := range list.Contacts {
		for _, trail := range [][]attempt.Attempt{list.Contacts[i].Attempts, list.Contacts[i].CallsBack} {
			for j := range trail {
				if a := &trail[j]; a.State != attempt.Ended {
					wg.Go(func() { *a = f.Live(ctx, *a) })
				}
			}
		}
	}
	wg.Wait()
	return list, nil
}

// SearchPeople implements http.People.
func (f *Front) SearchPeople(ctx context.Context, q contact.Search, limit int) (people.Searched, error) {
	return f.Store.SearchPeople(ctx, q, limit)
}

// Person implements http.People; live calls are shown as their owners know them.
func (f *Front) Person(ctx context.Context, n engine.PhoneNumber) (people.Person, error) {
	p, err := f.Store.Lists.Person(ctx, n)
	if err != nil {
		return p, err
	}
	var wg sync.WaitGroup
	for i := range p.Calls {
		if a := &p.Calls[i]; a.State != attempt.Ended && a.State != attempt.Scheduled {
			wg.Go(func() { *a = f.Live(ctx, *a) })
		}
	}
	wg.Wait()
	return p, nil
}

// Contact implements http.Campaigns: the row, with its call brought up to date, and why it is not
// dialled now.
func (f *Front) Contact(ctx context.Context, id engine.CampaignID, cid engine.ContactID) (d campaign.ContactDetail,
	err error) {
	view, ok, err := f.Store.ContactView(ctx, id, cid)
	if err == nil && !ok {
		err = engine.NotFound("contact_not_found", "")
	}
	if err != nil {
		return d, err
	}
	for _, list := range [][]attempt.Attempt{view.Attempts, view.CallsBack} {
		for i := range list {
			if a := &list[i]; a.State != attempt.Ended {
				*a = f.Live(ctx, *a)
			}
		}
	}
	c, up, err := f.DetailIfUp(ctx, id)
	if err == nil && !up {
		c.Campaign, err = f.Store.Campaign(ctx, id)
	}
	if err != nil {
		return d, err
	}
	now := f.p.clock.Now()
	facts, err := f.Store.ContactFacts(ctx, &view.Contact, c.Campaign.Order(now))
	if err != nil {
		return d, err
	}
	var cadences []cadence.Named
	if c.Campaign.Settings.Cadence != "" {
		if cadences, err = f.Store.Cadences(ctx); err != nil {
			return d, err
		}
	}
	calendars, err := f.Calendars(ctx)
	if err != nil {
		return d, err
	}
	c.Campaign.Narrow(calendars)
	d.ContactView = view
	d.Explain = campaign.Explain(campaign.Question{Campaign: &c.Campaign, Contact: &view.Contact, Facts: facts,
		Home: number.HomeOf(view.Contact.NextNumber()), Live: c.Live, Now: now,
		Cadence: cadence.Find(cadences, c.Campaign.Settings.Cadence)})
	return d, nil
}

// questionAt is the forecast question that would have been asked of a campaign at a time.
func (f *Front) questionAt(ctx context.Context, c *campaign.Campaign, at time.Time) (q forecast.Question, err error) {
	of := *c
	of.Settings = c.Settings.WithDefaults()
	q.Settings, q.Start, q.Seed = of.Settings, at, 1
	if q.Standing, err = f.Standing(ctx, &of, at); err != nil {
		return q, err
	}
	people, err := f.People(ctx, c.ID, at)
	if err != nil {
		return q, err
	}
	q.Meet(&people)
	bots, err := f.Bots(ctx)
	if err != nil {
		return q, err
	}
	trunks, err := f.Trunks(ctx)
	if err != nil {
		return q, err
	}
	cadences, err := f.Store.Cadences(ctx)
	if err != nil {
		return q, err
	}
	calendars, err := f.Store.Calendars(ctx)
	if err != nil {
		return q, err
	}
	numbers, err := f.Numbers(ctx)
	q.Use(bots, trunks, numbers, cadences, calendars)
	return q, err
}
