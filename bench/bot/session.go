package bot

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/bench/draw"
	"dialler/bench/voice"
	"dialler/engine"
)

const (
	// writeTimeout bounds the write of one frame: a platform that stops reading loses the session
	// instead of stalling the shared pacer. It is longer than a starved machine may take from one
	// line to the next.
	writeTimeout = 3 * time.Second
	// closeGrace is how long a platform may take to answer a close frame.
	closeGrace = 300 * time.Millisecond
	// startTimeout bounds the silence from upgrade to start frame, because a platform that opens a
	// socket ahead of its call sends pings.
	startTimeout = 10 * time.Second
	// markGrace is how long after its audio a mark may come back.
	markGrace = 5 * time.Second
	// audible is the mean magnitude above which a person hears a frame.
	audible = 180
	// auditEvery is the sampling interval: one media frame in this many is fully decoded.
	auditEvery = 64
	maxFrame   = 1 << 20
)

// mark is a mark that has not come back.
type mark struct {
	name string
	due  time.Time
}

// session is one socket.
type session struct {
	bot   *Bot
	over  atomic.Bool // the socket is closed and the result posted
	conn  *websocket.Conn
	leave func() // the pacers

	// Used only by the reading goroutine.
	messages  int
	sequence  int64
	chunk     int64
	timestamp int64
	heard     heard
	raw       []byte

	mu       sync.Mutex
	row      Session
	rng      *rand.Rand
	plan     plan
	script   player
	marks    []mark
	stopped  bool // a stop frame came
	probe    bool // closed properly before any frame: not a session
	leaving  EndedBy
	unseated bool   // the seat was returned
	prefix   []byte // of a media frame
	out      []byte
}

// plan is a drawn Conversation.
type plan struct {
	Conversation
	hangUpAt time.Time // zero: never
	dieAt    time.Time
	result   *Result
}

func newSession(b *Bot, conn *websocket.Conn) *session {
	return &session{bot: b, conn: conn, row: Session{
		OpenedAt: time.Now(), Remote: conn.RemoteAddr().String(), Result: Report{State: ReportPending},
	}}
}

func (s *session) record() Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.row
	row.Violations = maps.Clone(row.Violations)
	return row
}

// violation counts a breach; the lock is held.
func (s *session) violation(name string) {
	if s.row.Violations == nil {
		s.row.Violations = map[string]int{}
	}
	s.row.Violations[name]++
}

// giveSeat frees the session's seat once: at the stop frame, at the bot's
// own goodbye, or at the latest with the socket.
func (s *session) giveSeat() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveSeatLocked()
}

func (s *session) giveSeatLocked() {
	if !s.unseated {
		s.unseated = true
		s.bot.giveSeat()
	}
}

// breakOff closes the socket without a close frame; the lock is held.
func (s *session) breakOff() { _ = s.conn.Close() }

// abandon is breakOff from outside; a finished session has no socket.
func (s *session) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over.Load() {
		s.breakOff()
	}
}

// release keeps only the record, because a long run has many finished sessions.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over.Store(true)
	s.conn, s.leave, s.rng, s.script, s.marks = nil, nil, nil, player{}, nil
	s.raw, s.heard, s.prefix, s.out = nil, heard{}, nil, nil
}

// read serves the socket until it ends.
func (s *session) read() {
	defer func() { _ = s.conn.Close() }()
	s.conn.SetReadLimit(maxFrame)
	_ = s.conn.SetReadDeadline(time.Now().Add(startTimeout))
	pong := s.conn.PingHandler()
	s.conn.SetPingHandler(func(data string) error {
		if s.messages == 0 { // opened ahead of its call
			_ = s.conn.SetReadDeadline(time.Now().Add(startTimeout))
		}
		return pong(data)
	})
	for {
		kind, r, err := s.conn.NextReader()
		if err == nil {
			s.raw, err = readInto(s.raw[:0], r)
		}
		if err != nil {
			s.ended(err)
			return
		}
		s.mu.Lock()
		if kind != websocket.TextMessage {
			s.violation("binary_frame")
		} else {
			s.message(s.raw, time.Now())
		}
		s.mu.Unlock()
	}
}

