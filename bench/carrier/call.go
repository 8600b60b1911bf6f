package carrier

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"dialler/bench/carrier/media"
	"dialler/bench/draw"
)

// noAnswerLimit ends a call that rings without an answer or a CANCEL, as a network does: RFC 3261
// §16.6's Timer C.
const noAnswerLimit = 3 * time.Minute

// stage is the progress of an unanswered call's script.
type stage int

const (
	stageTrying stage = iota
	stageProgress
	stageFinal
	stageDone
)

// call is a Call-ID with a current call or with transactions that have not expired.
type call struct {
	carrier *Carrier
	shard   *shard
	row     *Call
	peer    peer

	// The current INVITE.
	branch    string
	sentBy    string
	invitedAt time.Time
	cseq      uint32
	head      []byte // headers copied to its responses
	rr        string // Record-Route lines for its responses
	last      []byte // latest response, for copies of the INVITE
	final     resender
	reliable  resender
	rseq      int
	uri       string

	// The dialog.
	tag        string // ours
	callerFrom string // From of the INVITE: To of our requests
	callerTag  string
	calleeTo   string   // To of the INVITE with our tag: From of our requests
	routes     []string // Record-Route in order (§12.1.1)
	target     string   // the caller's Contact URI
	remoteCSeq uint32
	localCSeq  uint32
	request    resender // our BYE or re-INVITE
	reqMethod  string
	reqBranch  string
	re         reinvite // the caller's
	forks      []*fork  // further phones that answered
	byeBranch  string   // of the caller's BYE, for its copies
	hangUpDue  bool     // the callee has hung up but the ACK is missing (§15)
	holdDue    bool     // the callee's hold, likewise
	held       bool

	// The model's behaviour.
	behaviour *Behaviour
	rng       *rand.Rand
	offsets   [stageDone]time.Duration // from the INVITE
	stage     stage
	talk      time.Duration // 0 means waiting for the caller's BYE
	hold      time.Duration

	// The media.
	remote     media.Description
	offerless  bool
	sdpVersion int
	stream     *media.Stream

	nonces  int // challenges sent
	nonce   string
	nc      uint64
	granted bool
	counted bool // in Carrier.live

	timer *time.Timer
	epoch int
}

// arm calls what after d, under the shard's lock; a later arm or disarm cancels it.
func (c *call) arm(d time.Duration, what func()) {
	c.disarm()
	epoch := c.epoch
	c.timer = time.AfterFunc(d, func() {
		c.shard.mu.Lock()
		defer c.shard.mu.Unlock()
		if !c.shard.closed && c.epoch == epoch {
			what()
		}
	})
}

