package campaigns

import (
	nethttp "net/http"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/http/memory"
	"dialler/http/telephony"
	"dialler/http/wire"
)

// Campaigns (SEMANTICS §2): create, show, delete, and the operator's lifecycle commands. Their
// rules are behind the port; this is only the HTTP layer.

// API serves campaigns and what belongs to one: runs, charts, capacity, history, simulations.
type API struct {
	*wire.Host
	Ports
	limits Limits

	charts   *memory.Memory[chartKey, []byte]
	numbers  *memory.Memory[struct{}, numbers]
	counting wire.Places // charts
	Running  UnderWay
	told     toldSides
}

// Ports are what the API needs from the rest of the dialler.
type Ports struct {
	Campaigns   Campaigns
	Activity    Activity
	Charts      Charts
	Simulations Simulations
	Hours       Hours
	Bots        Bots
	Cadences    Cadences
	Calendars   Calendars
	Trunks      Trunks
	Numbers     Numbers
	Messages    telephony.Messages
}

// Limits bound simulations.
type Limits struct {
	SimulationTime time.Duration // limit of one simulation
	Patience       time.Duration // with a reader
}

// New makes the API.
func New(h *wire.Host, p Ports, l Limits) *API {
	s := &API{Host: h, Ports: p, limits: l, counting: wire.NewPlaces(chartsCap)}
	s.charts = memory.New(chartTTL, chartsKept, h.Now, s.loadChart)
	s.numbers = memory.New(numbersTTL, 1, h.Now, s.loadNumbers)
	return s
}

// CampaignView is a campaign as the API shows it.
type CampaignView struct {
	ID       engine.CampaignID `json:"campaign_id"`
	Status   campaign.State    `json:"status"`
	Settings settingsView      `json:"settings"`
	Version  int64             `json:"version"`
	Run      int               `json:"run"` // the original run is 1
	EverRun  bool              `json:"ever_run"`
	Prepared bool              `json:"prepared_restart"`
	Notice   *preparedView     `json:"prepared"` // null unless a restart is prepared
	Draining bool              `json:"draining"`

	CompletionReason campaign.CompletionReason `json:"completion_reason,omitempty"`
	FailureReason    string                    `json:"failure_reason,omitempty"`
	// External is what the Config URL set for the run; read-only.
	External *campaign.External `json:"external_config"`

	CreatedAt    time.Time   `json:"created_at"`
	CreatedBy    engine.Who  `json:"created_by"`
	StartedAt    *time.Time  `json:"started_at"` // of the current run
	RestartedAt  *time.Time  `json:"restarted_at"`
	RestartedBy  *engine.Who `json:"restarted_by"`
	CompletedAt  *time.Time  `json:"completed_at"`
	WindowEndsAt *time.Time  `json:"window_ends_at"`

	Counters campaign.Counters `json:"counters"`
	Passes   []campaign.Pass   `json:"passes"`
	// Callbacks is null while callback detection is off.
	Callbacks *campaign.Callbacks `json:"callbacks"`
	// Totals is null until the run has ended.
	Totals *campaign.Totals `json:"totals"`
	Live   *campaign.Live   `json:"live"` // null while nothing is dialled
}

// preparedView is the notice of a prepared restart (spec: "names the run number,
// who restarted and when").
type preparedView struct {
	Run           int         `json:"run"`
	At            *time.Time  `json:"at"`
	By            *engine.Who `json:"by"`
	OnlyUnreached bool        `json:"only_unreached"`
}

func viewPrepared(c *campaign.Campaign) *preparedView {
	if !c.Prepared {
		return nil
	}
	return &preparedView{Run: c.Run, At: c.RestartedAt, By: c.RestartedBy, OnlyUnreached: c.Previous != nil &&
		c.Previous.Unreached}
}

// Listed shows a campaign as in lists: without what it dials with, which is mostly shared and
// changes every second.
func Listed(d *campaign.Detail) CampaignView {
	v := View(d)
	if v.Live != nil {
		v.Live.Resources = []campaign.Resource{}
	}
	return v
}

// View shows a campaign as the API does.
func View(d *campaign.Detail) CampaignView {
	c := &d.Campaign
	v := CampaignView{
		ID: c.ID, Status: c.State, Settings: viewSettings(&c.Settings), Version: c.Version, Run: c.Run,
		EverRun: c.EverRun, Prepared: c.Prepared, Notice: viewPrepared(c), Draining: d.Draining,
		CompletionReason: c.CompletionReason, FailureReason: c.FailureReason, External: c.External,
		CreatedAt: c.CreatedAt, CreatedBy: c.CreatedBy, StartedAt: c.StartedAt, RestartedAt: c.RestartedAt,
		RestartedBy: c.RestartedBy, CompletedAt: c.CompletedAt, WindowEndsAt: c.WindowEndsAt,
		Counters: viewCounters(d.Counters), Passes: d.Counters.Passes, Live: d.Live,
	}
	v.Totals = campaign.TotalsOf(c, &d.Counters)
	if v.Passes == nil {
		v.Passes = []campaign.Pass{}
	}
	if l := d.Live; l != nil {
		live := *l
		if live.Ledgers == nil {
			live.Ledgers = []campaign.LedgerView{}
		}
		if live.Resources == nil {
			live.Resources = []campaign.Resource{}
		}
		if live.Indicator == "" {
			live.Indicator = campaign.IndicatorNone
		}
		v.Live = &live
	}
	if c.Settings.CallbackDetection {
		v.Callbacks = &d.Counters.Callbacks
	}
	return v
}

