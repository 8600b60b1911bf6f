package contact

// Stay is why a contact stays in its campaign when the file that added it is taken back.
type Stay string

// A contact goes when nobody has called it and nothing but its file has named it. Of several reasons
// to stay the first is told.
const (
	StayInCall   Stay = "in_call"     // a call is under way, or about to be
	StayDialled  Stay = "dialled"     // a dial has begun, even if no call came of it
	StayExcluded Stay = "excluded"    // it records that the person must not be called
	StayCallBack Stay = "call_back"   // a call back was promised, or was and is cancelled
	StayNamed    Stay = "named_again" // by another file, a list, a trigger or an operator, or the person called us
	StayEnded    Stay = "ended"       // it expired, or its run is over for it
	// Goes is no reason to stay.
	Goes Stay = ""
)

// Stays lists the reasons in their order.
var Stays = []Stay{StayInCall, StayDialled, StayExcluded, StayCallBack, StayNamed, StayEnded}

// Trace is what has become of a contact since it was added, as far as it decides whether it goes with
// its file. The stores tell the same by SQL.
type Trace struct {
	InCall, Dialled, Excluded, CallBack, Named bool
	State                                      State
}

// Trace is the contact's own; named says whether something other than its file has named it.
func (c *Contact) Trace(named bool) Trace {
	return Trace{
		InCall:   c.Attempt != "",
		Dialled:  c.Used > 0 || c.Unconsumed > 0 || c.Tries != 0 || c.LastOutcome != "",
		Excluded: c.State == Excluded || c.ExcludeAfterCall || c.Choice.Stopped(),
		CallBack: c.Callback != CallbackNone || c.CallbacksCancelled > 0,
		Named:    named || c.CallsBack != "",
		State:    c.State,
	}
}

// Stay decides whether a contact goes with its file.
func (t Trace) Stay() Stay {
	switch {
	case t.InCall:
		return StayInCall
	case t.Dialled:
		return StayDialled
	case t.Excluded:
		return StayExcluded
	case t.CallBack:
		return StayCallBack
	case t.Named:
		return StayNamed
	case t.State != Pending:
		return StayEnded
	}
	return Goes
}

// SourceFile is the source of contacts that a file added.
const SourceFile = "csv"
