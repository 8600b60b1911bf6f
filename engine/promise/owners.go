package promise

import "dialler/engine"

// owners records who last acted for what, and under which epoch.
type owners struct {
	last map[string]Acted
	of   map[epoch]string
	told map[string]bool
}

type epoch struct {
	identity string
	n        int64
}

// acted checks that an epoch has one owner, and that nobody acts in an epoch after somebody acted
// in a later one. It reports once per identity.
func (j *Judge) acted(f Acted) {
	o := &j.owners
	if o.last == nil {
		*o = owners{map[string]Acted{}, map[epoch]string{}, map[string]bool{}}
	}
	broke := func(format string, args ...any) {
		if !o.told[f.Identity] {
			o.told[f.Identity] = true
			j.broke(engine.CampaignID(f.Identity), format, args...)
		}
	}
	e := epoch{f.Identity, f.Epoch}
	if by, ok := o.of[e]; ok && by != f.By {
		broke("%s: epoch %d is of %s and of %s", f.Identity, f.Epoch, by, f.By)
	}
	o.of[e] = f.By
	if l := o.last[f.Identity]; f.Epoch < l.Epoch {
		broke("%s: %s acted in epoch %d after %s had in epoch %d", f.Identity, f.By, f.Epoch, l.By, l.Epoch)
		return
	}
	o.last[f.Identity] = f
}
