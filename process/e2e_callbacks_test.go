package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/bench/ports"
	"dialler/engine"
)

const anonymous = "anonymous"

// callIn is a SIPp scenario of calls to our number; steps follow the INVITE, as in scenario: "< 486" a
// response that must come, "ack" its ACK, "< BYE" and "> BYE" the end, "pause 500".
func callIn(steps string) string {
	const headers = `Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch%s]
From: "A caller" <sip:[field0]@[local_ip]:[local_port]>;tag=[pid]in[call_number]
To: <sip:` + ourNumber + `@[remote_ip]:[remote_port]>%s
Call-ID: [call_id]
CSeq: %s
Contact: <sip:caller@[local_ip]:[local_port]>
Max-Forwards: 70
`
	request := func(method, cseq, branch, tag, body string) string {
		retrans := ` retrans="500"`
		if method == "ACK" {
			retrans = ""
		}
		return "<send" + retrans + "><![CDATA[\n\n" + method + " sip:" + ourNumber + "@[remote_ip]:[remote_port] SIP/2.0\n" +
			fmt.Sprintf(headers, branch, tag, cseq+" "+method) + body + "\n]]></send>\n"
	}
	b := `<?xml version="1.0"?><!DOCTYPE scenario SYSTEM "sipp.dtd"><scenario name="call in">` +
		request("INVITE", "1", "", "", "Content-Type: application/sdp\nContent-Length: [len]\n\nv=0\n"+
			"o=c 1 1 IN IP4 [local_ip]\ns=-\nc=IN IP4 [media_ip]\nt=0 0\nm=audio [media_port] RTP/AVP 0 101\n"+
			"a=rtpmap:0 PCMU/8000\n"+
			"a=rtpmap:101 telephone-event/8000\n") + `<recv response="100" optional="true"/>` + "\n"
	answer := ""
	for line := range strings.Lines(steps) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "any": // answered and hung up on, or refused; a process that dies may leave it at the 100
			until := ""
			if len(f) > 1 { // whichever of these it waits at
				until = ` timeout="15000" ontimeout="10"`
			}
			b += `<recv response="180" optional="true"` + until + `/>` +
				`<recv response="486" optional="true" next="9"` + until + `/>` +
				`<recv response="503" optional="true" next="9"` + until + `/>` + // of a process that is not up yet
				// A process that died before its 200 left is followed by one that ends what may have begun.
				`<recv request="BYE" optional="true" next="11"` + until + `/>` +
				`<recv response="200"` + until + `/>` + request("ACK", "1", "", "[peer_tag_param]", "Content-Length: 0\n") +
				`<recv request="BYE"/>` + response("200", "BYE", "", false) + `<nop next="10"/><label id="9"/>` +
				request("ACK", "1", "-11", "[peer_tag_param]", "Content-Length: 0\n") + `<nop next="10"/><label id="11"/>` +
				response("481", "BYE", "", false) + `<label id="10"/><pause milliseconds="1"/>`
		case f[0] == "g729": // is all that the caller offers
			b = strings.NewReplacer("RTP/AVP 0 ", "RTP/AVP 18 ", "rtpmap:0 PCMU", "rtpmap:18 G729").Replace(b)
		case f[0] == "pause":
			b += fmt.Sprintf("<pause milliseconds=%q/>\n", f[1])
		case f[0] == "ack" && answer == "200":
			b += request("ACK", "1", "", "[peer_tag_param]", "Content-Length: 0\n")
		case f[0] == "ack" && answer == "486":
			b += request("ACK", "1", "-4", "[peer_tag_param]", "Content-Length: 0\n")
		case f[0] == "ack":
			b += request("ACK", "1", "-3", "[peer_tag_param]", "Content-Length: 0\n")
		case f[1] == "BYE" && f[0] == ">":
			b += request("BYE", "2", "", "[peer_tag_param]", "Content-Length: 0\n") + `<recv response="200"/>` + "\n"
		case f[1] == "BYE":
			b += `<recv request="BYE"/>` + "\n" + response("200", "BYE", "", false)
		default:
			if answer = f[1]; answer == "200" || answer == "486" {
				b += `<recv response="180" optional="true"/>` + "\n"
			}
			b += fmt.Sprintf("<recv response=%q/>\n", f[1])
		}
	}
	return b + "</scenario>\n"
}

