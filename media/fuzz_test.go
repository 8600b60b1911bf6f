package media

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/pion/rtp"
)

// FuzzCrypto: what is accepted of an a=crypto line stands in it, and what we
// write of a key is read as that key.
func FuzzCrypto(f *testing.F) {
	key := base64.StdEncoding.EncodeToString(speech(30, 1))
	for _, s := range []string{"1 AES_CM_128_HMAC_SHA1_80 inline:" + key, "2 AES_CM_128_HMAC_SHA1_32 inline:" + key + "|2^20|1:4 WSH=64 -X",
		"1 AES_CM_128_HMAC_SHA1_80 inline:" + key + "|1:128", "9 F8 inline:", "1 AES_CM_128_HMAC_SHA1_80 inline:" + key + ";inline:" + key} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := parseCrypto(b)
		if !ok {
			return
		}
		text := base64.StdEncoding.EncodeToString(c.key[:])
		if c.tag < 0 || c.tag > 99999 || len(c.mki) > 128 || !bytes.Contains(b, []byte(cryptoSuites[c.suite].name+" ")) && !bytes.Contains(b, []byte(cryptoSuites[c.suite].name+"\t")) {
			t.Fatalf("%q is tag %d, suite %d, an MKI of %d bytes", b, c.tag, c.suite, len(c.mki))
		}
		keys := [len(cryptoSuites)]master{c.key, c.key}
		for i, line := range strings.Split(strings.TrimSpace(string(appendCrypto(nil, &keys))), "\r\n") {
			again, ok := parseCrypto([]byte(strings.TrimPrefix(line, "a=crypto:")))
			if !ok || again.tag != i+1 || again.suite != i || again.key != c.key || again.mki != "" || !strings.HasSuffix(line, "inline:"+text) {
				t.Fatalf("our own line is read as tag %d, suite %d", again.tag, again.suite)
			}
		}
	})
}

