package outgoing

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"dialler/engine/eligibility"
	"dialler/engine/webhook"
)

func TestASystemThatIsAskedIsPublicAndOneOfABoundedNumber(t *testing.T) {
	// The address of a hook must not be on this machine or in a private network, unless that is
	// allowed.
	h := NewEligibility("", make([]byte, 32), true, false, time.Now, eligibility.Budget)
	q := eligibility.Question{To: "+4915112345678"}
	if _, err := h.ask(t.Context(), "https://127.0.0.1:9/", &q); err == nil ||
		!strings.Contains(err.Error(), "public internet") {
		t.Errorf("%v", err)
	}
	if _, err := h.ask(t.Context(), "http://crm.example/may", &q); !errors.Is(err, webhook.ErrScheme) {
		t.Errorf("%v", err)
	}
	for i := range 2 * eligibilityHooks {
		h.mu.Lock()
		h.at(fmt.Sprint("https://crm.example/", i))
		h.mu.Unlock()
	}
	if n := len(h.asked); n > eligibilityHooks {
		t.Errorf("%d systems are remembered", n)
	}
}
