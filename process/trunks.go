package process

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/http/telephony"
	"dialler/process/configfile"
	"dialler/sipstack"
)

// setTrunks tells the telephony adapter where the configured trunks are.
func (p *Process) setTrunks(ctx context.Context) error {
	trunks, err := p.store.Trunks(ctx)
	if err != nil {
		return fmt.Errorf("load trunks: %w", err)
	}
	for _, t := range trunks {
		if !t.Active {
			p.sip.RemoveTrunk(t.ID)
			continue
		}
		p.sip.SetTrunk(trunkConfig(t))
	}
	p.lease.sentByChanged(ctx, p.sip.SentBy())
	return nil
}

// inboundStatus is how a call that comes over a trunk is refused; 0 is as ever.
var inboundStatus = map[string]int{"unavailable": 480, "busy": 486, "decline": 603}

func trunkConfig(t engine.TrunkSettings) sipstack.TrunkConfig {
	var extra []sipstack.Header
	for _, h := range t.ExtraHeaders {
		extra = append(extra, sipstack.Header{Name: h.Name, Value: h.Value})
	}
	return sipstack.TrunkConfig{
		ID: t.ID, Host: t.Host, Port: t.Port, Transport: sipstack.Transport(t.Transport), Username: t.Username, Password: t.Password,
		FromDomain: t.FromDomain, FromUser: t.FromUser, CallerIDHeader: sipstack.CallerIDHeader(t.CallerIDHeader), Privacy: t.Privacy,
		NumberFormat: sipstack.NumberFormat(t.NumberFormat), NumberCountry: t.NumberCountry, UserAgent: t.UserAgent,
		Inbound:      inboundStatus[t.Inbound],
		ExtraHeaders: extra, OptionsInterval: time.Duration(t.OptionsSec) * time.Second,
		Kind: t.Kind, RegisterSec: t.RegisterSec, OutboundProxy: t.OutboundProxy, Listener: t.Listener, ExternalHost: t.ExternalHost,
		TLSServerName: t.TLSServerName, TLSRoots: t.TLSRoots, TLSInsecure: t.TLSInsecure,
		ReliableProvisionals: t.ReliableProvisionals, SessionSec: t.SessionSec, Redirects: t.Redirects,
	}
}

// PutTrunk implements http.Trunks: the telephony adapter and the tree hear of
// the change. It takes effect with the next leg; those under way keep what they
// were placed with.
func (f *Front) PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (bool, error) {
	for _, wrong := range []*engine.FieldError{configfile.CheckRoots(t.TLSRoots), f.p.checkListener(t.Listener)} {
		if wrong != nil {
			return false, engine.Invalid("validation_failed", "The body failed validation; see errors.", *wrong)
		}
	}
	created, err := f.Store.PutTrunk(ctx, t, keepSecret, who)
	f.p.doubt(err)
	if err == nil {
		f.configured(ctx)
		err = f.p.setTrunks(ctx)
	}
	if err == nil {
		err = f.tree.TrunksChanged(ctx, t.ID)
	}
	if err == nil {
		f.p.tellHealth(t.ID)
	}
	return created, err
}

// tellHealth repeats to the tree how a trunk stands, which the telephony adapter
// may have told before the tree knew the trunk. It ends with what still holds
// once it was told: the adapter tells every change after that.
func (p *Process) tellHealth(id engine.TrunkID) {
	var told *engine.TrunkHealth
	for {
		var now *engine.TrunkHealth
		for _, h := range p.sip.Health() {
			if h.Trunk == id {
				now = &h
			}
		}
		if now == nil || told != nil && told.Up == now.Up {
			return
		}
		p.tree.TrunkHealth(*now)
		told = now
	}
}

// DeleteTrunk implements http.Trunks: nothing more goes over the trunk; legs
// that are under way go on.
func (f *Front) DeleteTrunk(ctx context.Context, id engine.TrunkID, who engine.Who) error {
	if err := f.Store.DeleteTrunk(ctx, id, who); err != nil {
		f.p.doubt(err)
		return err
	}
	f.configured(ctx)
	f.p.sip.RemoveTrunk(id)
	return f.tree.TrunksChanged(ctx)
}

// TrunkStatuses implements http.Trunks: what the tree grants, with what the
// telephony adapter last heard.
func (f *Front) TrunkStatuses(ctx context.Context) (map[engine.TrunkID]telephony.TrunkStatus, error) {
	owned, err := f.tree.TrunkStatuses(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[engine.TrunkID]telephony.TrunkStatus, len(owned))
	for id, s := range owned {
		out[id] = telephony.TrunkStatus{Status: s}
	}
	for _, h := range f.p.sip.Health() {
		if s, ok := out[h.Trunk]; ok {
			s.CheckedAt = &h.At
			if s.Reason == "" {
				s.Reason = h.Reason
			}
			out[h.Trunk] = s
		}
	}
	for _, r := range f.p.sip.Registrations() {
		if s, ok := out[r.Trunk]; ok && r.Registered {
			s.RegisteredUntil = &r.Until
			out[r.Trunk] = s
		}
	}
	return out, nil
}

// checkListener says what is wrong with the name of a SIP listener.
func (p *Process) checkListener(name string) *engine.FieldError {
	if name == "" || slices.Contains(p.listeners, name) {
		return nil
	}
	return &engine.FieldError{Field: "listener", Code: "unknown_listener",
		Message: "must be one of the SIP listeners: " + strings.Join(p.listeners, ", ") + "; more can be set as sip-listeners in the configuration file"}
}
