package telephony

import (
	nethttp "net/http"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/trunk"
	"dialler/http/form"
	"dialler/http/wire"
)

// Trunks: carrier connections. The password and the key of the certificate are write-only.

type trunkView struct {
	engine.TrunkSettings
	Origin      string       `json:"origin"`
	HasPassword bool         `json:"has_password"`
	HasTLSKey   bool         `json:"has_tls_key"`
	Status      *trunkStatus `json:"status,omitempty"`
}

// trunkStatus is the current status of a trunk. The rate is in calls a second; RetryAt is nil if it
// depends on others.
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
	// Elsewhere is absent while calls send from where their SDP says.
	Elsewhere *RTPElsewhere `json:"rtp_elsewhere,omitempty"`
}

type trunkList struct {
	Trunks []trunkView `json:"trunks"`
	Total  int         `json:"total"`
}

var errNoTrunk = engine.NotFound("trunk_not_found", "")

func viewTrunk(t engine.TrunkSettings) trunkView {
	trunk.Complete(&t) // stored by a version without kinds
	v := trunkView{TrunkSettings: t, HasPassword: t.Password != "", HasTLSKey: t.TLSKey != "", Origin: t.Origin}
	if v.Origin == "" {
		v.Origin = engine.TrunkOfAPI
	}
	return v
}

func viewTrunkStatus(s TrunkStatus) *trunkStatus {
	return &trunkStatus{
		Health: string(s.Health), Reason: s.Reason, CheckedAt: s.CheckedAt, RegisteredUntil: s.RegisteredUntil,
		CallsPerSecond: s.Rate, CPSShare: s.Share, Placed: s.Placed, LiveLegs: s.Legs, RetryAt: s.RetryAt,
		Elsewhere: s.Elsewhere,
	}
}

