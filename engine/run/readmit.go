package run

import (
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Adding a contact on purpose, with Sticky Exclusion off, undoes an exclusion: one made in advance
// is lifted, and a contact that was excluded can be called again. An exclusion that comes meanwhile
// is newer, and stands.

// readmitChunk is how many contacts are readmitted at a time.
const readmitChunk = 500

// Readmission is under way while the excluded contacts are being looked up.
type Readmission struct {
	Running int
	Newer   []campaign.Exclude // exclusions since the first lookup began
}

// liftAll lifts the exclusions by number of contacts that are added on purpose.
func (s *Intake) liftAll(list []campaign.NewContact) {
	if s.M.C.Settings.StickyExclusion {
		return
	}
	var w journal.Write
	lift := func(n engine.PhoneNumber) {
		if _, excluded := s.Excluded.Reason(n, nil); excluded {
			x := journal.Exclusion{Campaign: s.ID, Number: n, Lifted: true, CreatedAt: s.now}
			s.Excluded.Add(&x)
			w.Exclusions = append(w.Exclusions, x)
		}
	}
	for i := range list {
		lift(list[i].Number)
		for n := range list[i].Alternates.Numbers() {
			lift(n)
		}
	}
	if len(w.Exclusions) > 0 {
		s.write(w)
	}
}

// readmit looks up the excluded contacts among those added again, in chunks.
func (s *Intake) readmit(list []campaign.NewContact) {
	if len(list) == 0 {
		return
	}
	s.Readmission.Running++
	s.lookUpExcluded(list)
}

func (s *Intake) lookUpExcluded(list []campaign.NewContact) {
	n := min(readmitChunk, len(list))
	s.emit(ReadExcluded{Read: s.beginRead(), Again: list[:n], Left: list[n:]})
}

func (s *Intake) excludedRead(m *ExcludedRead) {
	defer s.endRead(m.Read)
	if m.Err != nil {
		retry := append(m.Again, m.Left...)
		s.owe(time.Second, &readmitLater{retry}, "")
		return
	}
	s.readmitRows(m.Read, m.Rows, m.Again)
	if len(m.Left) > 0 {
		s.lookUpExcluded(m.Left)
		return
	}
	s.readmitted()
}

// readmitRows readmits the excluded contacts that were found. What excludes one may be another number than
// that by which it is added.
func (s *Intake) readmitRows(r Read, rows []contact.Contact, again []campaign.NewContact) {
	given := make(map[engine.PhoneNumber]*campaign.NewContact, len(again))
	for i := range again {
		given[again[i].Number] = &again[i]
	}
	var back []contact.Contact
	var stored []campaign.NewContact
	for i := range rows {
		if c := &rows[i]; !concern(s.Readmission.Newer, c.Number, c.Alternates, c.Variables) {
			back = append(back, *c)
			stored = append(stored, campaign.NewContact{Number: c.Number, Alternates: c.Alternates})
		}
	}
	s.liftAll(stored)
	for i := range back {
		m := &call.Readmit{}
		if c := given[back[i].Number]; c != nil {
			m.Number, m.Alternates, m.Variables, m.Times = c.Number, c.Alternates, c.Variables, c.Times
		}
		s.touchFound(r, back[i], m)
	}
}

func (s *Intake) readmitted() {
	if s.Readmission.Running--; s.Readmission.Running <= 0 {
		s.Readmission = Readmission{}
	}
}
