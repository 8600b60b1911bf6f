package process

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestACallToASoftphoneIsHeardAtBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	b := w.startToneBot("tone", 1200*time.Millisecond)
	to := newNumber()
	phone := startSoftphone(t, to, "", "")
	w.trunk("phone", "127.0.0.1", phone.port, nil)
	w.talkedWith(b, to)
	heardEachOther(t, b, phone)
}

func TestACallThroughAProxyIsHeardAtBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	for _, transport := range []string{"udp", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			own := *w
			own.t = t
			b := own.startToneBot("tone-"+transport, 1200*time.Millisecond)
			phone := startSoftphone(t, "desk", "", "")
			p := startProxy(t, phone.user, fmt.Sprintf("127.0.0.1:%d", phone.port), "")
			trunk := map[string]any{"username": alice, "password": alicesPassword, "transport": transport}
			own.trunk(transport, "127.0.0.1", p.port, trunk)
			own.talkedWith(b, newNumber())
			heardEachOther(t, b, phone)
			// Both requests of the dialog came by the recorded route.
			for _, method := range []string{"ACK", "BYE"} {
				if !strings.Contains(p.said(), method+" sip:desk") {
					t.Errorf("Kamailio relayed no %s", method)
				}
			}
			trunk["active"] = false
			own.trunk(transport, "127.0.0.1", p.port, trunk)
		})
	}
}

func TestACallInG722IsHeardAtBothEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	b := w.startToneBot("tone", 1200*time.Millisecond)
	to := newNumber()
	phone := startSoftphone(t, to, ";audio_codecs=G722/16000/1", "")
	w.trunk("phone", "127.0.0.1", phone.port, map[string]any{"media": map[string]any{"codecs": []string{"PCMA", "G722"}}})
	w.talkedWith(b, to)
	heardEachOther(t, b, phone)
	if !strings.Contains(phone.said(), " RTP/AVP 9 101") {
		t.Error("baresip did not answer with G722")
	}
}
