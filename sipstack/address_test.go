package sipstack_test

import (
	"strconv"
	"testing"

	"dialler/engine"
	"dialler/sipstack"

	"github.com/emiago/sipgo/sip"
)

func toAddress(a engine.AttemptID, leg engine.LegID, uri string) engine.PlaceLeg {
	c := placeCommand(a, leg)
	c.To, c.URI = "", uri
	c.Headers = []engine.SIPHeader{{Name: "X-first_name", Value: "Anna"},
		{Name: "X-bad name", Value: "x\r\nInjected: yes"}}
	return c
}

func TestALegWithAnAddressOfItsOwnNeedsNoTrunk(t *testing.T) {
	u := script{sip.INVITE: answers("200 OK"), sip.BYE: answers("200 OK")}.start(t)
	s := newStack(t, sipstack.Config{})
	uri := "sip:bot@127.0.0.1:" + strconv.Itoa(u.port()) + ";transport=udp"
	l := listen(t, confirming(s, true))
	a, leg := newLeg()
	s.PlaceLeg(toAddress(a, leg, uri), l.sink)
	l.expect(leg, "sent answered(200) closed(200)")
	r := u.request(sip.INVITE, 1)
	if r.Recipient.String() != uri || r.To().Address.String() != uri ||
		r.From().Address.User != placeCommand(a, leg).From.E164() {
		t.Fatalf("%s", r)
	}
	if r.GetHeader("X-first_name").Value() != "Anna" || r.GetHeader("X-badname").Value() != "xInjected: yes" ||
		r.GetHeader("Injected") != nil {
		t.Fatalf("%s", r)
	}
}

func TestALegWhoseAddressCannotBeUsedIsNotSent(t *testing.T) {
	s := newStack(t, sipstack.Config{})
	l := listen(t, nil)
	for _, uri := range []string{"sip:nobody", "ws://127.0.0.1"} {
		a, leg := newLeg()
		s.PlaceLeg(toAddress(a, leg, uri), l.sink)
		if e := l.kind(leg, engine.LegNotSent); e.NotSent != engine.NotSentTrunk {
			t.Errorf("%s: %+v", uri, e)
		}
	}
}

func TestALegToAnAddressIsEndedByALaterLife(t *testing.T) {
	u := script{sip.CANCEL: answers("481 Call/Transaction Does Not Exist")}.start(t)
	s := newStack(t, sipstack.Config{Timers: fast})
	uri := "sip:bot@127.0.0.1:" + strconv.Itoa(u.port())
	l := listen(t, nil)
	a, leg := newLeg()
	s.RecoverLeg(engine.RecoveredLeg{Attempt: a, Leg: leg, Trunk: trunkID, URI: uri, From: "+4930", CSeq: 1,
		GiveUp: patience}, l.sink)
	l.expect(leg, "closed")
	if r := u.request(sip.CANCEL, 1); r.Recipient.String() != uri {
		t.Fatalf("%s", r)
	}
}
