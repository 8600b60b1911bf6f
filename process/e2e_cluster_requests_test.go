package process

import (
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/persistence/storetest"
)

// A call outside campaigns can be controlled through any node; when the node that had it is killed,
// its end is reported as after a restart.
func TestADialoutIsCommandedThroughAnyNode(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	two := w.at(other.api)
	// The other node learns of the trunk.
	var id engine.CallID
	placed := func() {
		t.Helper()
		eventually(t, "the other node places a call", func() bool {
			r := two.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
			if r.status != 201 {
				return false
			}
			var placed struct {
				CallID engine.CallID `json:"call_id"`
			}
			r.into(&placed)
			id = placed.CallID
			return true
		})
		eventually(t, "this node shows its conversation", func() bool { return w.call(id).State == "connected" })
	}
	// A bot configured here can be used there.
	for i := range 5 {
		id := fmt.Sprintf("fresh%d", i)
		w.operator("PUT", "/api/v1/bots/"+id, map[string]any{"name": "Fresh", "active": false,
			"endpoints": []string{w.bot.URL()}}).expect(201)
		two.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": id, "to_number": newNumber()}).expect(
			409) // bot_inactive
	}
	placed()
	path := "/api/v1/calls/" + string(id)
	transfer := map[string]any{"to": "sip:desk@127.0.0.1:9"}
	if here, there := w.crm("POST", path+"/transfer", transfer), two.crm("POST", path+"/transfer",
		transfer); here.status < 400 || here.code() != there.code() {
		t.Errorf("a transfer is answered %s here, %s there", here, there)
	}
	w.crm("POST", path+"/digits", map[string]any{"digits": "12#"}).expect(200)
	w.crm("POST", path+"/hang-up", nil).expect(200)
	w.ended(id, engine.OutcomeCompleted)
	again, atTwo := w.crm("POST", path+"/hang-up", nil), two.crm("POST", path+"/hang-up", nil)
	if again.status != 404 || again.code() != atTwo.code() {
		t.Errorf("a call that is over: %s here, %s there", again, atTwo)
	}

	placed()
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	// For half a minute after the end of its lease that node could still have it.
	within(t, 3*patience, "the call of the node that is gone is over", func() bool {
		r := w.crm("POST", "/api/v1/calls/"+string(id)+"/hang-up", nil)
		return r.status == 404 && r.code() == again.code()
	})
	eventually(t, "it is stored so", func() bool { return w.call(id).State == "ended" })
	eventually(t, "nobody hears it any more", func() bool { return len(model.Ledger().Live()) == 0 })
}

// A person is erased on every node: contacts that wait there, and recordings on its disk. Without
// the confirmation of a living node nobody counts as erased.
func TestAPersonIsErasedOnEveryNode(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	gone, vars := newNumber(), map[string]any{"name": "Wilhelmina"}
	contacts := map[string]any{"contacts": []any{map[string]any{"mobile": gone, "metadata": vars}}}
	called := w.campaignOf("two", map[string]any{"recording": "on", "always_on": true})
	w.operator("POST", "/api/v1/campaigns/"+string(called)+"/contacts", contacts).expect(200)
	w.insist(called, "start")
	waits := w.campaignOf("two", nil)
	w.operator("POST", "/api/v1/campaigns/"+string(waits)+"/contacts", contacts).expect(200)
	files := func() (n int) {
		err := filepath.WalkDir(other.recordings, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, ".wav") {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	eventually(t, "the other node has called and recorded", func() bool {
		c := w.detail(called).Counters
		return c.Completed == 1 && files() == 1
	})

	eventually(t, "their call is over", func() bool {
		var live int
		w.query("SELECT count(*) FROM attempts WHERE live", &live)
		return live == 0
	})

	if err := other.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	erase := func() answer { return w.operator("DELETE", "/api/v1/persons/"+gone, nil) }
	silent := erase()
	eventually(t, "the node is declared dead", func() bool {
		var dead int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NOT NULL", &dead)
		return dead == 1
	})
	dead := erase()
	if err := other.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if silent.status != 503 || dead.status != 503 || files() != 1 {
		t.Fatalf("while a node is silent: %s, once it is declared dead: %s; %d files are left", silent, dead, files())
	}
	eventually(t, "the person is erased", func() bool { return erase().status == 200 })
	if n := files(); n != 0 {
		t.Errorf("%d recordings are left on the other node", n)
	}
	for line := range strings.Lines(w.dump()) {
		if strings.Contains(line, digits(gone)) || strings.Contains(line, "Wilhelmina") {
			t.Errorf("the dump has the person: %.200s", line)
		}
	}
	for _, api := range []string{"", other.api} {
		o := w.at(api)
		eventually(t, "the contact that waited is out of scope", func() bool {
			r := o.operator("GET", "/api/v1/campaigns/"+string(waits), nil)
			return r.status == 200 && o.detail(waits).Counters.Excluded == 1
		})
		if r := o.operator("GET", "/api/v1/campaigns/"+string(called)+"/contacts", nil); strings.Contains(string(r.body),
			digits(gone)) || strings.Contains(string(r.body), "Wilhelmina") {
			t.Errorf("a node shows the person: %s", r)
		}
	}
}

// Every node that may dial confirms a suppression; if a confirmation is missing, the number is on
// the list nevertheless, and the request is repeated.
func TestASuppressionIsConfirmedByEveryNode(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{{Kind: carrier.NoAnswer}}})
	two, rings := w.at(other.api), newNumber()
	dialout := map[string]any{"bot_id": ourBot, "to_number": rings}
	// The other node learns of the trunk.
	eventually(t, "the other node places a call", func() bool {
		return two.crm("POST", "/api/v1/sip/dialout", dialout).status == 201
	})
	eventually(t, "it rings", func() bool { return len(model.Ledger().Live()) == 1 })

	if err := other.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	r := w.operator("POST", "/api/v1/suppressions", map[string]any{"number": rings})
	if err := other.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if r.status != 503 || !strings.Contains(string(r.body), "suppression_unconfirmed") {
		t.Fatalf("while a node does not answer: %s", r)
	}
	if r := w.operator("GET", "/api/v1/suppressions?number="+url.QueryEscape(rings),
		nil); !strings.Contains(string(r.body), `"total":1`) {
		t.Errorf("it is not on the list: %s", r)
	}
	eventually(t, "every node confirms", func() bool {
		r := w.operator("POST", "/api/v1/suppressions", map[string]any{"number": rings})
		return r.status == 200 && strings.Contains(string(r.body), `"known":1`)
	})
	eventually(t, "it rings no more", func() bool { return len(model.Ledger().Live()) == 0 })
}

