package http

import (
	nethttp "net/http"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/trunk"
)

// Trunks: carrier connections. The password is write-only.

type trunkView struct {
	engine.TrunkSettings
	Origin      string       `json:"origin"`
	HasPassword bool         `json:"has_password"`
	Status      *trunkStatus `json:"status,omitempty"`
}

// trunkStatus is how a trunk stands at this moment. The rate is in calls a
// second; RetryAt is nil when it depends on others.
type trunkStatus struct {
	Health          string     `json:"health"`
	Reason          string     `json:"reason,omitempty"`
	CheckedAt       *time.Time `json:"checked_at"`
	RegisteredUntil *time.Time `json:"registered_until"`
	CallsPerSecond  float64    `json:"calls_per_second"`
	CPSShare        float64    `json:"cps_share"`
	Placed          float64    `json:"placed_per_second"`
	LiveLegs        int        `json:"live_legs"`
	RetryAt         *time.Time `json:"retry_at"`
}

type trunkList struct {
	Trunks []trunkView `json:"trunks"`
	Total  int         `json:"total"`
}

var errNoTrunk = engine.NotFound("trunk_not_found", "no trunk has this identifier")

func viewTrunk(t engine.TrunkSettings) trunkView {
	trunk.Complete(&t) // stored by a version that knew no kinds
	v := trunkView{TrunkSettings: t, HasPassword: t.Password != "", Origin: t.Origin}
	if v.Origin == "" {
		v.Origin = engine.TrunkOfAPI
	}
	return v
}

func viewTrunkStatus(s TrunkStatus) *trunkStatus {
	return &trunkStatus{
		Health: string(s.Health), Reason: s.Reason, CheckedAt: s.CheckedAt, RegisteredUntil: s.RegisteredUntil,
		CallsPerSecond: s.Rate, CPSShare: s.Share, Placed: s.Placed, LiveLegs: s.Legs, RetryAt: s.RetryAt,
	}
}

// trunkViews gives the trunks with their status.
func (s *Server) trunkViews(r *request) ([]trunkView, error) {
	trunks, err := s.Trunks.Trunks(r.ctx())
	if err != nil {
		return nil, err
	}
	statuses, err := s.Trunks.TrunkStatuses(r.ctx())
	if err != nil {
		return nil, err
	}
	out := make([]trunkView, len(trunks))
	for i := range trunks {
		out[i] = viewTrunk(trunks[i])
		if status, ok := statuses[trunks[i].ID]; ok {
			out[i].Status = viewTrunkStatus(status)
		}
	}
	return out, nil
}

func (s *Server) listTrunks(r *request) error {
	views, err := s.trunkViews(r)
	if err != nil {
		return err
	}
	return r.reply(nethttp.StatusOK, trunkList{Trunks: views, Total: len(views)})
}

func (s *Server) showTrunk(r *request) error {
	views, err := s.trunkViews(r)
	if err != nil {
		return err
	}
	for i := range views {
		if string(views[i].ID) == r.param("trunk_id") {
			return r.reply(nethttp.StatusOK, views[i])
		}
	}
	return errNoTrunk
}

// deleteTrunk: calls that are under way go on.
func (s *Server) deleteTrunk(r *request) error {
	id := engine.TrunkID(r.param("trunk_id"))
	old, found, err := s.storedTrunk(r, id)
	switch {
	case err != nil:
		return err
	case !found:
		return errNoTrunk
	case old.Origin == engine.TrunkOfFile:
		return engine.Conflict("trunk_of_file", "this trunk stands in the configuration file and would be back at the next start; "+
			"take it out there and restart the dialler or send it SIGHUP, then delete it; or make it inactive")
	}
	if err := s.Trunks.DeleteTrunk(r.ctx(), id, r.who()); err != nil {
		return err
	}
	r.send(nethttp.StatusNoContent, "", nil)
	return nil
}

func (s *Server) storedTrunk(r *request, id engine.TrunkID) (t engine.TrunkSettings, found bool, err error) {
	trunks, err := s.Trunks.Trunks(r.ctx())
	for i := range trunks {
		if trunks[i].ID == id {
			return trunks[i], true, err
		}
	}
	return t, false, err
}

