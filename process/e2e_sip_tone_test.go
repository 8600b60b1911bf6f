package process

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dialler/bench/voice"

	"github.com/fasthttp/websocket"
)

// tone returns a sine wave at 8 kHz, a quarter of full scale.
func tone(hz int, long time.Duration) []int16 {
	pcm := make([]int16, int(long.Seconds()*voice.Rate))
	for i := range pcm {
		pcm[i] = int16(8000 * math.Sin(2*math.Pi*float64(hz)*float64(i)/voice.Rate))
	}
	return pcm
}

func toneFile(hz int, long time.Duration) []byte {
	pcm := tone(hz, long)
	var b bytes.Buffer
	b.WriteString("RIFF")
	put := func(vs ...any) {
		for _, v := range vs {
			_ = binary.Write(&b, binary.LittleEndian, v) // into memory
		}
	}
	put(uint32(36+2*len(pcm)), []byte("WAVEfmt "), uint32(16), uint16(1), uint16(1), uint32(voice.Rate),
		uint32(2*voice.Rate), uint16(2), uint16(16), []byte("data"), uint32(2*len(pcm)), pcm)
	return b.Bytes()
}

// purity returns the share of a signal's energy at one frequency (Goertzel), in its loudest window
// of 200 ms; 0 for near silence.
func purity(pcm []int16, rate, hz int) (best float64) {
	window := rate / 5
	for at := 0; at+window <= len(pcm); at += window / 2 {
		var s1, s2, energy float64
		k := 2 * math.Cos(2*math.Pi*float64(hz)/float64(rate))
		for _, x := range pcm[at : at+window] {
			v := float64(x)
			s1, s2 = v+k*s1-s2, s1
			energy += v * v
		}
		if energy/float64(window) < 500*500 {
			continue
		}
		best = max(best, 2*(s1*s1+s2*s2-k*s1*s2)/(energy*float64(window)))
	}
	return best
}

// toneBot plays a tone of botTone Hz to every caller, records what it hears, and hangs up once it
// has heard enough.
type toneBot struct {
	id   string
	mu   sync.Mutex
	pcm  []int16
	stop time.Duration // amount of audio after which it hangs up
}

// startToneBot starts the bot and configures it.
func (w *world) startToneBot(id string, stop time.Duration) *toneBot {
	w.t.Helper()
	b := &toneBot{id: id, stop: stop}
	up := websocket.Upgrader{}
	srv := httptest.NewServer(nethttp.HandlerFunc(func(rw nethttp.ResponseWriter, r *nethttp.Request) {
		c, err := up.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		b.serve(c)
	}))
	w.t.Cleanup(srv.Close)
	w.operator("PUT", "/api/v1/bots/"+b.id, map[string]any{"name": "Tone", "seats": 2,
		"endpoints": []string{strings.Replace(srv.URL, "http", "ws", 1)}, "auth_token": ourToken,
		"account": ourAccount}).expect(201)
	return b
}

func (b *toneBot) serve(c *websocket.Conn) {
	for b.heardFor() < b.stop {
		var m struct {
			Event     string
			StreamSid string
			Media     struct{ Payload string }
		}
		_, raw, err := c.ReadMessage()
		if err != nil || json.Unmarshal(raw, &m) != nil {
			return
		}
		switch m.Event {
		case "start":
			pcm := tone(botTone, 5*time.Second)
			for len(pcm) > 0 {
				n := min(len(pcm), 10*voice.FrameSamples)
				payload := base64.StdEncoding.EncodeToString(voice.PCMU.Encode(nil, pcm[:n]))
				pcm = pcm[n:]
				if c.WriteJSON(map[string]any{"event": "media", "streamSid": m.StreamSid,
					"media": map[string]any{"payload": payload}}) != nil {
					return
				}
			}
		case "media":
			ulaw, err := base64.StdEncoding.DecodeString(m.Media.Payload)
			if err != nil {
				return
			}
			b.mu.Lock()
			b.pcm = voice.PCMU.Decode(b.pcm, ulaw)
			b.mu.Unlock()
		}
	}
}

func (b *toneBot) heardFor() time.Duration {
	return time.Duration(len(b.heard())) * time.Second / voice.Rate
}

func (b *toneBot) heard() []int16 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pcm
}

// heardEachOther checks the audio at both ends.
func heardEachOther(t *testing.T, b *toneBot, s *softphone) {
	t.Helper()
	if p := purity(b.heard(), voice.Rate, phoneTone); p < 0.8 {
		t.Errorf("the bot heard %v of audio, the phone's tone is %.2f of it", b.heardFor(), p)
	}
	pcm, rate := s.heard()
	if p := purity(pcm, rate, botTone); p < 0.8 {
		t.Errorf("the phone heard %d samples at %d Hz, the bot's tone is %.2f of them", len(pcm), rate, p)
	}
}
