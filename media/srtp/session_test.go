package srtp

import (
	"testing"

	"dialler/media/sdp"
)

// Reusing a key with the same packet number would reuse the key stream: a suite that is chosen
// again continues where it stopped.
func TestAKeyOfOursNeverBeginsItsKeyStreamAgain(t *testing.T) {
	k := New()
	chosen := func(suite int) any {
		t.Helper()
		if err := k.Answered([]sdp.Crypto{{Tag: suite + 1, Suite: suite, Key: sdp.Master{7}}}, false); err != nil {
			t.Fatal(err)
		}
		return k.send
	}
	first, other := chosen(0), chosen(1)
	if again := chosen(0); again != first || other == first {
		t.Fatal("a key of ours began its key stream again")
	}
}

// A far side that sends two packets under one number has them relayed: the second must not use the
// key stream of the first, which with GCM would also give the authentication key away (RFC 7714
// §8.4).
func TestAPacketNumberIsSealedOnce(t *testing.T) {
	k := New()
	if err := k.Answered([]sdp.Crypto{{Tag: 1, Key: sdp.Master{7}}}, true); err != nil {
		t.Fatal(err)
	}
	seal := func(seq uint16) bool {
		var b [headerBytes + 8 + TrailCap]byte
		b[0], b[2], b[3] = 0x80, byte(seq>>8), byte(seq)
		return k.Seal(b[:], headerBytes+8) > 0
	}
	for i, c := range []struct {
		seq  uint16
		want bool
	}{
		{65533, true}, {65533, false}, {0, true}, {65535, true}, {65535, false}, {65534, true}, {1, true}, {0, false},
		{200, true}, {136, false}, {137, true}, {137, false}, {199, true}, {200, false}, {201, true},
	} {
		if got := seal(c.seq); got != c.want {
			t.Fatalf("%d: number %d sealed: %v", i, c.seq, got)
		}
	}
}
