package sipstack

import (
	"net/url"

	"dialler/engine"
	"dialler/sipstack/message"
)

// legTrunk is the trunk that a leg goes over. A leg with an address of its own
// (a bot, a person who is called by SIP) has a connection without name and
// keepalive, and with a password the user of its address answers challenges;
// one without a usable address, or of an unknown trunk, has no host.
func (s *Stack) legTrunk(id engine.TrunkID, uri, password string) *trunk {
	if uri == "" {
		if t := s.trunk(id); t != nil {
			return t
		}
		return s.newTrunk(TrunkConfig{ID: id})
	}
	u, ok := engine.ParseSIPURI(uri)
	if !ok {
		return s.newTrunk(TrunkConfig{ID: id})
	}
	c := TrunkConfig{ID: id, Host: u.Host, Port: u.Port, Transport: message.Transport(u.Transport)}
	if user, err := url.PathUnescape(u.User); password != "" && err == nil {
		c.Username, c.Password = user, password
	}
	return s.newTrunk(c)
}
