package media

import (
	"math"
	"net/netip"
	"sync"
	"time"

	"github.com/pion/rtp"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/botlink"
	"dialler/media/recording"
)

const (
	// fillAfter: without audio for this long, silence takes its place, so that
	// the bot and the classifier hear time pass (a far side with DTX, an event
	// in place of audio, a loss without end).
	fillAfter = 60 * millis
	// concealCap is the longest gap that is filled when audio goes on: 500 ms.
	concealCap = 25
	// clockRate of G.711.
	clockRate = 8000
)

// call is the media path of one attempt.
type call struct {
	e    *Engine
	id   engine.AttemptID
	amd  engine.AMDMode
	sock *socket
	peer peer   // guarded by sock.mu
	sdp  uint64 // session id of the offer
	// written is guarded by mu.
	written written
	// callee is the call that this path of a far leg belongs to, leg which one;
	// nil and empty for the callee's own (relay.go).
	callee *call
	leg    engine.LegID

	// mu guards everything below. Order of locks: mu, then the link's own;
	// sock.mu is never taken under mu, nor mu under sock.mu.
	mu         sync.Mutex
	closed     bool
	answered   bool
	answeredAt time.Time // the 200 OK
	ans        answer
	dest       netip.AddrPort
	secure     *security // nil: plain RTP
	record     bool
	tape       *recording.Recording // nil: not recorded; of a far leg its call's
	openedAt   time.Time

	clock int64 // of the packet or tick at hand

	// Receiving.
	in          reorder
	events      dtmf
	lastSign    int64 // RTP or RTCP came
	silent      bool  // MediaSilent was told
	lastAudio   int64 // audio was delivered or filled in
	tsKnown     bool
	nextTS      uint32
	lostBefore  uint64
	filled      int // frames filled in since the last audio
	last        [frameBytes]byte
	lastLaw     codec
	part        [frameBytes]byte // of a packet that is no multiple of 20 ms
	partBytes   int
	partLaw     codec
	jitter      float64 // RFC 3550 §6.4.1, timestamp units
	lastTransit int64
	transitSet  bool
	heard       heard
	far         told

	// Sending.
	ssrc    uint32
	seq     uint16
	ts      uint32
	talking bool // the last tick had a packet
	ticks   int  // since the answer
	sent    uint64
	octets  uint64 // of payloads
	// reported is how many packets were sent before the last report, nextReport
	// when the next one is due.
	reported   uint64
	nextReport int64

	det        *amd.Detector
	link       *botlink.Link
	firstAudio bool // MediaBotFirstAudio was told
	playing    bool // the information message
	played     int  // bytes of it

	peers map[engine.LegID]*call // paths of far legs
	other *call                  // to whom the audio goes and from whom it comes
	out   passage
	wb    *wideband // of G.722; nil until it is needed
	wbOut *wideband // the decoder of what is relayed

	// Events. told is how many the sink has had.
	history    []engine.MediaEvent
	told       int
	sink       func(engine.MediaEvent)
	delivering bool
}

// emit appends an event; unlock delivers it.
func (c *call) emit(ev engine.MediaEvent) {
	if c.closed || c.callee != nil { // what happens on a far leg's path is no news of the call's
		return
	}
	ev.Attempt, ev.Seq = c.id, len(c.history)+1
	if ev.At.IsZero() {
		ev.At = time.Now()
	}
	c.history = append(c.history, ev)
}

// unlock releases mu and hands new events to the sink, in order and with no
// lock held, so that the sink may call the engine.
func (c *call) unlock() {
	for c.sink != nil && !c.delivering && c.told < len(c.history) {
		ev, sink := c.history[c.told], c.sink
		c.told++
		c.delivering = true
		c.mu.Unlock()
		sink(ev)
		c.mu.Lock()
		c.delivering = false
	}
	c.mu.Unlock()
}

