package process

import (
	"context"
	"io"
	"io/fs"
	"log"
	nethttp "net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/persistence/migrations"
	"dialler/persistence/storetest"
)

// nextSchemaEnv makes a program run by a test migrate the schema to that of a future release.
const nextSchemaEnv = "TEST_NEXT_SCHEMA"

func init() {
	if os.Getenv(nextSchemaEnv) != "" {
		production.schema = nextSchema()
	}
}

// nextSchema is this program's schema plus what a release may add under the rule of
// docs/upgrade.md: the tables written for every call change their shape.
func nextSchema() fs.FS {
	all := fstest.MapFS{
		"99998_next_columns.sql": {Data: []byte(`-- +goose Up
ALTER TABLE campaigns ADD COLUMN next_note text;
ALTER TABLE contacts ADD COLUMN next_rank integer NOT NULL DEFAULT 0;
ALTER TABLE attempts ADD COLUMN next_rank integer NOT NULL DEFAULT 0;
ALTER TABLE legs ADD COLUMN next_note text;
ALTER TABLE events ADD COLUMN next_note text;
ALTER TABLE number_holds ADD COLUMN next_rank integer NOT NULL DEFAULT 0;
ALTER TABLE nodes ADD COLUMN next_rank integer NOT NULL DEFAULT 0;
ALTER TABLE owners ADD COLUMN next_note text;
ALTER TABLE attempts ADD CONSTRAINT next_rank_positive CHECK (next_rank >= 0) NOT VALID;
CREATE TABLE next_things (id text PRIMARY KEY);
`)},
		"99999_next_index.sql": {Data: []byte(`-- +goose NO TRANSACTION
-- +goose Up
CREATE INDEX CONCURRENTLY next_ranks ON attempts (next_rank);
`)},
	}
	files, err := fs.Glob(migrations.FS, "*.sql")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for _, name := range files {
		b, err := fs.ReadFile(migrations.FS, name)
		if err != nil {
			panic(err) // it was there
		}
		all[name] = &fstest.MapFile{Data: b}
	}
	return all
}

// triggered sends a trigger to a node, which may be stopping, and says whether it was accepted; a
// repeated trigger is carried out once.
func triggered(w *world, api string, id engine.CampaignID, number string) bool {
	body := strings.NewReader(`{"campaign_id": "` + string(id) + `", "mobile": "` + number + `"}`)
	req, err := nethttp.NewRequestWithContext(context.Background(), "POST", api+"/api/v1/campaigns/trigger", body)
	if err != nil {
		return false
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "X-API-Key": w.key,
		"Idempotency-Key": "upgrade-" + number} {
		req.Header.Set(name, value)
	}
	resp, err := w.client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode < 300
}

