package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/draw"
	"dialler/engine"
	"dialler/engine/campaign"
)

// Bots built with the libraries that others use for theirs, in processes of their own: so our view
// of their protocols is not tested only against itself.

// told is a line that a script printed.
type told struct {
	Event string
	// of listening
	URL string
	// Of any event; which are set depends on the event.
	Message, What, Name, Call, SID, Account, Status, Input, Output, Library, More string
	Code, Marks, Loud, Clear                                                      int
	MS, AudioEndMs                                                                float64
	Valid, OtherToken, OtherAddress, Accepted, InOrder, Stopped                   bool
	Parameters                                                                    []string
}

// UnmarshalJSON reads status as a number or a word.
func (l *told) UnmarshalJSON(b []byte) error {
	type plain told
	var raw struct {
		*plain
		Status any
	}
	raw.plain = (*plain)(l)
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	switch s := raw.Status.(type) {
	case string:
		l.Status = s
	case float64:
		text, err := json.Marshal(s)
		l.Status = string(text)
		return err
	}
	return nil
}

// script is a program of http/console/e2e that runs until the test ends.
type script struct {
	t     *testing.T
	mu    sync.Mutex
	lines []told
}

// newScript starts a script and returns it with the address on which it listens.
func newScript(t *testing.T, name string, args ...string) (s *script, url string) {
	t.Helper()
	s = &script{t: t}
	cmd := exec.CommandContext(context.Background(), node(t), append([]string{filepath.Join(consoleDir, "e2e", name)},
		args...)...)
	cmd.Env = append(os.Environ(), "OPENAI_AGENTS_DISABLE_TRACING=1", "HTTP_PROXY=", "http_proxy=")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.read(out)
	}()
	t.Cleanup(func() {
		_ = in.Close() // it then ends by itself
		select {
		case <-read:
		case <-time.After(patience):
			t.Errorf("%s does not end", name)
			_ = cmd.Process.Kill()
			<-read
		}
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("%s: %v (make console installs its libraries)\n%s", name, err, errs.String())
		}
	})
	return s, s.await("listening", nil).URL
}

func (s *script) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var l told
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			l = told{Event: "error", Message: "not a line of the script: " + lines.Text()}
		}
		s.mu.Lock()
		s.lines = append(s.lines, l)
		s.mu.Unlock()
	}
}

func (s *script) all(event string, that func(told) bool) (found []told) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		if l.Event == event && (that == nil || that(l)) {
			found = append(found, l)
		}
	}
	return found
}

// await returns the latest line of an event.
func (s *script) await(event string, that func(told) bool) (l told) {
	s.t.Helper()
	eventually(s.t, "the script tells of "+event, func() bool {
		if wrong := s.all("error", nil); len(wrong) > 0 {
			s.t.Fatalf("the script failed: %s", wrong[0].Message)
		}
		found := s.all(event, that)
		if len(found) == 0 {
			return false
		}
		l = found[len(found)-1]
		return true
	})
	return l
}

// twilio, the library: its validator accepts the signature of our upgrade, its REST client ends a
// live call, and it reads every refusal as one of its own errors.
func TestTheTwilioLibraryBelievesOurSignatureAndHangsUpOurCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	s, url := newScript(t, "twilio.mjs", w.p.URL(), ourAccount, ourToken)
	w.endpoints(url + "/media?token=a%20b%2Fc&name='x'")
	id := w.dialout(newNumber())
	ended := s.await("ended", nil)
	if ended.SID != string(id) || ended.Account != ourAccount || ended.Status != "completed" {
		t.Errorf("the client was answered %+v", ended)
	}
	for _, up := range s.all("upgrade", nil) {
		if !up.Valid || up.OtherToken || up.OtherAddress {
			t.Errorf("the validator says of an upgrade: %+v", up)
		}
	}
	s.await("closed", nil)
	if stop := s.await("stop", nil); stop.Call != string(id) {
		t.Errorf("the bot was told %+v", stop)
	}
	f := func(what, status string, code int) {
		t.Helper()
		r := s.await("refusal", func(l told) bool { return l.What == what })
		if r.Accepted || r.Name != "RestException" || r.Status != status || r.Code != code || r.Message == "" ||
			r.More == "" {
			t.Errorf("%s: %+v, want %s and %d", what, r, status, code)
		}
	}
	f("token", "401", 20003)
	f("account", "401", 20003)
	f("redirect", "400", 20001)
	f("fetch", "405", 20004)
	f("again", "404", 20404)
	if c := w.ended(id, engine.OutcomeConnectedNoResult); c.HungUpBy != "bot" {
		t.Errorf("the call: %+v", c)
	}
	if row := w.over(model, id); row.ByeBy != carrier.Caller || len(row.Violations) > 0 {
		t.Errorf("at the carrier: %+v", row)
	}
	w.quiet()
}

