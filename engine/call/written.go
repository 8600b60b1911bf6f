package call

import (
	"errors"
	"sync"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/snapshot"
)

// rulesImage is what rules are worked out from: all that is written down of them.
type rulesImage struct {
	Of     campaign.Campaign
	Bot    engine.Bot
	OptOut byte
}

var (
	rulesCodec  = sync.OnceValue(func() *snapshot.Codec { return snapshot.Of(rulesImage{}) })
	errOfNobody = errors.New("call: only the rules of a campaign can be written down")
)

// MarshalBinary writes the rules of a campaign down.
func (rl *Rules) MarshalBinary() ([]byte, error) {
	if rl.of == nil {
		return nil, errOfNobody
	}
	return rulesCodec().Write(&rulesImage{*rl.of, rl.Bot, rl.Attempt.OptOut})
}

// UnmarshalBinary reads them back.
func (rl *Rules) UnmarshalBinary(b []byte) error {
	var image rulesImage
	if err := rulesCodec().Read(b, &image); err != nil {
		return err
	}
	*rl = RulesOf(image.Of)
	rl.Bot, rl.Attempt.OptOut = image.Bot, image.OptOut
	return nil
}

// variants are what a contact or a dialout may hold: events and commands that wait, effects that
// do, and the answers in them.
func variants() []any {
	list := []any{
		&Started{}, &Restarted{}, &PlaceDialout{}, &Durable{}, &TimerFired{}, &TrunkReserved{}, &PeerJoined{},
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

// MarshalBinary writes a contact and its call down: read back they go on as these would.
func (c *Contact) MarshalBinary() ([]byte, error) { return contactCodec().Write(c) }

// UnmarshalBinary reads a contact back.
func (c *Contact) UnmarshalBinary(b []byte) error { return readInto(c, contactCodec(), b) }

// MarshalBinary writes a dialout down.
func (d *Dialout) MarshalBinary() ([]byte, error) { return dialoutCodec().Write(d) }

// UnmarshalBinary reads a dialout back.
func (d *Dialout) UnmarshalBinary(b []byte) error { return readInto(d, dialoutCodec(), b) }

// readInto leaves what it reads into as it is when the bytes are refused.
func readInto[T any](v *T, c *snapshot.Codec, b []byte) error {
	var read T
	err := c.Read(b, &read)
	if err == nil {
		*v = read
	}
	return err
}
