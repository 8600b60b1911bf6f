package trunk

import (
	"strconv"
	"strings"
	"testing"

	"dialler/sipstack/message"

	"github.com/emiago/sipgo/sip"
)

// FuzzGranted checks that whatever a registrar answers, the resulting lifetime can be waited for,
// and that a well-formed answer is read correctly.
func FuzzGranted(f *testing.F) {
	f.Add("<sip:u@h>;expires=60, <sip:other@h>;expires=7", "3600", 600)
	f.Add("sip:u@h;expires=99999999999", "x", 1)
	f.Add(`"a, b" <sip:u@h>;q=0.1; Expires = 5`, "-1", 0)
	f.Fuzz(func(t *testing.T, contact, expires string, asked int) {
		asked = max(min(asked, maxRegister), 0)
		r := sip.NewResponse(200, "OK")
		r.AppendHeader(sip.NewHeader("Contact", contact))
		r.AppendHeader(sip.NewHeader("Expires", expires))
		if n := granted(r, "u", asked); n < 0 || n > maxRegister {
			t.Fatal(n)
		}
		r = sip.NewResponse(200, "OK")
		r.AppendHeader(sip.NewHeader("Contact", "<sip:x@y>;expires=1, <sip:u@h>;expires="+strconv.Itoa(asked)))
		if n := granted(r, "u", 5); n != asked {
			t.Fatal(n)
		}
	})
}

// FuzzOutboundProxy checks that a setting yields a port and a host that can be put into a header,
// or a fault.
func FuzzOutboundProxy(f *testing.F) {
	for _, s := range []string{"proxy.example", "proxy.example:5070", "[::1]:5060", "::1", "a:b", ":5060",
		"a b\r\nX: y", "::1%a\r\nX: y", "h:70000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tr := &Trunk{Conf: Config{Host: "carrier.example", OutboundProxy: text, Transport: message.TCP}}
		tr.proxy()
		if tr.hopPort < 0 || tr.hopPort > 65535 || (tr.fault == "" && tr.hopHost == "") {
			t.Fatalf("%q: %+v", text, tr)
		}
		if line := tr.RouteLine; line != "" {
			var u sip.Uri
			if strings.Count(line, "\r\n") != 1 || !strings.HasSuffix(line, ";lr>\r\n") ||
				sip.ParseUri(message.AddrSpec(strings.TrimPrefix(strings.TrimSpace(line), "Route: ")), &u) != nil {
				t.Fatalf("%q: %q", text, line)
			}
		}
	})
}
