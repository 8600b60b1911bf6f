package media

import (
	"cmp"
	"errors"
	"math"
	"net/netip"
	"sync"
	"time"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/botlink"
	"dialler/media/codec"
	"dialler/media/conceal"
	"dialler/media/demux"
	"dialler/media/jitter"
	"dialler/media/recording"
	"dialler/media/sdp"
	"dialler/media/srtp"
)

const (
	// fillAfter is how long audio may be missing in a pause of the callee before silence replaces
	// it, so that the bot hears time pass (a far side with DTX, an event in place of audio).
	fillAfter = 60 * ms
	// lateAfter is how late audio may be while the callee speaks, and always for the classifier,
	// before silence replaces it, all of it at once: no decision for a person is made earlier. Late
	// audio is heard as it was sent, without a hole. lateTicks of the pacer must have passed too:
	// after a stall of the whole process there are packets to read first.
	lateAfter = 400 * ms
	lateTicks = 15
	// pauseAfter is how many quiet frames make a pause: no word has as many.
	pauseAfter = 10
	// aheadCap is how far the bot's time may be ahead of the clock, because silence was put in the
	// place of audio that came after all. Beyond that, quiet frames after spareAfter others are left
	// out.
	aheadCap   = int64(frameTime)
	spareAfter = 5
	// concealCap is the longest gap that is filled when audio resumes: 500 ms.
	concealCap = 25
	// clockRate of G.711.
	clockRate = 8000
)

// maxDigits bounds the events that a far side can cause at will: they are kept for an owner that
// attaches again.
const maxDigits = 1000

// call is the media path of one attempt.
type call struct {
	e   *Engine
	id  engine.AttemptID
	amd engine.AMDMode
	// listen says how the call is classified.
	listen engine.AMDRules
	begun  engine.NodeLease // lease of the node when the call was opened; nil: no leases
	sock   *socket
	peer   demux.Peer // guarded by sock.mu
	// described is guarded by mu.
	described description
	// callee is the call to which this far leg's path belongs, and leg is the far leg; they are nil
	// and empty for the callee's own path (relay.go).
	callee *call
	leg    engine.LegID

	// mu guards everything below. Lock order: mu, then the link's own; sock.mu is never taken under
	// mu, nor mu under sock.mu.
	mu         sync.Mutex
	closed     bool
	answered   bool
	answeredAt time.Time // the 200 OK
	ans        sdp.Answer
	dest       netip.AddrPort
	secure     *srtp.Session // in force; nil: plain RTP
	// offered has the keys of our offer, and srtp is the trunk's setting for them.
	offered *srtp.Session
	srtp    string
	// symmetric and networks are the trunk's settings; signalled is the source of its 2xx.
	symmetric string
	networks  []netip.Prefix
	signalled netip.Addr
	// answers is the callee's leg that answered; hungUp says that its BYE has left (or the far
	// leg's), and bade that RTCP has said so.
	answers      engine.LegID
	hungUp, bade bool
	offeredTo    bool // the far side made the first offer
	record       bool
	tape         *recording.Recording // nil: not recorded; a far leg uses its call's
	recorded     *engine.Recording    // what it has become
	openedAt     time.Time

	clock int64 // of the current packet or tick

	early *early // nil: what comes before the answer is dropped

	// Receiving.
	in         jitter.Buffer
	events     dtmf
	touches    *touches // nil: keys do not come as tones
	lastSign   int64    // of RTP or RTCP received
	silent     bool     // MediaSilent was told
	lastAudio  int64    // when audio was last delivered or filled in
	tsKnown    bool
	nextTS     uint32
	lostBefore uint64
	audioTick  int // ticks at lastAudio
	filled     int // frames filled in since the last audio, for bot and recording
	waited     int // the same for the classifier
	hush       int // quiet frames in a row, for bot and recording
	// absent says that the last packet was something other than audio.
	absent      bool
	botTime     int64 // the time up to which the bot has heard, on the engine's clock
	past        conceal.Past
	resync      bool                   // a new source: its timestamps say nothing about a gap
	part        [codec.FrameBytes]byte // of a packet that is not a multiple of 20 ms
	partBytes   int
	partLaw     codec.Codec
	jitter      float64 // RFC 3550 §6.4.1, timestamp units
	lastTransit int64
	transitSet  bool
	heard       heard
	far         told

	// Sending.
	ssrc    uint32
	seq     uint16
	ts      uint32
	talking bool // the last tick had a packet, or its audio is late
	// holding means that this tick waits for the bot's audio; behind is how far the timestamps are
	// behind the clock for that.
	holding bool
	behind  uint32
	ticks   int // since the answer
	sent    uint64
	octets  uint64 // of payloads
	// reporter is where the far side's last report came from, if not from its RTP port.
	reporter netip.AddrPort
	// reported is how many packets were sent before the last report; nextReport is when the next
	// one is due.
	reported   uint64
	nextReport int64

	det        *amd.Detector
	heardFor   int      // frames of ours that it has heard
	oursTick   int      // of the bot's last audible frame
	judged     bool     // the detector has decided, but keeps listening
	leaving    *leaving // a message waiting for the machine's beep
	link       *botlink.Link
	firstAudio bool // MediaBotFirstAudio was told
	botJudged  bool // MediaBotVerdict was told
	playing    bool // the information message, or one for a machine
	message    []byte
	played     int // bytes of it

	peers map[engine.LegID]*call // paths of far legs
	other *call                  // where the audio goes to and comes from
	out   passage
	keys  keys
	// byINFO means that the trunk's profile wants keys by SIP INFO.
	byINFO bool
	dtx    bool            // it sends nothing during silence, which therefore proves nothing
	pack   *pack           // for packets that are not 20 ms long
	wb     *codec.Wideband // for G.722; nil until needed
	wbOut  *codec.Wideband // decodes relayed audio

	// The events. told is how many the sink has received.
	history    []engine.MediaEvent
	told       int
	sink       func(engine.MediaEvent)
	delivering bool
}

