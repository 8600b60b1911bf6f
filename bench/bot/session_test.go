package bot

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"dialler/bench/draw"
)

func TestConversationFromStartToStop(t *testing.T) {
	short := Conversation{
		Utterance: draw.Exactly(200 * time.Millisecond), Pause: draw.Exactly(20 * time.Millisecond),
		Result: &Result{None: true},
	}
	b := start(t, Config{Conversations: []Conversation{short}})
	p := connect(t, b).begin()
	for i := 1; i <= 2; i++ {
		f, frames, bytes := p.readTo("mark")
		if f.Mark.Name != markName(i) || frames != 10 || bytes != 1600 {
			t.Fatalf("sentence %d: mark %q after %d frames with %d bytes", i, f.Mark.Name, frames, bytes)
		}
		p.media(0xff)
		p.mark(f.Mark.Name)
	}
	p.media(0x00) // maximum loudness
	p.send(`{"event":"dtmf","streamSid":"%s","sequenceNumber":"%d","dtmf":{"track":"inbound_track","digit":"9"}}`, stream,
		p.next())
	p.stop()
	until(t, b, "the session is over", func(b *Bot) bool {
		return b.Summary().Open == 0 && b.Summary().Results[ReportNone] == 1
	})
	s := p.session(b)
	if s.EndedBy != EndedByCallee || len(s.Violations) != 0 {
		t.Fatalf("session: %+v", s)
	}
	if s.SessionID != stream || s.Number != number || s.Account != account || s.Digits != "9" || s.FramesIn != 3 {
		t.Fatalf("session: %+v", s)
	}
	if s.MarksSent < 2 || s.MarksBack != 2 || s.FramesOut < 20 || s.FirstSentAt.IsZero() || s.AudibleAt.IsZero() ||
		s.Result.State != ReportNone {
		t.Fatalf("session: %+v", s)
	}
	// After stop at the latest, the bot closes the socket.
	for {
		if _, err := p.read(); err != nil {
			if !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				t.Fatalf("socket ended with %v", err)
			}
			break
		}
	}
}

func TestBotHangsUp(t *testing.T) {
	b := start(t, Config{Script: script(Conversation{Mute: true, Talk: draw.Exactly(30 * time.Millisecond),
		Result: &Result{None: true}})})
	p := connect(t, b).begin()
	if _, err := p.read(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Fatalf("the socket ended with %v", err)
	}
	until(t, b, "the session is over", func(b *Bot) bool { return b.Summary().EndedBy[EndedByBot] == 1 })
	if v := p.session(b).Violations; len(v) != 0 {
		t.Fatalf("violations: %v", v)
	}
}

func TestHarnessMakesTheBotHangUp(t *testing.T) {
	b := start(t, Config{Script: script(Conversation{Mute: true, Result: &Result{None: true}})})
	p := connect(t, b).begin()
	until(t, b, "the session began", func(b *Bot) bool { return b.HangUp(callSID) })
	if _, err := p.read(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Fatalf("the socket ended with %v", err)
	}
	if b.HangUp(callSID) {
		t.Fatal("hung up twice")
	}
}

func TestBotDiesInTheMiddle(t *testing.T) {
	b := start(t, Config{Script: script(Conversation{Die: draw.Exactly(30 * time.Millisecond),
		Result: &Result{None: true}})})
	p := connect(t, b).begin()
	for {
		if _, err := p.read(); err != nil {
			if websocket.IsCloseError(err, websocket.CloseNormalClosure) {
				t.Fatal("a dying bot said goodbye")
			}
			break
		}
	}
	until(t, b, "the session is over", func(b *Bot) bool { return b.Summary().EndedBy[EndedByDeath] == 1 })
}

func TestSocketThatEndsWithoutStopIsLost(t *testing.T) {
	b := start(t, Config{Script: script(Conversation{Mute: true, Result: &Result{None: true}})})
	p := connect(t, b).begin()
	until(t, b, "the session began", func(b *Bot) bool {
		return len(b.Sessions()) == 1 && !b.Sessions()[0].StartedAt.IsZero()
	})
	_ = p.conn.NetConn().Close() // the platform was killed
	until(t, b, "the session is over", func(b *Bot) bool { return b.Summary().EndedBy[EndedLost] == 1 })
	if v := p.session(b).Violations; len(v) != 0 {
		t.Fatalf("violations: %v", v)
	}
}

