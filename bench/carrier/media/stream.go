package media

import (
	"encoding/binary"
	"net/netip"
	"sync"
	"time"

	"github.com/pion/rtp"

	"dialler/bench/pace"
	"dialler/bench/voice"
)

const (
	// Audible is the mean magnitude of a frame above which a person hears
	// something: about -45 dBFS.
	Audible = 180

	digitFrames = 5 // of 20 ms, then three with the end bit
	endFrames   = 3 // RFC 4733 §2.5.1.4
	digitGap    = 4 // frames between digits
)

// Count is what the callee's side of the media counted.
type Count struct {
	Sent     int `json:"sent"`     // packets to the caller
	Received int `json:"received"` // packets from the caller's announced address
	Strange  int `json:"strange"`  // packets from anywhere else: cross-talk
	Lost     int `json:"lost"`     // sequence numbers never received
	// FirstAt and LastAt are times of received packets; AudioAt and LastAudioAt of audible ones. An
	// information message or a bot is in time if AudioAt is; a voicemail was left if LastAudioAt is
	// well after BeepAt.
	FirstAt     time.Time `json:"first_at,omitzero"`
	LastAt      time.Time `json:"last_at,omitzero"`
	AudioAt     time.Time `json:"audio_at,omitzero"`
	LastAudioAt time.Time `json:"last_audio_at,omitzero"`
}

// Stream is the callee's side of one call's audio.
type Stream struct {
	media *Ports
	port  *rtpPort
	leave func() // the pacer
	road  *road  // nil: the network does nothing to it

	mu      sync.Mutex
	Codec   voice.Codec
	remote  netip.AddrPort
	event   int // payload type of telephone-event
	sending bool
	silent  bool // never sends
	closed  bool

	ssrc   uint32
	seq    uint16
	ts     uint32
	talked bool // the marker bit of the first packet was sent

	tap  func(payload []byte, said int)
	said int // frames since the clip began
	clip []byte
	loop bool
	at   int
	rest []byte // repeated after the clip has ended

	tones    []byte // heard in place of the clip after toneWait frames
	toneWait int

	digits    string
	digitWait int // frames
	digitAt   int // frame of the digit being sent
	digitTS   uint32

	counts   Count
	packet   rtp.Packet
	source   uint32
	base     uint32 // extended sequence number of the first packet
	top      uint32
	expected bool
	buf      [12 + voice.FrameSamples]byte
}

// Play starts a clip; loop repeats it.
func (s *Stream) Play(clip []byte, loop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clip, s.loop, s.at, s.said = clip, loop, 0, 0
}

// Hear calls f for each audio frame from the caller.
func (s *Stream) Hear(f func(payload []byte, said int)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tap = f
}

// Background sets what follows the clip.
func (s *Stream) Background(clip []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = clip
}

// Mute stops sending for good.
func (s *Stream) Mute() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
}

// Press sends digits after a delay.
func (s *Stream) Press(digits string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digits, s.digitWait, s.digitAt = digits, int(after/pace.Frame), 0
}

// Sound plays a clip once over whatever else is to be heard, after a delay.
func (s *Stream) Sound(clip []byte, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tones, s.toneWait = clip, int(after/pace.Frame)
}

// Retarget applies a new description from the caller.
func (s *Stream) Retarget(d Description) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !d.Addr.IsValid() || (!s.media.cfg.Remote && !d.Addr.Addr().IsLoopback()) {
		s.sending = false
		return
	}
	s.remote, s.event, s.sending = d.Addr, d.Event, d.Listens
	if codec, ok := s.media.Choose(d.Codecs); ok && codec != s.Codec {
		s.Codec = codec
		// The current clip is in the other law; stay silent instead.
		s.clip, s.rest, s.tones = nil, nil, nil
	}
}

// Close releases the port and returns the final counts.
func (s *Stream) Close() Count {
	s.leave()
	s.media.put(s.port)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.road != nil && s.road.nat != nil {
		_ = s.road.nat.Close()
	}
	return s.counted()
}

func (s *Stream) Count() Count {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counted()
}

func (s *Stream) counted() Count {
	c := s.counts
	if s.expected {
		c.Lost = max(0, int(s.top-s.base)+1-c.Received)
	}
	return c
}