// attach replaces the sink and starts the replay from the first event.
func (c *call) attach(sink func(engine.MediaEvent)) {
	c.mu.Lock()
	c.sink, c.told = sink, 0
	c.unlock()
}

// answer starts audio both ways.
func (c *call) answer(sdp []byte, at time.Time) {
	a, err := parseAnswer(sdp)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	if err == nil {
		err = c.protect(&a)
	}
	if err != nil {
		if !c.answered { // a bad re-offer leaves the call as it is
			c.emit(engine.MediaEvent{Kind: engine.MediaFailed, Error: err.Error()})
		}
		c.unlock()
		return
	}
	now := c.e.now()
	if !c.answered || c.dest != a.remote {
		c.dest = a.remote
	}
	c.ans = a
	c.lastSign = now
	if !c.answered {
		c.answered, c.answeredAt, c.lastAudio = true, at, now
		c.nextReport = now + untilReport()/2 // the first one comes early (§6.2)
		if c.record && c.e.cfg.Recorder != nil {
			c.tape = c.e.cfg.Recorder.Start(c.id, at)
		}
		switch c.amd {
		case engine.AMDSequential, engine.AMDParallel:
			c.det = amd.New(c.e.cfg.AMD)
		case engine.AMDOff:
		}
	}
	c.unlock()
	c.sock.answer(c, &a)
}

// offer prepares an unanswered call for the trunk that is tried: with SRTP it
// has keys, the same ones when it is offered again.
func (c *call) offer(p engine.MediaProfile) *security {
	c.mu.Lock()
	defer c.mu.Unlock()
	if want := p.SRTP == engine.SRTPRequired; !c.answered && want != (c.secure != nil) {
		c.secure = nil
		if want {
			c.secure = newSecurity()
		}
	}
	return c.secure
}

// protect takes the keys of the SDP answer; mu is held. What was offered with
// SRTP is never answered without (RFC 4568 §5.1.2), nor the reverse.
func (c *call) protect(a *answer) error {
	switch {
	case c.secure == nil && a.secure:
		return errProtocol
	case c.secure == nil:
		return nil
	case !a.secure:
		return errInsecure
	}
	return c.secure.answered(a.crypto, !c.answered)
}

// report takes an RTCP packet of this call: a sign of life. b is changed.
func (c *call) report(b []byte, now int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.secure != nil {
		var err error
		if b, err = c.secure.openReport(b); err != nil {
			c.e.unauthentic(err)
			return
		}
	}
	c.lastSign = now
	c.far.take(b, c.ssrc, &c.heard, uint32(ntpTime(time.Now())>>16), now) //nolint:gosec // the middle of it
}

// receive takes an RTP packet of this call; pkt is scratch, b is changed. What
// is relayed is added to the batch.
func (c *call) receive(b []byte, pkt *rtp.Packet, from netip.AddrPort, moved bool, w *writer, now int64) {
	c.mu.Lock()
	if c.closed || !c.answered {
		c.mu.Unlock()
		return
	}
	var err error
	if c.secure != nil {
		if b, err = c.secure.open(b); err != nil {
			c.e.unauthentic(err)
			c.mu.Unlock()
			return
		}
	}
	if err = pkt.Unmarshal(b); err != nil {
		c.e.counters.malformed.Add(1)
		c.mu.Unlock()
		return
	}
	if c.other != nil && !c.relay(pkt, w, now) {
		c.mu.Unlock()
		return
	}
	if moved {
		c.e.counters.latched.Add(1)
		c.dest = from
	}
	c.clock, c.lastSign = now, now
	c.heard.count(pkt.SSRC, pkt.SequenceNumber)
	if c.ans.codecs[pkt.PayloadType] != codecNone {
		c.measure(pkt.Timestamp, now)
	}
	// The packet goes through the sequence whatever it carries: comfort noise
	// (RFC 3389) and unknown types are no losses.
	c.in.put(pkt.SequenceNumber, pkt.Timestamp, pkt.PayloadType, pkt.Payload, c.deliver)
	c.unlock()
}

