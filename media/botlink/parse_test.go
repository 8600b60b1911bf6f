package botlink

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// reference reads a frame with encoding/json.
func reference(b []byte) (event, payload, name, verdict *string) {
	str := func(raw json.RawMessage) *string {
		var s *string
		if json.Unmarshal(raw, &s) != nil {
			return nil
		}
		return s
	}
	var top, inner map[string]json.RawMessage
	if json.Unmarshal(b, &top) != nil {
		return nil, nil, nil, nil
	}
	event = str(top["event"])
	if json.Unmarshal(top["media"], &inner) == nil {
		payload = str(inner["payload"])
	}
	inner = nil
	if json.Unmarshal(top["mark"], &inner) == nil {
		name = str(inner["name"])
	}
	inner = nil
	if json.Unmarshal(top["verdict"], &inner) == nil {
		verdict = str(inner["name"])
	}
	return event, payload, name, verdict
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"event":"media","streamSid":"MZ1","media":{"payload":"AAEC/w=="}}`, `{"event":"media","media":{"payload":"a\/b="}}`,
		` { "event" : "mark" , "mark" : { "name" : "x\"y" } } `, `{"event":"clear"}`,
		`{"event":"verdict","verdict":{"name":"machine"}}`,
		`{"event":"result","result": {"a":[{"b":"}"}], "c":null} }`,
		`{"a":[1,{"b":null}],"event":"mark","mark":{"name":"é"}}`, `{`,
		`[]`, `{"event":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in, err := parse(b)
		m := &message{b: append(make([]byte, 0, len(b)+64), b...)}
		if err == nil && in.payload != nil {
			in2, _ := parse(m.b)
			m.audio(len(b), in2) // must not panic
		}
		if !json.Valid(b) || len(bytes.TrimSpace(b)) == 0 || bytes.TrimSpace(b)[0] != '{' {
			return
		}
		if errors.Is(err, errDepth) || !bytes.Equal(bytes.ToValidUTF8(b, nil), b) {
			return
		}
		if err != nil {
			t.Fatalf("valid JSON is refused: %q", b)
		}
		event, payload, name, verdict := reference(b)
		same := func(raw []byte, want *string) {
			t.Helper()
			if raw == nil || want == nil {
				if raw != nil || want != nil {
					// Raw strings with unpaired surrogates and duplicate keys in another case do
					// not matter.
					t.Fatalf("%q: %q, want %v", b, raw, want)
				}
				return
			}
			var got string
			if json.Unmarshal([]byte(`"`+string(raw)+`"`), &got) != nil || got != *want {
				t.Fatalf("%q: %q, want %q", b, raw, *want)
			}
		}
		if bytes.ContainsRune(b, '\\') {
			return // escaped keys are not decoded
		}
		same(in.event, event)
		same(in.payload, payload)
		same(in.name, name)
		same(in.verdict, verdict)
		var top map[string]json.RawMessage
		if _ = json.Unmarshal(b, &top); !bytes.HasPrefix(top["result"], []byte("{")) {
			top["result"] = nil
		}
		if !bytes.Equal(in.result, top["result"]) {
			t.Fatalf("%q: result %q, want %q", b, in.result, top["result"])
		}
	})
}

func TestEscapedAndUnpaddedPayloads(t *testing.T) {
	f := func(text string, want []byte) {
		t.Helper()
		b := []byte(`{"event":"media","media":{"track":"outbound","payload":"` + text + `"}}`)
		in, err := parse(b)
		if err != nil {
			t.Fatal(err)
		}
		m := &message{b: b}
		got, ok := m.audio(len(b), in)
		if !ok || !bytes.Equal(got, want) {
			t.Fatalf("%x, want %x", got, want)
		}
	}
	f(`\/\/79`, []byte{0xFF, 0xFE, 0xFD})
	f(`AAE=`, []byte{0, 1})
	f(`AAE`, []byte{0, 1})
	f(``, nil)
}

// TestPlayoutIsAQueue compares the playout buffer with a plain slice.
func TestPlayoutIsAQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := playout{cap: 5000}
		var want []byte
		next := byte(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				p.clear()
				want = nil
			case 1, 2, 3, 4:
				b := make([]byte, rapid.IntRange(0, 3000).Draw(t, "size"))
				for i := range b {
					b[i] = next
					next++
				}
				fits := min(len(b), 5000-len(want))
				if dropped := p.push(b); dropped != len(b)-fits {
					t.Fatalf("dropped %d, want %d", dropped, len(b)-fits)
				}
				want = append(want, b[:fits]...)
			default:
				buf := make([]byte, rapid.IntRange(0, 700).Draw(t, "read"))
				n := p.pop(buf)
				if n != min(len(buf), len(want)) || !bytes.Equal(buf[:n], want[:n]) {
					t.Fatal("wrong bytes")
				}
				want = want[n:]
			}
			if p.size != len(want) {
				t.Fatalf("size %d, want %d", p.size, len(want))
			}
		}
	})
}

func TestMasking(t *testing.T) {
	for n := range 40 {
		b := make([]byte, n)
		want := make([]byte, n)
		key := rand.Uint32()
		for i := range b {
			b[i] = byte(i * 7)
			want[i] = b[i] ^ byte(key>>(8*(i%4)))
		}
		if xor(b, key); !bytes.Equal(b, want) {
			t.Fatalf("length %d", n)
		}
	}
}

// sink is a connection that accepts everything.
type sink struct{ *conn }

func (sink) Write(b []byte) (int, error) { return len(b), nil }

func benchLink(b testing.TB) *Link {
	c := New(Config{})
	b.Cleanup(c.Close)
	l := newLink(c, Request{Session: "MZ00000000000000000000000000000002"}, nil)
	b.Cleanup(l.cancel)
	l.state, l.out = linkUp, sink{}
	return l
}

func BenchmarkWriteFrame(b *testing.B) {
	l := benchLink(b)
	frame := make([]byte, FrameBytes)
	b.ReportAllocs()
	for b.Loop() {
		l.WriteFrame(frame)
	}
}

func BenchmarkReceiveMediaFrame(b *testing.B) {
	l := benchLink(b)
	m := &message{b: make([]byte, 2048)}
	n := copy(m.b, `{"event":"media","streamSid":"MZ00000000000000000000000000000002","media":{"payload":"`+
		base64.StdEncoding.EncodeToString(make([]byte, 160))+`"}}`)
	var buf [FrameBytes]byte
	b.ReportAllocs()
	for b.Loop() {
		l.handle(m, n)
		l.ReadFrame(buf[:])
	}
}

func TestMediaFramesDoNotAllocate(t *testing.T) {
	l := benchLink(t)
	frame := make([]byte, FrameBytes)
	m := &message{b: make([]byte, 2048)}
	n := copy(m.b, `{"event":"media","streamSid":"MZ00000000000000000000000000000002","media":{"payload":"`+
		base64.StdEncoding.EncodeToString(frame)+`"}}`)
	step := func() {
		l.WriteFrame(frame)
		l.handle(m, n)
		l.ReadFrame(frame)
	}
	for range 100 {
		step()
	}
	if raceEnabled {
		t.Skip("the race detector's pools forget")
	}
	if a := testing.AllocsPerRun(1000, step); a > 0.1 {
		t.Fatalf("%v allocations per frame", a)
	}
}