// callers calls our number, all at once, from the given numbers.
func (w *world) callers(steps string, from ...string) *sipp {
	w.t.Helper()
	return w.callersOf(ourNumber, w.flags.SIP, steps, from...)
}

// callersOf calls a number at an address.
func (w *world) callersOf(to, at, steps string, from ...string) *sipp {
	w.t.Helper()
	dir := w.t.TempDir()
	file, list := filepath.Join(dir, "call-in.xml"), filepath.Join(dir, "callers.csv")
	for name, text := range map[string]string{file: strings.ReplaceAll(callIn(steps), ourNumber, to),
		list: "SEQUENTIAL\n" + strings.Join(from, "\n") + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	n := strconv.Itoa(len(from))
	return startSippFile(w.t, file, at, "-inf", list, "-m", n, "-l", n, "-r", "200")
}

// over waits until all calls have followed the scenario.
func (s *sipp) over() {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.t.Fatal("SIPp still waits for something that never came")
	}
	if s.err != nil {
		s.t.Fatalf("SIPp found the calls wrong: %v", s.err)
	}
}

func (w *world) policy(fields map[string]any) {
	w.t.Helper()
	w.operator("PUT", "/api/v1/numbers/"+ourNumber, fields).expect(200)
}

// inbounds counts the calls that came in and are stored, by a condition.
func (w *world) inbounds(where string) int {
	w.t.Helper()
	return w.rows("attempts WHERE inbound AND " + where)
}

const played = "< 200\nack\n< BYE\n"

func TestWhoCallsBackIsRefusedUnlessThePolicySaysOtherwise(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.callers("< 403\nack\n", newNumber(), anonymous).over()
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0, "inbound": "decline"})
	w.callers("< 603\nack\n", newNumber()).over()
	if n := w.rows("attempts"); n != 0 {
		t.Errorf("%d attempts", n)
	}
}

// A trunk's calls to numbers that are not ours get its own answer, whatever our numbers' policies, and the
// database is not asked about them.
func TestCallsToNumbersThatAreNotOursAskNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0, "inbound": "decline"})
	w.policy(map[string]any{"callback_policy": "message"})
	other := newNumber()
	eventually(t, "our numbers are known", func() bool {
		w.callersOf(other, w.flags.SIP, "< 603\nack\n", newNumber()).over()
		return w.metric("dialler_inbound_strange_total") > 0
	})
	offered, strange := w.metric("dialler_inbound_offered_total"), w.metric("dialler_inbound_strange_total")
	var from []string
	for range 30 {
		from = append(from, newNumber())
	}
	w.callersOf(other, w.flags.SIP, "< 603\nack\n", append(from, from...)...).over()
	if now := w.metric("dialler_inbound_offered_total"); now != offered {
		t.Errorf("%v of them were looked up", now-offered)
	}
	if now := w.metric("dialler_inbound_strange_total"); now != strange+60 {
		t.Errorf("%v of them are counted, want 60", now-strange)
	}
	w.callers(played, newNumber()).over()
	if n := w.inbounds("answered_at IS NOT NULL"); n != 1 {
		t.Errorf("%d calls to our number were answered", n)
	}
}

func TestACallerWithoutACodecOfOursIsToldSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "message"})
	w.callers("g729\n< 488\nack\n", newNumber()).over()
	eventually(t, "the call has ended for want of a codec", func() bool {
		return w.inbounds("NOT live AND outcome = 'media_error' AND answered_at IS NULL") == 1
	})
}

func TestWhoCallsBackHearsAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.policy(map[string]any{"callback_policy": "message"})
	known := newNumber()
	missed := w.dialout(known)
	w.ended(missed, engine.OutcomeCompleted)
	w.callers(played, known, newNumber(), anonymous).over()
	eventually(t, "all of them are stored and over", func() bool {
		return w.inbounds("NOT live AND outcome = 'completed'") == 3
	})
	var returns, caller string
	w.query("SELECT replace(returns::text, '-', ''), to_number FROM attempts WHERE returns IS NOT NULL", &returns, &caller)
	if id, _ := missed.Attempt(); returns != string(id) || caller != known {
		t.Errorf("%s calls back %s, want %s", caller, returns, id)
	}
	if n := w.inbounds("NOT consumed AND number = 0 AND answered_at IS NOT NULL AND hung_up_by = 'system'"); n != 3 {
		t.Errorf("%d of 3 are as they should be", n)
	}
	if n := w.rows("number_holds"); n != 0 {
		t.Errorf("%d numbers are held", n)
	}
	for name, want := range map[string]float64{"dialler_inbound_offered_total": 3, "dialler_inbound_served_total": 3,
		"dialler_inbound_turned_away_total": 0, "dialler_attempts_total": 1, "dialler_answers_total": 1} {
		if v := w.metric(name); v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	var listed struct {
		Calls []struct {
			Direction string
			Returns   engine.CallID `json:"returns_call_id"`
			To        string        `json:"to_number"`
		}
	}
	w.operator("GET", "/api/v1/calls?number="+strings.ReplaceAll(known, "+", "%2B"), nil).expect(200).into(&listed)
	if len(listed.Calls) != 2 || listed.Calls[0].Direction != "inbound" || listed.Calls[0].Returns != missed ||
		listed.Calls[1].Direction != "outbound" {
		t.Errorf("%+v", listed)
	}
}

func TestFiftyCallBackAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "message"})
	var from []string
	for range 50 {
		from = append(from, newNumber())
	}
	w.callers(played, from...).over()
	eventually(t, "all of them are over", func() bool { return w.inbounds("NOT live AND outcome = 'completed'") == 50 })
}

// A caller who hangs up, and one who gives the answer no ACK.
func TestACallerHangsUpDuringTheMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "message"})
	w.callers("< 200\nack\npause 200\n> BYE\n", newNumber()).over()
	eventually(t, "it is over", func() bool { return w.inbounds("NOT live AND outcome = 'caller_hung_up'") == 1 })
}

func TestWhoCallsBackTalksToTheBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "bot", "callback_bot_id": ourBot})
	caller := newNumber()
	w.callers(played, caller).over()
	eventually(t, "it is over", func() bool { return w.inbounds("NOT live AND outcome = 'completed'") == 1 })
	var id string
	w.query("SELECT replace(id::text, '-', '') FROM attempts", &id)
	s, ok := w.bot.Session(engine.AttemptID(id).Call())
	if !ok || s.Parameters["direction"] != "inbound" || s.Parameters["to_number"] != caller {
		t.Errorf("the bot was told %v", s.Parameters)
	}
}

// Both directions cross: whoever is stored first has the number.
func TestNobodyTalksToUsTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 2*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}})
	w.policy(map[string]any{"callback_policy": "bot", "callback_bot_id": ourBot})
	first := newNumber() // we call first: it rings there
	ours := w.dialout(first)
	eventually(t, "it rings", func() bool { return w.call(ours).State == "ringing" })
	w.callers("< 486\nack\n", first).over()
	w.crm("POST", "/api/v1/calls/"+string(ours)+"/hang-up", nil).expect(200)

	second := newNumber() // they call first: they talk to the bot
	s := w.callers(played, second)
	eventually(t, "they talk", func() bool {
		return w.inbounds("to_number = '"+second+"' AND served_at IS NOT NULL") == 1
	})
	if n := w.rows("number_holds WHERE number = '" + second + "' AND hold_until IS NULL"); n != 1 {
		t.Errorf("their number is held %d times", n)
	}
	refused := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": second})
	if refused.status != 409 || refused.code() != "number_held" {
		t.Errorf("%s", refused)
	}
	s.over()
	if n := len(invites(model, second)); n != 0 {
		t.Errorf("%d calls to somebody who talked to us", n)
	}
}