// The OpenAI Agents SDK as the bot, for whole calls: its model hears the callee and the callee
// hears the model; an interruption clears the audio not played yet; and the call ends properly,
// whoever ends it.
func TestABotOfTheOpenAIAgentsSDKHoldsWholeCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	talks := person(50 * time.Millisecond)
	talks.Chatter = draw.Exactly(20 * time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{talks}})
	s, url := newScript(t, "agents.mjs")
	w.endpoints(url + "/media")

	dial := func(variables map[string]string) (id engine.CallID, since int) {
		since = len(s.all("started", nil))
		var rep campaign.DialoutReply
		w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber(),
			"variables": variables}).expect(201).into(&rep)
		return rep.CallID, since
	}
	// conversation is the common part of every call, for the n-th of the script.
	conversation := func(id engine.CallID, n int) {
		t.Helper()
		nth := func(event string) (l told) {
			t.Helper()
			eventually(t, "the script tells once more of "+event, func() bool {
				s.await("listening", nil) // fails with the cause
				found := s.all(event, nil)
				if len(found) <= n {
					return false
				}
				l = found[n]
				return true
			})
			return l
		}
		if l := nth("started"); l.Call != string(id) || !slices.Contains(l.Parameters, "result_token") {
			t.Errorf("the bot was told %+v", l)
		}
		if l := nth("configured"); l.Input != "audio/pcmu" || l.Output != "audio/pcmu" {
			t.Errorf("the library asks its model for %+v", l)
		}
		if l := nth("heard"); l.Loud < 100 {
			t.Errorf("the model heard %v ms with %d bytes of speech", l.MS, l.Loud)
		}
		if l := nth("truncated"); l.AudioEndMs <= 0 || l.AudioEndMs >= 9000 {
			t.Errorf("the library takes %v ms of a long answer as heard", l.AudioEndMs)
		}
		if l := nth("cleared"); l.Marks < 20 || !l.InOrder {
			t.Errorf("of the marks of what was cleared: %+v", l)
		}
		if l := nth("played"); l.Marks < 22 || !l.InOrder {
			t.Errorf("of all marks: %+v", l)
		}
		if l := nth("result"); l.Status != "200" {
			t.Errorf("its result is answered %s", l.Status)
		}
	}
	atTheCarrier := func(id engine.CallID, by carrier.Party) {
		t.Helper()
		if row := w.over(model, id); row.ByeBy != by || len(row.Violations) > 0 || row.RTP.AudioAt.IsZero() ||
			row.RTP.Received < 25 {
			t.Errorf("at the carrier: %+v", row)
		}
	}

	id, n := dial(nil)
	conversation(id, n)
	if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "bot" || c.Disposition != "interested" {
		t.Errorf("the bot closed its socket: %+v", c)
	}
	atTheCarrier(id, carrier.Caller)
	s.await("model_closed", nil)

	id, n = dial(map[string]string{"ends": "callee"})
	conversation(id, n)
	if !model.HangUp(string(w.stored(id).ID.Leg(1))) {
		t.Fatal("the call is gone")
	}
	if c := w.ended(id, engine.OutcomeCompleted); c.HungUpBy != "callee" {
		t.Errorf("the callee hung up: %+v", c)
	}
	atTheCarrier(id, carrier.Callee)
	closed := s.await("closed", func(l told) bool { return l.Stopped })
	if closed.Library != "disconnected" || closed.Clear != 1 {
		t.Errorf("after our stop the library is %+v", closed)
	}
	eventually(t, "its model is left as well", func() bool { return len(s.all("model_closed", nil)) == 2 })
	if st := w.p.media.Stats(); st.BotFramesMalformed+st.BotFramesUnknown != 0 {
		t.Errorf("%d frames of the library were malformed, %d unknown", st.BotFramesMalformed, st.BotFramesUnknown)
	}
	if strings.Contains(w.log.String(), "panic") {
		t.Error("something panicked")
	}
	w.quiet()
}
