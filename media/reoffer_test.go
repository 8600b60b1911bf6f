package media

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/sdp"
)

// lines returns an SDP body without its CRs, with our port as PORT and the session id as ID.
func lines(t testing.TB, e *Engine, sdp []byte) string {
	t.Helper()
	c := e.call(attempt(1))
	return strings.NewReplacer("\r\n", "\n", fmt.Sprint(c.sock.port), "PORT", fmt.Sprint(c.described.session),
		"ID").Replace(string(sdp))
}

func reoffer(t testing.TB, e *Engine, offer string) string {
	t.Helper()
	sdp, err := e.Reoffer(attempt(1), attempt(1).Leg(1), []byte(strings.ReplaceAll(offer, "\n", "\r\n")))
	if err != nil {
		t.Fatalf("%s: %v", offer, err)
	}
	return lines(t, e, sdp)
}

const offerHead = "v=0\no=far 5 6 IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n"

func TestTheAnswerOfAReofferHasWhatBothSidesCanDo(t *testing.T) {
	e := start(t, nil)
	ev, p := record(t), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	head := func(version int) string {
		return fmt.Sprintf("v=0\no=- ID %d IN IP4 127.0.0.1\ns=-\nc=IN IP4 127.0.0.1\nt=0 0\n", version)
	}
	f := func(sections, want string, version int) {
		t.Helper()
		if got := reoffer(t, e, offerHead+sections); got != head(version)+want {
			t.Fatalf("%s:\ngot\n%s\nwant\n%s", sections, got, head(version)+want)
		}
	}
	const audio = "m=audio PORT RTP/AVP 8 96\na=rtpmap:8 PCMA/8000\na=rtpmap:96 telephone-event/8000\na=fmtp:96 " +
		"0-15\na=ptime:20\na="
	codecs := "m=audio 4000 RTP/AVP 18 8 96\na=rtpmap:18 G729/8000\na=rtpmap:96 telephone-event/8000\n"
	f(codecs+"a=sendrecv\n", audio+"sendrecv\n", 2)
	f(codecs+"a=sendrecv\n", audio+"sendrecv\n", 2) // the same offer again: the same version
	f(codecs+"a=sendonly\n", audio+"recvonly\n", 3)
	f(codecs+"a=recvonly\n", audio+"sendonly\n", 4)
	f(codecs+"a=inactive\n", audio+"inactive\n", 5)
	f(codecs+"c=IN IP4 0.0.0.0\n", audio+"recvonly\n", 6)
	f("m=video 5000 RTP/AVP 31\n"+codecs+"m=audio 4002 RTP/AVP 0\nm=image 5002 udptl t38\n",
		"m=video 0 RTP/AVP 31\n"+audio+"sendrecv\nm=audio 0 RTP/AVP 0\nm=image 0 udptl t38\n", 7)
	f("m=audio 4000 RTP/AVP 97\na=rtpmap:97 PCMU/8000\n",
		"m=audio PORT RTP/AVP 97\na=rtpmap:97 PCMU/8000\na=ptime:20\na=sendrecv\n", 8)
	for _, bad := range []string{"m=audio 4000 RTP/AVP 18\n", "m=video 4000 RTP/AVP 31\n", "m=audio 4000 RTP/SAVP 0\n",
		""} {
		if sdp, err := e.Reoffer(attempt(1), "", []byte(offerHead+bad)); err == nil {
			t.Fatalf("%q was answered: %s", bad, sdp)
		}
	}
	again, err := e.Offer(attempt(1), attempt(1).Leg(1), offer)
	if err != nil || lines(t, e, again) != strings.Replace(lines(t, e, offer), "ID 1 ", "ID 9 ", 1) {
		t.Fatalf("%v:\n%s", err, again)
	}
	if _, err := e.Reoffer(attempt(99), "", offer); err == nil {
		t.Fatal("an unknown call was answered")
	}
}

