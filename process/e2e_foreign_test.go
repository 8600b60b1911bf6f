package process

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// FOREIGN names a folder with what others test SIP stacks by: SIPp scenarios that are called (uas/*.xml) and that call
// (uac/*.xml), and messages (messages/*). These tests wait for it, and for the fuzzers of Debian's zzuf, sipsak and
// sipvicious; a call is never lost by them, never placed twice, and nothing is left of it.
func foreign(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("FOREIGN")
	if dir == "" {
		t.Skip("FOREIGN is not set")
	}
	return dir
}

// unharmed checks that nothing is left of the calls, whose far sides may have gone without a BYE, that no actor failed,
// and that a call is served as ever.
func (w *world) unharmed() {
	w.t.Helper()
	within(w.t, 3*time.Minute, "no call is live", func() bool { return w.p.tree.LiveCalls() == 0 })
	w.quiet()
	if n := w.p.tree.Stats().Actors.Restarts.Load(); n != 0 {
		w.t.Errorf("%d actors were restarted", n)
	}
	well := startSipp(w.t, "< INVITE\n> 180\n> 200 sdp\n< ACK\n< BYE\n> 200")
	w.trunk("sipp", "127.0.0.1", well.port, map[string]any{"options_s": 0})
	w.heard()
	well.satisfied()
}

