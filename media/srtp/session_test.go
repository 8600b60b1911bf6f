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
