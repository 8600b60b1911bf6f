package process

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/ownership"
	"dialler/engine/webhook"
	"dialler/http/access"
)

// While a cluster is upgraded, a node of the release before may act for any campaign. It calls without regard to
// what it does not know, and drops it when it writes a campaign's row. So what only this release knows is accepted
// once every node is of it (docs/upgrade.md).

// upgraded returns Unavailable "node_version" while a live node is of the release before, or has not yet been heard.
func (f *Front) upgraded(ctx context.Context) error {
	if f.p.several == nil {
		return nil
	}
	nodes, err := f.p.several.owners.Nodes(ctx)
	if err != nil {
		return err
	}
	return f.speak(nodes)
}

// upgradedLately is upgraded for requests that come by the hundred: they share what was read of the nodes within the
// last second. The connections that read it are those that renew this node's lease.
func (f *Front) upgradedLately(ctx context.Context) error {
	if f.p.several == nil {
		return nil
	}
	nodes, err := f.p.several.lately.get(ctx, f.p.clock.Boot, f.p.several.owners.Nodes)
	if err != nil {
		return err
	}
	return f.speak(nodes)
}

// speak holds nodes against this program's version.
func (f *Front) speak(nodes []ownership.Node) error {
	for i := range nodes {
		n := &nodes[i]
		if f.p.several.node.Was(n.Incarnation) || !n.Live {
			continue
		}
		if l := f.p.links.To(n.Incarnation); l == nil || !l.Speaks(link.Version) {
			return engine.Unavailable("node_version", "Finish the upgrade first: node "+n.Name+" is of the release before, "+
				"or has not said yet of which it is.", 5*time.Second)
		}
	}
	return nil
}

// lateFor is how long a reading of the nodes serves upgradedLately.
const lateFor = time.Second

// lately is a reading that those share who ask for it within lateFor. Its zero value is ready.
type lately[T any] struct {
	once    sync.Once
	reading chan struct{} // holds whoever reads
	last    atomic.Pointer[reading[T]]
}

type reading[T any] struct {
	of T
	at engine.BootTime
}

// get reads, unless somebody did a moment ago: one at a time, and the others wait for it.
func (l *lately[T]) get(ctx context.Context, now func() engine.BootTime,
	read func(context.Context) (T, error)) (T, error) {
	fresh := func() *reading[T] {
		if r := l.last.Load(); r != nil && time.Duration(now()-r.at) < lateFor {
			return r
		}
		return nil
	}
	if r := fresh(); r != nil {
		return r.of, nil
	}
	l.once.Do(func() { l.reading = make(chan struct{}, 1) })
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-ctx.Done(): // reading says so in the words of the store
		return read(ctx)
	}
	if r := fresh(); r != nil {
		return r.of, nil
	}
	r := &reading[T]{at: now()}
	var err error
	if r.of, err = read(ctx); err == nil {
		l.last.Store(r)
	}
	return r.of, err
}

// kept refuses settings of a campaign that a node of the release before would drop.
func (f *Front) kept(ctx context.Context, s *campaign.Settings) error {
	if len(s.Calendars) == 0 && s.CallbackPolicy == "" && !s.BestHour {
		return nil
	}
	return f.upgraded(ctx)
}

// numbered refuses contacts with further numbers that a node of the release before would drop.
func (f *Front) numbered(ctx context.Context, list []campaign.NewContact) error {
	if !slices.ContainsFunc(list, func(c campaign.NewContact) bool { return c.Alternates != "" }) {
		return nil
	}
	return f.upgradedLately(ctx)
}

// Import implements http.Imports. A node of the release before finds encoding and delimiter by itself.
func (f *Front) Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	if cmd.Encoding != "" || cmd.Delimiter != "" {
		if err := f.upgraded(ctx); err != nil {
			return campaign.Import{}, err
		}
	}
	return f.commands.Import(ctx, cmd, file)
}

// scoped refuses scopes of a key that a node of the release before would not accept.
func (f *Front) scoped(ctx context.Context, scopes []string) error {
	if !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(access.FirstScopes, s) }) {
		return nil
	}
	return f.upgraded(ctx)
}