// Tick sends one frame.
func (s *Stream) Tick(time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ts += voice.FrameSamples
	if s.closed || s.silent || !s.sending || !s.remote.IsValid() {
		s.talked = false
		return
	}
	if s.sendDigit() {
		return
	}
	frame := s.frame()
	if frame == nil {
		return
	}
	s.write(PayloadType(s.Codec), !s.talked, s.ts, frame)
	s.talked = true
}

// frame returns the next 20 ms of clip or background.
func (s *Stream) frame() []byte {
	if len(s.tones) >= voice.FrameSamples {
		if s.toneWait--; s.toneWait < 0 {
			f := s.tones[:voice.FrameSamples]
			s.tones = s.tones[voice.FrameSamples:]
			return f
		}
	}
	if s.clip != nil && s.at+voice.FrameSamples > len(s.clip) {
		s.at = 0
		if !s.loop {
			s.clip = nil
		}
	}
	if s.clip == nil {
		if len(s.rest) < voice.FrameSamples {
			return nil
		}
		s.clip, s.loop, s.at = s.rest, true, 0
	}
	f := s.clip[s.at : s.at+voice.FrameSamples]
	s.at += voice.FrameSamples
	s.said++
	return f
}

// sendDigit sends a frame of a telephone-event (RFC 4733 §2.5.1): a constant timestamp, an
// increasing duration, the end bit three times.
func (s *Stream) sendDigit() bool {
	if s.digits == "" || s.event == 0 {
		return false
	}
	if s.digitWait > 0 {
		s.digitWait--
		return false
	}
	if s.digitAt == 0 {
		s.digitTS = s.ts
	}
	duration := uint16(min(s.digitAt+1, digitFrames) * voice.FrameSamples) //nolint:gosec // bounded by digitFrames
	last := s.digitAt >= digitFrames
	event := byte(DigitEvent(s.digits[0])) //nolint:gosec // 0 to 15, validated
	payload := [4]byte{event, 10}
	binary.BigEndian.PutUint16(payload[2:], duration)
	if last {
		payload[1] |= 0x80
	}
	s.write(uint8(s.event), s.digitAt == 0, s.digitTS, payload[:]) //nolint:gosec // 96 to 127
	s.digitAt++
	if s.digitAt == digitFrames+endFrames {
		s.digits, s.digitAt, s.digitWait = s.digits[1:], 0, digitGap
	}
	return true
}

func (s *Stream) write(pt uint8, marker bool, ts uint32, payload []byte) {
	s.seq++
	h := rtp.Header{Version: 2, Marker: marker, PayloadType: pt, SequenceNumber: s.seq, Timestamp: ts, SSRC: s.ssrc}
	n, err := h.MarshalTo(s.buf[:])
	if err != nil {
		return
	}
	n += copy(s.buf[n:], payload)
	s.send(s.buf[:n])
}

// receive counts a packet from the caller.
func (s *Stream) receive(b []byte, from netip.AddrPort) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if from != s.remote || s.packet.Unmarshal(b) != nil {
		s.counts.Strange++
		return
	}
	h := &s.packet.Header
	if s.counts.Received == 0 {
		s.counts.FirstAt = now
	}
	s.counts.Received++
	s.counts.LastAt = now
	seq := uint32(h.SequenceNumber)
	switch {
	case !s.expected || h.SSRC != s.source:
		s.source, s.base, s.top, s.expected = h.SSRC, seq, seq, true
		// Only packets of the current source can fill its gaps.
		s.base -= uint32(s.counts.Received - 1) //nolint:gosec // wraps as sequence numbers do
	default:
		// RFC 3550 A.1: the distance from the highest seen, modulo 2^16.
		if step := int16(h.SequenceNumber - uint16(s.top)); step > 0 { //nolint:gosec // the low half
			s.top += uint32(step)
		}
	}
	if s.tap != nil && h.PayloadType == PayloadType(s.Codec) {
		s.tap(s.packet.Payload, s.said)
	}
	if h.PayloadType == PayloadType(s.Codec) && s.Codec.Level(s.packet.Payload) > Audible {
		if s.counts.AudioAt.IsZero() {
			s.counts.AudioAt = now
		}
		s.counts.LastAudioAt = now
	}
}

// DigitEvent returns the event number of a digit (RFC 4733 §3.2), -1 if it has none.
func DigitEvent(d byte) int {
	switch {
	case d >= '0' && d <= '9':
		return int(d - '0')
	case d == '*':
		return 10
	case d == '#':
		return 11
	case d >= 'A' && d <= 'D':
		return int(d-'A') + 12
	}
	return -1
}
