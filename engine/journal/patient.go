package journal

// patient are the events of which nobody waits to hear that they are durable:
// what they tell has happened, and nothing that concerns the callee follows from
// their being stored.
var patient = map[Type]bool{AttemptConnected: true, AttemptEnded: true, ResultStored: true, LegClosed: true}

// Patient says whether the write may wait a moment for others that go into the
// same transaction. An intent and an answer may not: an INVITE and an ACK wait
// for them; nor may what carries the answer to a request.
func (w *Write) Patient() bool {
	if len(w.Events) == 0 || w.Intent != nil || w.Reply != nil || w.CampaignRow != nil || len(w.Exclusions) > 0 || len(w.Suppressions) > 0 || w.Bulk != nil || w.Retune != nil {
		return false
	}
	for i := range w.Events {
		if !patient[w.Events[i].Type] {
			return false
		}
	}
	return true
}