// killed ends a program as kill -9 does, and starts another one as this test's process.
func (w *world) killed(r *running) {
	w.t.Helper()
	if err := r.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	_ = r.cmd.Wait()
	<-r.read
	w.start()
	w.tampered = false
}

// asProgram ends the test's process and starts a program in its place.
func (w *world) asProgram() *running {
	w.t.Helper()
	w.p.Close()
	w.tampered = true // no audit while another process runs
	w.flags.SIP = "127.0.0.1:" + strconv.Itoa(ports.Of(w.t))
	return w.another()
}

// kill -9 while callers talk to the bot: the next process ends what is left with BYE, and their numbers
// are free again.
func TestACallerOfAKilledProcessIsHungUpOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Minute)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "bot", "callback_bot_id": ourBot})
	first := w.asProgram()
	var from []string
	for range 5 {
		from = append(from, newNumber())
	}
	s := w.callers(played, from...)
	eventually(t, "they talk", func() bool { return w.inbounds("served_at IS NOT NULL") == 5 })
	w.killed(first)
	s.over() // each had its BYE
	eventually(t, "nothing is left of them", func() bool {
		return w.inbounds("NOT live AND outcome = 'lost'") == 5 && w.rows("number_holds") == 0
	})
}

// kill -9 while callers hear the message, or are being answered.
func TestAMessageOfAKilledProcessEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "message"})
	first := w.asProgram()
	from := []string{anonymous}
	for range 20 {
		from = append(from, newNumber())
	}
	s := w.callers("any killed\n", from...)
	eventually(t, "one hears it", func() bool { return w.inbounds("answered_at IS NOT NULL") > 0 })
	w.killed(first)
	s.over()
	eventually(t, "nothing is left of them", func() bool {
		return w.inbounds("live") == 0 && w.rows("number_holds") == 0
	})
	if _, twice := w.most(); twice != 0 {
		t.Errorf("%d heard it twice at once", twice)
	}
}

// most is how many conversations there were at once, and to how many numbers two were at the same time.
func (w *world) most() (sessions, twice int) {
	w.t.Helper()
	w.query("SELECT coalesce(max(n), 0) FROM (SELECT (SELECT count(*) FROM attempts b WHERE b.bot_connected_at <= a."+
		"bot_connected_at AND (b.ended_at IS NULL OR b.ended_at > a.bot_connected_at)) AS n FROM attempts a) t", &sessions)
	w.query("SELECT count(*) FROM attempts a JOIN attempts b ON a.to_number = b.to_number AND a.id < b.id "+
		"AND a.answered_at < coalesce(b.ended_at, 'infinity') AND b.answered_at < coalesce(a.ended_at, 'infinity')", &twice)
	return sessions, twice
}

// People who were missed call back while the campaign has all seats of its bot: they get the next free
// ones, the bot never has more, and the campaign's figures know nothing of them.
func TestCallsBackGoBeforeNewDials(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 700*time.Millisecond)
	const seats, people = 2, 12
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": seats,
		"endpoints": []string{w.bot.URL()}, "auth_token": ourToken, "account": ourAccount}).expect(200)
	id := w.campaign(map[string]any{"concurrency": seats, "pacing_mode": "progressive", "callback_policy": "bot",
		"retry_on_system": []string{}, "max_attempts": 1})
	var rows []any
	for range people {
		rows = append(rows, map[string]any{"mobile": newNumber(), "metadata": map[string]any{"first_name": "Ada"}})
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	var known []string
	eventually(t, "two contacts were called", func() bool {
		known = nil
		for _, c := range model.Ledger().Calls() {
			if !c.EndedAt.IsZero() {
				known = append(known, c.Number.E164())
			}
		}
		return len(known) >= 2
	})
	w.callers(played, known[:2]...).over()
	var name, contact string
	w.query("SELECT variables->>'first_name', to_number FROM attempts WHERE inbound AND to_number = '"+known[0]+"'", &name,
		&contact)
	if name != "Ada" || w.rows("attempts WHERE NOT inbound") == people {
		t.Errorf("%s was served, %d of %d dials later", name, w.rows("attempts WHERE NOT inbound"), people)
	}
	eventually(t, "the campaign is over", func() bool { return w.detail(id).Status == "completed" })
	d := w.detail(id)
	if n := w.rows("events WHERE type = 'contact.changed' AND data->>'reason' = 'called_back'"); n != 2 {
		t.Errorf("%d contacts were told of their calls back", n)
	}
	if d.Counters.Total != people || d.Counters.Connected != people || w.inbounds("consumed") != 0 {
		t.Errorf("%+v", d.Counters)
	}
	if sessions, twice := w.most(); sessions > seats || twice != 0 {
		t.Errorf("%d conversations with %d seats; %d people talked to us twice at once", sessions, seats, twice)
	}
}

