package media

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"dialler/media/sdp"
	"dialler/media/srtp"

	"github.com/pion/rtp"
)

// FuzzSRTP checks that whatever is received under the far side's keys, only packets sealed with
// them are accepted, each once, and every genuine one is.
func FuzzSRTP(f *testing.F) {
	f.Add([]byte{0x80, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 7, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint16(65535), uint8(0))
	f.Add(make([]byte, 40), uint16(3), uint8(1))
	f.Add([]byte{0x80, 200, 0, 1, 0, 0, 0, 7, 0x80, 0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint16(1), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, seq uint16, at uint8) {
		k := srtp.New()
		suite := int(at) % len(sdp.Suites)
		theirs := sdp.Crypto{Tag: suite + 1, Suite: suite, Key: sdp.Master{9}}
		if err := k.Answered([]sdp.Crypto{theirs}, true); err != nil {
			t.Fatal(err)
		}
		far := srtpContext(t, theirs.Key, suite)
		ssrc := uint32(7)
		if len(b) >= rtpHeaderBytes { // the forger knows the source
			ssrc = binary.BigEndian.Uint32(b[8:])
		}
		forge := func() {
			if plain, err := k.Open(bytes.Clone(b)); err == nil {
				t.Fatalf("a forged packet became %x", plain)
			}
			if plain, err := k.OpenReport(bytes.Clone(b)); err == nil {
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
			got, err := k.Open(bytes.Clone(sealed))
			if err != nil || !bytes.Equal(got, plain) {
				t.Fatalf("genuine packet %d: %v", i, err)
			}
			if _, err := k.Open(bytes.Clone(sealed)); err == nil {
				t.Fatal("a packet was taken twice")
			}
			sealed[int(at)%len(sealed)] ^= 1 << (at & 7)
			if _, err := k.Open(sealed); err == nil {
				t.Fatalf("a packet with byte %d changed was taken", int(at)%len(sealed))
			}
		}
	})
}

// FuzzTelephoneEvent checks that whatever arrives as telephone-event, a timestamp yields at most
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

// FuzzWAV checks that a file yields audio of a bounded length or an error, and never more than it
// contains.
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
		// Written as μ-law, the audio is the same again.
		again, err := parseWAV(head(7, 1, 8, sound))
		if err != nil || !bytes.Equal(again, sound) {
			t.Fatalf("%v: %d bytes became %d", err, len(sound), len(again))
		}
	})
}
