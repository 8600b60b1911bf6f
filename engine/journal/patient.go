package journal

// patient are events whose durability nobody waits for: they report facts, and nothing that
// concerns the callee depends on their being stored.
var patient = map[Type]bool{AttemptRinging: true, AttemptConnected: true, AttemptEnded: true, ResultStored: true,
	LegClosed: true}

// Patient says whether the write may wait a moment to share a transaction with others. An intent
// and an answer may not, since an INVITE and an ACK wait for them; nor may a write with the answer
// to a request.
func (w *Write) Patient() bool {
	if len(w.Events) == 0 || w.Intent != nil || w.Reply != nil || w.CampaignRow != nil || len(w.Exclusions) > 0 ||
		len(w.Suppressions) > 0 || w.Bulk != nil || w.Retune != nil {
		return false
	}
	for i := range w.Events {
		if !patient[w.Events[i].Type] {
			return false
		}
	}
	return true
}
