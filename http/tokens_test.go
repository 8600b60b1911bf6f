package http

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Helpers for tests to make tokens and sessions by hand.

type jwtClaims struct {
	Role       string `json:"role"`
	Generation int    `json:"gen,omitempty"`
	jwt.RegisteredClaims
}

const (
	jwtIssuer = "dialler"
	jwtKeyID  = "kid"
	jwtPeriod = 30 * 24 * time.Hour // how long a key signs
)

func jwtPeriodOf(at time.Time) int64 { return at.Unix() / int64(jwtPeriod/time.Second) }

func jwtKey(secret []byte, period int64) []byte {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("log-in of period " + strconv.FormatInt(period, 10)))
	return m.Sum(nil)
}

// jwtSigned signs claims with the key of a given time.
func jwtSigned(secret []byte, at time.Time, claims jwt.Claims) (string, error) {
	period := jwtPeriodOf(at)
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	t.Header[jwtKeyID] = strconv.FormatInt(period, 10)
	return t.SignedString(jwtKey(secret, period))
}

// csrfOf returns the CSRF token of a session's token.
func csrfOf(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("csrf"))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}
