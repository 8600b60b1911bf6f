package sdp

import (
	"testing"

	"dialler/media/codec"

	pion "github.com/pion/sdp/v3"
)

func TestTheOfferIsSDP(t *testing.T) {
	var d pion.SessionDescription
	if err := d.Unmarshal((&Offer{Host: "192.0.2.1", Port: 4000, Session: 77}).Append(nil)); err != nil {
		t.Fatal(err)
	}
	m := d.MediaDescriptions[0]
	if m.MediaName.Port.Value != 4000 || len(m.MediaName.Formats) != 3 ||
		d.ConnectionInformation.Address.Address != "192.0.2.1" {
		t.Fatalf("%+v", m.MediaName)
	}
	if c, err := d.GetCodecForPayloadType(101); err != nil || c.Name != "telephone-event" {
		t.Fatalf("%v %v", c, err)
	}
}

func TestAnswers(t *testing.T) {
	const head = "v=0\r\no=- 1 1 IN IP4 10.0.0.1\r\ns=-\r\n"
	f := func(name, s string, check func(Answer) bool) {
		t.Helper()
		a, err := Parse([]byte(s))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !check(a) {
			t.Fatalf("%s: %+v", name, a.Remote)
		}
	}
	both := func(a Answer) bool { return a.HeSends && a.HeListens }
	f(
		"static types without rtpmap",
		head+"c=IN IP4 10.0.0.2\r\nt=0 0\r\nm=audio 4000 RTP/AVP 8 0\r\n",
		func(a Answer) bool {
			return both(a) && a.Send == codec.Alaw && a.SendPT == 8 && a.Codecs[0] == codec.Ulaw && a.Events == -1 &&
				a.Remote.String() == "10.0.0.2:4000"
		},
	)
	f(
		"address of the media, LF alone",
		"v=0\nc=IN IP4 10.0.0.2\nm=audio 4000 RTP/AVP 0\nc=IN IP4 10.0.0.3/127\n",
		func(a Answer) bool { return a.Remote.String() == "10.0.0.3:4000" },
	)
	f(
		"IPv6",
		"v=0\r\no=- 1 1 IN IP6 2001:db8::1\r\ns=-\r\nc=IN IP6 2001:db8::2\r\nm=audio 4000 RTP/AVP 0\r\n",
		func(a Answer) bool { return a.Remote.String() == "[2001:db8::2]:4000" },
	)
	f(
		"telephone-event and comfort noise",
		head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 13 0 97\r\n"+
			"a=rtpmap:13 CN/8000\r\na=rtpmap:97 telephone-event/8000\r\n",
		func(a Answer) bool {
			return a.Send == codec.Ulaw && a.Events == 97 && a.Codecs[13] == codec.None
		},
	)
	f(
		"telephone-event without rtpmap",
		head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 0 101\r\n",
		func(a Answer) bool { return a.Events == 101 },
	)
	f(
		"dynamic type, other case",
		head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 96\r\na=rtpmap:96 pcma/8000/1\r\n",
		func(a Answer) bool { return a.SendPT == 96 && a.Send == codec.Alaw },
	)
	f(
		"a codec that we do not have comes first",
		head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 18 8\r\n",
		func(a Answer) bool { return a.SendPT == 8 },
	)
	f(
		"video comes first",
		head+"c=IN IP4 10.0.0.2\r\nm=video 0 RTP/AVP 31\r\na=inactive\r\nm=audio 4000 RTP/AVP 0\r\na=sendonly\r\n",
		func(a Answer) bool { return a.HeSends && !a.HeListens },
	)
	f(
		"inactive for the session",
		head+"c=IN IP4 10.0.0.2\r\na=inactive\r\nm=audio 4000 RTP/AVP 0\r\n",
		func(a Answer) bool { return !a.HeSends && !a.HeListens },
	)
	f(
		"hold of RFC 2543",
		head+"c=IN IP4 0.0.0.0\r\nm=audio 4000 RTP/AVP 0\r\n",
		func(a Answer) bool { return !a.HeSends && !a.HeListens },
	)
	f(
		"ssrc",
		head+"c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 0\r\na=ssrc:4000000000 cname:x\r\n",
		func(a Answer) bool { return a.HasSSRC && a.SSRC == 4000000000 },
	)
	for _, bad := range []string{
		"", "v=0", head, head + "c=IN IP4 10.0.0.2\r\nm=video 4000 RTP/AVP 31\r\n",
		head + "c=IN IP4 10.0.0.2\r\nm=audio 0 RTP/AVP 0\r\n",
		head + "c=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 18\r\n", head + "m=audio 4000 RTP/AVP 0\r\n",
		head + "c=IN IP6 10.0.0.2\r\nm=audio 4000 RTP/AVP 0\r\n", head + "c=IN IP4 ::1\r\nm=audio 4000 RTP/AVP 0\r\n",
		head + "c=IN IP6 ::ffff:10.0.0.2\r\nm=audio 4000 RTP/AVP 0\r\n",
		head + "c=IN IP6 fe80::1%eth0\r\nm=audio 4000 RTP/AVP 0\r\n",
		head + "c=IN IP6 ff02::1\r\nm=audio 4000 RTP/AVP 0\r\n",
		head + "c=IN IP4 10.0.0.2\r\nm=audio 70000 RTP/AVP 0\r\n",
		head + "c=IN IP4 10.0.0.2\r\nm=audio 4000 UDP/TLS/RTP/SAVP 0\r\n",
		head + "c=IN IP4 224.0.0.1\r\nm=audio 4000 RTP/AVP 0\r\n",
	} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("accepted %q", bad)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(
		[]byte(
			"v=0\r\nc=IN IP4 10.0.0.2\r\nm=audio 4000 RTP/AVP 0 101\r\na=rtpmap:101 telephone-event/8000\r\na=ssrc:1 x\r\n",
		),
	)
	f.Add((&Offer{Host: "192.0.2.1", Port: 4000, Session: 77}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Parse(b)
		if err == nil &&
			(a.Remote.Port() == 0 || !a.Remote.Addr().IsValid() || a.Send == codec.None || a.Codecs[a.SendPT] != a.Send) {
			t.Fatalf("unusable answer accepted: %+v", a.Remote)
		}
	})
}
