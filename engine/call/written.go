package call

import (
	"errors"
	"sync"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/cadence"
	"dialler/engine/campaign"
	"dialler/engine/snapshot"
	"dialler/engine/window"
)

// rulesImage is the serialised form of rules: the data that they are derived from.
type rulesImage struct {
	Of      campaign.Campaign
	Bot     engine.Bot
	Cadence *cadence.Cadence
	OptOut  byte
	// Calendars and Countries narrow the campaign's window.
	Calendars, Countries []*window.Calendar
}

var (
	rulesCodec  = sync.OnceValue(func() *snapshot.Codec { return snapshot.Of(rulesImage{}) })
	errOfNobody = errors.New("call: only the rules of a campaign can be written down")
)

// MarshalBinary serialises the rules of a campaign.
func (rl *Rules) MarshalBinary() ([]byte, error) {
	if rl.of == nil {
		return nil, errOfNobody
	}
	calendars, countries := rl.of.Settings.Window.Calendars()
	return rulesCodec().Write(&rulesImage{*rl.of, rl.Bot, rl.Policy.Cadence, rl.Attempt.OptOut, calendars, countries})
}

// UnmarshalBinary restores them.
func (rl *Rules) UnmarshalBinary(b []byte) error {
	var image rulesImage
	if err := rulesCodec().Read(b, &image); err != nil {
		return err
	}
	image.Of.Settings.Window = image.Of.Settings.Window.With(image.Calendars, image.Countries)
	*rl = RulesOf(image.Of)
	rl.Bot, rl.Policy.Cadence, rl.Attempt.OptOut = image.Bot, image.Cadence, image.OptOut
	return nil
}

// variants are the types that a contact or a dialout may hold: waiting events and commands, waiting
// effects, and the answers in them.
func variants() []any {
	list := []any{
		&Started{}, &Restarted{}, &PlaceDialout{}, &TakeCall{}, &Durable{}, &TimerFired{}, &TrunkReserved{}, &PeerJoined{},
		&MediaOpened{}, &MediaClosed{}, &LegsAttached{}, &EligibilityKnown{}, &ContactLoaded{}, &NumbersSuppressed{},
		&Erased{}, &SayAgain{}, &engine.LegEvent{}, &engine.MediaEvent{},
		&Rules{}, &Dial{}, &SeatGranted{}, &Exclude{}, &Reopen{}, &Operate{}, &StoreResult{}, &ResultTimeout{}, &Rest{},
		&End{}, &Keys{}, &Transfer{}, &Show{}, &LegsGone{}, &RunEnded{}, &Readmit{}, &Forget{}, &Report{}, &Reattached{},
		&Reload{}, &Stop{},
		attempt.Record{}, attempt.Dial{}, attempt.AttachBot{}, attempt.DialPeer{}, attempt.CountLive{}, attempt.Arm{},
		attempt.TrunkEvent{}, attempt.NextTrunk{}, attempt.Line{}, attempt.NumberFree{},
		attempt.Attempt{}, campaign.TriggerReply{}, campaign.DialoutReply{},
	}
	for _, e := range Effects {
		list = append(list, e)
	}
	return list
}

var (
	contactCodec = sync.OnceValue(func() *snapshot.Codec { return snapshot.Of(Contact{}, variants()...) })
	dialoutCodec = sync.OnceValue(func() *snapshot.Codec { return snapshot.Of(Dialout{}, variants()...) })
)

// MarshalBinary serialises a contact and its call, so that the restored ones behave the same.
func (c *Contact) MarshalBinary() ([]byte, error) { return contactCodec().Write(c) }

// UnmarshalBinary restores a contact.
func (c *Contact) UnmarshalBinary(b []byte) error { return readInto(c, contactCodec(), b) }

// MarshalBinary serialises a dialout.
func (d *Dialout) MarshalBinary() ([]byte, error) { return dialoutCodec().Write(d) }

// UnmarshalBinary restores a dialout.
func (d *Dialout) UnmarshalBinary(b []byte) error { return readInto(d, dialoutCodec(), b) }

// readInto leaves *v unchanged when the bytes are refused.
func readInto[T any](v *T, c *snapshot.Codec, b []byte) error {
	var read T
	err := c.Read(b, &read)
	if err == nil {
		*v = read
	}
	return err
}
