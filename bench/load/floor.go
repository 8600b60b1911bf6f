package load

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"net"
	"sync"

	"github.com/valyala/fasthttp"
)

// Floor serves requests at the minimum cost of a trigger: it reads a request, hashes, looks up and
// compares its key, decodes its body, and sends an answer of the usual size. It does and stores
// nothing.
func Floor(ctx context.Context, addr, key string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &fasthttp.Server{Handler: floorHandler(key), NoDefaultServerHeader: true}
	ended := context.AfterFunc(ctx, func() { _ = server.Shutdown() })
	defer ended()
	return server.Serve(l)
}

func floorHandler(key string) fasthttp.RequestHandler {
	var mu sync.RWMutex
	hash := sha256.Sum256([]byte(key))
	keys := map[[32]byte][32]byte{hash: hash}
	return func(rc *fasthttp.RequestCtx) {
		given := sha256.Sum256(rc.Request.Header.Peek("X-API-Key"))
		mu.RLock()
		known, ok := keys[given]
		mu.RUnlock()
		if !ok || subtle.ConstantTimeCompare(known[:], given[:]) != 1 {
			rc.SetStatusCode(fasthttp.StatusUnauthorized)
			return
		}
		var body struct {
			Campaign string            `json:"campaign_id"`
			Mobile   string            `json:"mobile"`
			Metadata map[string]string `json:"metadata"`
		}
		if json.Unmarshal(rc.PostBody(), &body) != nil {
			rc.SetStatusCode(fasthttp.StatusUnprocessableEntity)
			return
		}
		answer, err := json.Marshal(map[string]string{"status": "queued", "contact_id": "0123456789abcdef0123456789abcdef",
			"campaign_id": body.Campaign})
		if err != nil {
			rc.SetStatusCode(fasthttp.StatusInternalServerError)
			return
		}
		rc.SetContentType("application/json")
		rc.SetBody(answer)
	}
}
