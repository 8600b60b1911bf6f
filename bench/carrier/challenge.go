package carrier

import (
	"strconv"
	"time"

	"dialler/bench/draw"
)

// maxChallenges ends a call whose caller keeps guessing.
const maxChallenges = 4

// challengeHeaders returns the headers with a fresh nonce for this call.
func (c *call) challengeHeaders(cred *Credentials, stale bool) string {
	c.nonces++
	c.nonce = strconv.FormatUint(draw.Hash(3, c.row.CallID+c.tag, c.nonces), 16)
	c.nc = 0
	return challengeHeaders(cred, c.nonce, stale)
}

// challenge refuses the INVITE until credentials come.
func (c *call) challenge(cred *Credentials, stale bool, now time.Time) {
	if c.nonces >= maxChallenges {
		c.refuse(403, "", 0, "", now)
		return
	}
	c.refuse(cred.code(), "", 0, c.challengeHeaders(cred, stale), now)
}

// check verifies the credentials of a request of this call.
func (c *call) check(cred *Credentials, m *message) verdict {
	if len(m.auth) == 0 || c.nonce == "" {
		return authMissing
	}
	v := verify(cred, m, c.nonce, c.nc)
	if v != authGranted {
		return v
	}
	if uri := digestParams(m.auth)["uri"]; uri != string(m.uri) {
		c.violation("digest_uri") // §22.4: it must repeat the Request-URI
	}
	c.nc++
	if cred.Stale && !c.granted {
		c.granted = true
		return authStale
	}
	c.granted = true
	return authGranted
}
