package leg

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/sipstack/ladder"
	"dialler/sipstack/message"
	"dialler/sipstack/timing"
	"dialler/sipstack/transport"
	"dialler/sipstack/trunk"

	"github.com/emiago/sipgo/sip"
	"pgregory.net/rapid"
)

// farSide plays a far side without rules against one leg and checks the invariants after every
// message.
type farSide struct {
	t interface {
		Fatal(args ...any)
		Fatalf(format string, args ...any)
	}
	// pick chooses one of n; what describes the choice for the reader of a failure.
	pick   func(n int, what string) int
	s      *Table
	l      *leg
	sent   [][]byte
	src    transport.Target
	parser *sip.Parser

	events   []engine.LegEvent
	invites  []*sip.Request // first INVITEs, in order
	requests []*sip.Request // all others except ACK, each once
	branches map[string]bool
	acks     []*sip.Request
	replies  []*sip.Response
	answers  map[string]bool // To tags of the 2xx to the INVITE
	hungUp   map[string]bool // tags of dialogs that the far side ended with a BYE
	held     *sip.Request    // an UPDATE that was answered later, or never
	rings    *sip.Request    // the INVITE that had a provisional response and no final one
	tags     int             // of floods, to make each unique
	cseq     int
	expired  bool // the send-by time has passed
	cancels  bool
}

// written checks what the stack has sent so far.
func (f *farSide) written() (invites int) {
	for _, text := range f.sent {
		m, err := f.parser.ParseSIP(text)
		if err != nil {
			f.t.Fatalf("the stack sent what is not SIP: %v\n%s", err, text)
		}
		switch m := m.(type) {
		case *sip.Response:
			f.replies = append(f.replies, m)
		case *sip.Request:
			branch, _ := m.Via().Params.Get("branch")
			key := string(m.Method) + branch
			switch {
			case m.Method == sip.ACK:
				f.acks = append(f.acks, m)
			case f.branches[key]: // repeated
			case m.Method == sip.INVITE && message.ToTag(m) == "":
				f.invites = append(f.invites, m)
				invites++
			default:
				f.requests = append(f.requests, m)
			}
			f.branches[key] = true
		}
	}
	f.sent = nil
	return invites
}

// oneOf chooses from a list.
func oneOf[T any](f *farSide, list []T, what string) T { return list[f.pick(len(list), what)] }

// respond gives the stack a response to one of its requests.
func (f *farSide) respond(r *sip.Request, status, tag, extra, body string) {
	to := r.To().Value()
	if message.ToTag(r) == "" && tag != "" {
		to += ";tag=" + tag
	}
	if body != "" {
		extra += "Content-Type: application/sdp\r\n"
	}
	f.give(fmt.Sprintf("SIP/2.0 %s\r\nVia: %s\r\nFrom: %s\r\nTo: %s\r\nCall-ID: %s\r\nCSeq: %s\r\n"+
		"%sContent-Length: %d\r\n\r\n%s",
		status, r.Via().Value(), r.From().Value(), to, r.CallID().Value(), r.CSeq().Value(), extra, len(body), body))
}

func (f *farSide) give(text string) {
	m, err := f.parser.ParseSIP([]byte(text))
	if err != nil {
		f.t.Fatalf("%v:\n%s", err, text)
	}
	switch m := m.(type) {
	case *sip.Response:
		f.s.onResponse(m, f.src.Addr)
	case *sip.Request:
		f.s.onRequest(m, f.src)
	}
}

func (f *farSide) final() bool {
	return len(f.events) > 0 && f.events[len(f.events)-1].Kind.Final()
}

