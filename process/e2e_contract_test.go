package process

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	nethttp "net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/contract"
)

const (
	// contractRequests is how many requests are generated from the file (make contract uses
	// 20,000), and how many at a time.
	contractRequests = 1_000
	contractClients  = 8
	// contractRound is the number of requests after which deleted objects are created again.
	contractRound = 250
)

// parameters are the placeholders in a path that a request fills in.
var parameters = regexp.MustCompile(`\{[a-z_]+\}`)

// campaignOfPath matches the campaign that a request is about.
var campaignOfPath = regexp.MustCompile(`cmp_[a-z0-9]+`)

// seldom are CPU-intensive operations: only one in this many of their turns is made.
var seldom = map[string]int{
	"POST /api/v1/auth/token": 20, "POST /api/v1/session": 20, // a password is hashed
	"POST /api/v1/trunks/{trunk_id}/test":           20, // a call is placed
	"POST /api/v1/campaigns/{campaign_id}/simulate": 20, // seconds are played
}

// Requests made from the OpenAPI file alone, valid and invalid, are answered as the file says: no
// 500, and no status or field that it does not name. The only 503s allowed are for a call outside
// campaigns (dialout, the test of a trunk) without a line, for a simulation that takes too long,
// and for readiness. `make contract` draws other requests each time.
func TestWhateverIsAskedIsAnsweredAsTheFileSays(t *testing.T) {
	t.Parallel()
	setting := func(name string, otherwise uint64) uint64 {
		n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), strconv.FormatUint(otherwise, 10)), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	seed, requests := setting("CONTRACT_SEED", 1), int(setting("CONTRACT_REQUESTS", contractRequests))
	t.Logf("CONTRACT_SEED=%d", seed)
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	m := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond), carrier.Busy()}})
	numbers := []string{ourNumber}
	for range 60 {
		numbers = append(numbers, newNumber())
	}
	file, err := contract.Read(w.send("GET", "/api/openapi.json", nil).expect(200).body)
	if err != nil {
		t.Fatal(err)
	}
	maker := contract.NewMaker(file, seed, numbers, map[string][]string{
		"campaign_id": {string(w.campaign(nil)), string(w.running(nil))}, "bot_id": {ourBot, ourBot,
			"spare"}, "trunk_id": {"model", "spare", "other"}, "number": {ourNumber, "+493023125999"}, "account": {ourAccount},
		// What a person would enter where the file says only that it is text.
		"zone": {"UTC", "Europe/Berlin",
			"America/New_York"}, "host": {"127.0.0.1"}, "external_host": {"127.0.0.1"}, "tls_server_name": {"localhost"},
		"from_domain":    {"localhost"},
		"number_country": {"DE"}, "listener": {"default"}, "privacy": {"none", "id;critical"},
		"outbound_proxy": {"127.0.0.1:9"}, "transfer_targets": {"sip:desk@127.0.0.1", "+4915112*"},
		"endpoints":  {w.bot.URL()},
		"config_url": {"http://127.0.0.1:9/"}, "url": {"http://127.0.0.1:9/"}, "start": {"00:00", "08:00"},
		"end": {"00:00", "20:00"}, "tls_roots": {""},
	})
	var users struct{ Users []struct{ ID string } }
	w.operator("GET", "/api/v1/users", nil).expect(200).into(&users)
	for _, u := range users.Users {
		maker.Spare(u.ID)
	}
	host, port, err := splitHostPort(m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	restore := func() map[string][2]string {
		w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10,
			"endpoints": []string{w.bot.URL()}, "auth_token": ourToken, "account": ourAccount})
		w.operator("PUT", "/api/v1/numbers/"+ourNumber, map[string]any{})
		w.operator("PUT", "/api/v1/trunks/model", map[string]any{"host": host, "port": port, "cps_cap": 100})
		// There is activity: a call, and a campaign with contacts.
		shown := func(method, path string, a answer) {
			asked := func(o contract.Operation) bool { return o.Method == method && o.Path == path }
			if i := slices.IndexFunc(file.Operations(), asked); a.status < 300 && i >= 0 {
				maker.Learn(&contract.Request{Of: file.Operations()[i]}, a.body)
			}
		}
		for range 3 {
			shown("POST", "/api/v1/sip/dialout", w.operator("POST", "/api/v1/sip/dialout",
				map[string]any{"bot_id": ourBot, "to_number": newNumber()}))
		}
		shown("POST", "/api/v1/webhooks", w.operator("POST", "/api/v1/webhooks",
			map[string]any{"url": "http://127.0.0.1:9/"}))
		id := string(w.running(map[string]any{"recording": "on"}))
		w.operator("POST", "/api/v1/campaigns/"+id+"/contacts",
			map[string]any{"contacts": []any{map[string]any{"mobile": newNumber()},
				map[string]any{"mobile": newNumber()}}}).expect(200)
		shown("GET", "/api/v1/campaigns/{campaign_id}", w.operator("GET", "/api/v1/campaigns/"+id, nil))
		shown("GET", "/api/v1/campaigns/{campaign_id}/contacts", w.operator("GET", "/api/v1/campaigns/"+id+"/contacts", nil))
		return map[string][2]string{
			"bearer": {"Authorization", "Bearer " + w.admin}, "apiKey": {"X-API-Key", w.newKey(nil)}, "stranger": {"X-API-Key",
				"vx_" + strings.Repeat("a", 32)},
			"botAccount": {"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(ourAccount+":"+ourToken))},
		}
	}
	var mu sync.Mutex
	seen, wrong := map[string]map[int]int{}, map[string]string{}
	began := time.Now()
	var asked []string // all requests, to show what led to a wrong answer
	rnd := rand.New(rand.NewPCG(seed, 2))
	next := func() (o contract.Operation, as string) {
		for {
			o = file.Operations()[rnd.IntN(len(file.Operations()))]
			if n := seldom[o.Method+" "+o.Path]; n == 0 || rnd.IntN(n) == 0 {
				break
			}
		}
		as = []string{"", "stranger", "bearer", "apiKey", "botAccount"}[rnd.IntN(5)]
		for range 20 { // mostly one that the file names
			if o.Takes(as) {
				break
			}
			as = []string{"bearer", "apiKey", "botAccount"}[rnd.IntN(3)]
		}
		return o, as
	}
	// No name contains a NUL, which PostgreSQL refuses to compare, or invalid UTF-8.
	for _, o := range file.Operations() {
		for _, name := range []string{"%00", "%0Ax", "%FF"} {
			if target := parameters.ReplaceAllLiteralString(o.Path, name); target != o.Path {
				r := maker.Make(o)
				r.Target = target
				if status, problem := w.asFileSays(file, maker, r, [2]string{"Authorization",
					"Bearer " + w.admin}); problem != nil || status < 400 {
					t.Errorf("%s %s: %d %v", o.Method, target, status, problem)
				}
			}
		}
	}
	for made := 0; made < requests && len(wrong) == 0; made += contractRound {
		credentials := restore()
		var left atomic.Int64
		left.Store(int64(min(contractRound, requests-made)))
		var clients sync.WaitGroup
		for range contractClients {
			clients.Go(func() {
				for left.Add(-1) >= 0 {
					mu.Lock()
					o, as := next()
					mu.Unlock()
					r := maker.Make(o)
					sent := time.Since(began)
					status, problem := w.asFileSays(file, maker, r, credentials[as])
					mu.Lock()
					asked = append(asked, fmt.Sprintf("%.3f to %.3f s: %s %s %d", sent.Seconds(), time.Since(began).Seconds(),
						o.Method, r.Target, status))
					of := o.Method + " " + o.Path
					if seen[of] == nil {
						seen[of] = map[int]int{}
					}
					seen[of][status]++
					if problem != nil {
						wrong[of+" "+strconv.Itoa(status)] = fmt.Sprintf("%s %s %q: %.2000s: %v", o.Method, r.Target, r.Header, r.Body,
							problem)
					}
					mu.Unlock()
				}
			})
		}
		clients.Wait()
	}
	for _, what := range slices.Sorted(maps.Keys(wrong)) {
		t.Errorf("%s", wrong[what])
		of := campaignOfPath.FindString(wrong[what])
		for _, line := range asked {
			if of != "" && strings.Contains(line, of) {
				t.Log(line)
			}
		}
	}
	if asked := len(file.Operations()) - len(seldom) - 2; len(seen) < asked && !t.Failed() {
		t.Errorf("%d of %d operations were asked for", len(seen), asked)
	}
	// Operations that never succeed prove little.
	for of, statuses := range seen {
		granted, all := 0, 0
		for status, n := range statuses {
			if all += n; status < 400 {
				granted += n
			}
		}
		t.Logf("%5d, %5.1f %% granted: %s %v", all, 100*float64(granted)/float64(all), of, statuses)
	}
	w.send("GET", "/healthz", nil).expect(200)
}