func TestForeignFuzzersHarmNoCall(t *testing.T) {
	dir := foreign(t)
	const lasts = 50 * time.Second
	w := newWorld(t, tuning{}, 500*time.Millisecond)
	b := w.startToneBot("tone", lasts)
	// SIPp gets the answers to what is sent in its call's name.
	s := startSippFile(t, stepsFile(t, "< INVITE\n> 180\n> 200 sdp\n< ACK\n< BYE\n> 200"),
		"-default_behaviors", "all,-abortunexp", "-recv_timeout", "120000", "-timeout", "120")
	w.trunk("sipp", "127.0.0.1", s.port, map[string]any{"options_s": 0})
	var rep struct {
		CallID engine.CallID `json:"call_id"`
	}
	w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": b.id, "to_number": newNumber()}).expect(201).into(&rep)
	eventually(t, "they talk", func() bool { return w.stored(rep.CallID).State == attempt.Connected })
	began := time.Now()

	aid, _ := rep.CallID.Attempt()
	var seeds [][]byte
	var tag []byte // of the callee
	for _, m := range s.messages(string(aid.Leg(1))) {
		seeds = append(seeds, []byte(m.text))
		if m.sent && strings.Contains(m.text, "m=audio") {
			tag = regexp.MustCompile(`To:.*;tag=\S+`).Find([]byte(m.text))
			// An INVITE or an offer in the call, and its BYE, rightly change or end it.
			for _, method := range []string{"UPDATE", "INFO", "REFER", "NOTIFY", "OPTIONS", "PRACK", "MESSAGE"} {
				seeds = append(seeds, inDialog(m.text, method))
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "messages", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no messages in %s: %v", dir, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, text)
	}
	host, port, err := splitHostPort(w.flags.SIP)
	if err != nil {
		t.Fatal(err)
	}
	at := strconv.Itoa(port)
	ctx, cancel := context.WithDeadline(t.Context(), began.Add(lasts-10*time.Second))
	defer cancel()
	scans := make(chan string, 8)
	go func() {
		defer close(scans)
		for _, command := range [][]string{
			{"svmap", "-p", at, host}, {"svwar", "--force", "-e100-400", "-m", "INVITE", "-p", at, host},
			{"svwar", "--force", "-e100-400", "-m", "OPTIONS", "-p", at, host},
			{"svcrack", "-u100", "-r1-500", "-p", at, host},
			{"sipsak", "-F", "-e", "3000", "-s", "sip:a@" + w.flags.SIP},
			{"sipsak", "-R", "-t", "100", "-s", "sip:a@" + w.flags.SIP},
			{"sipsak", "-M", "-B", "text", "-s", "sip:a@" + w.flags.SIP},
			{"sipsak", "-U", "-e", "50", "-s", "sip:a@" + w.flags.SIP},
		} {
			each, cancel := context.WithTimeout(ctx, 8*time.Second)
			out, err := exec.CommandContext(each, command[0], command[1:]...).CombinedOutput()
			cancel()
			scans <- fmt.Sprintf("%s: %v, %d bytes said", strings.Join(command, " "), err, len(out))
		}
	}()
	from, err := net.Dial("udp", w.flags.SIP)
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	for seed := 0; ctx.Err() == nil; seed++ {
		fuzz := exec.CommandContext(ctx, "zzuf", "-s", strconv.Itoa(seed), "-r", "0.0002:0.02") //nolint:gosec // fixed
		fuzz.Stdin = bytes.NewReader(seeds[seed%len(seeds)])
		text, err := fuzz.Output()
		if err != nil && ctx.Err() == nil {
			t.Fatalf("zzuf: %v", err)
		}
		// A BYE ends a call, and so does one that answers another fork's 200, which to SIPp is the same call.
		if len(text) == 0 || bytes.HasPrefix(text, []byte("BYE ")) ||
			bytes.HasPrefix(text, []byte("SIP/2.0 2")) && !bytes.Contains(text, tag) {
			continue
		}
		if sent++; sent%2 == 0 {
			_, _ = from.Write(text)
			continue
		}
		if c, err := net.DialTimeout("tcp", w.flags.SIP, patience); err == nil {
			_, _ = c.Write(text)
			_ = c.Close()
		}
	}
	for said := range scans {
		t.Log(said)
	}
	_ = from.Close()
	if heard, of := b.heardFor(), time.Since(began); heard < of-2*time.Second {
		t.Errorf("the bot heard %v of %v of the callee; the call's messages: %s", heard, of, w.ladder(rep.CallID))
	}
	if row := w.stored(rep.CallID); row.State != attempt.Connected {
		t.Errorf("%d messages ended the call: %s, %s, %d %s", sent, row.State, row.Outcome, row.SIPCode, row.SIPReason)
	}
	w.ended(rep.CallID, engine.OutcomeConnectedNoResult)
	row := w.stored(rep.CallID)
	if row.HungUpBy != engine.PartyBot || row.EndedAt.Sub(*row.AnsweredAt) < lasts-time.Second {
		t.Errorf("hung up by %s, from %s to %s", row.HungUpBy, row.AnsweredAt, row.EndedAt)
	}
	if _, invited := s.requests(""); len(invited) != 1 {
		t.Errorf("%d calls at the far side", len(invited))
	}
	st := w.p.sip.Stats()
	t.Logf("%d mutated messages, %d malformed, %d unmatched", sent, st.Malformed, st.Unmatched)
	w.unharmed()
}

// stepsFile is a scenario (see scenario) as a file.
func stepsFile(t *testing.T, steps string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.xml")
	if err := os.WriteFile(file, []byte(scenario(steps)), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// inDialog is a request of the far side in the call that its 200 answered.
func inDialog(answer, method string) []byte {
	head, _, _ := strings.Cut(answer, "\r\n\r\n")
	out := method + " sip:dialler SIP/2.0\r\n"
	for line := range strings.SplitSeq(head, "\r\n") {
		switch name, value, _ := strings.Cut(line, ":"); name {
		case "From":
			out += "To:" + value + "\r\n"
		case "To":
			out += "From:" + value + "\r\n"
		case "CSeq":
			out += "CSeq: 7 " + method + "\r\n"
		case "Via", "Call-ID", "Contact":
			out += line + "\r\n"
		}
	}
	return []byte(out + "Content-Length: 0\r\n\r\n")
}

func TestForeignScenariosHarmNoCall(t *testing.T) {
	dir := foreign(t)
	w := newWorld(t, tuning{dialoutRing: 8 * time.Second}, 3*time.Second)
	w.policy(map[string]any{"callback_policy": "bot", "callback_bot_id": ourBot})
	for _, kind := range []string{"uas", "uac"} {
		files, err := filepath.Glob(filepath.Join(dir, kind, "*.xml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no scenarios in %s/%s: %v", dir, kind, err)
		}
		for _, file := range files {
			t.Run(kind+" "+filepath.Base(file), func(t *testing.T) {
				own := *w
				own.t = t
				if kind == "uac" {
					own.calledBy(file)
				} else {
					own.callsOf(file)
				}
			})
		}
	}
	w.unharmed()
}

// calledBy lets a scenario call our number.
func (w *world) calledBy(file string) {
	s := startSippFile(w.t, file, w.flags.SIP, "-m", "1", "-s", ourNumber, "-recv_timeout", "8000", "-timeout", "20")
	w.trunk("sipp", "127.0.0.1", s.port, map[string]any{"options_s": 0})
	<-s.done
	wrong := regexp.MustCompile(`(Aborting call|Dead call|Unexpected|while expecting)[^\n]*`).FindString(s.report())
	w.t.Logf("%s: SIPp says %v %.200s", filepath.Base(file), s.err, wrong)
}

// callsOf calls a scenario.
func (w *world) callsOf(file string) {
	s := startSippFile(w.t, file, "-m", "1", "-recv_timeout", "5000", "-timeout", "25", "-key", "username", "u",
		"-key", "redir_target", "sip:+493099999@127.0.0.1:9")
	w.trunk("sipp", "127.0.0.1", s.port, map[string]any{"options_s": 0, "username": "u", "password": "p"})
	id := w.dialout(newNumber())
	var last call
	within(w.t, 90*time.Second, "the call ends", func() bool {
		last = w.call(id)
		return last.State == "ended" && !last.Awaiting
	})
	_, invited := s.requests("")
	methods := ""
	if len(invited) > 0 {
		methods, _ = s.requests(invited[0])
	}
	w.t.Logf("%s: %s, %d %s; SIPp had %s", filepath.Base(file), last.Outcome, last.SIPCode, last.SIPReason, methods)
	if len(invited) > 1 {
		w.t.Errorf("the far side had the calls %v", invited)
	}
	if row := w.stored(id); row.State != attempt.Ended || row.Outcome == engine.OutcomeSystemError {
		w.t.Errorf("%+v", row)
	}
}