func readInto(b []byte, r io.Reader) ([]byte, error) {
	if cap(b) == 0 {
		b = make([]byte, 0, 1024)
	}
	for {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
}

// ended closes the record.
func (s *session) ended(err error) {
	if s.leave != nil {
		s.leave()
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.row.EndedAt = now
	switch {
	case s.leaving != "":
		s.row.EndedBy = s.leaving
	case s.stopped:
		s.row.EndedBy = EndedByCallee
	case s.messages == 0 && websocket.IsCloseError(err, websocket.CloseNormalClosure):
		s.probe = true // the platform probed whether the bot is there
		return
	default:
		s.row.EndedBy = EndedLost
		if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
			s.violation("close_without_stop") // an orderly end must send stop first
		}
	}
	if s.row.StartedAt.IsZero() {
		s.violation("never_started")
	}
}

// message checks and processes one frame.
func (s *session) message(b []byte, now time.Time) {
	s.messages++
	if s.messages > 2 && s.messages%auditEvery != 0 && quickMedia(b, &s.heard) {
		if s.stopped {
			s.violation("frame_after_stop")
		}
		s.checkSequence(s.heard.sequence)
		if len(s.heard.stream) == 0 || string(s.heard.stream) != string(s.row.SessionID) {
			s.violation("stream_sid")
		}
		s.hear(&s.heard, now)
		return
	}
	var f frame
	if json.Unmarshal(b, &f) != nil {
		s.violation("malformed_frame")
		return
	}
	if s.stopped {
		s.violation("frame_after_stop")
	}
	switch {
	case s.messages == 1:
		if f.Event != "connected" {
			s.violation("first_frame_not_connected")
			break
		}
		if f.Protocol != "Call" || f.Version == "" {
			s.violation("connected_malformed")
		}
		return
	case s.messages == 2 && f.Event != "start":
		s.violation("second_frame_not_start")
	}
	if f.Event == "connected" {
		s.violation("connected_repeated")
		return
	}
	s.checkSequence(f.Sequence)
	if f.Event != "start" && (f.StreamSID == "" || f.StreamSID != string(s.row.SessionID)) {
		s.violation("stream_sid")
	}
	switch f.Event {
	case "start":
		s.start(&f, now)
	case "media":
		s.hear(f.heard(&s.heard), now)
	case "mark":
		s.marked(&f)
	case "dtmf":
		if f.DTMF == nil || len(f.DTMF.Digit) != 1 || f.DTMF.Track != "inbound_track" {
			s.violation("dtmf_malformed")
			return
		}
		s.row.Digits += f.DTMF.Digit
		s.bot.changed.Notify()
	case "stop":
		s.stopped = true
		if f.Stop == nil || f.Stop.CallSID != string(s.row.CallID) || f.Stop.AccountSID != s.row.Account {
			s.violation("stop_malformed")
		}
		// The platform closes next; a bot that waited would be the last one
		// with its socket open.
		s.script.over = true
		s.goodbye()
	default:
		s.violation("unknown_event")
	}
}

func (s *session) checkSequence(raw []byte) {
	n, ok := decimal(raw)
	switch {
	case !ok:
		s.violation("sequence_not_a_decimal_string")
		return
	case n <= s.sequence:
		s.violation("sequence_not_growing")
	case n != s.sequence+1:
		s.violation("sequence_gap")
	}
	s.sequence = n
}

// start begins the conversation.
func (s *session) start(f *frame, now time.Time) {
	if !s.row.StartedAt.IsZero() {
		s.violation("start_repeated")
		return
	}
	if f.Start == nil {
		s.violation("start_malformed")
		return
	}
	_ = s.conn.SetReadDeadline(time.Time{})
	st := f.Start
	s.row.StartedAt = now
	s.row.SessionID, s.row.CallID = engine.SessionID(st.StreamSID), engine.CallID(st.CallSID)
	s.row.Account, s.row.Parameters = st.AccountSID, st.CustomParameters
	s.row.Number = engine.PhoneNumber(st.CustomParameters["to_number"])
	if !sid("MZ", st.StreamSID) || !sid("CA", st.CallSID) || !sid("AC", st.AccountSID) {
		s.violation("start_ids")
	}
	if f.StreamSID != st.StreamSID {
		s.violation("stream_sid")
	}
	if st.MediaFormat.Encoding != "audio/x-mulaw" || st.MediaFormat.SampleRate != voice.Rate ||
		st.MediaFormat.Channels != 1 {
		s.violation("start_media_format")
	}
	if !slices.Equal(st.Tracks, []string{"inbound"}) {
		s.violation("start_tracks")
	}
	for _, name := range []string{"from_number", "to_number", "call_id", "attempt_id", "result_url", "result_token"} {
		if st.CustomParameters[name] == "" {
			s.violation("parameter_missing_" + name)
		}
	}
	s.prefix = append(s.prefix, `{"event":"media","streamSid":"`+st.StreamSID+`","media":{"payload":"`...)

	r := s.bot.rules.Load()
	nth := s.bot.nth(s.row.Number)
	s.rng = draw.Rand(r.seed, s.row.Number.E164(), nth)
	s.plan.Conversation = r.conversation(s.rng, s.row.Number, nth)
	s.plan.draw(r, s.rng, now)
	s.noise()
	s.script = player{next: now.Add(s.plan.Think.Draw(s.rng)), over: s.plan.Mute}
	s.leave = s.turns()
	if c, ok := s.conn.NetConn().(*drowsyConn); ok {
		c.doze(s.bot.cfg.ReadEvery)
	}
	s.bot.changed.Notify()
}

// noise sends what a faulty bot would; the lock is held.
func (s *session) noise() {
	nonsense := []string{"{", `{"event":"nonsense"}`, `{"event":"media","media":{"payload":"***"}}`, `{"event":"mark"}`,
		`[]`}
	for i := range s.plan.Noise {
		text := nonsense[i%len(nonsense)]
		if i == 0 {
			text = `{"event":"` + strings.Repeat("x", 300<<10) + `"}`
		}
		_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if s.conn.WriteMessage(websocket.TextMessage, []byte(text)) != nil {
			return // the platform closed, as its record says
		}
	}
}

// turns schedules the session's ticks until the returned function is called: every 20 ms, or, if it
// has nothing to say, once when it must end.
func (s *session) turns() (leave func()) {
	if !s.script.over {
		return s.bot.pacers.Add(s)
	}
	at := s.plan.hangUpAt
	if at.IsZero() || !s.plan.dieAt.IsZero() && s.plan.dieAt.Before(at) {
		at = s.plan.dieAt
	}
	if at.IsZero() {
		return func() {}
	}
	t := time.AfterFunc(untilGrid(time.Until(at)), func() { s.Tick(time.Now()) })
	return func() { t.Stop() }
}

func (r *rules) conversation(rng *rand.Rand, number engine.PhoneNumber, nth int) Conversation {
	if list := r.script[number]; len(list) > 0 {
		return list[min(nth, len(list))-1]
	}
	i := draw.Index(rng, len(r.conversations), func(i int) float64 { return r.conversations[i].Weight })
	return r.conversations[max(0, i)]
}

func (p *plan) draw(r *rules, rng *rand.Rand, now time.Time) {
	if p.Utterance.IsZero() {
		p.Utterance = draw.Between(2*time.Second, 5*time.Second)
	}
	if p.Pause.IsZero() {
		p.Pause = draw.Between(time.Second, 4*time.Second)
	}
	if !p.Talk.IsZero() {
		p.hangUpAt = now.Add(p.Talk.Draw(rng))
	}
	if !p.Die.IsZero() {
		p.dieAt = now.Add(p.Die.Draw(rng))
	}
	if p.result = p.Result; p.result == nil {
		i := draw.Index(rng, len(r.results), func(i int) float64 { return r.results[i].Weight })
		p.result = &r.results[max(0, i)]
	}
}

// hear processes a media frame from the callee.
func (s *session) hear(m *heard, now time.Time) {
	if m == nil {
		s.violation("media_malformed")
		return
	}
	s.row.FramesIn++
	if s.row.FramesIn == 1 {
		s.row.FirstHeardAt = now
		s.bot.changed.Notify()
	}
	if string(m.track) != "inbound" {
		s.violation("media_track")
	}
	if chunk, ok := decimal(m.chunk); !ok {
		s.violation("chunk_not_a_decimal_string")
	} else {
		if chunk != s.chunk+1 {
			s.violation("chunk_gap")
		}
		s.chunk = chunk
	}
	if ts, ok := decimal(m.timestamp); !ok {
		s.violation("timestamp_not_a_decimal_string")
	} else {
		if ts < s.timestamp {
			s.violation("timestamp_backwards")
		}
		s.timestamp = ts
	}
	if len(m.payload) != base64.StdEncoding.EncodedLen(voice.FrameSamples) {
		s.violation("payload_not_20ms")
	}
	var buf [2 * voice.FrameSamples]byte
	if base64.StdEncoding.DecodedLen(len(m.payload)) > len(buf) {
		return
	}
	n, err := base64.StdEncoding.Decode(buf[:], m.payload)
	if err != nil {
		s.violation("payload_not_base64")
		return
	}
	if s.row.AudibleAt.IsZero() && voice.PCMU.Level(buf[:n]) > audible {
		s.row.AudibleAt = now
	}
}

// marked processes a returned mark; marks come back in the order in which they were sent.
func (s *session) marked(f *frame) {
	if f.Mark == nil {
		s.violation("mark_malformed")
		return
	}
	i := slices.IndexFunc(s.marks, func(m mark) bool { return m.name == f.Mark.Name })
	if i < 0 {
		s.violation("mark_unknown")
		return
	}
	if i > 0 {
		s.violation("mark_order")
	}
	s.marks = slices.Delete(s.marks, i, i+1)
	s.row.MarksBack++
	if len(s.marks) == 0 && s.rng != nil {
		s.script.heardOut(time.Now().Add(s.plan.Pause.Draw(s.rng)))
	}
	s.bot.changed.Notify()
}

// hangUpIf closes the session of a call.
func (s *session) hangUpIf(call engine.CallID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.row.CallID != call || !s.row.EndedAt.IsZero() || s.leaving != "" {
		return false
	}
	s.leaving = EndedByBot
	s.goodbye()
	return true
}

// goodbye starts the closing handshake; the reader sees its end, at the
// latest after closeGrace.
func (s *session) goodbye() {
	s.giveSeatLocked()
	_ = s.conn.WriteControl(websocket.CloseMessage,
		websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(writeTimeout))
	_ = s.conn.SetReadDeadline(time.Now().Add(closeGrace))
	if c, ok := s.conn.NetConn().(*drowsyConn); ok {
		c.wake()
	}
	s.script.over = true
}

// sid checks a Twilio identifier: two letters and 32 hex digits.
func sid(prefix, id string) bool {
	if len(id) != 34 || id[:2] != prefix {
		return false
	}
	for _, c := range id[2:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func markName(n int) string { return "sentence-" + strconv.Itoa(n) }
