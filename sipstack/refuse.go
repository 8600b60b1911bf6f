package sipstack

import (
	"net/netip"

	"dialler/sipstack/message"
)

// inboundAnswer is the answer to a call that comes from an address: what its trunk
// says (TrunkConfig.Inbound), of several with that address the first by name.
func (s *Stack) inboundAnswer(a netip.Addr) (code int, phrase string) {
	s.trunksMu.RLock()
	defer s.trunksMu.RUnlock()
	var first *trunk
	for _, t := range s.trunks {
		if t.conf.Inbound == 0 || first != nil && first.conf.ID < t.conf.ID {
			continue
		}
		for _, to := range t.targets() {
			if to.Addr.Addr() == a {
				first = t
				break
			}
		}
	}
	if first != nil {
		switch first.conf.Inbound {
		case 480, 486, 603:
			return first.conf.Inbound, message.StandardPhrase(first.conf.Inbound)
		}
	}
	return 403, "Inbound Calls Not Accepted"
}