// FuzzSRTP: whatever is received under the far side's keys, nothing is taken
// that was not sealed with them, nor anything twice, and what is genuine is
// taken all the same.
func FuzzSRTP(f *testing.F) {
	f.Add([]byte{0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint16(65535), uint8(0))
	f.Add(make([]byte, 40), uint16(3), uint8(1))
	f.Add([]byte{0x80, 200, 0, 1, 0, 0, 0, 7, 0x80, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint16(1), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, seq uint16, at uint8) {
		k := newSecurity()
		suite := int(at & 1)
		theirs := crypto{tag: suite + 1, suite: suite, key: master{9}}
		if err := k.answered([]crypto{theirs}, true); err != nil {
			t.Fatal(err)
		}
		far := srtpContext(t, theirs.key, suite)
		ssrc := uint32(7)
		if len(b) >= rtpHeaderBytes { // the forger knows the source
			ssrc = binary.BigEndian.Uint32(b[8:])
		}
		forge := func() {
			if plain, err := k.open(bytes.Clone(b)); err == nil {
				t.Fatalf("a forged packet became %x", plain)
			}
			if plain, err := k.openReport(bytes.Clone(b)); err == nil {
				t.Fatalf("a forged report became %x", plain)
			}
		}
		for i := range 3 {
			forge()
			want := speech(160, byte(i))
			p := rtp.Packet{Header: rtp.Header{Version: 2, SequenceNumber: seq + uint16(i), SSRC: ssrc}, Payload: want}
			plain, err := p.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			sealed, err := far.EncryptRTP(nil, plain, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, err := k.open(bytes.Clone(sealed))
			if err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("genuine packet %d: %v", i, err)
			}
			if _, err := k.open(bytes.Clone(sealed)); err == nil {
				t.Fatal("a packet was taken twice")
			}
			sealed[int(at)%len(sealed)] ^= 1 << (at & 7)
			if _, err := k.open(sealed); err == nil {
				t.Fatalf("a packet with byte %d changed was taken", int(at)%len(sealed))
			}
		}
	})
}

// FuzzTelephoneEvent: whatever comes as telephone-event, a timestamp is at most
// one digit, and a digit is one of the sixteen.
func FuzzTelephoneEvent(f *testing.F) {
	f.Add([]byte{1, 5, 10, 0, 160, 0, 5, 10, 1, 64, 0, 5, 138, 1, 64})
	f.Add([]byte{1, 15, 0, 255, 255, 255, 15, 0, 255, 255, 3, 3, 3})
	f.Fuzz(func(t *testing.T, program []byte) {
		var d dtmf
		ts := uint32(0xffff0000)
		told := map[uint32]bool{}
		for ; len(program) >= 5; program = program[5:] {
			ts += uint32(program[0]) * 160
			key, ok := d.packet(ts, program[1:5])
			if !ok {
				continue
			}
			if told[ts] {
				t.Fatalf("timestamp %d is a digit twice", ts)
			}
			told[ts] = true
			if strings.IndexByte(digits, key) != int(program[1]) {
				t.Fatalf("event %d is the digit %q", program[1], key)
			}
		}
		if key, ok := d.packet(ts, program); ok && len(program) < 4 {
			t.Fatalf("%x is the digit %q", program, key)
		}
	})
}

// FuzzReorder: packets come out in the order of their numbers, each at most
// once, with what they held; few are held back, and after a flush none.
func FuzzReorder(f *testing.F) {
	f.Add([]byte{1, 1, 1, 3, 255, 1, 1, 200, 2, 254}, uint16(65530))
	f.Add([]byte{1, 250, 250, 250, 1, 128, 1, 128, 1}, uint16(3))
	f.Fuzz(func(t *testing.T, steps []byte, seq uint16) {
		var r reorder
		last, began := uint16(0), false
		out, in := 0, 0
		deliver := func(ts uint32, _ uint8, payload []byte) {
			got := uint16(ts)
			if len(payload) != int(got%7) || len(payload) > 0 && payload[0] != byte(got) {
				t.Fatalf("packet %d holds %x", got, payload)
			}
			// Backwards only after a restart, which is a jump from the next one.
			if step := int16(got - last); began && step <= 0 && step > -restartGap {
				t.Fatalf("packet %d after %d", got, last)
			}
			last, began = got, true
			out++
		}
		for i, step := range steps {
			switch {
			case step == 0:
				r.flush(deliver)
				continue
			case step == 128: // a restart of the far side
				seq += 1000
			default:
				seq += uint16(int16(int8(step)))
			}
			r.most = i % (reorderMost + 1)
			in++
			r.put(seq, uint32(seq), 0, bytes.Repeat([]byte{byte(seq)}, int(seq%7)), deliver)
			held := 0
			for _, p := range r.held {
				if p != nil {
					held++
				}
			}
			if held != r.holding || held > reorderMost {
				t.Fatalf("%d packets are held, %d counted", held, r.holding)
			}
		}
		r.flush(deliver)
		if r.holding != 0 || out > in || r.received != uint64(in) {
			t.Fatalf("%d in, %d out, %d held", in, out, r.holding)
		}
		r.reset()
	})
}

// FuzzWAV: a file gives sound of a bounded length or an error, never more than
// it has.
func FuzzWAV(f *testing.F) {
	head := func(format, channels, bits uint16, data []byte) []byte {
		b := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt \x10\x00\x00\x00"), 0, 0, 0, 0)
		binary.LittleEndian.PutUint16(b[20:], format)
		binary.LittleEndian.PutUint16(b[22:], channels)
		b = binary.LittleEndian.AppendUint32(b, 8000)
		b = binary.LittleEndian.AppendUint32(b, 16000)
		b = binary.LittleEndian.AppendUint16(b, 2)
		b = binary.LittleEndian.AppendUint16(b, bits)
		b = append(b, "data"...)
		return append(binary.LittleEndian.AppendUint32(b, uint32(len(data))), data...)
	}
	f.Add(head(1, 1, 16, []byte{1, 2, 3, 4}))
	f.Add(head(7, 1, 8, []byte{1, 2, 3}))
	f.Add(head(6, 1, 8, []byte{1, 2, 3}))
	f.Add(head(1, 2, 16, []byte{1, 2, 3, 4}))
	f.Fuzz(func(t *testing.T, b []byte) {
		sound, err := parseWAV(b)
		if err != nil {
			return
		}
		if len(sound) == 0 || len(sound) > messageCap || len(sound) > len(b) {
			t.Fatalf("%d bytes of sound of %d", len(sound), len(b))
		}
		// Written as μ-law it is the same again.
		again, err := parseWAV(head(7, 1, 8, sound))
		if err != nil || !bytes.Equal(again, sound) {
			t.Fatalf("%v: %d bytes became %d", err, len(sound), len(again))
		}
	})
}
