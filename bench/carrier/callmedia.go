package carrier

import (
	"net/netip"
	"slices"
	"time"

	"dialler/bench/carrier/media"
	"dialler/bench/pace"
	"dialler/bench/voice"
)

// openMedia reserves the RTP side once; it gives the code of a refusal when
// the offer cannot be met.
func (c *call) openMedia() int {
	car := c.carrier
	if !c.offerless {
		if len(c.remote.Codecs) == 0 || c.remote.Profile != "RTP/AVP" || !c.remote.Addr.IsValid() {
			return 488
		}
		if !car.cfg.AllowRemote && !c.remote.Addr.Addr().IsLoopback() {
			c.violation("rtp_address_not_loopback")
			return 488
		}
		if !slices.ContainsFunc(c.remote.Codecs, car.media.Speaks) {
			return 488
		}
	}
	if c.stream != nil || !car.cfg.Media {
		return 0
	}
	s, err := car.media.Open(c.remote, c.offerless, c.behaviour.Path, c.rng)
	if err != nil {
		car.stray.count("no_rtp_port")
		car.cfg.Log.Warn().Err(err).Msg("no RTP port")
		return 500
	}
	c.stream = s
	if tap := car.cfg.Tap; tap != nil {
		id := c.row.CallID
		s.Hear(func(payload []byte, said int) { tap(Frame{CallID: id, Payload: payload, Said: said}) })
	}
	return 0
}

// describe returns our SDP: an answer, or an offer if the INVITE had none.
func (c *call) describe(direction string) []byte {
	c.sdpVersion++
	at := netip.AddrPortFrom(c.carrier.addr.Addr(), c.carrier.media.PortOf(c.stream))
	codecs, event := c.carrier.media.Codecs(), c.remote.Event
	if c.offerless {
		event = 101
	} else if codec, ok := c.carrier.media.Choose(c.remote.Codecs); ok {
		codecs = []voice.Codec{codec}
	}
	if c.behaviour.DTMF == DTMFInband {
		event = 0
	}
	return media.Describe(at, c.sdpVersion, codecs, event, direction)
}

// speak starts the callee's words after picking up.
func (c *call) speak() {
	if c.stream == nil {
		return
	}
	if c.behaviour.Mute {
		c.stream.Mute()
		return
	}
	clips := &c.carrier.clips
	if c.behaviour.Recording != "" {
		c.stream.Play(nil, false) // the ringback is over
		return
	}
	clip := clips.of(c.behaviour.Kind, c.rng, c.stream.Codec)
	if c.behaviour.Kind == Machine {
		length := time.Duration(len(clip)) * time.Second / voice.Rate
		c.row.BeepAt = c.row.AnsweredAt.Add(length - voice.BeepFromEnd)
	}
	quiet := clips.of(Quiet, c.rng, c.stream.Codec)
	background := quiet
	if !c.behaviour.Chatter.IsZero() {
		background = clips.chatter(c.rng, c.stream.Codec)
		pause := int(c.behaviour.Chatter.Draw(c.rng)/pace.Frame) * voice.FrameSamples
		for clip = slices.Clone(clip); pause > 0; pause -= len(quiet) {
			clip = append(clip, quiet[:min(pause, len(quiet))]...)
		}
	}
	c.stream.Play(clip, false)
	c.stream.Background(background)
	c.press()
}

// speakRecording starts the recording once the caller is known to listen.
func (c *call) speakRecording() {
	if c.stream == nil || c.behaviour == nil || c.behaviour.Recording == "" || c.behaviour.Mute ||
		c.row.AnsweredAt.IsZero() {
		return
	}
	c.stream.Play(c.carrier.clips.recording(c.behaviour.Recording, c.stream.Codec), false)
	c.stream.Background(c.stream.Codec.Encode(nil, make([]int16, voice.FrameSamples)))
	c.press()
}

func (c *call) press() {
	b := c.behaviour
	switch {
	case b.Digits == "":
	case b.DTMF == DTMFInband:
		c.stream.Sound(c.stream.Codec.Encode(nil, voice.Keys(b.Digits)), b.Press.Draw(c.rng))
	default:
		c.stream.Press(b.Digits, b.Press.Draw(c.rng))
	}
}

func (c *call) stopMedia() {
	if c.stream != nil {
		c.row.RTP = c.stream.Close()
		c.stream = nil
	}
}
