package http

import (
	nethttp "net/http"

	"dialler/engine"
)

// Trunks: carrier connections. The password is write-only.

type trunkView struct {
	engine.TrunkSettings
	HasPassword bool `json:"has_password"`
}

type trunkList struct {
	Trunks []trunkView `json:"trunks"`
	Total  int         `json:"total"`
}

func viewTrunk(t engine.TrunkSettings) trunkView {
	return trunkView{TrunkSettings: t, HasPassword: t.Password != ""}
}

func (s *Server) listTrunks(r *request) error {
	trunks, err := s.Trunks.Trunks(r.ctx())
	if err != nil {
		return err
	}
	out := trunkList{Trunks: make([]trunkView, len(trunks)), Total: len(trunks)}
	for i := range trunks {
		out.Trunks[i] = viewTrunk(trunks[i])
	}
	return r.reply(nethttp.StatusOK, out)
}

func (s *Server) putTrunk(r *request) error {
	f, err := r.body()
	if err != nil {
		return err
	}
	t := engine.TrunkSettings{
		ID:           engine.TrunkID(f.pathID(r, "trunk_id")),
		Host:         f.text("host", required, 253),
		Port:         f.within("port", 5060, 1, 65535),
		Transport:    f.oneOf("transport", "udp", "udp", "tcp"),
		Username:     f.text("username", optional, 128),
		Password:     f.text("password", optional, 128),
		FromDomain:   f.text("from_domain", optional, 253),
		NumberFormat: f.oneOf("number_format", "e164", "e164", "e164_no_plus"),
		CPSCap:       f.within("cps_cap", 10, 1, 10_000),
		ChannelCap:   f.within("channel_cap", 100, 1, 100_000),
		Priority:     f.within("priority", 0, 0, 1000),
		Weight:       f.within("weight", 1, 1, 1000),
		OptionsSec:   f.within("options_s", 30, 5, 3600),
		Active:       f.flag("active", true),
	}
	if !plainHost(t.Host) && t.Host != "" {
		f.fail("host", "invalid_format", "must be a host name or an address")
	}
	if t.FromDomain != "" && !plainHost(t.FromDomain) {
		f.fail("from_domain", "invalid_format", "must be a host name or an address")
	}
	// These end up in SIP headers, where a line end would begin another one.
	if !printable(t.Username) {
		f.fail("username", "invalid_format", "must have printable characters only")
	}
	if !printable(t.Password) {
		f.fail("password", "invalid_format", "must have printable characters only")
	}
	keep := !f.sent("password")
	f.done()
	if err := f.errs.err(); err != nil {
		return err
	}
	created, err := s.Trunks.PutTrunk(r.ctx(), t, keep, r.who())
	if err != nil {
		return err
	}
	v := viewTrunk(t)
	if keep && !created {
		all, err := s.Trunks.Trunks(r.ctx())
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].ID == t.ID {
				v = viewTrunk(all[i])
			}
		}
	}
	return r.reply(putStatus(created), v)
}

// plainHost accepts host names, IPv4 and IPv6 addresses, the latter with or
// without brackets.
func plainHost(s string) bool {
	if s == "" {
		return false
	}
	for _, c := range s {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case c == '.', c == '-', c == '_', c == ':', c == '[', c == ']':
		default:
			return false
		}
	}
	return true
}

func printable(s string) bool {
	for _, c := range s {
		if c < 0x20 || c == 0x7f {
			return false
		}
	}
	return true
}