// asFileSays sends a request and checks the response against the file.
func (w *world) asFileSays(file *contract.File, maker *contract.Maker, r *contract.Request, credential [2]string) (int,
	error) {
	limit := patience
	if strings.HasSuffix(r.Of.Path, "/simulate") {
		limit = 2 * time.Minute // it is done within one minute, or refused
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	req, err := nethttp.NewRequestWithContext(ctx, r.Of.Method, w.p.URL()+r.Target, bytes.NewReader(r.Body))
	if err != nil {
		return 0, err
	}
	for _, h := range r.Header {
		req.Header.Set(h[0], h[1])
	}
	if credential[0] != "" {
		req.Header.Set(credential[0], credential[1])
	}
	client := *w.client
	client.Timeout = 0 // ctx bounds it
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	var body []byte
	if !r.Of.Endless() || resp.StatusCode != 200 {
		if body, err = io.ReadAll(resp.Body); err != nil {
			return resp.StatusCode, err
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		maker.Learn(r, body)
	}
	switch resp.StatusCode {
	case 500:
		err = fmt.Errorf("500 %s", body)
	case 503:
		if r.Of.Path != "/api/v1/sip/dialout" && r.Of.Path != "/api/v1/trunks/{trunk_id}/test" && r.Of.Path != "/readyz" &&
			r.Of.Path != "/api/v1/campaigns/{campaign_id}/simulate" {
			err = fmt.Errorf("503 %s", body)
		}
	}
	return resp.StatusCode, errors.Join(err, file.Check(r, resp.StatusCode, resp.Header, body))
}