// trunkViews gives the trunks with their status.
func (s *API) trunkViews(r *wire.Request) ([]trunkView, error) {
	trunks, err := s.Trunks.Trunks(r.Ctx())
	if err != nil {
		return nil, err
	}
	statuses, err := s.Trunks.TrunkStatuses(r.Ctx())
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

func (s *API) ListTrunks(r *wire.Request) error {
	views, err := s.trunkViews(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, trunkList{Trunks: views, Total: len(views)})
}

func (s *API) ShowTrunk(r *wire.Request) error {
	views, err := s.trunkViews(r)
	if err != nil {
		return err
	}
	for i := range views {
		if string(views[i].ID) == r.Param("trunk_id") {
			return r.Reply(nethttp.StatusOK, views[i])
		}
	}
	return errNoTrunk
}

// DeleteTrunk deletes a trunk; calls in progress go on.
func (s *API) DeleteTrunk(r *wire.Request) error {
	id := engine.TrunkID(r.Param("trunk_id"))
	old, found, err := s.storedTrunk(r, id)
	switch {
	case err != nil:
		return err
	case !found:
		return errNoTrunk
	case old.Origin == engine.TrunkOfFile:
		return engine.Conflict(
			"trunk_of_file",
			"this trunk comes from the configuration file and would be back at the next start; remove it there and restart "+
				"the dialler or send it SIGHUP, then delete it; or make it inactive",
		)
	}
	if err := s.Trunks.DeleteTrunk(r.Ctx(), id, r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

func (s *API) storedTrunk(r *wire.Request, id engine.TrunkID) (t engine.TrunkSettings, found bool, err error) {
	trunks, err := s.Trunks.Trunks(r.Ctx())
	for i := range trunks {
		if trunks[i].ID == id {
			return trunks[i], true, err
		}
	}
	return t, false, err
}

func (s *API) PutTrunk(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	t := readTrunk(f)
	t.ID = engine.TrunkID(wire.PathID(f, r, "trunk_id"))
	keep, keepKey := !f.Sent("password"), !f.Sent("tls_key") && t.TLSCertificate != ""
	f.Done()
	old, _, err := s.storedTrunk(r, t.ID)
	if err != nil {
		return err
	}
	if keepKey {
		t.TLSKey = old.TLSKey
	}
	trunk.Complete(&t)
	// said already
	wrong := slices.DeleteFunc(trunk.Validate(&t), func(e engine.FieldError) bool { return e.Field == "id" })
	if len(wrong) > 0 {
		f.Errs.Merge(engine.Invalid("validation_failed", "", wrong...))
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	t.Origin = old.Origin // stays a trunk of the file, which the next start reads again
	created, err := s.Trunks.PutTrunk(r.Ctx(), t, keep, r.Who())
	if err != nil {
		return err
	}
	if keep {
		t.Password = old.Password
	}
	return r.Reply(wire.PutStatus(created), viewTrunk(t))
}

// readTrunk reads what was sent, and takes the default for the rest; engine/trunk validates the
// values.
func readTrunk(f form.Form) engine.TrunkSettings {
	t := trunk.Defaults()
	t.Host = f.Text("host", form.Required, trunk.HostCap)
	t.Port = f.Whole("port", t.Port)
	t.Transport = f.Term("transport", t.Transport)
	t.Kind = engine.TrunkKind(f.Term("kind", ""))
	t.Username = f.Text("username", form.Optional, trunk.SecretCap)
	t.Password = f.Text("password", form.Optional, trunk.SecretCap)
	t.FromDomain = f.Text("from_domain", form.Optional, trunk.HostCap)
	t.FromUser = f.Text("from_user", form.Optional, trunk.SecretCap)
	t.CallerIDHeader = f.Term("caller_id_header", "")
	t.Privacy = f.Word("privacy", "")
	t.NumberFormat = f.Term("number_format", t.NumberFormat)
	t.NumberCountry = f.Word("number_country", "")
	t.OutboundProxy = f.Text("outbound_proxy", form.Optional, trunk.HostCap+6)
	t.Listener = f.Word("listener", "")
	t.ExternalHost = f.Text("external_host", form.Optional, trunk.HostCap)
	t.TLSServerName = f.Text("tls_server_name", form.Optional, trunk.HostCap)
	t.TLSRoots = f.Text("tls_roots", form.Optional, trunk.RootsCap)
	t.TLSInsecure = f.Flag("tls_insecure", false)
	t.TLSCertificate = f.Text("tls_certificate", form.Optional, trunk.RootsCap)
	t.TLSKey = f.Text("tls_key", form.Optional, trunk.RootsCap)
	t.RegisterSec = f.Whole("register_s", 0)
	t.UserAgent = f.Text("user_agent", form.Optional, trunk.SecretCap)
	t.ExtraHeaders = readHeaders(f, "extra_headers", trunk.HeaderCountCap)
	t.Redirects = f.Whole("redirects", 0)
	t.ReliableProvisionals = f.Term("reliable_provisionals", "")
	t.SessionSec = f.Whole("session_s", 0)
	t.Inbound = f.Term("inbound", "")
	if m, ok := f.Object("media"); ok {
		t.Media = engine.MediaProfile{
			Codecs: m.Words("codecs", 3), SRTP: m.Term("srtp", ""), DTMF: m.Term("dtmf", ""), DTX: m.Flag("dtx", false),
			Symmetric: m.Term("symmetric", ""), Networks: m.Words("networks", trunk.NetworksCap), Family: m.Term("family", ""),
		}
		m.Done()
	}
	t.CPSCap = f.Whole("cps_cap", t.CPSCap)
	t.ChannelCap = f.Whole("channel_cap", t.ChannelCap)
	t.Priority = f.Whole("priority", t.Priority)
	t.Weight = f.Whole("weight", t.Weight)
	t.OptionsSec = f.Whole("options_s", t.OptionsSec)
	t.Active = f.Flag("active", t.Active)
	return t
}

// readHeaders reads a list of objects with name and value.
func readHeaders(f form.Form, field string, limit int) []engine.SIPHeader {
	return eachHeader(f, field, limit, func(item form.Form) engine.SIPHeader {
		return engine.SIPHeader{Name: item.Text("name", form.Required, trunk.HeaderNameCap),
			Value: item.Text("value", form.Required, trunk.HeaderValueCap)}
	})
}

// eachHeader reads a list of objects, each with read.
func eachHeader[H any](f form.Form, field string, limit int, read func(form.Form) H) (out []H) {
	v := f.List(field, limit)
	if v == nil {
		return nil
	}
	for i := range v.Items {
		at := field + "[" + strconv.Itoa(i) + "]"
		if v.Items[i].Kind != form.Object {
			f.WrongType(at, form.Object, v.Items[i].Kind)
			var none H
			out = append(out, none) // keeps the indexes of the others
			continue
		}
		item := form.Form{Value: &v.Items[i], Path: f.Name(at), Errs: f.Errs}
		out = append(out, read(item))
		item.Done()
	}
	return out
}
