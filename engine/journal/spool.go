package journal

// spooled are the events of a call in progress: the network, the callee and the bot go on while the
// database is unavailable.
var spooled = map[Type]bool{
	AttemptRinging: true, AttemptAnswered: true, AttemptConnected: true, AttemptRevised: true, AttemptAbandoned: true,
	AttemptOptedOut: true, AttemptEnded: true, LegAdded: true, LegClosed: true,
}

// Spoolable says whether the write counts as durable once it is on disk while the database is
// unavailable: it may only continue a call that has its intent. Writes that begin a call, answer an
// API request or change a campaign do not qualify: only the database can accept them.
//
// A write may be spooled only if no earlier unspooled write about the same contact or attempt is
// waiting (Subjects): after a crash only the spooled writes are left.
func (w *Write) Spoolable() bool {
	if len(w.Events) == 0 || w.Intent != nil || w.Reply != nil || w.CampaignRow != nil || len(w.Exclusions) > 0 ||
		w.Bulk != nil || w.Retune != nil || w.Fresh || w.Schedule != nil || !w.ScheduleBy.IsZero() ||
		w.Unschedule || w.Status != nil {
		return false
	}
	for i := range w.Events {
		if !spooled[w.Events[i].Type] {
			return false
		}
	}
	return true
}

// Subjects calls f with each contact and attempt that the write is about, some
// of them more than once.
func (w *Write) Subjects(f func(id string)) {
	for i := range w.Contacts {
		f(string(w.Contacts[i].ID))
	}
	for i := range w.Attempts {
		f(string(w.Attempts[i].ID))
	}
	for i := range w.Holds {
		f(string(w.Holds[i].Attempt))
	}
	if w.Intent != nil {
		f(string(w.Intent.Attempt))
	}
	for i := range w.Events {
		if e := &w.Events[i]; e.Contact != "" {
			f(string(e.Contact))
		}
		if e := &w.Events[i]; e.Attempt != "" {
			f(string(e.Attempt))
		}
	}
}
