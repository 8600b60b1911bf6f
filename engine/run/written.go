package run

import (
	"sync"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/snapshot"
)

// codec knows every type that a State may hold: deferred events, the commands that contacts wait
// for, and the replies that wait for the database.
var codec = sync.OnceValue(func() *snapshot.Codec {
	return snapshot.Of(State{},
		// Events, from outside and from the run itself.
		&TimerFired{},
		&Started{},
		&Durable{},
		&Written{},
		&Loaded{},
		&RosterCalled{},
		&Recovered{},
		&OpenListed{},
		&Reported{},
		&LastWord{},
		&FenceFor{},
		&WriteRefused{},
		&ContactRead{},
		&DueRead{},
		&TrunksReserved{},
		&NumbersReserved{},
		&SeatsAllotted{},
		&Pulse{},
		&engine.SocketEvent{},
		&DatabaseChanged{},
		&NotSaved{},
		&Act{},
		&Suppressed{},
		&NumberChanged{},
		&SuppressedRead{},
		&BeginErasure{},
		&EndErasure{},
		&Preflight{},
		&PreflightReady{},
		&ActReady{},
		&Detail{},
		&AddRows{},
		&ExcludedRead{},
		&RowsAdded{},
		&MayImport{},
		&BeginActivation{},
		&ActivationGoesOn{},
		&CloseGate{},
		&ActivationEnded{},
		&Trigger{},
		&TriggerFound{},
		&Exclude{},
		&Operate{},
		&OperateFound{},
		&ContactsFound{},
		&ExclusionsImported{},
		&Lift{},
		&SubmitResult{},
		&DialNoMore{},
		&Keys{},
		&Transfer{},
		&OverdueRead{},
		&ExpiredRead{},
		&BulkRead{},
		&Prepared{},
		&UndoImport{},
		&TookBack{},
		&BotsChanged{}, &CadencesChanged{}, &CalendarsChanged{}, &HoursLearned{},
		&tick{},
		&woken{},
		&roundLate{},
		&loadAgain{},
		&rosterLate{},
		&answersDue{},
		&restLate{},
		&activationDue{},
		&parkedLate{},
		&findAgain{},
		&readmitLater{},
		&suppressAgain{},
		&readBulkAgain{},
		&prepareAgain{},
		&takeBackAgain{},
		// What contacts say.
		&call.Persist{},
		&call.LineMoved{},
		&call.AnswerStands{},
		&call.InviteLeft{},
		&call.Up{},
		&call.Idle{},
		&call.Stopped{},
		&call.NotIdle{},
		&call.Watches{},
		&call.MayDial{},
		&call.Stored{},
		&call.Excluded{},
		&call.Lifted{},
		&call.Show{},
		&call.LegsGone{},
		// Commands to contacts.
		&call.Rules{}, &call.Dial{}, &call.SeatGranted{}, &call.Exclude{}, &call.Reopen{}, &call.Operate{},
		&call.StoreResult{}, &call.ResultTimeout{}, &call.Rest{}, &call.End{}, &call.Keys{}, &call.Transfer{},
		&call.RunEnded{}, &call.Readmit{}, &call.Forget{}, &call.Reattached{}, &call.Reload{}, &call.Stop{},
		// Replies, and changes of all contacts.
		campaign.TriggerReply{}, campaign.ExcludeReply{}, campaign.ResetContacts{}, campaign.RestoreContacts{},
		campaign.Remove{})
})

// Codec writes and reads every event that a run accepts.
func Codec() *snapshot.Codec { return codec() }

// MarshalBinary serialises the run: a State read from it behaves as this one would.
func (s *State) MarshalBinary() ([]byte, error) { return codec().Write(s) }

// UnmarshalBinary restores a run; derived fields are computed again.
func (s *State) UnmarshalBinary(b []byte) error {
	var read State
	if err := codec().Read(b, &read); err != nil {
		return err
	}
	read.makeRules()
	*s = read
	return nil
}