// emit appends an event; unlock delivers it.
func (c *call) emit(ev engine.MediaEvent) {
	if c.closed || c.callee != nil { // events on a far leg's path are not reported for the call
		return
	}
	if ev.Kind == engine.MediaDigit && len(c.history) >= maxDigits {
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

// answer starts audio in both directions.
func (c *call) answer(text []byte, at time.Time) {
	a, err := sdp.Parse(text)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	if err == nil {
		err = c.sock.fits(&a)
	}
	if err == nil {
		err = c.protect(&a, !c.answered && !c.offeredTo)
	}
	if errors.Is(err, sdp.ErrRefused) && c.answered { // the stream is switched off, but the call goes on
		c.hold()
		c.mu.Unlock()
		return
	}
	if err != nil {
		if !c.answered { // a bad re-offer leaves the call unchanged
			c.emit(engine.MediaEvent{Kind: engine.MediaFailed, Error: err.Error()})
		}
		c.unlock()
		return
	}
	now := c.e.now()
	if c.answered {
		c.move(&a)
	} else {
		c.dest, c.ans, c.lastSign = a.Remote, a, now
		c.early, c.wb = nil, nil
		c.answered, c.answeredAt, c.lastAudio = true, at, now
		c.nextReport = now + untilReport()/2 // the first report comes early (§6.2)
		if c.record && c.e.cfg.Recorder != nil {
			c.tape = c.e.cfg.Recorder.Start(c.id, at)
		}
		switch c.amd {
		case engine.AMDSequential, engine.AMDParallel:
			c.det = amd.New(c.rules())
		case engine.AMDOff:
		}
		c.listenForTouches()
	}
	c.unlock()
	c.sock.answer(c, &a)
}

// move redirects the audio to where an offer wants it; mu is held. On an old-style hold the address
// is zero and the target stays unchanged.
func (c *call) move(a *sdp.Answer) {
	if a.Remote.Addr().IsUnspecified() {
		a.Remote = netip.AddrPortFrom(c.ans.Remote.Addr(), c.ans.Remote.Port())
	} else if a.Remote != c.ans.Remote { // otherwise it stays where it may have latched
		c.dest = a.Remote
	}
	before := c.onHold()
	c.ans = *a
	if !before || !c.onHold() { // a hold that is offered again began with the first
		c.lastSign = c.e.now()
	}
	c.listenForTouches()
}

// onHold says that the far side does not want to hear us; mu is held.
func (c *call) onHold() bool { return !c.ans.HeListens }

// patience is how long nothing may come from the far side, in nanoseconds; mu is held.
func (c *call) patience() int64 {
	switch {
	case c.onHold():
		return int64(c.e.cfg.HoldTimeout)
	case !c.ans.HeSends: // it only listens
		return math.MaxInt64
	}
	return int64(c.e.cfg.RTPTimeout)
}

// hold stops both sides from sending until the next description; mu is held.
func (c *call) hold() { c.ans.HeSends, c.ans.HeListens = false, false }

// offer prepares an unanswered call for the trunk about to be tried: with SRTP it gets keys, the
// same ones when it is offered again. It returns them.
func (c *call) offer(p engine.MediaProfile) *srtp.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byINFO, c.dtx = p.DTMF == engine.DTMFByINFO, p.DTX
	if !c.answered {
		c.symmetric, c.networks = p.Symmetric, nil
		for _, text := range p.Networks {
			if n, err := netip.ParsePrefix(text); err == nil {
				c.networks = append(c.networks, n)
			}
		}
	}
	if mode := cmp.Or(p.SRTP, engine.SRTPOff); !c.answered && mode != c.srtp {
		c.srtp, c.offered, c.secure = mode, nil, nil
		switch mode {
		case engine.SRTPRequired:
			c.offered = srtp.New()
			c.secure = c.offered
		case engine.SRTPOptional:
			c.offered = srtp.New()
		}
	}
	return c.offered
}

// latching returns the sources that the call may accept besides the address of its SDP.
func (c *call) latching(a *sdp.Answer) demux.Latch {
	c.mu.Lock()
	defer c.mu.Unlock()
	return demux.Latch{
		Off: c.symmetric == engine.SymmetricOff, Open: demux.MayLatch(c.symmetric, a.Remote.Addr(), c.e.own),
		Named: a.Remote.Addr(), Signalled: c.signalled, Networks: c.networks,
		Until: c.e.now() + demux.LatchWithin, Audio: demux.Types(&a.Codecs),
	}
}

// protect applies the keys of a description; mu is held. first means that it answers our offer. One
// with SRTP is never answered without it (RFC 4568 §5.1.2), nor the reverse, unless the trunk says
// optional: then the far side's keys decide, whatever profile it names (RFC 8643 §3).
func (c *call) protect(a *sdp.Answer, first bool) error {
	switch {
	case c.offered == nil && a.Secure:
		return sdp.ErrProtocol
	case c.offered == nil:
		return nil
	case c.srtp == engine.SRTPRequired && !a.Secure:
		return sdp.ErrInsecure
	case !a.Secure && !a.Keyed:
		c.secure = nil
		return nil
	}
	if err := c.offered.Answered(a.Crypto, first); err != nil {
		return err
	}
	c.secure, a.Secure = c.offered, true
	return nil
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
	if c.begun != nil && engine.FencedOff(c.e.cfg.Fence.Boot(), c.begun) {
		c.link = nil
		c.emit(engine.MediaEvent{Kind: engine.MediaBotFailed, At: time.Now(), Session: cmd.Session, Error: "lease lost"})
		return
	}
	c.firstAudio, c.botTime = false, 0
	c.link = c.e.bots.Connect(botlink.Request{
		Endpoints: cmd.Endpoints, AuthToken: cmd.AuthToken, Headers: cmd.Headers, Account: cmd.Account, Session: cmd.Session,
		Call: cmd.Call, Parameters: cmd.Parameters, Deadline: cmd.Deadline,
		Socket: cmd.Socket,
	}, c)
}

func (c *call) detachBot() {
	c.mu.Lock()
	if c.link != nil {
		c.link.Stop()
		c.link = nil
	}
	c.unlock()
}

// BotConnected implements botlink.Handler.
func (c *call) BotConnected(l *botlink.Link, at time.Time) {
	endpoint, missed := l.Tried()
	c.mu.Lock()
	if c.link == l {
		c.emit(engine.MediaEvent{Kind: engine.MediaBotConnected, At: at, Session: l.Session(), Endpoint: endpoint,
			Missed: missed})
	}
	c.unlock()
}

// BotFailed implements botlink.Handler.
func (c *call) BotFailed(l *botlink.Link, at time.Time, reason string, refused bool) {
	_, missed := l.Tried()
	c.mu.Lock()
	if c.link == l {
		c.link = nil
		c.emit(engine.MediaEvent{Kind: engine.MediaBotFailed, At: at, Session: l.Session(), Error: reason, Refused: refused,
			Missed: missed})
	}
	c.unlock()
}

// BotVerdict implements botlink.Handler. It reports a verdict only once: only one can revise ours.
func (c *call) BotVerdict(l *botlink.Link, at time.Time, v engine.Verdict) {
	c.mu.Lock()
	if c.link == l && !c.botJudged {
		c.botJudged = true
		c.emit(engine.MediaEvent{
			Kind: engine.MediaBotVerdict, At: at, Session: l.Session(), Verdict: v, Confidence: 1,
			AMDTook: at.Sub(c.answeredAt), Features: map[string]float64{"bot": 1},
		})
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
		c.message, c.playing, c.played = c.e.message, true, 0
	}
	c.unlock()
}

func (c *call) hearDigit(digit byte) (by engine.LegID) {
	c.mu.Lock()
	again, o := c.toldOf(digit), c.other
	if !again && c.link != nil {
		c.link.WriteDigit(digit)
	}
	c.unlock()
	if again || o == nil {
		return ""
	}
	return o.press(digit)
}

// close ends everything and returns the call's quality figures.
func (c *call) close(now int64) engine.MediaQuality {
	c.mu.Lock()
	c.closed = true
	c.sink = nil
	if c.link != nil {
		c.link.Stop()
		c.link = nil
	}
	c.det = nil
	c.in.Reset()
	peers := c.takePeers()
	q := c.quality()
	var bye []byte
	var to netip.AddrPort
	if !c.bade {
		bye, to = c.reporting(now, true)
	}
	mux := c.ans.Mux
	c.endTape()
	q.Recording = c.recorded
	c.mu.Unlock()
	c.e.counters.received.Add(q.PacketsReceived)
	c.e.counters.lost.Add(q.PacketsLost)
	c.e.counters.late.Add(q.PacketsLate)
	c.sock.report(bye, to, mux)
	c.sock.remove(c, now, &q)
	for _, p := range peers {
		p.close(now)
	}
	return q
}

// endTape ends the recording; mu is held.
func (c *call) endTape() {
	if c.tape != nil && c.callee == nil {
		c.recorded = c.tape.End()
	}
	c.tape = nil
}

// quality sums a call up; mu is held.
func (c *call) quality() engine.MediaQuality {
	unit := time.Second / clockRate
	q := engine.MediaQuality{
		PacketsReceived: c.in.Received, PacketsSent: c.sent, PacketsLost: c.in.Lost, PacketsLate: c.in.Late,
		Jitter: time.Duration(c.jitter * float64(unit)), Codec: c.ans.Send.String(),
		FarReports: c.far.reports, RoundTrip: c.far.roundTrip,
	}
	if c.secure != nil {
		q.SRTP = c.secure.Suite()
	}
	if n := q.PacketsReceived + q.PacketsLost; q.PacketsReceived > 0 {
		q.MOS = opinion(c.ans.Send, float64(q.PacketsLost)/float64(n), q.RoundTrip, q.Jitter)
	}
	if q.FarReports > 0 {
		q.FarLost = uint64(max(c.far.lost, 0))
		q.FarJitter = time.Duration(c.far.jitter) * unit
		q.FarMOS = opinion(c.ans.Send, float64(q.FarLost)/float64(max(c.sent, 1)), q.RoundTrip, q.FarJitter)
	}
	return q
}