// measure keeps the interarrival jitter (RFC 3550 appendix A.8).
func (c *call) measure(ts uint32, now int64) {
	arrival := now / (int64(time.Second) / clockRate)
	transit := arrival - int64(ts)
	if c.transitSet {
		d := math.Abs(float64(int32(transit - c.lastTransit))) //nolint:gosec // wraps with the timestamp
		if d < clockRate {                                     // a restart is no jitter
			c.jitter += (d - c.jitter) / 16
		}
	}
	c.lastTransit, c.transitSet = transit, true
}

// deliver takes packets in order; mu is held.
func (c *call) deliver(ts uint32, pt uint8, payload []byte) {
	if c.ans.event(pt) {
		if digit, ok := c.events.packet(ts, payload); ok {
			c.emit(engine.MediaEvent{Kind: engine.MediaDigit, Digit: digit})
			if c.link != nil {
				c.link.WriteDigit(digit)
			}
		}
		return
	}
	law := c.ans.codecs[pt&0x7F]
	if law == codecNone || len(payload) == 0 {
		return
	}
	c.conceal(ts)
	if law == codecG722 { // a byte is as long as in G.711
		payload, law = c.wide().decode(payload), codecUlaw
	}
	c.tsKnown, c.nextTS = true, ts+uint32(len(payload)) //nolint:gosec // a datagram
	c.lastAudio = c.clock
	if law != c.partLaw {
		c.partBytes, c.partLaw = 0, law
	}
	for len(payload) > 0 {
		if c.partBytes == 0 && len(payload) >= frameBytes {
			copy(c.last[:], payload)
			c.lastLaw = law
			c.frame(payload[:frameBytes], law)
			payload = payload[frameBytes:]
			continue
		}
		n := copy(c.part[c.partBytes:], payload)
		payload = payload[n:]
		if c.partBytes += n; c.partBytes == frameBytes {
			c.partBytes = 0
			copy(c.last[:], c.part[:])
			c.lastLaw = law
			c.frame(c.part[:], law)
		}
	}
}

// conceal fills a gap in the timestamps: after a loss the last frame is
// repeated once, the rest is silence.
func (c *call) conceal(ts uint32) {
	lost := c.in.lost != c.lostBefore
	c.lostBefore = c.in.lost
	gap := int32(ts - c.nextTS) //nolint:gosec // RFC 1982 arithmetic
	frames := int(gap)/frameBytes - c.filled
	already := c.filled
	c.filled = 0
	if !c.tsKnown || gap <= 0 || int(gap) > 60*clockRate {
		return
	}
	for i := range min(frames, concealCap) {
		if i == 0 && lost && already == 0 && c.lastLaw != codecNone {
			frame := c.last
			c.frame(frame[:], c.lastLaw)
			continue
		}
		c.quiet()
	}
}

// quiet is a frame of silence in place of audio. Before the callee was heard
// at all there is no stream with a gap in it: only the classifier hears time
// pass then.
func (c *call) quiet() {
	if !c.tsKnown && c.det == nil {
		return
	}
	var frame [frameBytes]byte
	for i := range frame {
		frame[i] = ulawSilence
	}
	c.frame(frame[:], codecUlaw)
}

// frame is 20 ms of what the callee says; mu is held and b may be changed.
func (c *call) frame(b []byte, law codec) {
	if c.det != nil {
		c.classify(b, law)
	}
	if (c.link == nil && c.tape == nil) || !c.tsKnown {
		return
	}
	if law == codecAlaw {
		transcode(b, &alawToUlaw)
	}
	if c.link != nil {
		c.link.WriteFrame(b)
	}
	switch {
	case c.tape == nil:
	case c.callee == nil:
		c.tape.Callee(b)
	case c.other != nil:
		c.tape.Far(b)
	}
}