var (
	propertyStatuses = []string{"100 Trying", "180 Ringing", "183 Session Progress", "200 OK", "200 OK",
		"302 Moved Temporarily", "305 Use Proxy", "380 Alternative Service",
		"401 Unauthorized", "407 Proxy Authentication Required", "408 Request Timeout",
		"422 Session Interval Too Small", "481 Call/Transaction Does Not Exist",
		"486 Busy Here", "491 Request Pending", "500 Server Internal Error", "603 Decline"}
	propertyHeaders = []string{"", "", "Require: 100rel\r\nRSeq: 1\r\n", "Require: 100rel\r\nRSeq: 2\r\n",
		"Session-Expires: 1800;refresher=uac\r\nAllow: UPDATE\r\n",
		"Session-Expires: 1800;refresher=uas\r\n", "Session-Expires: 1800\r\n", "Retry-After: 3\r\n",
		"Min-SE: 3600\r\n", "WWW-Authenticate: Digest realm=\"r\", nonce=\"a\", qop=\"auth\"\r\n",
		"Proxy-Authenticate: Digest realm=\"p\", nonce=\"b\", stale=true\r\n"}
	propertyMethods = []string{"INVITE", "UPDATE", "INFO", "OPTIONS", "REFER", "BYE", "PRACK", "CANCEL", "NOTIFY",
		"SUBSCRIBE", "ACK"}
	propertySDP = "v=0\r\no=- 7 7 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n" +
		"m=audio 50000 RTP/AVP 0\r\n"
)

// response answers one of the stack's requests at random.
func (f *farSide) response() {
	t := f.t
	all := append(append([]*sip.Request{}, f.invites...), f.requests...)
	if len(all) == 0 {
		return
	}
	r := oneOf(f, all, "to")
	status := oneOf(f, propertyStatuses, "status")
	extra := oneOf(f, propertyHeaders, "headers")
	n := f.pick(4, "contact")
	extra += fmt.Sprintf("Contact: <sip:c%d@%s>\r\n", n, f.src.Addr)
	body := oneOf(f, []string{"", propertySDP}, "body")
	before, invites := len(f.acks), len(f.invites)
	phase := f.phase()
	tag := oneOf(f, []string{"one", "two"}, "tag")
	f.noteResponse(r, status, tag, phase)
	f.respond(r, status, tag, extra, body)
	again := f.written()
	code := status[:1]
	if again > 0 {
		asks := strings.ContainsAny(code, "345") && r == f.invites[invites-1]
		if again > 1 || !asks || f.expired || f.cancels {
			t.Fatalf("%d INVITEs after %s (expired %v, cancelled %v)", again, status, f.expired, f.cancels)
		}
	}
	if r.Method == sip.INVITE && message.ToTag(r) == "" && code >= "3" && phase != phaseGone {
		if len(f.acks) == before {
			t.Fatalf("no ACK of %s in %v", status, phase)
		}
		if a := f.acks[before]; a.Via().Value() != r.Via().Value() || a.Recipient.String() != r.Recipient.String() {
			t.Fatalf("the ACK belongs to another INVITE:\n%s\n%s", a, r)
		}
	}
}

// noteResponse records what the leg must do after a response that it gets now.
func (f *farSide) noteResponse(r *sip.Request, status, tag string, at phase) {
	if r.Method != sip.INVITE || message.ToTag(r) != "" || at == phaseGone {
		return
	}
	switch code := status[:1]; {
	case code == "2":
		f.answers[tag] = true
		fallthrough
	case code > "2":
		f.rings = nil
	case at == phaseCalling || at == phaseProceeding || at == phaseSilent:
		if r == f.invites[len(f.invites)-1] {
			f.rings = r
		}
	}
}

// flood sends many responses that each demand a reaction.
func (f *farSide) flood() {
	if len(f.invites) == 0 {
		return
	}
	r := f.invites[len(f.invites)-1]
	kind := f.pick(3, "flood")
	for range 25 * (1 + f.pick(4, "times")) {
		f.tags++
		tag, status, extra := fmt.Sprintf("flood%d", f.tags), "200 OK", ""
		if kind > 0 {
			status, extra = "183 Session Progress", fmt.Sprintf("Require: 100rel\r\nRSeq: %d\r\n", f.tags)
		}
		if kind == 2 { // in one dialog, one after the other
			tag = "flood"
		}
		f.noteResponse(r, status, tag, f.phase())
		f.respond(r, status, tag, extra+fmt.Sprintf("Contact: <sip:c@%s>\r\n", f.src.Addr), "")
		if f.written() > 0 {
			f.t.Fatal("an INVITE in a flood")
		}
	}
}