func TestASocketThatIsClosedInOrderBeforeAnyFrameIsNoSession(t *testing.T) {
	b := start(t, Config{})
	p := connect(t, b)
	_ = p.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	until(t, b, "the question is counted", func(b *Bot) bool { return b.Summary().Probes == 1 })
	if s := b.Summary(); s.Sessions != 0 || s.Open != 0 || len(s.Violations) != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestBurstAndClear(t *testing.T) {
	b := start(t, Config{Script: script(Conversation{
		Burst: true, Clear: 1, Utterance: draw.Exactly(12 * time.Second), Pause: draw.Exactly(
			time.Minute), Result: &Result{None: true},
	})})
	p := connect(t, b).begin()
	f, frames, bytes := p.readTo("mark")
	if frames != 12 || bytes != 12*burstSamples {
		t.Fatalf("%d frames with %d bytes", frames, bytes)
	}
	b.mu.Lock()
	one := b.sessions[0]
	b.mu.Unlock()
	one.mu.Lock()
	took := one.marks[0].due.Sub(one.row.FirstSentAt) - 12*time.Second - markGrace // by the bot's ticks
	one.mu.Unlock()
	if took != 0 {
		t.Fatalf("six seconds of audio took %v", took)
	}
	p.readTo("clear")
	p.mark(f.Mark.Name)
	until(t, b, "the mark is back", func(b *Bot) bool { return p.session(b).MarksBack == 1 })
	p.stop()
	until(t, b, "the session is over", func(b *Bot) bool { return b.Summary().Open == 0 })
	if s := p.session(b); s.Clears != 1 || len(s.Violations) != 0 {
		t.Fatalf("session: %+v", s)
	}
}

func TestBreachesOfTheProtocolAreCounted(t *testing.T) {
	quiet := Config{Conversations: []Conversation{{Mute: true, Result: &Result{None: true}}}}
	f := func(do func(p *platform), want ...string) {
		t.Helper()
		b := start(t, quiet)
		p := connect(t, b)
		do(p)
		until(t, b, fmt.Sprintf("%v is counted", want), func(b *Bot) bool {
			v := b.Summary().Violations
			return !slices.ContainsFunc(want, func(name string) bool { return v[name] == 0 })
		})
		if got := slices.Sorted(maps.Keys(b.Summary().Violations)); !slices.Equal(got, want) {
			t.Fatalf("counted %v, want %v", got, want)
		}
	}
	frame := func(p *platform, text string) { p.send("%s", strings.ReplaceAll(text, "$S", stream)) }
	started := func(change ...string) func(*platform) {
		return func(p *platform) {
			p.connected()
			text := `{"event":"start","sequenceNumber":"1","start":{"accountSid":"` + account +
				`","streamSid":"$S","callSid":"` + callSID +
				`","tracks":["inbound"],"mediaFormat":{"encoding":"audio/x-mulaw","sampleRate":8000,"channels":1},` +
				`"customParameters":{"from_number":"+1","to_number":"+2","call_id":"c","attempt_id":"a",` +
				`"result_url":"u","result_token":"t"}},"streamSid":"$S"}`
			frame(p, strings.NewReplacer(change...).Replace(text))
		}
	}
	media := func(change ...string) func(*platform) {
		return func(p *platform) {
			p.begin()
			text := `{"event":"media","sequenceNumber":"2","media":{"track":"inbound","chunk":"1","timestamp":"20","payload":"` +
				strings.Repeat("/", 213) + `A=="},"streamSid":"$S"}`
			text = strings.Replace(text, strings.Repeat("/", 213)+"A==", strings.Repeat("////", 53)+"/w==", 1)
			frame(p, strings.NewReplacer(change...).Replace(text))
		}
	}
	f(func(p *platform) { p.begin(); p.media(1); frame(p, "not json") }, "malformed_frame")
	f(func(p *platform) { started()(p); frame(p, `{"event":"hello","sequenceNumber":"2","streamSid":"$S"}`) },
		"unknown_event")
	f(func(p *platform) { frame(p, `{"event":"start"}`) }, "first_frame_not_connected", "sequence_not_a_decimal_string",
		"start_malformed")
	f(func(p *platform) { frame(p, `{"event":"connected"}`) }, "connected_malformed")
	f(func(p *platform) { p.connected(); p.media(1) }, "second_frame_not_start", "stream_sid")
	f(func(p *platform) { p.begin(); p.connected() }, "connected_repeated")
	f(func(p *platform) { p.begin(); started()(p) }, "connected_repeated", "sequence_not_growing", "start_repeated")
	f(started(callSID, "CA1"), "start_ids")
	f(started(`"tracks":["inbound"]`, `"tracks":[]`), "start_tracks")
	f(started("8000", "16000"), "start_media_format")
	f(started(`"from_number"`, `"from"`), "parameter_missing_from_number")
	f(started(`"sequenceNumber":"1"`, `"sequenceNumber":1`), "sequence_not_a_decimal_string")
	f(started(`"sequenceNumber":"1"`, `"sequenceNumber":"4"`), "sequence_gap")
	f(media(`"sequenceNumber":"2"`, `"sequenceNumber":"3"`), "sequence_gap")
	f(media(`"sequenceNumber":"2"`, `"sequenceNumber":2`), "sequence_not_a_decimal_string")
	f(media(`"sequenceNumber":"2"`, `"sequenceNumber":"1"`), "sequence_not_growing")
	f(media(`"chunk":"1"`, `"chunk":1`), "chunk_not_a_decimal_string")
	f(media(`"chunk":"1"`, `"chunk":"3"`), "chunk_gap")
	f(media(`"timestamp":"20"`, `"timestamp":20`), "timestamp_not_a_decimal_string")
	f(media(`"track":"inbound"`, `"track":"outbound"`), "media_track")
	f(media("////", "!!!!"), "payload_not_base64")
	f(media("////", ""), "payload_not_20ms")
	f(media(`"streamSid":"$S"`, `"streamSid":"MZ1"`), "stream_sid")
	f(func(p *platform) { p.begin(); p.mark("never-sent") }, "mark_unknown")
	f(func(p *platform) { p.begin(); p.stop(); p.media(1) }, "frame_after_stop")
	f(func(p *platform) {
		p.begin()
		frame(p, `{"event":"stop","sequenceNumber":"2","streamSid":"$S"}`)
	}, "stop_malformed")
	f(func(p *platform) { p.begin(); frame(p, `{"event":"dtmf","sequenceNumber":"2","streamSid":"$S"}`) },
		"dtmf_malformed")
	f(func(p *platform) {
		p.begin()
		_ = p.conn.WriteMessage(websocket.BinaryMessage, []byte{1})
	}, "binary_frame")
	f(func(p *platform) {
		p.begin()
		_ = p.conn.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""))
	}, "close_without_stop")
	f(func(p *platform) { p.connected(); _ = p.conn.NetConn().Close() }, "never_started")
}

