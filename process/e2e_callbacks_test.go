package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
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
		request("INVITE", "1", "", "", "Content-Type: application/sdp\nContent-Length: [len]\n\nv=0\no=c 1 1 IN IP4 [local_ip]\n"+
			"s=-\nc=IN IP4 [media_ip]\nt=0 0\nm=audio [media_port] RTP/AVP 0 101\na=rtpmap:0 PCMU/8000\n"+
			"a=rtpmap:101 telephone-event/8000\n") + `<recv response="100" optional="true"/>` + "\n"
	answer := ""
	for line := range strings.Lines(steps) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "pause":
			b += fmt.Sprintf("<pause milliseconds=%q/>\n", f[1])
		case f[0] == "ack" && answer == "200":
			b += request("ACK", "1", "", "[peer_tag_param]", "Content-Length: 0\n")
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
	dir := w.t.TempDir()
	file, list := filepath.Join(dir, "call-in.xml"), filepath.Join(dir, "callers.csv")
	for name, text := range map[string]string{file: callIn(steps), list: "SEQUENTIAL\n" + strings.Join(from, "\n") + "\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	n := strconv.Itoa(len(from))
	return startSippFile(w.t, file, w.flags.SIP, "-inf", list, "-m", n, "-l", n, "-r", "200")
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

func TestWhoCallsBackHearsAMessage(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.policy(map[string]any{"callback_policy": "message"})
	known := newNumber()
	missed := w.dialout(known)
	w.ended(missed, engine.OutcomeCompleted)
	w.callers(played, known, newNumber(), anonymous).over()
	eventually(t, "all of them are stored and over", func() bool { return w.inbounds("NOT live AND outcome = 'completed'") == 3 })
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
	eventually(t, "they talk", func() bool { return w.inbounds("to_number = '"+second+"' AND served_at IS NOT NULL") == 1 })
	refused := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": second})
	if refused.status != 409 || refused.code() != "number_held" {
		t.Errorf("%s", refused)
	}
	s.over()
	if n := len(invites(model, second)); n != 0 {
		t.Errorf("%d calls to somebody who talked to us", n)
	}
}

// kill -9 while callers hear the message, talk to the bot, or wait: the next process ends what is left
// with BYE, and their numbers are free again.
func TestACallerOfAKilledProcessIsHungUpOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Minute)
	w.trunk("here", "127.0.0.1", ports.Of(t), map[string]any{"options_s": 0})
	w.policy(map[string]any{"callback_policy": "bot", "callback_bot_id": ourBot})
	w.p.Close()
	w.tampered = true // no audit while another process runs
	w.flags.SIP = "127.0.0.1:" + strconv.Itoa(ports.Of(t))
	first := w.another()
	var from []string
	for range 5 {
		from = append(from, newNumber())
	}
	s := w.callers(played, from...)
	eventually(t, "they talk", func() bool { return w.inbounds("served_at IS NOT NULL") == 5 })
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = first.cmd.Wait()
	<-first.read
	w.start()
	w.tampered = false
	s.over() // each had its BYE
	defer func() {
		if t.Failed() {
			var states string
			w.query("SELECT string_agg(state || ' ' || outcome || ' ' || coalesce(ended_at::text, '-'), ', ') || ' holds ' || "+
				"(SELECT count(*) FROM number_holds) || (SELECT string_agg(' leg ' || n || ' ' || coalesce(ended_at::text, '-') || ' ' || proof || ' ' || coalesce(dialog::text, ''), ',') FROM legs) FROM attempts", &states)
			t.Log(states)
		}
	}()
	eventually(t, "nothing is left of them", func() bool {
		return w.inbounds("NOT live AND outcome = 'lost'") == 5 && w.rows("number_holds") == 0
	})
}