// bounded fails when the leg keeps more than it may.
func (f *farSide) bounded() {
	l := f.l
	l.mu.Lock()
	defer l.mu.Unlock()
	places := 0
	messages, peers, texts := l.ladder.Size()
	if l.inv.redirected != nil {
		places = len(l.inv.redirected.places) + len(l.inv.redirected.pending) + len(l.inv.redirected.tried)
	}
	if len(l.events) > maxEvents+8 || len(l.early) > maxEarly || len(l.txs.waiting) > maxWaiting ||
		len(l.answers.last) > keptAnswers ||
		len(l.txs.running) > maxTxs+8 || messages > engine.LadderCap || peers > ladder.MaxPeers || texts > math.MaxUint8 ||
		places > 64 {
		f.t.Fatalf("%d events, %d early dialogs, %d and %d requests, %d answers, %d messages, %d peers, %d places",
			len(l.events), len(l.early), len(l.txs.running), len(l.txs.waiting), len(l.answers.last), messages, peers, places)
	}
}

// settled fails if a finished leg has left something undone: every 2xx has its ACK and its dialog a
// BYE from one side, and ringing calls were cancelled.
func (f *farSide) settled() {
	acks, byes, cancelled := map[string]bool{}, map[string]bool{}, false
	for _, a := range f.acks {
		acks[message.ToTag(a)] = true
	}
	for _, r := range f.requests {
		switch r.Method {
		case sip.BYE:
			byes[message.ToTag(r)] = true
		case sip.CANCEL:
			cancelled = cancelled || f.rings != nil && r.Via().Value() == f.rings.Via().Value()
		}
	}
	for tag := range f.answers {
		if !acks[tag] || !byes[tag] && !f.hungUp[tag] {
			f.t.Fatalf("the 2xx of %q: ACK %v, BYE %v, BYE from the far side %v", tag, acks[tag], byes[tag],
				f.hungUp[tag])
		}
	}
	if u := f.held; u != nil && !slices.ContainsFunc(f.replies, func(r *sip.Response) bool {
		return r.CSeq().Value() == u.CSeq().Value() && r.From().Value() == u.From().Value()
	}) {
		f.t.Fatalf("an UPDATE that came before our ACK is never answered: %s", u)
	}
	if f.rings != nil && !cancelled {
		f.t.Fatalf("a leg that rings is over without CANCEL: %+v", f.events)
	}
}

// request sends a request in one of the dialogs.
func (f *farSide) request() {
	t := f.t
	if len(f.invites) == 0 {
		return
	}
	invite := f.invites[0]
	method := oneOf(f, propertyMethods, "method")
	f.cseq += f.pick(3, "step")
	extra := oneOf(f, []string{"", "", "Refer-To: <sip:x@y>\r\n", "Require: frob\r\n",
		"Supported: timer\r\nSession-Expires: 100\r\n", "Session-Expires: 20\r\nSupported: timer\r\n"}, "headers")
	body := oneOf(f, []string{"", propertySDP, propertySDP + "a=sendonly\r\n"}, "body")
	if body != "" {
		extra += "Content-Type: application/sdp\r\n"
	}
	tag := oneOf(f, []string{"one", "two", "stranger"}, "tag")
	branch := fmt.Sprintf("z9hG4bK%s%d%s", method, f.cseq, tag)
	text := fmt.Sprintf("%s %s SIP/2.0\r\nVia: SIP/2.0/UDP %s;rport;branch=%s\r\nMax-Forwards: 70\r\n"+
		"From: %s;tag=%s\r\nTo: %s\r\nCall-ID: %s\r\nCSeq: %d %s\r\n%sContent-Length: %d\r\n\r\n%s",
		method, "sip:us@127.0.0.1", f.src.Addr, branch, invite.To().Value(), tag, invite.From().Value(), f.l.id, f.cseq,
		method, extra, len(body), body)
	for range 1 + f.pick(2, "times") {
		before := len(f.replies)
		f.give(text)
		if f.written() > 0 {
			t.Fatal("an INVITE for a request")
		}
		got := 0
		for _, r := range f.replies[before:] { // a BYE also causes a waiting REFER to be answered
			if r.CSeq().SeqNo == uint32(f.cseq) && string(r.CSeq().MethodName) == method {
				got++
				if method == "BYE" && r.StatusCode == 200 {
					f.hungUp[tag] = true
				}
			}
		}
		f.l.mu.Lock()
		waits := method == "REFER" && f.l.refer != nil && f.l.refer.request != nil
		if h := f.l.session.held; method == "UPDATE" && h != nil && h.request.CSeq().SeqNo == uint32(f.cseq) {
			waits, f.held = true, h.request // until our ACK
		}
		f.l.mu.Unlock()
		if want := 1; method == "ACK" && got != 0 || method != "ACK" && got != want && (got != 0 || !waits) {
			t.Fatalf("%d responses to %s", got, text)
		}
	}
}