func TestAudioFollowsAReoffer(t *testing.T) {
	e := start(t, nil)
	ev, b := record(t), newBot(t)
	p, moved := newPhone(t, 1), newPhone(t, 2)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	e.Answer(attempt(1), p.called(offer, "0"), time.Now())
	p.say(0, speech(160, 1))
	e.AttachBot(attach(attempt(1), b.url()))
	s := b.session()
	sdp, err := e.Reoffer(attempt(1), attempt(1).Leg(1), moved.called(offer, "8"))
	if err != nil || !strings.Contains(string(sdp), "RTP/AVP 8\r\n") {
		t.Fatalf("%v %s", err, sdp)
	}
	moved.say(8, speech(160, 1))
	s.say(speech(1600, 1))
	moved.hearUntil(1600, codec.UlawToAlaw[codec.UlawSilence])
	if _, err := e.Reoffer(attempt(1), attempt(1).Leg(1), moved.called(offer, "8", "a=inactive")); err != nil {
		t.Fatal(err)
	}
	before := e.Stats().PacketsReceived
	e.Reanswer(attempt(1), attempt(1).Leg(1), p.called(offer, "0")) // resumed at its first address
	p.say(0, speech(160, 2))
	wait(t, func() bool { return e.Stats().PacketsReceived > before },
		func() string { return fmt.Sprintf("%+v", e.Stats()) })
	if pkt := p.hear(); pkt.PayloadType != 0 {
		t.Fatalf("payload type %d", pkt.PayloadType)
	}
}

func TestAReofferBeforeTheAnswerStartsNothing(t *testing.T) {
	e := start(t, nil)
	ev, p := record(t), newPhone(t, 1)
	offer, _ := e.Open(engine.OpenMedia{Attempt: attempt(1)}, ev.sink)
	sdp := p.called(offer, "8")
	if _, err := e.Reoffer(attempt(1), attempt(1).Leg(1), sdp); err != nil {
		t.Fatal(err)
	}
	if e.call(attempt(1)).answered {
		t.Fatal("answered")
	}
	e.Reanswer(attempt(1), attempt(1).Leg(1), sdp)
	if e.call(attempt(1)).answered {
		t.Fatal("answered")
	}
	e.Answer(attempt(1), sdp, time.Now())
	p.say(8, speech(160, 1))
	p.hear()
}

func TestAReofferOfSRTPIsAnsweredWithItsTag(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p, _ := securely(t, e, 1, 0, ev)
	c := e.call(attempt(1))
	key := base64.StdEncoding.EncodeToString(make([]byte, 30))
	offer := sdpAnswer(p.port(), "0", "a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:"+key)
	offer = []byte(strings.Replace(string(offer), "RTP/AVP", "RTP/SAVP", 1))
	sdp, err := e.Reoffer(attempt(1), attempt(1).Leg(1), offer)
	if err != nil {
		t.Fatal(err)
	}
	ours := base64.StdEncoding.EncodeToString(c.secure.Own()[3][:30])
	want := "a=crypto:7 AES_CM_128_HMAC_SHA1_80 inline:" + ours + "\r\n"
	if !strings.Contains(string(sdp), want) || !strings.Contains(string(sdp), "RTP/SAVP 0\r\n") {
		t.Fatalf("%s", sdp)
	}
	if _, err := e.Reoffer(attempt(1), attempt(1).Leg(1), sdpAnswer(p.port(), "0")); err == nil {
		t.Fatal("the protection was given up")
	}
}

func FuzzReoffer(f *testing.F) {
	f.Add(offerHead + "m=audio 4000 RTP/AVP 0 8 96\na=rtpmap:96 telephone-event/8000\nm=video 1 RTP/AVP 31\n")
	f.Add("m=audio 0 RTP/AVP 0\n") // switched off
	f.Add("m=audio 1 RTP/AVP 0 0 0\nc=IN IP4 0.0.0.0\n")
	e := start(f, nil)
	if _, err := e.Open(engine.OpenMedia{Attempt: attempt(1)}, nil); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, offer string) {
		text, err := e.Reoffer(attempt(1), "", []byte(offer))
		if err != nil {
			return
		}
		a, err := sdp.Parse(text)
		if !errors.Is(err, sdp.ErrRefused) && (err != nil || a.Send == codec.None) {
			t.Fatalf("%v: %q answered with %q", err, offer, text)
		}
		if got, want := len(sectionsOf(text)), len(sectionsOf([]byte(offer))); got != want {
			t.Fatalf("%d m= lines for %d: %q", got, want, text)
		}
	})
}