// A campaign has a bot, but a message needs none: no seat is taken and the bot hears nothing.
func TestTheMessageOfACampaignNeedsNoBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Minute)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	_, missed := w.missed(map[string]any{"callback_policy": "message", "retry_on_system": []string{}})
	w.callers(played, missed).over()
	eventually(t, "it is over", func() bool { return w.inbounds("NOT live AND outcome = 'completed'") == 1 })
	var id string
	w.query("SELECT replace(id::text, '-', '') FROM attempts WHERE inbound", &id)
	_, talked := w.bot.Session(engine.AttemptID(id).Call())
	if n := w.inbounds("(coalesce(session_id, '') <> '' OR coalesce(bot_id, '') <> '')"); n != 0 || talked {
		t.Errorf("%d of the calls have a bot; it was connected: %v", n, talked)
	}
}

// missed runs a campaign with one contact, who was called in vain once.
func (w *world) missed(settings map[string]any) (id engine.CampaignID, number string) {
	w.t.Helper()
	id, number = w.running(settings), newNumber()
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
		map[string]any{"contacts": []any{map[string]any{"mobile": number}}}).expect(200)
	eventually(w.t, "they were missed", func() bool {
		return w.rows("attempts WHERE NOT inbound AND NOT live") == 1
	})
	return id, number
}

// We call people while they call us, all at once and without an order: nobody talks to us twice.
func TestBothDirectionsCrossAtRandom(t *testing.T) {
	t.Parallel()
	t.Run("undisturbed", func(t *testing.T) { t.Parallel(); crossing(t, false) })
	t.Run("killed", func(t *testing.T) { t.Parallel(); crossing(t, true) })
}

func crossing(t *testing.T, killed bool) {
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(30 * time.Millisecond)}})
	w.policy(map[string]any{"callback_policy": "bot", "callback_bot_id": ourBot})
	at, first, steps := w, (*running)(nil), "any\n"
	if killed { // who waits for a seat when it dies hears it ring until they hang up
		w.policy(map[string]any{"callback_policy": "message"})
		first = w.asProgram()
		at, steps = w.at(first.api), "any killed\n"
	}
	var people []string
	for range 20 {
		people = append(people, newNumber())
	}
	s := w.callers(steps, people...)
	for _, n := range people[:len(people)/2] {
		at.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": n})
	}
	if killed {
		w.killed(first)
		w.api = ""
	}
	for _, n := range people[len(people)/2:] {
		w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": n})
	}
	s.over()
	eventually(t, "all calls are over", func() bool { return w.rows("attempts WHERE live") == 0 })
	eventually(t, "no number is held", func() bool { return w.rows("number_holds") == 0 })
	sessions, twice := w.most()
	if ours := len(model.Ledger().Calls()); twice != 0 || sessions > 10 ||
		!killed && w.inbounds("answered_at IS NOT NULL")+ours < len(people) {
		t.Errorf("%d talked to us twice; %d at once; %d calls in, %d out", twice, sessions,
			w.inbounds("answered_at IS NOT NULL"), ours)
	}
}

