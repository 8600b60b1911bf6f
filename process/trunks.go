package process

import (
	"context"
	"fmt"
	"time"

	"dialler/engine"
	"dialler/http/telephony"
	"dialler/process/configfile"
	"dialler/sipstack"
)

// setTrunks configures the trunks in the telephony adapter.
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
		if e := configfile.CheckFamily(t.Media.Family, p.families); e != nil { // stored when there was one
			p.log.Warn().Str("trunk", string(t.ID)).Str("field", e.Field).Msg(e.Message)
		}
		p.sip.SetTrunk(trunkConfig(t))
	}
	p.lease.sentByChanged(ctx, p.sip.SentBy())
	return nil
}

// inboundStatus is how an inbound call over a trunk is refused; 0 is the default behaviour.
var inboundStatus = map[string]int{"unavailable": 480, "busy": 486, "decline": 603}

// optionsInterval is negative for a trunk that is not asked.
func optionsInterval(sec int) time.Duration {
	if sec == 0 {
		return -1
	}
	return time.Duration(sec) * time.Second
}

func trunkConfig(t engine.TrunkSettings) sipstack.TrunkConfig {
	var extra []sipstack.Header
	for _, h := range t.ExtraHeaders {
		extra = append(extra, sipstack.Header{Name: h.Name, Value: h.Value})
	}
	return sipstack.TrunkConfig{
		ID: t.ID, Host: t.Host, Port: t.Port, Transport: sipstack.Transport(
			t.Transport), Username: t.Username, Password: t.Password,
		FromDomain: t.FromDomain, FromUser: t.FromUser, CallerIDHeader: sipstack.CallerIDHeader(t.CallerIDHeader),
		Privacy:      t.Privacy,
		NumberFormat: sipstack.NumberFormat(t.NumberFormat), NumberCountry: t.NumberCountry, UserAgent: t.UserAgent,
		Inbound:      inboundStatus[t.Inbound],
		ExtraHeaders: extra, OptionsInterval: optionsInterval(t.OptionsSec), DTX: t.Media.DTX,
		Kind: t.Kind, RegisterSec: t.RegisterSec, OutboundProxy: t.OutboundProxy, Listener: t.Listener,
		ExternalHost:  t.ExternalHost,
		TLSServerName: t.TLSServerName, TLSRoots: t.TLSRoots, TLSInsecure: t.TLSInsecure,
		TLSCertificate: t.TLSCertificate, TLSKey: t.TLSKey,
		ReliableProvisionals: t.ReliableProvisionals, SessionSec: t.SessionSec, Redirects: t.Redirects,
	}
}

// PutTrunk implements http.Trunks: it tells the telephony adapter and the tree of the change, which
// takes effect with the next leg; legs in progress keep their configuration.
func (f *Front) PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (bool, error) {
	for _, wrong := range append(configfile.CheckTLS(&t), configfile.CheckListener(t.Listener, f.p.listeners),
		configfile.CheckFamily(t.Media.Family, f.p.families)) {
		if wrong != nil {
			return false, engine.Invalid("validation_failed", "The body failed validation; see errors.", *wrong)
		}
	}
	created, err := f.Store.PutTrunk(ctx, t, keepSecret, who)
	f.p.doubt(err)
	if err == nil {
		f.configured(ctx, t.ID)
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

// tellHealth repeats a trunk's health to the tree, because the telephony adapter may have reported
// it before the tree knew the trunk. It repeats until the state it reported is still current; after
// that the adapter reports every change.
func (p *Process) tellHealth(id engine.TrunkID) {
	var told *engine.TrunkHealth
	for {
		var now *engine.TrunkHealth
		for _, h := range p.sip.Health() {
			if h.Trunk == id {
				now = &h
			}
		}
		if now == nil || told != nil && told.Life == now.Life {
			return
		}
		p.tree.TrunkHealth(*now)
		told = now
	}
}

// DeleteTrunk implements http.Trunks: no new legs use the trunk; legs in progress go on.
func (f *Front) DeleteTrunk(ctx context.Context, id engine.TrunkID, who engine.Who) error {
	if err := f.Store.DeleteTrunk(ctx, id, who); err != nil {
		f.p.doubt(err)
		return err
	}
	f.configured(ctx, "")
	f.p.sip.RemoveTrunk(id)
	return f.tree.TrunksChanged(ctx)
}

// TrunkStatuses implements http.Trunks: what the tree grants, and the telephony adapter's latest
// state.
func (f *Front) TrunkStatuses(ctx context.Context) (map[engine.TrunkID]telephony.TrunkStatus, error) {
	owned, err := f.tree.TrunkStatuses(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[engine.TrunkID]telephony.TrunkStatus, len(owned))
	for id, s := range owned {
		out[id] = telephony.TrunkStatus{Status: s, Elsewhere: f.p.origins.of(id)}
	}
	for _, h := range f.p.sip.Health() {
		if s, ok := out[h.Trunk]; ok {
			if !h.At.IsZero() {
				s.CheckedAt = &h.At
			}
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
