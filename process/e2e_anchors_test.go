package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"dialler/engine/anchor"
	"dialler/engine/webhook"
	"dialler/persistence/storetest"
	"dialler/process/witness"
)

func TestWitnessesAreShownTheNewestSealAndAFailureIsSeen(t *testing.T) {
	t.Parallel()
	deaf := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.WriteHeader(503)
	}))
	t.Cleanup(deaf.Close)
	path := filepath.Join(t.TempDir(), "witness.jsonl")
	seal := anchor.Seal{N: 3, Hash: sha256.Sum256([]byte("three")), At: time.Now()}
	var mu sync.Mutex
	var kept []anchor.Receipt
	times := tuning{seals: witness.Port{
		Latest: func(context.Context) (anchor.Seal, bool, error) { return seal, true, nil },
		Keep: func(_ context.Context, r anchor.Receipt) error {
			mu.Lock()
			defer mu.Unlock()
			kept = append(kept, r)
			return nil
		},
	}}
	url := storetest.URL(t)
	flags := Flags{DatabaseURL: url, Anchor: []string{"file://" + path, deaf.URL + "/x?key=q"},
		AnchorSecret: webhook.WriteSecret(bytes.Repeat([]byte{1}, 32)), AnchorAllowPrivate: true}
	w := bringUp(t, &world{url: url, flags: flags}, times, time.Second)
	eventually(t, "the file has a line, and the other fails", func() bool {
		return w.metric(`dialler_anchor_tries_total{kind="file",result="kept"}`) == 1 &&
			w.metric(`dialler_anchor_tries_total{kind="webhook",result="failed"}`) > 0
	})
	mu.Lock()
	if len(kept) != 1 || kept[0].N != 3 || kept[0].Hash != seal.Hash || kept[0].URL != "file://"+path {
		t.Errorf("%+v", kept)
	}
	mu.Unlock()
	var ready struct {
		Status string
		Checks []struct {
			Name, Detail string
			OK           bool
		}
	}
	eventually(t, "the health names the witness without its secret, and passes", func() bool {
		w.operator("GET", "/readyz", nil).into(&ready)
		for _, c := range ready.Checks {
			if c.Name == "anchors" {
				return c.OK && c.Detail == "the witness "+deaf.URL+"/x gives no receipts: it answered 503"
			}
		}
		return false
	})
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		have anchor.Hash
		says string
	}{{seal.Hash, "1 receipts compared"}, {anchor.Hash{1}, "DIFFERS: seal 3, shown to file://" + path}} {
		var out bytes.Buffer
		known := func(n int64) (anchor.Hash, bool, error) { return c.have, n == 3, nil }
		err := auditAnchors(known, bytes.NewReader(b), nil, &out, false)
		if (err == nil) != (c.have == seal.Hash) || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q %v", out.String(), err)
		}
	}
}

func TestAWitnessThatCannotBeOneStopsTheStart(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	port := witness.Port{Latest: func(context.Context) (anchor.Seal, bool, error) { return anchor.Seal{}, false, nil }}
	for address, says := range map[string]string{"ftp://user:hidden@example.org": "number 1 (ftp)",
		"https://example.org/x": "--anchor-secret", "mailto:a@example.org": "--anchor-smtp"} {
		_, err := startTuned(t.Context(), Flags{DatabaseURL: url, ListenHTTP: "127.0.0.1:0", SIP: "127.0.0.1:0",
			DataDir: t.TempDir(), RecordingsDir: t.TempDir(), SigningKey: sharedKey(t), Anchor: []string{address}},
			"main", zerolog.New(io.Discard), tuning{seals: port})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
