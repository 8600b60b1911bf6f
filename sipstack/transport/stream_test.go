package transport

import (
	"slices"
	"testing"
)

// FuzzFramer checks that however a stream is split into reads, the same messages come out, none
// longer than allowed.
func FuzzFramer(f *testing.F) {
	f.Add([]byte("OPTIONS sip:a SIP/2.0\r\nContent-Length: 3\r\n\r\nabc\r\n\r\nBYE x SIP/2.0\r\nl: 0\r\n\r\n"), byte(3))
	f.Add([]byte("\r\n\r\n\r\nX\r\nContent-Length : 1\r\nl:1\r\n\r\n\n\n"), byte(1))
	f.Fuzz(func(t *testing.T, data []byte, step byte) {
		cut := func(size int) (out []string, pings int, failed bool) {
			var fr framer
			for at := 0; at < len(data); at += size {
				fr.write(data[at:min(at+size, len(data))])
				for {
					m, p, err := fr.next()
					pings += p
					if err != nil {
						return out, pings, true
					}
					if m == nil {
						break
					}
					if len(m) > maxMessage {
						t.Fatalf("%d bytes", len(m))
					}
					out = append(out, string(m))
				}
			}
			return out, pings, false
		}
		whole, pings, failed := cut(len(data) + 1)
		parts, p, f := cut(int(step)%64 + 1)
		if !slices.Equal(whole, parts) || pings != p || failed != f {
			t.Fatalf("%q %d %v, in parts %q %d %v", whole, pings, failed, parts, p, f)
		}
	})
}
