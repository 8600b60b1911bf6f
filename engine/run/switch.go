package run

import (
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Activation tells the store how to make contacts of the given number of staged rows.
func (s ActivationStart) Activation(imp *campaign.Import, staged int) journal.Activation {
	return journal.Activation{Import: imp.ID, Campaign: imp.Campaign, Run: s.Run, Source: contact.SourceFile, Max: s.Max,
		DueClass: contact.DueFirst, At: s.At, Staged: staged, Sticky: s.Sticky, Since: imp.CreatedAt,
		Layout: imp.FileLayout}
}

// Gate is the place of the activation in the campaign's sequence, with its event.
func (p GatePass) Gate(imp *campaign.Import, s ActivationStart) journal.Gate {
	who, after := imp.CreatedBy, contact.Fresh(s.Max)
	return journal.Gate{Epoch: p.Epoch, Event: journal.Event{Campaign: imp.Campaign, Seq: p.Seq, Run: s.Run, At: p.At,
		Type: journal.ContactsAdded, Version: 1, Data: journal.Data{Who: &who, After: &after, Import: imp.ID}}}
}
