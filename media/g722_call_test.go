package media

import (
	"math"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/media/codec"
	"dialler/media/g711"
)

func TestACallInG722CarriesTheBotBothWays(t *testing.T) {
	e, ev := start(t, nil), record(t)
	p := newPhone(t, 722)
	cmd := engine.OpenMedia{Attempt: attempt(1), Profile: engine.MediaProfile{Codecs: []string{"G722", "PCMA"}}}
	offer, err := e.Open(cmd, ev.sink)
	if err != nil ||
		!strings.Contains(string(offer), " RTP/AVP 9 8 101\r\na=rtpmap:9 G722/8000\r\na=rtpmap:8 PCMA/8000\r\n") {
		t.Fatalf("%q %v", offer, err)
	}
	port, _, _ := strings.Cut(string(offer[strings.Index(string(offer), "m=audio ")+8:]), " ")
	n, _ := strconv.Atoi(port)
	p.to = &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: n}
	e.Answer(attempt(1), sdpAnswer(p.port(), "9 101"), time.Now())
	b := newBot(t)
	e.AttachBot(attach(attempt(1), b.url()))
	ev.next(engine.MediaBotConnected)
	s := b.session()
	coded := make([]byte, 10*codec.FrameBytes)
	for i := range coded {
		coded[i] = g711.ToUlaw(int16(8000 * math.Sin(2*math.Pi*1000*float64(i)/8000)))
	}
	codec.NewWideband().Encode(coded)
	for at := 0; at < len(coded); at += codec.FrameBytes {
		p.say(9, coded[at:at+codec.FrameBytes])
	}
	heard := s.hearUntil(1200)
	loud := 0
	for _, u := range heard {
		loud = max(loud, int(codec.UlawToPCM[u]), -int(codec.UlawToPCM[u]))
	}
	if loud < 7600 || loud > 8400 {
		t.Errorf("the bot hears a peak of %d of 8000", loud)
	}
	s.say(speech(1600, 3))
	ev.next(engine.MediaBotFirstAudio)
	first := p.hear()
	for first.PayloadType != 9 || len(first.Payload) != codec.FrameBytes {
		t.Fatalf("payload type %d with %d bytes", first.PayloadType, len(first.Payload))
	}
	if next := p.hear(); next.Timestamp-first.Timestamp != codec.FrameBytes {
		t.Errorf("the timestamp moves by %d", next.Timestamp-first.Timestamp)
	}
	if q := e.CloseMedia(attempt(1)); q.Codec != "G722" {
		t.Errorf("codec %q", q.Codec)
	}
}