func (c *call) classify(b []byte, law codec) {
	var pcm [frameBytes]int16
	table := &ulawToPCM
	if law == codecAlaw {
		table = &alawToPCM
	}
	for i, v := range b {
		pcm[i] = table[v]
	}
	d, ok := c.det.Feed(pcm[:])
	if !ok {
		return
	}
	now := time.Now()
	ev := engine.MediaEvent{
		Kind: engine.MediaVerdict, At: now, Verdict: d.Verdict, Confidence: d.Confidence,
		AMDTook: now.Sub(c.answeredAt), Features: d.Features.Map(),
	}
	if d.GreetingEnd > 0 {
		ev.GreetingEnd = now.Add(d.GreetingEnd - d.At)
	}
	c.det = nil
	c.emit(ev)
}

// tick is called every 20 ms of an answered call; it may add one datagram to
// the batch.
func (c *call) tick(w *writer, now int64) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.clock = now
	if now >= c.nextReport && c.nextReport > 0 {
		if c.reportDue(now); c.closed {
			c.mu.Unlock()
			return
		}
	}
	if c.in.holding > 0 && now-c.lastAudio > fillAfter {
		c.in.flush(c.deliver)
	}
	if now-c.lastAudio > fillAfter {
		c.quiet()
		c.filled++
	}
	if timeout := int64(c.e.cfg.RTPTimeout); !c.silent && c.ans.heSends && now-c.lastSign > timeout {
		c.silent = true
		c.emit(engine.MediaEvent{Kind: engine.MediaSilent})
	}
	if c.passing(now) {
		c.ticked(now)
		c.unlock()
		return
	}
	slot := w.slot()
	if c.next(slot[rtpHeaderBytes:sendBytes]) && c.ans.heListens {
		if n := c.seal(slot); n > 0 {
			w.commit(c.dest, n)
			c.sent++
			c.octets += frameBytes
		}
	} else {
		c.talking = false
	}
	c.ts += frameBytes
	c.ticked(now)
	c.unlock()
}

// wide gives the call's G.722; mu is held.
func (c *call) wide() *wideband {
	if c.wb == nil {
		c.wb = newWideband()
	}
	return c.wb
}

func (c *call) ticked(now int64) {
	c.ticks++
	if c.tape != nil && c.callee == nil {
		c.tape.Tick(now)
	}
}

// next writes the next frame to be heard by the callee; false when nothing is
// to be sent.
func (c *call) next(dst []byte) bool {
	n := 0
	switch {
	case c.playing:
		n = copy(dst, c.e.message[c.played:])
		if c.played += n; n == 0 {
			c.playing = false
			c.emit(engine.MediaEvent{Kind: engine.MediaPlayed})
		}
	case c.link != nil:
		if n = c.link.ReadFrame(dst); n > 0 && !c.firstAudio {
			c.firstAudio = true
			c.emit(engine.MediaEvent{Kind: engine.MediaBotFirstAudio, Session: c.link.Session()})
		}
	}
	if n == 0 && c.mute() {
		return false
	}
	for i := n; i < len(dst); i++ {
		dst[i] = ulawSilence
	}
	if c.tape != nil && c.callee == nil && c.ans.heListens {
		c.tape.Bot(dst)
	}
	switch c.ans.send {
	case codecAlaw:
		transcode(dst, &ulawToAlaw)
	case codecG722:
		c.wide().encode(dst)
	case codecUlaw, codecNone:
	}
	return true
}

// Silence to a callee who has not been heard, in ticks.
const (
	openingFirst = 2   // at the start,
	openingEvery = 250 // then one packet every 5 s
)

// mute says whether silence is left out of the stream. To a callee who has
// sent nothing yet it only opens the path and keeps it open through NAT
// (RFC 6263 §4); once he was heard the stream has no gaps.
func (c *call) mute() bool {
	return !c.tsKnown && c.ticks >= openingFirst && c.ticks%openingEvery != 0
}