func (s *Server) putTrunk(r *request) error {
	f, err := r.body()
	if err != nil {
		return err
	}
	t := readTrunk(f)
	t.ID = engine.TrunkID(f.pathID(r, "trunk_id"))
	keep := !f.sent("password")
	f.done()
	trunk.Complete(&t)
	wrong := slices.DeleteFunc(trunk.Validate(&t), func(e engine.FieldError) bool { return e.Field == "id" }) // said already
	if len(wrong) > 0 {
		mergeErrors(f.errs, engine.Invalid("validation_failed", "", wrong...))
	}
	if err := f.errs.err(); err != nil {
		return err
	}
	old, _, err := s.storedTrunk(r, t.ID)
	if err != nil {
		return err
	}
	t.Origin = old.Origin // a trunk of the file stays one: the next start says again what it is
	created, err := s.Trunks.PutTrunk(r.ctx(), t, keep, r.who())
	if err != nil {
		return err
	}
	if keep {
		t.Password = old.Password
	}
	return r.reply(putStatus(created), viewTrunk(t))
}

// readTrunk takes what was sent and the default of what was not; what the
// values may be is for engine/trunk to say.
func readTrunk(f form) engine.TrunkSettings {
	t := trunk.Defaults()
	t.Host = f.text("host", required, trunk.HostCap)
	t.Port = f.whole("port", t.Port)
	t.Transport = f.term("transport", t.Transport)
	t.Kind = engine.TrunkKind(f.term("kind", ""))
	t.Username = f.text("username", optional, trunk.SecretCap)
	t.Password = f.text("password", optional, trunk.SecretCap)
	t.FromDomain = f.text("from_domain", optional, trunk.HostCap)
	t.FromUser = f.text("from_user", optional, trunk.SecretCap)
	t.CallerIDHeader = f.term("caller_id_header", "")
	t.Privacy = f.word("privacy", "")
	t.NumberFormat = f.term("number_format", t.NumberFormat)
	t.NumberCountry = f.word("number_country", "")
	t.OutboundProxy = f.text("outbound_proxy", optional, trunk.HostCap+6)
	t.Listener = f.word("listener", "")
	t.ExternalHost = f.text("external_host", optional, trunk.HostCap)
	t.TLSServerName = f.text("tls_server_name", optional, trunk.HostCap)
	t.TLSRoots = f.text("tls_roots", optional, trunk.RootsCap)
	t.TLSInsecure = f.flag("tls_insecure", false)
	t.RegisterSec = f.whole("register_s", 0)
	t.UserAgent = f.text("user_agent", optional, trunk.SecretCap)
	t.ExtraHeaders = f.headers("extra_headers", trunk.HeaderCountCap)
	t.Redirects = f.whole("redirects", 0)
	t.ReliableProvisionals = f.term("reliable_provisionals", "")
	t.SessionSec = f.whole("session_s", 0)
	t.Inbound = f.term("inbound", "")
	if m, ok := f.object("media"); ok {
		t.Media = engine.MediaProfile{
			Codecs: m.words("codecs", 3), SRTP: m.term("srtp", ""), DTMF: m.term("dtmf", ""), DTX: m.flag("dtx", false),
			Symmetric: m.term("symmetric", ""), Networks: m.words("networks", trunk.NetworksCap),
		}
		m.done()
	}
	t.CPSCap = f.whole("cps_cap", t.CPSCap)
	t.ChannelCap = f.whole("channel_cap", t.ChannelCap)
	t.Priority = f.whole("priority", t.Priority)
	t.Weight = f.whole("weight", t.Weight)
	t.OptionsSec = f.whole("options_s", t.OptionsSec)
	t.Active = f.flag("active", t.Active)
	return t
}

// word reads one of a few values; def when it was not sent.
func (f form) word(field, def string) string {
	if !f.has(field) {
		return def
	}
	return f.text(field, optional, 64)
}

// term is a word of a set that has no empty one.
func (f form) term(field, def string) string {
	got := f.word(field, def)
	if got == "" && f.has(field) {
		f.fail(field, "unknown_value", "must not be empty; leave it out for the default")
	}
	return got
}

// headers reads a list of objects with name and value.
func (f form) headers(field string, limit int) []engine.SIPHeader {
	v := f.list(field, limit)
	if v == nil {
		return nil
	}
	var out []engine.SIPHeader
	for i := range v.items {
		at := field + "[" + strconv.Itoa(i) + "]"
		if v.items[i].kind != jsonObject {
			f.wrongType(at, jsonObject, v.items[i].kind)
			out = append(out, engine.SIPHeader{}) // keeps the places of the others
			continue
		}
		item := form{v: &v.items[i], path: f.name(at), errs: f.errs}
		out = append(out, engine.SIPHeader{Name: item.text("name", required, trunk.HeaderNameCap), Value: item.text("value", required, trunk.HeaderValueCap)})
		item.done()
	}
	return out
}