func (c *call) disarm() {
	c.epoch++
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

func (c *call) stopTimers() {
	c.disarm()
	c.final.stop()
	c.reliable.stop()
	c.request.stop()
	c.re.final.stop()
	for _, f := range c.forks {
		f.final.stop()
	}
}

func (c *call) violation(name string) {
	if !slices.Contains(c.row.Violations, name) {
		c.row.Violations = append(c.row.Violations, name)
	}
}

// newCall makes a call and its row from an INVITE; the shard's lock is held.
func (sh *shard) newCall(car *Carrier, m *message, p peer, now time.Time) *call {
	id := string(m.callID)
	row := &Call{
		CallID: id, Incarnation: 1, Transport: p.transport(), State: StateTrying, InviteAt: now, LeftAt: p.left,
		Peer:   p.addr.String(),
		Number: phoneNumber(uriUser(m.uri), car.cfg.CountryCode),
		From:   phoneNumber(uriUser(addrURI(m.from)), car.cfg.CountryCode),
	}
	if before := sh.known[id]; before != nil {
		row.Incarnation = before.Incarnation + 1
	}
	c := &call{carrier: car, shard: sh, row: row}
	c.tag = strconv.FormatUint(draw.Hash(car.rules.Load().seed, id, row.Incarnation), 36)
	sh.calls[id], sh.known[id] = c, row
	sh.rows = append(sh.rows, row)
	return c
}

// serve begins an INVITE transaction: the first one, or a retry.
func (c *call) serve(m *message, p peer, now time.Time) {
	c.stopTimers()
	tag, hasTag := param(m.from, "tag")
	if !hasTag {
		c.violation("from_without_tag")
	}
	if !m.maxForwards {
		c.violation("no_max_forwards")
	}
	if len(m.contact) == 0 {
		c.violation("no_contact")
	}
	via, _ := param(m.vias[0], "branch")
	if !bytes.HasPrefix(via, []byte("z9hG4bK")) {
		c.violation("branch_without_cookie")
	}
	if c.callerTag != "" && c.callerTag != string(tag) {
		c.violation("from_tag_changed")
	}
	c.row.Invites++
	if c.carrier.cfg.KeepInvites {
		c.row.Invite = string(m.raw)
	}
	c.peer, c.invitedAt = p, now
	c.branch, c.sentBy, c.cseq, c.remoteCSeq = string(via), string(sentBy(m)), m.cseq, m.cseq
	c.head = responseHead(m, p.addr, c.tag)
	c.peer.addr = replyTo(m, p.addr)
	c.uri = string(m.uri)
	c.callerFrom, c.callerTag = string(m.from), string(tag)
	c.calleeTo = string(m.to) + ";tag=" + c.tag
	c.target = string(addrURI(m.contact))
	c.routes, c.rr = nil, ""
	for _, r := range m.recordRoute {
		c.routes = append(c.routes, string(r))
		c.rr += "Record-Route: " + string(r) + "\r\n"
	}
	c.stage, c.last = stageTrying, nil
	c.row.State, c.row.FinalCode, c.row.Reason = StateTrying, 0, ""
	c.row.EndedAt, c.row.AckAt = time.Time{}, time.Time{}
	if len(m.body) == 0 {
		c.offerless, c.remote = true, media.Description{}
		return
	}
	var ok bool
	if c.remote, ok = media.Parse(m.body); !ok {
		c.violation("sdp_without_audio")
	}
}

// admit draws the behaviour of a call that passed limits and credentials, and starts it.
func (c *call) admit(now time.Time) {
	r := c.carrier.rules.Load()
	c.row.Nth = c.carrier.nth(c.row.Number)
	c.behaviour, c.rng = r.behaviour(c.row.Number, c.row.Nth)
	b := c.behaviour
	c.row.Kind = b.Kind
	if !c.counted {
		c.counted = true
		c.carrier.live.Add(1)
	}
	if b.Kind == Silent {
		// No response was sent, so no phone rings; the caller's own transaction lasts that long
		// (Timer B).
		c.row.State = StateSilent
		c.carrier.touched(c.row)
		c.arm(64*c.carrier.cfg.T1, func() { c.end(time.Now()) })
		return
	}
	trying := b.Trying.Draw(c.rng)
	progress := max(trying, b.Post.Draw(c.rng))
	ring := b.Ring.Draw(c.rng)
	if b.Kind == NoAnswer && b.Ring.IsZero() {
		ring = noAnswerLimit
	}
	c.offsets = [stageDone]time.Duration{trying, progress, progress + ring}
	c.talk, c.hold = b.Talk.Draw(c.rng), b.Hold.Draw(c.rng)
	c.carrier.touched(c.row)
	c.advance(now)
}

// advance runs what is due in the script and schedules the rest.
func (c *call) advance(now time.Time) {
	for c.stage < stageDone {
		if c.reliable.running() {
			return // RFC 3262 §3: the final response waits for the PRACK
		}
		if wait := c.offsets[c.stage] - since(now, c.invitedAt); wait > 0 {
			c.arm(wait, func() { c.advance(time.Now()) })
			return
		}
		at := c.stage
		c.stage++
		switch at {
		case stageTrying:
			if !c.behaviour.NoTrying {
				c.provisional(100, "", nil)
			}
		case stageProgress:
			c.progress(now)
		case stageFinal:
			c.decide(now)
		case stageDone:
		}
	}
}

func (c *call) progress(now time.Time) {
	b := c.behaviour
	if b.progress() == NoProgress {
		return
	}
	code, extra, body := 180, c.rr+c.contact(), []byte(nil)
	if b.progress() == EarlyMedia {
		code = 183
		if !c.offerless {
			if refusal := c.openMedia(); refusal != 0 {
				c.refuse(refusal, "", 0, "", now)
				return
			}
			body = c.describe("sendrecv")
			if c.stream != nil {
				c.stream.Play(c.carrier.clips.early(b.Early, c.rng, c.stream.Codec), true)
			}
		}
	}
	c.row.State, c.row.RingingAt = StateRinging, now
	c.carrier.touched(c.row)
	if b.Reliable {
		c.rseq++
		extra += "Require: 100rel\r\nRSeq: " + strconv.Itoa(c.rseq) + "\r\n"
		c.last = response(code, "", c.head, extra, body)
		c.reliable.start(c, resend{msg: c.last, repeat: true, timeout: func() {
			c.violation("no_prack")
			c.refuse(504, "", 0, "", time.Now())
		}})
		return
	}
	c.provisional(code, extra, body)
}

func (c *call) provisional(code int, extra string, body []byte) {
	c.last = response(code, "", c.head, extra, body)
	c.peer.send(c.last)
}

// decide sends the final response.
func (c *call) decide(now time.Time) {
	b := c.behaviour
	if b.Kind.answers() {
		c.answer(now)
		return
	}
	code, q850 := b.Code, b.Q850
	if code == 0 {
		code, q850 = 480, 19
	}
	c.refuse(code, b.Reason, q850, b.headerLines(), now)
}

// answer sends the 200 and repeats it until the ACK comes.
func (c *call) answer(now time.Time) {
	direction := "sendrecv"
	if c.behaviour.Deaf {
		direction = "sendonly"
	}
	if refusal := c.openMedia(); refusal != 0 {
		c.refuse(refusal, "", 0, "", now)
		return
	}
	body := c.describe(direction)
	if c.behaviour.AnswerIn183 && !c.offerless {
		body = nil
	}
	c.stage = stageDone
	c.disarm()
	c.reliable.stop()
	c.row.State, c.row.AnsweredAt, c.row.FinalCode, c.row.Reason = StateAnswered, now, 200, phrases[200]
	c.speak()
	c.carrier.touched(c.row)
	extra := c.rr + c.contactOfAnswer() +
		"Allow: INVITE, ACK, CANCEL, BYE, OPTIONS, PRACK, UPDATE, INFO\r\nSupported: 100rel\r\n" +
		c.behaviour.headerLines()
	c.last = response(200, "", c.head, extra, body)
	c.final.start(c, resend{msg: c.last, repeat: true, cap: c.carrier.cfg.T2, timeout: func() {
		// §13.3.1.4: without an ACK the session is ended with BYE.
		c.row.AckMissing = true
		c.hangUp()
	}})
	for n := range c.behaviour.Forks {
		c.fork(n, extra, body)
	}
	if c.behaviour.Update {
		c.sendRequest("UPDATE", "", c.describe(direction), now, func() { c.violation("update_unanswered") })
	}
	c.conversation(now)
}

// conversation schedules what the callee does next: hold, hang up, or give up.
func (c *call) conversation(now time.Time) {
	spoken := since(now, c.row.AnsweredAt)
	if c.hold > 0 && !c.held {
		c.arm(max(0, c.hold-spoken), func() { c.reinvite("sendonly") })
		return
	}
	limit := c.carrier.cfg.MaxCall
	if c.talk > 0 {
		limit = min(limit, c.talk)
	}
	c.arm(max(0, limit-spoken), c.hangUp)
}

// refuse sends a final refusal and repeats it until the ACK comes.
func (c *call) refuse(code int, phrase string, q850 int, extra string, now time.Time) {
	c.stage = stageDone
	c.reliable.stop()
	if phrase == "" {
		phrase = phrases[code]
	}
	if phrase == "" {
		phrase = "Refused"
	}
	c.row.FinalCode, c.row.Reason = code, phrase
	c.last = response(code, phrase, c.head, reasonHeader(q850)+extra, nil)
	c.final.start(c, resend{
		msg: c.last, repeat: !c.peer.reliable(), cap: c.carrier.cfg.T2, timeout: func() {
			c.row.AckMissing = true
			c.carrier.touched(c.row)
		},
	})
	c.end(now)
}

// end frees the callee's phone; the call is kept for its transactions.
func (c *call) end(now time.Time) {
	if c.row.State != StateEnded {
		c.row.State, c.row.EndedAt = StateEnded, now
		c.stopMedia()
		if c.counted {
			c.counted = false
			c.carrier.live.Add(-1)
		}
		c.carrier.touched(c.row)
	}
	// 64*T1 covers RFC 6026's Timer L, Timer J of a BYE and our own Timer F.
	c.arm(64*c.carrier.cfg.T1+c.carrier.cfg.T4, c.forget)
}

// forget drops the transactions; the row stays.
func (c *call) forget() {
	c.stopTimers()
	if c.shard.calls[c.row.CallID] == c {
		delete(c.shard.calls, c.row.CallID)
	}
}

// contactOfAnswer returns the Contact line of a 200.
func (c *call) contactOfAnswer() string {
	if c.behaviour.ContactUnreachable {
		return "Contact: <sip:" + c.tag + "@127.0.0.9:9>\r\n"
	}
	return c.contact()
}

// contact returns our Contact line.
func (c *call) contact() string {
	uri := "<sip:" + c.tag + "@" + c.carrier.Addr()
	if c.peer.conn != nil {
		uri += ";transport=tcp"
	}
	return "Contact: " + uri + ">\r\n"
}