// A contact who was missed and called back is not called again, unless the disposition says so.
func TestACallBackEndsTheContact(t *testing.T) {
	t.Parallel()
	for disposition, want := range map[string]string{"interested": "completed ", "call again": "connected due"} {
		t.Run(disposition, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tuning{}, 100*time.Millisecond)
			c := conversation(100 * time.Millisecond)
			c.Result.Disposition = disposition
			if err := w.bot.Configure(bot.Config{AuthToken: ourToken, Conversations: []bot.Conversation{c}}); err != nil {
				t.Fatal(err)
			}
			w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
			id := w.running(map[string]any{"callback_policy": "bot", "retry_on_system": []string{"busy"},
				"retry_on_custom": []string{"call again"}, "retry_delay_s": 3600, "max_attempts": 3})
			missed := newNumber()
			w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts",
				map[string]any{"contacts": []any{map[string]any{"mobile": missed}}}).expect(200)
			eventually(t, "they were missed", func() bool {
				return w.rows("contacts WHERE used = 1 AND due_at IS NOT NULL") == 1
			})
			w.callers(played, missed).over()
			state := ""
			eventually(t, "the contact knows", func() bool {
				w.query("SELECT state || ' ' || CASE WHEN due_at IS NULL THEN '' ELSE 'due' END || "+
					"CASE WHEN has_result THEN '' ELSE ', no result' END FROM contacts", &state)
				return state == want
			})
			var used int
			w.query("SELECT used FROM contacts", &used)
			if used != 1 || w.inbounds("outcome = 'completed'") != 1 {
				t.Errorf("%d attempts are used", used)
			}
			w.act(id, "stop").expect(200)
		})
	}
}

// later is a conversation whose result the bot posts some time after its end.
func (w *world) later(talk, delay time.Duration) {
	w.t.Helper()
	c := conversation(talk)
	c.Result.Delay = draw.Exactly(delay)
	if err := w.bot.Configure(bot.Config{AuthToken: ourToken, Conversations: []bot.Conversation{c}}); err != nil {
		w.t.Fatal(err)
	}
}

// The contact's next dial falls into the call back, and the bot posts only after it: nobody is rung who has
// just talked to us.
func TestWhoHasJustCalledBackIsNotRung(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.later(6*time.Second, 4*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	_, person := w.missed(map[string]any{"callback_policy": "bot", "retry_on_system": []string{"busy"},
		"retry_delay_s": 5, "max_attempts": 9})
	w.callers(played, person).over()
	eventually(t, "the contact has its result", func() bool {
		return w.rows("contacts WHERE state = 'completed' AND has_result") == 1
	})
	if n := len(invites(model, person)); n != 1 {
		t.Errorf("they were called %d times", n)
	}
}

// The bot was told that its result of a call back is stored, and the process is killed before the contact has heard
// of it: the next one tells it.
func TestAResultOfACallBackReachesItsContactThroughAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	w.later(300*time.Millisecond, 3*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	first := w.asProgram()
	_, person := w.missed(map[string]any{"always_on": true, "callback_policy": "bot", "retry_on_system": []string{"busy"},
		"retry_delay_s": 3600, "max_attempts": 9})
	w.callers(played, person).over()
	eventually(t, "the contact knows of the call", func() bool {
		return w.inbounds("NOT live") == 1 && w.rows("contacts WHERE calls_back IS NOT NULL") == 1
	})
	ctx := t.Context()
	held, err := pgx.Connect(ctx, w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close(context.Background()) }()
	if _, err := held.Exec(ctx, "BEGIN; SELECT FROM contacts FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	by := fmt.Sprintf(" FROM pg_stat_activity WHERE pg_blocking_pids(pid) @> ARRAY[%d]", held.PgConn().PID())
	eventually(t, "the result is stored, and the contact is being told", func() bool {
		n := 0
		w.query("SELECT count(*)"+by, &n)
		return n > 0 && w.inbounds("result IS NOT NULL") == 1
	})
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	w.exec("SELECT pg_terminate_backend(pid, 3000)" + by) // what it had sent is not carried out after its end
	if _, err := held.Exec(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if n := w.rows("contacts WHERE has_result"); n != 0 {
		t.Fatal("the contact has heard of it")
	}
	w.killed(first)
	eventually(t, "the contact has its result", func() bool {
		return w.rows("contacts WHERE state = 'completed' AND has_result AND due_at IS NULL") == 1
	})
	if n := len(invites(model, person)); n != 1 {
		t.Errorf("they were called %d times", n)
	}
}

// A person with two numbers calls back from the first one, while the second is due.
func TestWhoTalksToUsIsNotCalledAtTheOtherNumber(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 8*time.Second)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{
		{Kind: carrier.NoAnswer, Ring: draw.Exactly(50 * time.Millisecond)}}})
	w.operator("PUT", "/api/v1/cadences/persons", map[string]any{"name": "Persons",
		"rules": "no_answer: 5s · next number after 1"}).expect(201)
	id := w.running(map[string]any{"callback_policy": "bot", "max_attempts": 9, "cadence_id": "persons"})
	first, second := newNumber(), newNumber()
	w.triggerPerson(id, numbersOf(first, second)).expect(200)
	eventually(t, "they were missed", func() bool { return w.rows("attempts WHERE NOT inbound AND NOT live") == 1 })
	w.callers(played, first).over()
	if a, b := len(invites(model, first)), len(invites(model, second)); a != 1 || b != 0 {
		t.Errorf("%d calls to the first number, %d to the second", a, b)
	}
}

