package access

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"dialler/engine"
)

// signedClaims are any JSON claims.
type signedClaims struct {
	jwt.RegisteredClaims
	text []byte
}

func (c signedClaims) MarshalJSON() ([]byte, error) { return c.text, nil }

// FuzzSecrets checks that a token of ours, whatever its content, grants only the access of an
// existing user and only until it expires; a key, a cookie and a stored hash of any form are
// refused or give nothing.
func FuzzSecrets(f *testing.F) {
	users := map[engine.UserID]engine.User{"usr_admin": {ID: "usr_admin", Role: "admin", Active: true}}
	gate := NewGate(Config{JWTSecret: theSecret, TokenTTL: time.Hour, KeyCacheTTL: time.Second,
		Now: func() time.Time { return noon }}, Stores{Keys: noKeys{}, Users: someUsers{users: users},
		Sessions: noSessions{}}, nil)
	hash := "$argon2id$v=19$m=8,t=1,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAA"
	for _, s := range []string{
		`{"iss":"dialler","sub":"usr_admin","exp":1898600000,"iat":1898596800}`,
		`{"iss":["dialler"],"sub":"usr_admin","exp":1e300}`, `{"iss":"dialler","sub":"usr_none","exp":1898600000}`,
		`{"iss":"dialler","sub":"usr_admin","exp":"1898600000"}`,
		`{"iss":"dialler","sub":"usr_admin","exp":1898600000.5,"nbf":1898600000,"aud":[1]}`, `{"exp":-1}`, `[]`, `null`,
	} {
		f.Add([]byte(s), hash, "vx_"+strings.Repeat("a", 32))
	}
	f.Add([]byte(`{}`), strings.Replace(hash, "p=1", "p=0", 1), "")
	f.Add([]byte(`{}`), strings.Replace(hash, "t=1", "t=+1x", 1), `Basic QUM6eA==`)
	slow := regexp.MustCompile(`m= *[+0-9]{4,}|t= *[+0-9]{2,}`)
	f.Fuzz(func(t *testing.T, claims []byte, phc, other string) {
		if json.Valid(claims) {
			token, err := signed(theSecret, noon, signedClaims{text: claims})
			if err != nil {
				t.Fatal(err)
			}
			user, err := gate.tokens.verify(context.Background(), token)
			var c struct {
				Iss, Sub string
				Exp      json.Number
			}
			if err == nil {
				bad := json.Unmarshal(claims, &c)
				if end, _ := c.Exp.Float64(); bad != nil || c.Iss != tokenIssuer || c.Sub != string(user.ID) ||
					end <= float64(noon.Unix()) || !user.Active {
					t.Fatalf("%s opens for %s", claims, user.ID)
				}
			}
		}
		if len(phc) < 256 && !slow.MatchString(phc) {
			if good, err := VerifyPassword(phc, other); good && err != nil {
				t.Fatalf("%q: good, and %v", phc, err)
			}
		}
		if _, err := gate.keys.check(context.Background(), []byte(other)); err == nil {
			t.Fatalf("the key %q is good", other)
		}
		if _, err := gate.sessions.check(context.Background(), other); err == nil {
			t.Fatalf("the cookie %q is good", other)
		}
	})
}

var theSecret = []byte("0123456789abcdef0123456789abcdef")

type allUsers interface{ Users }

type someUsers struct {
	allUsers
	users map[engine.UserID]engine.User
}

func (u someUsers) User(_ context.Context, id engine.UserID) (engine.User, bool, error) {
	user, ok := u.users[id]
	return user, ok, nil
}

type noSessions struct{ Sessions }

func (noSessions) SessionByHash(context.Context, [32]byte) (u engine.UserSession, found bool, err error) {
	return u, false, nil
}
