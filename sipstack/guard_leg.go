package sipstack

import "net/netip"

// talksTo says whether a request in the leg's dialog may come from an address:
// a trunk's, or one that the dialog itself named. The leg is locked.
func (l *leg) talksTo(a netip.Addr) bool {
	if l.to.Addr.Addr() == a || (l.dlg != nil && (l.dlg.source.Addr() == a || l.dlg.hop.Addr.Addr() == a)) {
		return true
	}
	for _, d := range l.early {
		if d.source.Addr() == a || d.hop.Addr.Addr() == a {
			return true
		}
	}
	return l.s.trunks.IsPeer(a)
}