// A result that comes early is judged by the whole conversation, when that is over.
func TestAResultDuringACallBackIsJudgedByTheWholeTalk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 3*time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	id, person := w.missed(map[string]any{"callback_policy": "bot", "retry_on_system": []string{"busy"},
		"retry_delay_s": 3600, "redial_only_under_s": 2, "max_attempts": 9})
	s := w.callers(played, person)
	eventually(t, "they talk", func() bool { return w.inbounds("served_at IS NOT NULL") == 1 })
	var call string
	w.query("SELECT replace(id::text, '-', '') FROM attempts WHERE inbound", &call)
	w.crm("POST", "/api/v1/calls/"+string(engine.AttemptID(call).Call())+"/result",
		map[string]any{"disposition": "interested"}).expect(200)
	if n := w.rows("contacts WHERE has_result"); n != 0 {
		t.Error("it is judged by the talk so far")
	}
	s.over()
	eventually(t, "the contact has its result", func() bool {
		return w.rows("contacts WHERE state = 'completed' AND has_result") == 1
	})
	w.act(id, "stop").expect(200)
}

// The INVITE of a call back reaches a node that does not own the contact's campaign. The owner keeps the
// contact from being dialled while they talk, and gets the result; when it is killed meanwhile, whoever
// takes the campaign over does.
func TestACallBackThroughAnotherNodeIsHeardByTheOwnerOfItsContact(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprintf("killed %v", killed), func(t *testing.T) {
			w, other := newClusterWorld(t, 0)
			w.later(8*time.Second, 0)
			model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
			id := w.campaignOf("two", map[string]any{"callback_policy": "bot", "retry_on_system": []string{"busy"},
				"retry_delay_s": 5, "max_attempts": 9, "always_on": true})
			w.insist(id, "start")
			person := newNumber()
			w.trigger(id, person, nil)
			eventually(t, "they were missed", func() bool { return w.rows("attempts WHERE NOT inbound AND NOT live") == 1 })
			s := w.callers(played, person)
			eventually(t, "they talk, and the owner knows", func() bool {
				return w.inbounds("served_at IS NOT NULL") == 1 &&
					w.rows("contacts WHERE reason = 'calls_back' AND due_at > now() + interval '5 minutes'") == 1
			})
			if name, _ := w.ownerOf(id); name != "two" {
				t.Fatalf("%s owns the campaign", name)
			}
			before := len(invites(model, person)) // a second one may have left before they called
			if killed {
				if err := other.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			s.over()
			within(t, 3*patience, "the contact has its result", func() bool {
				return w.rows("contacts WHERE state = 'completed' AND has_result AND due_at IS NULL") == 1
			})
			if n := len(invites(model, person)); n != before || w.inbounds("outcome = 'completed'") != 1 {
				t.Errorf("called %d times more", n-before)
			}
			if name, _ := w.ownerOf(id); (name == "two") == killed {
				t.Errorf("%s owns the campaign in the end", name)
			}
		})
	}
}