func TestMarksOutOfOrderAreCounted(t *testing.T) {
	s := &session{bot: &Bot{}, marks: []mark{{name: "a"}, {name: "b"}}}
	f := &frame{}
	f.Mark = &struct {
		Name string `json:"name"`
	}{"b"}
	s.marked(f)
	if s.row.Violations["mark_order"] != 1 || s.row.MarksBack != 1 || len(s.marks) != 1 {
		t.Fatalf("%+v", s.row)
	}
}

func TestMarkThatNeverComesBackIsCounted(t *testing.T) {
	b := start(t, Config{Script: script(Conversation{Utterance: draw.Exactly(40 * time.Millisecond),
		Result: &Result{None: true}})})
	p := connect(t, b).begin()
	p.readTo("mark")
	b.mu.Lock()
	s := b.sessions[0]
	b.mu.Unlock()
	s.mu.Lock()
	s.marks[0].due = time.Now().Add(-time.Second) // as if the grace period was over
	s.mu.Unlock()
	until(t, b, "the mark is missed", func(b *Bot) bool { return b.Summary().Violations["mark_late"] == 1 })
	p.readTo("mark") // the bot continues
}

// The quick parser gives up on what it does not understand; malformed frames that it accepts are
// found by fully decoding a sample.
func TestMalformedFramesAreFound(t *testing.T) {
	f := func(end string, malformed, payload int) {
		t.Helper()
		s := &session{bot: &Bot{}}
		s.row.SessionID = stream
		s.messages = 2
		for i := 1; i <= 2*auditEvery; i++ {
			s.message(fmt.Appendf(nil, `{"event":"media","sequenceNumber":"%d","streamSid":"`+stream+
				`","media":{"track":"inbound","chunk":"%d","timestamp":"20","payload":"`+strings.Repeat("////", 53)+end, i, i),
				time.Now())
		}
		if v := s.row.Violations; v["malformed_frame"] != malformed || v["payload_not_base64"] != payload {
			t.Fatalf("…%s: violations: %v", end, v)
		}
	}
	f(`/w=="}}`, 0, 0)
	f(`/w=="}`, 2*auditEvery, 0)
	f("/w=\x01\"}}", 2, 2*auditEvery-2) // a control character, which JSON does not allow
}

func TestQuickMediaReadsWhatTheDecoderReads(t *testing.T) {
	var h heard
	good := `{"event":"media","sequenceNumber":"4",` +
		`"media":{"track":"inbound","chunk":"2","timestamp":"5","payload":"AAAA"},"streamSid":"MZ1"}`
	other := `{"event":"media","streamSid":"MZ1",` +
		`"media":{"payload":"AAAA","timestamp":"5","chunk":"2","track":"inbound"},"sequenceNumber":"4"}`
	for _, text := range []string{good, other} {
		var full frame
		if err := json.Unmarshal([]byte(text), &full); err != nil {
			t.Fatal(err)
		}
		want := *full.heard(&heard{})
		want.sequence, want.stream = full.Sequence, []byte(full.StreamSID)
		if !quickMedia([]byte(text), &h) || !reflect.DeepEqual(h, want) {
			t.Fatalf("%s was read as %q, not %q", text, h, want)
		}
	}
	for _, bad := range []string{
		`{"event":"mark","mark":{"name":"\"event\":\"media\""}}`,
		strings.Replace(good, `"2"`, `2`, 1), strings.Replace(good, "AAAA", `\u0041`, 1),
		strings.Replace(good, "payload", "load", 1), `{"event":"media"`, good + "}", good[:len(good)-1], good[:len(good)-2],
		strings.Replace(good, `"media":{`, `"media":{"media":{`, 1), strings.Replace(good, ",", ", ", 2),
		strings.Replace(good, `,"streamSid":"MZ1"`, "", 1), strings.Replace(good, `"5"`, `"5`, 1), `{"event":"media",`,
		`{"event":"media","streamSid":`,
	} {
		if quickMedia([]byte(bad), &h) {
			t.Fatalf("%s was understood", bad)
		}
	}
}