type campaignList struct {
	Campaigns []CampaignView `json:"campaigns"`
	Page      int            `json:"page"`
	PageSize  int            `json:"page_size"`
	Total     int            `json:"total"`
}

func (s *API) List(r *wire.Request) error {
	number, size, filter, err := r.Page(wire.Names(campaign.States))
	if err != nil {
		return err
	}
	list, total, err := s.Campaigns.List(r.Ctx(), campaign.Page{Number: number, Size: size, Filter: filter,
		Only: campaign.OnlyOf(r.OnlyCampaigns())})
	if err != nil {
		return err
	}
	out := campaignList{Campaigns: make([]CampaignView, len(list)), Page: number, PageSize: size, Total: total}
	hides := HidesSecrets(r)
	for i := range list {
		if hides {
			list[i].Campaign.Settings = list[i].Campaign.Settings.Masked()
		}
		out.Campaigns[i] = Listed(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *API) Create(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	settings := readSettings(f)
	f.Done()
	// One response lists every error: those of the JSON and those of the rules.
	f.Errs.Merge(settings.Validate())
	if err := s.checkNamed(r.Ctx(), &settings, f.Errs); err != nil {
		return err
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	d, err := s.Campaigns.Create(r.Ctx(), campaign.Create{Settings: settings, Who: r.Who()})
	if err != nil {
		return err
	}
	r.HTTP.Response.Header.Set("Location", "/api/v1/campaigns/"+string(d.Campaign.ID))
	return r.Reply(nethttp.StatusCreated, View(&d))
}

// detailOf gives the campaign of the path.
func (s *API) detailOf(r *wire.Request) (campaign.Detail, error) {
	id, err := r.CampaignOf()
	if err != nil {
		return campaign.Detail{}, err
	}
	d, err := s.Campaigns.Detail(r.Ctx(), id)
	if HidesSecrets(r) {
		d.Campaign.Settings = d.Campaign.Settings.Masked()
	}
	return d, err
}

// HidesSecrets says that whoever asks, a viewer or a key that may not change campaigns, does not see what may be
// secret in the addresses of settings.
func HidesSecrets(r *wire.Request) bool {
	if r.Key != nil {
		return !wire.InScope(r.Key, wire.ScopeCampaigns)
	}
	return r.MayAs(wire.RoleOperator) != nil
}

func (s *API) Show(r *wire.Request) error {
	d, err := s.detailOf(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, View(&d))
}

// ShowPreflight makes the checks of Start, without starting.
func (s *API) ShowPreflight(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	ready, err := s.Campaigns.Preflight(r.Ctx(), id)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, ready)
}

// Act carries out one lifecycle command. Spec: "One per start, pause, resume
// and stop action: the action, the user who did it"; so users only, no keys.
func (s *API) Act(action campaign.Action) wire.Handler {
	return func(r *wire.Request) error {
		id, err := r.CampaignOf()
		if err != nil {
			return err
		}
		cmd := campaign.Act{Campaign: id, Action: action, Who: r.Who()}
		if err := actOptions(r, &cmd); err != nil {
			return err
		}
		d, err := s.Campaigns.Act(r.Ctx(), cmd)
		if err != nil {
			return err
		}
		return r.Reply(nethttp.StatusOK, View(&d))
	}
}

// actOptions reads the body of a lifecycle command, which may be empty: an unknown option must not
// be dropped silently.
func actOptions(r *wire.Request, cmd *campaign.Act) error {
	if len(r.HTTP.PostBody()) == 0 {
		return nil
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	if cmd.Action == campaign.ActionRestart {
		cmd.Unreached = f.Flag("only_unreached", false)
	}
	f.Done()
	return f.Errs.Err()
}

func (s *API) Delete(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	if _, err := s.Campaigns.Act(r.Ctx(), campaign.Act{Campaign: id, Action: campaign.ActionDelete,
		Who: r.Who()}); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

type runList struct {
	Runs     []campaign.RunRecord `json:"runs"`
	Page     int                  `json:"page"`
	PageSize int                  `json:"page_size"`
	Total    int                  `json:"total"`
}

// viewCounters renames the states for display.
func viewCounters(c campaign.Counters) campaign.Counters {
	states := make(map[contact.State]int, len(c.States))
	for s, n := range c.States {
		states[contact.State(s.Shown())] += n
	}
	c.States = states
	return c
}

// ListRuns lists a campaign's runs.
func (s *API) ListRuns(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	number, size, _, err := r.Page(nil)
	if err != nil {
		return err
	}
	list, total, err := s.Campaigns.Runs(r.Ctx(), id, campaign.Page{Number: number, Size: size})
	if err != nil {
		return err
	}
	for i := range list {
		list[i].Counters = viewCounters(list[i].Counters)
	}
	return r.Reply(
		nethttp.StatusOK,
		runList{Runs: append([]campaign.RunRecord{}, list...), Page: number, PageSize: size,
			Total: total},
	)
}