func (f *farSide) phase() phase {
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	return f.l.phase
}

// command gives a random command of the owner.
func (f *farSide) command() {
	t := f.t
	switch f.pick(7, "command") {
	case 0:
		f.s.ConfirmLeg(f.l.id)
	case 1:
		f.s.HangUpLeg(f.l.id, engine.HangUpCause{Q850: 16})
		f.cancels = f.cancels || f.cancelled()
	case 2:
		f.s.CancelLeg(f.l.id)
		f.cancels = f.cancels || f.cancelled()
	case 3:
		f.s.SendDigit(f.l.id, '5', time.Millisecond)
	case 4:
		f.s.AnswerRefer(f.l.id, f.pick(2, "accept") > 0)
	case 5:
		f.s.NotifyRefer(f.l.id, oneOf(f, []int{180, 200}, "code"), "x")
	case 6:
		f.l.mu.Lock()
		f.l.inv.sendBy, f.expired = timing.BootNow()-1, true
		f.l.mu.Unlock()
	}
	if f.written() > 0 {
		t.Fatal("an INVITE after a command")
	}
}

func (f *farSide) cancelled() bool {
	f.l.mu.Lock()
	defer f.l.mu.Unlock()
	return f.l.cancelWanted
}

// time fires one of the leg's timers.
func (f *farSide) time() {
	l := f.l
	l.mu.Lock()
	now := l.s.clock.Now()
	due := []*time.Duration{&l.deadline, &l.inv.resendAt}
	for _, tx := range l.txs.running {
		due = append(due, &tx.resendAt, &tx.endAt)
	}
	if l.session.watch != nil {
		due = append(due, &l.session.watch.refreshAt, &l.session.watch.endAt)
	}
	for i := range l.answers.last {
		due = append(due, &l.answers.last[i].resendAt, &l.answers.last[i].endAt)
	}
	if l.refer != nil {
		due = append(due, &l.refer.declineAt)
	}
	if at := oneOf(f, due, "due"); *at != 0 && !(at == &l.deadline && l.phase >= phaseOver) {
		*at = now
	}
	l.mu.Unlock()
	l.onTimer()
	if f.written() > 0 {
		f.t.Fatal("a new INVITE by a timer")
	}
}

// end brings the leg to its end by timers alone.
func (f *farSide) end() {
	f.s.HangUpLeg(f.l.id, engine.HangUpCause{Q850: 16})
	for range 10 {
		if f.final() {
			break
		}
		f.l.mu.Lock()
		now := f.l.s.clock.Now()
		if f.l.deadline != 0 {
			f.l.deadline = now
		}
		for _, tx := range f.l.txs.running {
			tx.endAt = now
		}
		f.l.mu.Unlock()
		f.l.onTimer()
		f.s.CancelLeg(f.l.id)
		f.written()
	}
	if !f.final() {
		f.t.Fatalf("the leg never ends: %v", f.phase())
	}
	f.settled()
}

