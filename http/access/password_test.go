package access

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestPasswordHashes(t *testing.T) {
	h := HashPassword("correct horse battery")
	if !strings.HasPrefix(h, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %q", h)
	}
	if ok, err := VerifyPassword(h, "correct horse battery"); !ok || err != nil {
		t.Error(ok, err)
	}
	if ok, err := VerifyPassword(h, "correct horse battery"+"x"); ok || err != nil {
		t.Error(ok, err)
	}
	if h == HashPassword("correct horse battery") {
		t.Error("the salt repeats")
	}
	salt := base64.RawStdEncoding.EncodeToString(make([]byte, 16))
	for _, bad := range []string{"", "$", "plain", "$argon2i$v=19$m=1,t=1,p=1$x$y", "$argon2id$v=18$m=8,t=1,p=1$" + salt +
		"$" + salt,
		"$argon2id$v=19$m=99999999,t=1,p=1$" + salt + "$" + salt, "$argon2id$v=19$m=8,t=0,p=1$" + salt + "$" + salt,
		"$argon2id$v=19$m=8,t=1,p=1$!$" + salt, "$argon2id$v=19$m=8,t=1,p=1$" + salt + "$x"} {
		if ok, err := VerifyPassword(bad, "correct horse battery"); ok || err == nil {
			t.Errorf("%q: %v %v", bad, ok, err)
		}
	}
}
