package media

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/sdp"
)

// bridged is an answered call joined with a far leg: two phones.
type bridged struct {
	e            *Engine
	id           engine.AttemptID
	leg          engine.LegID
	events       *events
	callee, peer *phone
}

func bridge(t *testing.T, calleeFormats, peerFormats string) *bridged {
	t.Helper()
	return bridgeOn(t, start(t, nil), calleeFormats, peerFormats)
}

func bridgeOn(t *testing.T, e *Engine, calleeFormats, peerFormats string) *bridged {
	t.Helper()
	b := &bridged{e: e, id: attempt(1), events: record(t), callee: newPhone(t, 11), peer: newPhone(t, 22)}
	b.leg = b.id.Leg(2)
	offer, err := b.e.Open(engine.OpenMedia{Attempt: b.id, AMD: engine.AMDOff}, b.events.sink)
	if err != nil {
		t.Fatal(err)
	}
	b.e.Answer(b.id, b.callee.called(offer, calleeFormats), time.Now())
	b.join(t, b.leg, b.peer, peerFormats)
	return b
}

func (b *bridged) join(t *testing.T, leg engine.LegID, p *phone, formats string) {
	t.Helper()
	offer, err := b.e.OpenPeer(b.id, leg, engine.MediaProfile{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.e.JoinPeer(b.id, leg, p.called(offer, formats)); err != nil {
		t.Fatal(err)
	}
}

// hears returns the next packet with sound.
func (p *phone) hears(silence byte) *rtp.Packet {
	p.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if pkt := p.hear(); len(pkt.Payload) < codec.FrameBytes ||
			bytes.Count(pkt.Payload, []byte{silence}) < len(pkt.Payload) {
			return pkt
		}
	}
	p.t.Fatal("only silence came")
	return nil
}

func TestTheAudioOfCalleeAndBotGoesBothWaysAsItComes(t *testing.T) {
	b := bridge(t, "0 101", "0 101")
	for i := range 20 {
		said, answer := speech(codec.FrameBytes, byte(i)), speech(codec.FrameBytes, byte(100+i))
		b.callee.say(0, said)
		if got := b.peer.hears(codec.UlawSilence); !bytes.Equal(got.Payload, said) || got.PayloadType != 0 {
			t.Fatalf("packet %d is not what the callee said", i)
		}
		b.peer.say(0, answer)
		if got := b.callee.hears(codec.UlawSilence); !bytes.Equal(got.Payload, answer) {
			t.Fatalf("packet %d is not what the bot said", i)
		}
	}
	if ev := b.events.next(engine.MediaBotFirstAudio); ev.Session != engine.SessionID(b.leg) {
		t.Errorf("session %q", ev.Session)
	}
	b.events.none()
}

func TestLawsAreTranslatedBetweenCalleeAndBot(t *testing.T) {
	b := bridge(t, "8", "0")
	said := speech(codec.FrameBytes, 1)
	b.callee.say(8, said)
	want := slices.Clone(said)
	codec.Transcode(want, &codec.AlawToUlaw)
	if got := b.peer.hears(codec.UlawSilence); got.PayloadType != 0 || !bytes.Equal(got.Payload, want) {
		t.Fatal("A-law was not made μ-law")
	}
	b.peer.say(0, said)
	want = slices.Clone(said)
	codec.Transcode(want, &codec.UlawToAlaw)
	if got := b.callee.hears(codec.AlawSilence); got.PayloadType != 8 || !bytes.Equal(got.Payload, want) {
		t.Fatal("μ-law was not made A-law")
	}
}

func TestKeysAreRelayedUnderTheOtherSidesPayloadType(t *testing.T) {
	b := bridge(t, "0 101", "0 96")
	// The bot uses another payload type for telephone-event.
	offer, err := b.e.OpenPeer(b.id, b.leg, engine.MediaProfile{})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.e.JoinPeer(b.id, b.leg, b.peer.called(offer, "0 96", "a=rtpmap:96 telephone-event/8000")); err != nil {
		t.Fatal(err)
	}
	key := []byte{5, 0x80 | 10, 3, 0x20} // digit 5, end, 800 samples
	b.callee.together(b.e, 1, func() {
		b.callee.say(0, speech(codec.FrameBytes, 1))
		b.callee.send(
			rtp.Header{
				Version:        2,
				PayloadType:    101,
				SequenceNumber: b.callee.seq,
				Timestamp:      b.callee.ts,
				SSRC:           b.callee.ssrc,
				Marker:         true,
			},
			key,
		)
		b.callee.seq++
	})
	first := b.peer.hears(codec.UlawSilence)
	got := b.peer.hears(codec.UlawSilence)
	if got.PayloadType != 96 || !bytes.Equal(got.Payload, key) || !got.Marker ||
		got.SequenceNumber != first.SequenceNumber+1 ||
		got.Timestamp != first.Timestamp+codec.FrameBytes {
		t.Fatalf("%+v after %+v", got.Header, first.Header)
	}
	if ev := b.events.next(engine.MediaDigit); ev.Digit != '5' {
		t.Errorf("digit %q", ev.Digit)
	}
}

func TestAKeyIsNotSentToAFarSideThatTakesNone(t *testing.T) {
	b := bridge(t, "0 101", "0")
	said := speech(codec.FrameBytes, 2)
	b.callee.together(b.e, 1, func() {
		b.callee.say(0, speech(codec.FrameBytes, 1))
		b.callee.send(
			rtp.Header{
				Version:        2,
				PayloadType:    101,
				SequenceNumber: b.callee.seq,
				Timestamp:      b.callee.ts,
				SSRC:           b.callee.ssrc,
			},
			[]byte{5, 0x8A, 3, 0x20},
		)
		b.callee.seq++
		b.callee.say(0, said)
	})
	first := b.peer.hears(codec.UlawSilence)
	if got := b.peer.hears(codec.UlawSilence); !bytes.Equal(got.Payload, said) ||
		got.SequenceNumber != first.SequenceNumber+2 {
		t.Fatalf("%+v", got.Header)
	}
}

func TestWhatOneSideLosesTheOtherSideSeesAsLost(t *testing.T) {
	b := bridge(t, "0", "0")
	b.callee.together(b.e, 1, func() {
		b.callee.say(0, speech(codec.FrameBytes, 1))
		b.callee.seq += 3
		b.callee.ts += 3 * codec.FrameBytes
		b.callee.say(0, speech(codec.FrameBytes, 2))
	})
	first := b.peer.hears(codec.UlawSilence)
	got := b.peer.hears(codec.UlawSilence)
	if got.SequenceNumber != first.SequenceNumber+4 || got.Timestamp != first.Timestamp+4*codec.FrameBytes ||
		got.SSRC != first.SSRC {
		t.Fatalf("%+v after %+v", got.Header, first.Header)
	}
}

func TestSilenceTakesThePlaceOfASideThatStopsAndTheStreamGoesOn(t *testing.T) {
	b := bridge(t, "0", "0")
	b.callee.say(0, speech(codec.FrameBytes, 1)) // once the peer was heard, it hears silence
	b.peer.hears(codec.UlawSilence)
	b.peer.say(0, speech(codec.FrameBytes, 2))
	last := b.callee.hears(codec.UlawSilence)
	for range 3 { // nothing more from the bot: our silence
		got := b.callee.hear()
		if bytes.Count(got.Payload, []byte{codec.UlawSilence}) != codec.FrameBytes ||
			got.SequenceNumber != last.SequenceNumber+1 ||
			int32(got.Timestamp-last.Timestamp) <= 0 {
			t.Fatalf("%+v after %+v", got.Header, last.Header)
		}
		last = got
	}
	b.peer.say(0, speech(codec.FrameBytes, 3))
	for {
		got := b.callee.hear()
		if got.SequenceNumber != last.SequenceNumber+1 || int32(got.Timestamp-last.Timestamp) <= 0 ||
			got.SSRC != last.SSRC {
			t.Fatalf("%+v after %+v", got.Header, last.Header)
		}
		if last = got; bytes.Count(got.Payload, []byte{codec.UlawSilence}) < codec.FrameBytes {
			if !got.Marker {
				t.Error("sound begins without a marker")
			}
			break
		}
	}
}

func TestADetachedBotIsNotHeardAnyMore(t *testing.T) {
	b := bridge(t, "0", "0")
	b.callee.say(0, speech(codec.FrameBytes, 1))
	b.peer.hears(codec.UlawSilence)
	b.peer.say(0, speech(codec.FrameBytes, 2))
	b.callee.hears(codec.UlawSilence)
	b.e.ClosePeer(b.id, b.leg)
	for i := range 3 {
		b.peer.say(0, speech(codec.FrameBytes, byte(3+i)))
	}
	b.e.PlayMessage(b.id)
	b.events.next(engine.MediaBotFirstAudio)
	got := b.callee.hearUntil(4*codec.FrameBytes, codec.UlawSilence)
	message := bytes.ReplaceAll(b.e.message, []byte{codec.UlawSilence}, nil)
	if !bytes.HasPrefix(message, got[:4*codec.FrameBytes]) {
		t.Fatal("something else than the message is heard")
	}
}

func TestTheCalleeIsTakenFromOneFarLegToAnother(t *testing.T) {
	b := bridge(t, "0", "0")
	b.callee.say(0, speech(codec.FrameBytes, 1))
	b.peer.hears(codec.UlawSilence)
	person := newPhone(t, 33)
	b.join(t, b.id.Leg(3), person, "0")
	said := speech(codec.FrameBytes, 4)
	b.callee.say(0, said)
	if got := person.hears(codec.UlawSilence); !bytes.Equal(got.Payload, said) {
		t.Fatal("the person does not hear the callee")
	}
	b.peer.say(0, speech(codec.FrameBytes, 5)) // nobody should hear this
	answer := speech(codec.FrameBytes, 6)
	person.say(0, answer)
	if got := b.callee.hears(codec.UlawSilence); !bytes.Equal(got.Payload, answer) {
		t.Fatal("the callee hears somebody else")
	}
}

func TestClosingTheCallClosesItsFarLegs(t *testing.T) {
	b := bridge(t, "0", "0")
	b.e.CloseMedia(b.id)
	for _, s := range b.e.sockets {
		if n := s.live.Load(); n != 0 {
			t.Errorf("%d paths are left on a socket", n)
		}
	}
	if _, err := b.e.OpenPeer(b.id, b.leg, engine.MediaProfile{}); err == nil {
		t.Error("a far leg of a call that is over")
	}
	b.e.ClosePeer(b.id, b.leg)
}

func TestAFarLegIsRefusedForWhatCannotBe(t *testing.T) {
	e := start(t, nil)
	id := attempt(1)
	if _, err := e.OpenPeer(id, id.Leg(2), engine.MediaProfile{}); err == nil {
		t.Error("of no call")
	}
	if err := e.JoinPeer(id, id.Leg(2), nil); err == nil {
		t.Error("joined to no call")
	}
	offer, err := e.Open(engine.OpenMedia{Attempt: id}, nil)
	if err != nil {
		t.Fatal(err)
	}
	callee := newPhone(t, 1)
	peerOffer, err := e.OpenPeer(id, id.Leg(2), engine.MediaProfile{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.OpenPeer(id, id.Leg(2), engine.MediaProfile{})
	if err != nil || !bytes.Equal(peerOffer, again) {
		t.Errorf("%q, %v", again, err)
	}
	if err := e.JoinPeer(id, id.Leg(2), sdpAnswer(4000, "0")); err == nil {
		t.Error("joined to a call that rings")
	}
	e.Answer(id, callee.called(offer, "0"), time.Now())
	for _, sdp := range [][]byte{nil, sdpAnswer(4000, "18"), sdpAnswer(0, "0")} {
		if err := e.JoinPeer(id, id.Leg(2), sdp); err == nil {
			t.Errorf("%q is taken", sdp)
		}
	}
	if err := e.JoinPeer(id, id.Leg(9), sdpAnswer(4000, "0")); err == nil {
		t.Error("joined to a leg without a path")
	}
	for n := 3; n < 2+peersCap; n++ {
		if _, err := e.OpenPeer(id, id.Leg(n), engine.MediaProfile{}); err != nil {
			t.Fatalf("far leg %d: %v", n, err)
		}
	}
	if _, err := e.OpenPeer(id, id.Leg(2+peersCap), engine.MediaProfile{}); err == nil {
		t.Error("more far legs than can be")
	}
}

func TestAPacketTooLongForUsIsNotRelayed(t *testing.T) {
	b := bridge(t, "0", "0")
	longest := speech(relayedCap, 1)
	b.callee.say(0, append(longest, 1))
	b.callee.say(0, longest)
	if got := b.peer.hears(codec.UlawSilence); !bytes.Equal(got.Payload, longest) {
		t.Fatalf("%d bytes", len(got.Payload))
	}
}

// A callee whose carrier signals keys by INFO presses one: the bot called by SIP receives it as
// telephone-event, or by INFO if it does not support that.
func TestAKeyBySignallingGoesOnToTheFarLeg(t *testing.T) {
	b := bridge(t, "0", "0 101")
	b.callee.say(0, speech(codec.FrameBytes, 1))
	b.peer.say(0, speech(codec.FrameBytes, 3)) // from then on it hears every tick
	b.peer.hears(codec.UlawSilence)
	if by := b.e.HearDigit(b.id, '#'); by != "" {
		t.Fatalf("it has to go by INFO of %q", by)
	}
	var last *rtp.Packet
	for n := 0; n < 7; { // five packets of the tone, three of its end
		if pkt := b.peer.hear(); pkt.PayloadType == 101 {
			if n++; n > 1 && pkt.Timestamp != last.Timestamp {
				t.Fatal("one key has two timestamps")
			}
			last = pkt
		}
	}
	if last.Payload[0] != 11 || last.Payload[1]&0x80 == 0 {
		t.Fatalf("event %x", last.Payload)
	}
	word := speech(codec.FrameBytes, 2)
	for heard := false; !heard; heard = bytes.Equal(b.peer.hear().Payload, word) { // after a pause the voice resumes
		b.callee.say(0, word)
	}
	other := bridge(t, "0", "0")
	if by := other.e.HearDigit(other.id, '5'); by != other.leg {
		t.Fatalf("a far leg without telephone-event: %q", by)
	}
}

// A person is called through a trunk that requires SRTP: the far leg's path is encrypted, the
// callee's is not.
func TestAFarLegThroughATrunkWithSRTPIsEncrypted(t *testing.T) {
	e, ev := start(t, nil), record(t)
	callee := newPhone(t, 11)
	offer, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	if err != nil {
		t.Fatal(err)
	}
	e.Answer(attempt(1), callee.called(offer, "0 101"), time.Now())
	leg, profile := attempt(1).Leg(2), engine.MediaProfile{SRTP: engine.SRTPRequired}
	offer, err = e.OpenPeer(attempt(1), leg, profile)
	if again, _ := e.OpenPeer(attempt(1), leg, profile); err != nil || !bytes.Equal(offer, again) {
		t.Fatalf("%q %v", offer, err)
	}
	person := &secured{phone: newPhone(t, 22)}
	copy(person.key[:], speech(len(person.key), 7))
	person.encrypt, person.decrypt = srtpContext(t, person.key, 0), srtpContext(t, offeredKeys(t, offer)[0], 0)
	person.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(e.call(attempt(1)).sock.port)}
	if err := e.JoinPeer(attempt(1), leg, sdpAnswer(person.port(), "0 101")); !errors.Is(err, sdp.ErrInsecure) {
		t.Fatalf("an answer without SRTP: %v", err)
	}
	if err := e.JoinPeer(attempt(1), leg, person.answer()); err != nil {
		t.Fatal(err)
	}
	word, reply := speech(codec.FrameBytes, 1), speech(codec.FrameBytes, 2)
	callee.say(0, word)
	if got := person.hearUntil(codec.FrameBytes); !bytes.Equal(got, word) {
		t.Fatalf("the person hears %x", got)
	}
	person.say(reply)
	if got := callee.hears(codec.UlawSilence); !bytes.Equal(got.Payload, reply) {
		t.Fatalf("the callee hears %x", got.Payload)
	}
}

// A bot that vanished without a BYE must not leave the callee on a dead line.
func TestAFarLegThatSendsNothingMoreIsTold(t *testing.T) {
	b := bridgeOn(t, start(t, func(c *Config) { c.RTPTimeout = patience }), "0", "0")
	b.peer.say(0, speech(codec.FrameBytes, 1))
	if got := b.events.next(engine.MediaBotFirstAudio); got.Session != engine.SessionID(b.leg) {
		t.Errorf("%+v", got)
	}
	c := b.e.call(b.id)
	c.mu.Lock()
	far := c.peers[b.leg]
	c.mu.Unlock()
	wait(t, func() bool {
		far.mu.Lock()
		defer far.mu.Unlock()
		return far.in.Received == 1
	}, nil)
	quietFor(far, patience)
	got := b.events.next(engine.MediaPeerSilent)
	if got.Session != engine.SessionID(b.leg) {
		t.Errorf("%+v", got)
	}
}
