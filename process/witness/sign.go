package witness

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Keys are those of an object store.
type Keys struct {
	ID, Secret string
	Session    string // "" for lasting keys
}

// sign signs a request by AWS's Signature Version 4 for the service s3; payload is the SHA-256 of
// its body in hex. It sets the headers that the signature needs.
func sign(r *nethttp.Request, payload string, k Keys, region string, at time.Time) {
	at = at.UTC()
	stamp, day := at.Format("20060102T150405Z"), at.Format("20060102")
	h := r.Header
	h.Set("X-Amz-Date", stamp)
	h.Set("X-Amz-Content-Sha256", payload)
	if k.Session != "" {
		h.Set("X-Amz-Security-Token", k.Session)
	}
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	headers := map[string]string{"host": host}
	for name, values := range h {
		headers[strings.ToLower(name)] = strings.TrimSpace(strings.Join(values, ","))
	}
	names := slices.Sorted(maps.Keys(headers))
	var canonical strings.Builder
	canonical.WriteString(r.Method + "\n" + escaped(r.URL.Path) + "\n" + query(r.URL.Query()) + "\n")
	for _, n := range names {
		canonical.WriteString(n + ":" + headers[n] + "\n")
	}
	signed := strings.Join(names, ";")
	canonical.WriteString("\n" + signed + "\n" + payload)
	scope := day + "/" + region + "/s3/aws4_request"
	sum := sha256.Sum256([]byte(canonical.String()))
	text := "AWS4-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := []byte("AWS4" + k.Secret)
	for _, part := range []string{day, region, "s3", "aws4_request", text} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	h.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+k.ID+"/"+scope+",SignedHeaders="+signed+",Signature="+
		hex.EncodeToString(key))
}

// escaped encodes a path as the signature wants it: all but unreserved characters and the slash.
func escaped(path string) string {
	if path == "" {
		return "/"
	}
	parts := strings.Split(path, "/")
	for i, p := range parts {
		parts[i] = encode(p)
	}
	return strings.Join(parts, "/")
}

func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

func query(q url.Values) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		values := slices.Sorted(slices.Values(q[name]))
		for _, v := range values {
			out = append(out, encode(name)+"="+encode(v))
		}
	}
	return strings.Join(out, "&")
}