// lawless makes a stack for legs whose far sides have no rules.
func lawless(t testing.TB) *Table {
	s, err := openTable(Config{Timers: timing.Timers{T1: time.Hour, T2: time.Hour}, Transfers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.shut)
	s.trunks.SetTrunk(trunk.Config{ID: "t", Host: "127.0.0.1", Port: 9, OptionsInterval: -1, Username: "u", Password: "p",
		Redirects: 2})
	return s
}

// play gives a new leg a far side and plays steps while more returns true.
func (f *farSide) play(s *Table, id engine.LegID, more func() bool) {
	f.s, f.src = s, s.trunks.Get("t").To(fuzzPeer.Addr)
	f.parser = sip.NewParser(sip.WithHeadersParsers(transport.Parsers()))
	f.branches, f.answers, f.hungUp = map[string]bool{}, map[string]bool{}, map[string]bool{}
	s.net.Tap = func(b []byte) { f.sent = append(f.sent, bytes.Clone(b)) }
	s.PlaceLeg(engine.PlaceLeg{Attempt: engine.AttemptID(id), Leg: id, Trunk: "t", From: "+4930", To: "+4940",
		SendBy: timing.BootNow().Add(time.Hour), Offer: []byte(propertySDP)},
		func(e engine.LegEvent) {
			if f.final() || e.Seq != len(f.events)+1 {
				f.t.Fatalf("%s as event %d after %+v", e.Kind, e.Seq, f.events)
			}
			f.events = append(f.events, e)
		})
	f.l = s.leg(id)
	defer func() {
		f.l.mu.Lock()
		f.l.phase = phaseGone
		f.l.unlock()
		s.remove(f.l.id, f.l.attempt)
	}()
	if f.written() != 1 {
		f.t.Fatal("no INVITE")
	}
	if f.pick(2, "answered") > 0 {
		f.noteResponse(f.invites[0], "200 OK", "one", phaseCalling)
		f.respond(f.invites[0], "200 OK", "one", oneOf(f, propertyHeaders, "headers"), propertySDP)
		s.ConfirmLeg(id)
		f.written()
	}
	for more() {
		switch f.pick(11, "step") {
		case 0, 1, 2, 3:
			f.response()
		case 4, 5, 6:
			f.request()
		case 7, 8:
			f.command()
		case 9:
			f.time()
		case 10:
			f.flood()
		}
		f.bounded()
	}
	f.end()
}

func TestALegKeepsItsPromisesWhateverTheFarSideSends(t *testing.T) {
	s := lawless(t)
	legs := 0
	rapid.Check(t, func(t *rapid.T) {
		legs++
		f := &farSide{t: t, pick: func(n int, what string) int { return rapid.IntRange(0, n-1).Draw(t, what) }}
		steps := rapid.IntRange(1, 25).Draw(t, "steps")
		f.play(s, engine.LegID(fmt.Sprintf("leg%d", legs)), func() bool { steps--; return steps >= 0 })
	})
}

// FuzzLeg is the same driven by bytes, so that coverage guides it: any sequence of responses,
// requests, commands and timers. Every leg ends, with ACK and BYE for every 2xx, CANCEL for what
// rings, events in order and none after the last, and keeps no more than it may.
func FuzzLeg(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1, 0, 4, 5, 1, 0, 0, 0, 9, 0, 7, 1})
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 0, 7, 2, 10, 0, 3, 10, 1, 3})
	f.Add([]byte{0, 0, 0, 6, 9, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 4, 9, 2, 8, 0, 4, 4, 2, 0, 0, 1, 7, 4, 1, 7, 5, 0})
	s := lawless(f)
	legs := 0
	f.Fuzz(func(t *testing.T, program []byte) {
		program = program[:min(len(program), 400)]
		far := &farSide{t: t, pick: func(n int, _ string) int {
			if len(program) == 0 {
				return 0
			}
			b := program[0]
			program = program[1:]
			return int(b) % n
		}}
		legs++
		far.play(s, engine.LegID(fmt.Sprintf("leg%d", legs)), func() bool { return len(program) > 0 })
	})
}