// Every node refuses a deactivated key once the deactivation is answered. SEMANTICS §12: "the
// deactivation's answer comes after every live node dropped the key".
func TestADeactivatedKeyIsRefusedByEveryNodeFromTheAnswerOn(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 0)
	two := w.at(other.api)
	for range 5 {
		var key struct{ ID, Key string }
		w.operator("POST", "/api/v1/api-keys", map[string]any{"name": "crm", "scopes": []string{"read"}}).expect(201).into(
			&key)
		read := func(status int) {
			t.Helper()
			two.send("GET", "/api/v1/calls", nil, "X-API-Key", key.Key).expect(status)
		}
		read(200) // it is cached there
		w.operator("PATCH", "/api/v1/api-keys/"+key.ID, map[string]any{"is_active": false}).expect(200)
		read(401)
	}
}

func TestANodeThatJoinsLaterGetsCampaigns(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	connectsNoMore(t)
	url, here, there := storetest.URL(t), ports.AddressOf(t), ports.AddressOf(t)
	membership := "automanaged://" + here + "," + there
	w := bringUp(t, &world{url: url, flags: Flags{DatabaseURL: url, Cluster: membership, Node: "one",
		ClusterListen: here}}, tuning{}, 0)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(20 * time.Millisecond)}})
	var ids []engine.CampaignID
	for range 3 {
		id := w.campaign(map[string]any{"concurrency": 3, "always_on": true, "max_attempts": 1})
		w.insist(id, "start")
		w.trigger(id, newNumber(), nil)
		ids = append(ids, id)
	}
	eventually(t, "each has a conversation", func() bool { return len(model.Ledger().Live()) == 3 })
	other := serve(t, url, "--cluster="+membership, "--node=two", "--cluster-listen="+there, "--spool-dir="+t.TempDir(),
		"--recordings-dir="+t.TempDir())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the other node:\n%s", other.log())
		}
	})
	var moved engine.CampaignID
	// After a disturbance nothing is moved for half a minute.
	within(t, 3*patience, "one of them is the other node's", func() bool {
		for _, id := range ids {
			if name, _ := w.ownerOf(id); name == "two" {
				moved = id
			}
		}
		return moved != ""
	})
	w.trigger(moved, newNumber(), nil)
	eventually(t, "it dials there, and the calls that were there go on",
		func() bool { return len(model.Ledger().Live()) == 4 })
	var live string
	w.query("SELECT string_agg('CA' || replace(id::text, '-', ''), ' ') FROM attempts WHERE state <> 'ended'", &live)
	for id := range strings.FieldsSeq(live) {
		w.crm("POST", "/api/v1/calls/"+id+"/hang-up", nil).expect(200)
	}
	eventually(t, "no call is left", func() bool { return len(model.Ledger().Live()) == 0 })
	if n := len(model.Ledger().Calls()); n != 4 {
		t.Errorf("%d calls for 4 contacts", n)
	}
	other.terminate()
}