// A release with another schema replaces the previous one without a pause: while it migrates the
// schema the old node keeps dialling, then it is drained. Nothing is lost, and going back needs
// only the old program.
func TestARollingUpgradeBetweenTwoSchemasLosesNothing(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	connectsNoMore(t)
	database, here, there := storetest.URL(t), ports.AddressOf(t), ports.AddressOf(t)
	membership := "automanaged://" + here + "," + there
	// Bots reach the nodes through a load balancer: a result may arrive late, at another node than
	// the call's.
	var api atomic.Pointer[string]
	balancer := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			if to, err := url.Parse(*api.Load()); err == nil {
				r.SetURL(to)
			}
		},
		ErrorLog: log.New(io.Discard, "", 0), // from a stopping node
	})
	defer balancer.Close()
	public := "--public-url=" + balancer.URL
	w := bringUp(t, &world{url: database, flags: Flags{DatabaseURL: database, Cluster: membership, Node: "old",
		ClusterListen: here, PublicURL: balancer.URL}}, tuning{}, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	id := w.campaign(map[string]any{"concurrency": 5, "always_on": true, "max_attempts": 3, "retry_delay_s": 1,
		"retry_on_system": []string{"lost"}})
	w.insist(id, "start")

	// Triggers arrive all the time, as through a load balancer: at the new node once the old one
	// accepts none.
	first := w.p.URL()
	api.Store(&first)
	client := w.at(first)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var taken atomic.Int64
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			number := newNumber()
			for ctx.Err() == nil { // until it is known to have been accepted, once
				if triggered(client, *api.Load(), id, number) {
					taken.Add(1)
					break
				}
				<-tick.C
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	more := func(what string, n int) {
		t.Helper()
		from := w.at(*api.Load()).detail(id).Counters.Completed
		eventually(t, what, func() bool { return w.at(*api.Load()).detail(id).Counters.Completed >= from+n })
	}
	more("the old release dials", 3)

	cmd := program(t, database, "serve", public, "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0", "--log-format=json",
		"--cluster="+membership, "--node=new", "--cluster-listen="+there, "--spool-dir="+t.TempDir(),
		"--recordings-dir="+t.TempDir())
	cmd.Env = append(cmd.Env, nextSchemaEnv+"=1")
	next := awaitUp(t, cmd)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the new node:\n%s", next.log())
		}
	})
	var columns int
	w.query("SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema() AND column_name "+
		"LIKE 'next_%' AND table_name IN ('attempts', 'legs', 'nodes')", &columns)
	if columns != 3 {
		t.Fatalf("the new release brought %d of 3 columns", columns)
	}
	more("the old release dials on with the new schema", 3)
	eventually(t, "both are there", func() bool {
		var n int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NULL AND expires_at > clock_timestamp()", &n)
		return n == 2
	})

	// Requests go to the new node first, then the old one is drained.
	api.Store(&next.api)
	w.p.Drain(t.Context())
	eventually(t, "the new node acts for the campaign", func() bool { name, _ := w.ownerOf(id); return name == "new" })
	more("the new release dials", 3)

	// And back: the old program starts on the new schema and takes over.
	w.p.Close()
	again := awaitUp(t, program(t, database, "serve", public, "--listen-http=127.0.0.1:0", "--sip=127.0.0.1:0",
		"--log-format=json", "--cluster="+membership, "--node=old", "--cluster-listen="+here, "--spool-dir="+t.TempDir(),
		"--recordings-dir="+t.TempDir()))
	eventually(t, "the old program is back", func() bool {
		var n int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NULL AND expires_at > clock_timestamp() AND name = 'old'", &n)
		return n == 1
	})
	api.Store(&again.api)
	next.terminate()
	more("the old release dials again", 3)

	cancel()
	<-stopped
	var c campaign.Counters
	defer func() {
		if t.Failed() {
			t.Logf("counters %+v", c)
		}
	}()
	eventually(t, "everybody who was triggered was called", func() bool {
		c = w.at(again.api).detail(id).Counters
		return c.Completed+c.Abandoned == c.Total
	})
	fewAbandoned(t, c)
	if int64(c.Total) < taken.Load() {
		t.Errorf("%d triggers were taken, there are %d contacts", taken.Load(), c.Total)
	}
	if n := len(model.Ledger().Calls()); n != c.Total {
		t.Errorf("%d calls for %d contacts", n, c.Total)
	}
	if dup := model.Ledger().DuplicateInvites(); len(dup) > 0 {
		t.Errorf("called twice: %v", dup)
	}
	if lost := w.at(again.api).labelled("dialler_outcomes_total", "outcome", string(engine.OutcomeLost)); lost > 0 {
		t.Errorf("%v calls were lost", lost)
	}
	// The world's end checks through a process without a cluster.
	again.terminate()
	w.flags.Cluster, w.flags.Node, w.flags.ClusterListen, w.flags.PublicURL = "", "", "", ""
	w.start()
}

