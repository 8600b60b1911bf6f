package sdp

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
)

// someKey is a master key with its salt.
var someKey = []byte("a master key and fourteen more")

// FuzzCrypto: what is accepted of an a=crypto line stands in it, and what we
// write of a key is read as that key.
func FuzzCrypto(f *testing.F) {
	key := base64.StdEncoding.EncodeToString(someKey)
	for _, s := range []string{"1 AES_CM_128_HMAC_SHA1_80 inline:" + key,
		"2 AES_CM_128_HMAC_SHA1_32 inline:" + key + "|2^20|1:4 WSH=64 -X",
		"1 AES_CM_128_HMAC_SHA1_80 inline:" + key + "|1:128", "9 F8 inline:",
		"1 AEAD_AES_256_GCM inline:" + base64.StdEncoding.EncodeToString(make([]byte, 44)),
		"2 AEAD_AES_128_GCM inline:" + base64.StdEncoding.EncodeToString(make([]byte, 28)),
		"1 AES_CM_128_HMAC_SHA1_80 inline:" + key + ";inline:" + key} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, ok := ParseCrypto(b)
		if !ok {
			return
		}
		text := base64.StdEncoding.EncodeToString(Suites[c.Suite].inline(&c.Key))
		if c.Tag < 0 || c.Tag > 99999 || len(c.MKI) > 128 ||
			!bytes.Contains(b, []byte(Suites[c.Suite].Name+" ")) && !bytes.Contains(b, []byte(Suites[c.Suite].Name+"\t")) {
			t.Fatalf("%q is tag %d, suite %d, an MKI of %d bytes", b, c.Tag, c.Suite, len(c.MKI))
		}
		var keys Keys
		keys[c.Suite] = c.Key
		for i, line := range strings.Split(strings.TrimSpace(string(appendKeys(nil, &keys))), "\r\n") {
			again, ok := ParseCrypto([]byte(strings.TrimPrefix(line, "a=crypto:")))
			if !ok || again.Tag != i+1 || again.Suite != i || again.Key != keys[i] || again.MKI != "" ||
				i == c.Suite && !strings.HasSuffix(line, "inline:"+text) {
				t.Fatalf("our own line is read as tag %d, suite %d", again.Tag, again.Suite)
			}
		}
	})
}

func TestCryptoParametersAreRead(t *testing.T) {
	key := base64.StdEncoding.EncodeToString(someKey)
	c, ok := ParseCrypto([]byte("2 AES_CM_128_HMAC_SHA1_32 inline:" + key + "|2^20|258:4 WSH=128 -X=1"))
	if !ok || c.Tag != 2 || c.Suite != 4 || c.MKI != "\x00\x00\x01\x02" ||
		!bytes.Equal(Suites[c.Suite].inline(&c.Key), someKey) {
		t.Fatalf("%v, tag %d, suite %d, MKI %x", ok, c.Tag, c.Suite, c.MKI)
	}
}