// seal writes the RTP header (RFC 3550 §5.1) before the frame. The marker
// says that sound begins after a pause (RFC 3551 §4.1). It gives the length of
// the datagram, 0 when there is none to send.
func (c *call) seal(b *[sendCap]byte) int {
	h := rtp.Header{
		Version: 2, Marker: !c.talking, PayloadType: c.ans.sendPT,
		SequenceNumber: c.seq, Timestamp: c.ts, SSRC: c.ssrc,
	}
	_, _ = h.MarshalTo(b[:rtpHeaderBytes]) // cannot fail: the room is there
	c.seq++
	c.talking = true
	if c.secure != nil {
		return c.secure.seal(b[:], sendBytes)
	}
	return sendBytes
}

// attachBot opens the bot's socket.
func (c *call) attachBot(cmd engine.AttachBot) {
	c.mu.Lock()
	defer c.unlock()
	if c.closed {
		return
	}
	if c.link != nil {
		if c.link.Session() == cmd.Session {
			return // said twice
		}
		c.link.Stop()
	}
	c.firstAudio = false
	c.link = c.e.bots.Connect(botlink.Request{
		Endpoints: cmd.Endpoints, AuthToken: cmd.AuthToken, Account: cmd.Account, Session: cmd.Session,
		Call: cmd.Call, Parameters: cmd.Parameters, Deadline: cmd.Deadline,
	}, c)
}

func (c *call) detachBot() {
	c.mu.Lock()
	if c.link != nil {
		c.link.Stop()
		c.link = nil
	}
	c.other = nil
	c.unlock()
}

// BotConnected implements botlink.Handler.
func (c *call) BotConnected(l *botlink.Link, at time.Time) {
	c.mu.Lock()
	if c.link == l {
		c.emit(engine.MediaEvent{Kind: engine.MediaBotConnected, At: at, Session: l.Session()})
	}
	c.unlock()
}

// BotFailed implements botlink.Handler.
func (c *call) BotFailed(l *botlink.Link, at time.Time, reason string, refused bool) {
	c.mu.Lock()
	if c.link == l {
		c.link = nil
		c.emit(engine.MediaEvent{Kind: engine.MediaBotFailed, At: at, Session: l.Session(), Error: reason, Refused: refused})
	}
	c.unlock()
}

// BotClosed implements botlink.Handler.
func (c *call) BotClosed(l *botlink.Link, at time.Time, reason string, normal bool) {
	c.mu.Lock()
	if c.link == l {
		c.link = nil
		c.emit(engine.MediaEvent{Kind: engine.MediaBotClosed, At: at, Session: l.Session(), Error: reason, Refused: normal})
	}
	c.unlock()
}

func (c *call) playMessage() {
	c.mu.Lock()
	if !c.closed && !c.playing {
		c.playing, c.played = true, 0
	}
	c.unlock()
}

func (c *call) hearDigit(digit byte) {
	c.mu.Lock()
	if c.link != nil {
		c.link.WriteDigit(digit)
	}
	c.unlock()
}

// close ends everything and gives the counts.
func (c *call) close(now int64) engine.MediaQuality {
	c.mu.Lock()
	c.closed = true
	c.sink = nil
	if c.link != nil {
		c.link.Stop()
		c.link = nil
	}
	c.det = nil
	c.in.reset()
	peers := c.takePeers()
	q := c.quality()
	bye, to := c.reporting(now, true)
	mux := c.ans.mux
	if c.tape != nil && c.callee == nil {
		q.Recording = c.tape.End()
	}
	c.tape = nil
	c.mu.Unlock()
	c.e.counters.received.Add(q.PacketsReceived)
	c.e.counters.lost.Add(q.PacketsLost)
	c.e.counters.late.Add(q.PacketsLate)
	c.sock.report(bye, to, mux)
	c.sock.remove(c, now)
	for _, p := range peers {
		p.close(now)
	}
	return q
}