// A node of the release before would call outside a campaign's calendars, and drop them with the next write of its
// row: until it has gone, nothing that it does not know is accepted.
func TestWhatIsNewIsAcceptedOnceEveryNodeKnowsIt(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	connectsNoMore(t)
	url, here, there := storetest.URL(t), ports.AddressOf(t), ports.AddressOf(t)
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, Cluster: "automanaged://" + here + "," + there,
		Node: "new", ClusterListen: here}}, tuning{}, 0)
	f := w.flags
	f.SIP, f.Node, f.ClusterListen, f.SpoolDir = ports.AddressOf(t), "old", there, filepath.Join(t.TempDir(), "spool")
	old, err := startTuned(context.Background(), f, "old", zerolog.New(w.log).Level(zerolog.DebugLevel),
		tuning{linkVersion: link.Version - 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(old.Close)
	eventually(t, "both nodes are there", func() bool {
		var n int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NULL AND expires_at > now()", &n)
		return n == 2
	})
	w.operator("PUT", "/api/v1/calendars/office", map[string]any{"name": "Office"}).expect(201)
	id := w.campaign(map[string]any{"always_on": true})
	var made struct{ ID string }
	w.operator("POST", "/api/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"read"}}).expect(201).into(&made)
	key := "/api/v1/api-keys/" + made.ID
	usual, _ := w.hook("https://crm.example.org/usual", map[string]any{"types": []string{"attempt.ended"}})
	hook := "/api/v1/webhooks/" + usual
	create := func(change map[string]any) func() answer {
		return func() answer { return w.operator("POST", "/api/v1/campaigns", settings(change)) }
	}
	put := func(path string, body map[string]any) func() answer {
		return func() answer { return w.operator("PUT", "/api/v1/"+path, body) }
	}
	requests := map[string]func() answer{
		"a campaign with a calendar": create(map[string]any{"calendar_ids": []string{"office"}}),
		"who calls a campaign back":  create(map[string]any{"callback_policy": "reject"}),
		"who calls a number back": put("numbers/"+ourNumber, map[string]any{"callback_policy": "bot",
			"callback_bot_id": ourBot}),
		"the hours of a country": put("calendars/de", map[string]any{"name": "Germany", "countries": []string{"DE"}}),
		"an edit": func() answer {
			return w.operator("PATCH", "/api/v1/campaigns/"+string(id), map[string]any{"calendar_ids": []string{"office"},
				"version": 1})
		},
		"a key with a scope of this release": func() answer {
			return w.operator("POST", "/api/v1/api-keys", map[string]any{"name": "x", "scopes": []string{"trunks"}})
		},
		"a further scope of a key": func() answer {
			return w.operator("PATCH", key, map[string]any{"scopes": []string{"read", "health"}})
		},
		"a webhook that names a type of this release": func() answer {
			return w.operator("POST", "/api/v1/webhooks", map[string]any{"url": "https://crm.example.org/",
				"types": []string{"call.ringing"}})
		},
		"a further type of a webhook": func() answer {
			return w.operator("PATCH", hook, map[string]any{"types": []string{"attempt.ended", "call.initiated"}})
		},
		"a dialout with an address of its own": func() answer {
			a := w.operator("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber(),
				"status_callback": "https://crm.example.org/calls"})
			if a.status == 422 && strings.Contains(string(a.body), `"not_allowed"`) {
				a.status = 200 // it is looked at, and no webhook allows it
			}
			return a
		},
		"another secret of a key": func() answer { return w.operator("POST", key+"/rotate-secret", nil) },
		"a person with two numbers": func() answer {
			return w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": []any{
				numbersOf(newNumber(), newNumber())}})
		},
		"a file whose delimiter is said": func() answer {
			return w.send("POST", importsOf(id)+"?delimiter=pipe", "phone_number|a,b\n"+newNumber()+"|x\n",
				"Authorization", "Bearer "+w.admin, "Content-Type", "text/csv")
		},
	}
	for what, ask := range requests {
		if a := ask(); a.code() != "node_version" || a.status != 503 || !strings.Contains(string(a.body), "node old") {
			t.Errorf("%s: %s", what, a)
		}
	}
	put("numbers/"+ourNumber, map[string]any{"callback_policy": "reject"})().expect(200)
	old.Close()
	for what, ask := range requests {
		eventually(t, what+" is accepted once the old node has gone", func() bool { return ask().status < 300 })
	}
}