// named refuses types of messages by name that a node of the release before would not send.
func (f *Front) named(ctx context.Context, types []string) error {
	usual := webhook.Usual()
	if !slices.ContainsFunc(types, func(t string) bool { return !slices.Contains(usual, t) }) {
		return nil
	}
	return f.upgraded(ctx)
}

// CreateWebhook implements http.Webhooks.
func (f *Front) CreateWebhook(ctx context.Context, e webhook.Endpoint, secret string, who engine.Who) error {
	if err := f.named(ctx, e.Types); err != nil {
		return err
	}
	return f.Endpoints.CreateWebhook(ctx, e, secret, who)
}

// ChangeWebhook implements http.Webhooks.
func (f *Front) ChangeWebhook(ctx context.Context, id webhook.EndpointID, change func(*webhook.Endpoint),
	who engine.Who) (webhook.Endpoint, error) {
	var changed webhook.Endpoint
	change(&changed)
	if err := f.named(ctx, changed.Types); err != nil {
		return webhook.Endpoint{}, err
	}
	return f.Endpoints.ChangeWebhook(ctx, id, change, who)
}

// Act implements http.Campaigns.
func (f *Front) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	if cmd.Settings != nil {
		if err := f.kept(ctx, cmd.Settings); err != nil {
			return campaign.Detail{}, err
		}
	}
	return f.commands.Act(ctx, cmd)
}

// AddContacts implements http.Campaigns.
func (f *Front) AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	if err := f.numbered(ctx, cmd.Contacts); err != nil {
		return campaign.AddReport{}, err
	}
	return f.commands.AddContacts(ctx, cmd)
}

// UndoImport implements http.Imports. A node of the release before would not know what is asked of it.
func (f *Front) UndoImport(ctx context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error) {
	if err := f.upgraded(ctx); err != nil {
		return campaign.ImportUndo{}, err
	}
	return f.commands.UndoImport(ctx, cmd)
}

// AddBatch implements http.Campaigns.
func (f *Front) AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error) {
	if err := f.numbered(ctx, cmd.Contacts); err != nil {
		return campaign.BatchReply{}, err
	}
	return f.commands.AddBatch(ctx, cmd)
}

// allowed finds the webhook on whose behalf the address of a request is told of its calls. A node of the release
// before would tell nobody.
func (f *Front) allowed(ctx context.Context, s *campaign.StatusCallback, c engine.CampaignID) error {
	if s == nil {
		return nil
	}
	if err := f.upgradedLately(ctx); err != nil || s.URL == "" {
		return err
	}
	e, paused, err := f.Endpoints.Covering(ctx, s.URL, c)
	switch {
	case err != nil:
		return err
	case e != nil:
		s.Endpoint = string(e.ID)
		return nil
	case paused: // it may be active again before the request is repeated: a 4xx would be kept for its key
		return engine.Unavailable("webhook_inactive", "The webhook that permits the address in status_callback is inactive. "+
			"Leave status_callback out, or try again once an administrator has made the webhook active.", time.Minute)
	}
	return engine.Invalid("validation_failed", "The body failed validation; see errors.", engine.FieldError{
		Field: "status_callback", Code: "not_allowed", Message: "no active webhook allows it: an administrator makes one " +
			`whose types contain "status_callback" and with whose URL the address begins: that of ` +
			"https://crm.example.org/calls allows https://crm.example.org/calls/4711"})
}

// Dialout implements http.Calls.
func (f *Front) Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error) {
	if err := f.allowed(ctx, cmd.Status, ""); err != nil {
		return campaign.DialoutReply{}, err
	}
	return f.commands.Dialout(ctx, cmd)
}

// Trigger implements http.Campaigns.
func (f *Front) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	if err := f.allowed(ctx, cmd.Status, cmd.Campaign); err != nil {
		return campaign.TriggerReply{}, err
	}
	if cmd.Alternates != "" {
		if err := f.upgradedLately(ctx); err != nil {
			return campaign.TriggerReply{}, err
		}
	}
	return f.commands.Trigger(ctx, cmd)
}
