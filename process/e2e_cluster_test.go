package process

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/contact"
	"dialler/persistence/storetest"
)

// inCluster is held while the process of a test is a node: nodes need many CPUs.
var inCluster sync.Mutex

// alone names the test that has a process to itself.
const alone = "DIALLER_TEST_ALONE"

// hasItsOwnProcess runs a cluster's test in another process, and says that it did. The library for
// messages between nodes sets a global logger without a lock when a node starts: a process must not
// start a second node after the first.
func hasItsOwnProcess(t *testing.T) bool {
	t.Helper()
	if os.Getenv(alone) != t.Name() {
		inCluster.Lock()
		defer inCluster.Unlock()
	}
	return measuresItsProcess(t, 5*time.Minute)
}

// measuresItsProcess runs a test of the memory or the goroutines of its process in another process,
// beside other tests, and says that it did. under is a program that runs it, with its arguments.
func measuresItsProcess(t *testing.T, limit time.Duration, under ...string) bool {
	t.Helper()
	mark := "alone: " + t.Name()
	if os.Getenv(alone) == t.Name() {
		fmt.Println(mark)
		return false
	}
	line := slices.Concat(under, []string{os.Args[0], "-test.run=^" + t.Name() + "$", "-test.timeout=" + limit.String()})
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Env = append(os.Environ(), alone+"="+t.Name())
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(mark)) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// connectsNoMore waits at the end of a test until the library's pause after connecting to a dead
// node is over: two seconds, which stopping does not cut short. Other tests may make such
// connections all the time.
func connectsNoMore(t *testing.T) {
	t.Cleanup(func() {
		deadline, tick := time.After(5*time.Second), time.NewTicker(50*time.Millisecond)
		defer tick.Stop()
		buf := make([]byte, 4<<20)
		for bytes.Contains(buf[:runtime.Stack(buf, true)], []byte("remote.(*endpointWriter).initialize")) {
			select {
			case <-tick.C:
			case <-deadline:
				return
			}
		}
	})
}

// newClusterWorld is a world whose process is one of two nodes; the other is a separate program,
// which a test may kill.
func newClusterWorld(t *testing.T, talk time.Duration, change ...func(*Flags)) (w *world, other *running) {
	t.Helper()
	return newClusterWorldOn(t, storetest.URL(t), talk, change...)
}

// newClusterWorldOn is newClusterWorld on a database of the test's own.
func newClusterWorldOn(t *testing.T, url string, talk time.Duration,
	change ...func(*Flags)) (w *world, other *running) {
	t.Helper()
	connectsNoMore(t)
	here, there := ports.AddressOf(t), ports.AddressOf(t)
	membership := "automanaged://" + here + "," + there
	flags := Flags{DatabaseURL: url, Cluster: membership, Node: "one", ClusterListen: here}
	for _, f := range change {
		f(&flags)
	}
	w = bringUp(t, &world{url: url, flags: flags}, tuning{}, talk)
	recordings := t.TempDir()
	other = serve(t, url, "--cluster="+membership, "--node=two", "--cluster-listen="+there, "--spool-dir="+t.TempDir(),
		"--recordings-dir="+recordings)
	other.recordings = recordings
	t.Cleanup(func() {
		_ = other.cmd.Process.Kill()
		<-other.read
		_ = other.cmd.Wait()
		if t.Failed() {
			t.Logf("log of the other node:\n%s", other.log())
		}
	})
	eventually(t, "both nodes are there", func() bool {
		var n int
		w.query("SELECT count(*) FROM nodes WHERE left_at IS NULL AND expires_at > now()", &n)
		return n == 2
	})
	return w, other
}

// ownerOf is the name of the node that owns a campaign, "" when none does.
func (w *world) ownerOf(id engine.CampaignID) (name string, epoch int64) {
	w.t.Helper()
	w.query(`SELECT coalesce(max(n.name), ''), coalesce(max(o.epoch), 0) FROM owners o JOIN nodes n USING (incarnation)
		WHERE o.kind = 'campaign' AND o.identity = '`+string(id)+`' AND n.left_at IS NULL
			AND n.expires_at > clock_timestamp()`, &name, &epoch)
	return name, epoch
}

// campaignOf returns a campaign that the named node owns.
func (w *world) campaignOf(node string, change map[string]any) engine.CampaignID {
	w.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); { // this node may not know of the other one yet
		var c struct {
			ID engine.CampaignID `json:"campaign_id"`
		}
		r := w.operator("POST", "/api/v1/campaigns", settings(change))
		if r.status == 503 { // the other node is slow to answer the first time
			continue
		}
		r.expect(201).into(&c)
		if name, _ := w.ownerOf(c.ID); name == node {
			return c.ID
		}
	}
	w.t.Fatalf("node %s never becomes the owner of a campaign", node)
	return ""
}

// insist repeats a command that another node did not answer in time: it is then unknown whether it
// was carried out.
func (w *world) insist(id engine.CampaignID, action string) {
	w.t.Helper()
	repeated := false
	eventually(w.t, action+" is answered", func() bool {
		r := w.act(id, action)
		if r.status == 503 {
			repeated = true
			return false
		}
		if r.status != 200 && (!repeated || r.status != 409) {
			w.t.Fatalf("%s: %s", action, r)
		}
		return true
	})
}

// Any node answers any API call; a campaign whose node is killed continues on another one within
// ten seconds, and nobody is called twice.
func TestANodeThatIsKilledIsReplaced(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 300*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(200 * time.Millisecond)}})
	settings := map[string]any{"concurrency": 3, "always_on": true, "max_attempts": 1}
	theirs, ours := w.campaignOf("two", settings), w.campaignOf("one", settings)
	numbers := map[engine.CampaignID]int{}
	for _, id := range []engine.CampaignID{theirs, ours} {
		w.insist(id, "start")
		for range 10 {
			w.trigger(id, newNumber(), nil)
			numbers[id]++
		}
	}
	eventually(t, "both campaigns dial", func() bool {
		return w.detail(theirs).Counters.Completed > 2 && w.detail(ours).Counters.Completed > 2
	})
	// The console of this node shows the activity of the other one.
	eventually(t, "both show what they do", func() bool {
		return w.detail(theirs).Live != nil && w.detail(ours).Live != nil
	})
	_, before := w.ownerOf(theirs)

	killed := time.Now()
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "this node takes over", func() bool { name, _ := w.ownerOf(theirs); return name == "one" })
	took := time.Since(killed)
	if _, after := w.ownerOf(theirs); after != before+1 {
		t.Errorf("epoch %d after %d", after, before)
	}
	t.Logf("taken over after %v", took)
	w.trigger(theirs, newNumber(), nil)
	numbers[theirs]++
	for _, id := range []engine.CampaignID{theirs, ours} {
		w.insist(id, "pause")
		w.insist(id, "resume")
		// The calls of the killed node are in limbo for half a minute, with their seats.
		within(t, 3*patience, "everybody was called", func() bool {
			c := w.detail(id).Counters
			// Connected: the bot posts its result to the node of the call, which may be the killed
			// one.
			return c.Total == numbers[id] && c.Completed+c.Failed+c.Abandoned+c.Unanswered+
				c.States[contact.Connected] >= numbers[id]
		})
	}
	eventually(t, "no call is left", func() bool { return len(model.Ledger().Live()) == 0 })
	ledger := model.Ledger().Calls()
	if twice := ledger.DuplicateInvites(); len(twice) > 0 {
		t.Errorf("dialled twice: %v", twice)
	}
	if over := ledger.Overlaps(); len(over) > 0 {
		t.Errorf("overlapping calls: %v", over)
	}
}

// A drained node hands its campaigns to the others at once: they are dialled there, while the
// node's own calls finish on it with their results.
func TestANodeThatIsDrainedHandsItsCampaignsOn(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 0) // until the callees hang up
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(200 * time.Millisecond)}})
	id := w.campaignOf("two", map[string]any{"concurrency": 6, "always_on": true, "max_attempts": 1})
	w.insist(id, "start")
	for range 3 {
		w.trigger(id, newNumber(), nil)
	}
	eventually(t, "three conversations", func() bool { d := w.detail(id); return d.Live != nil && d.Live.InProgress == 3 })
	before := model.Ledger().Live()
	if err := other.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "this node acts for it", func() bool { name, _ := w.ownerOf(id); return name == "one" })
	w.trigger(id, newNumber(), nil)
	eventually(t, "it dials while the old calls go on", func() bool { return len(model.Ledger().Calls()) == 4 })
	if live := model.Ledger().Live(); len(live) < len(before) {
		t.Errorf("%d calls are live after the hand-over, %d were", len(live), len(before))
	}
	eventually(t, "all four talk", func() bool {
		talk := 0
		for _, s := range w.bot.Sessions() {
			if s.FramesIn > 0 && s.EndedAt.IsZero() {
				talk++
			}
		}
		return talk == 4
	})
	for _, c := range model.Ledger().Live() {
		model.HangUp(c.CallID)
	}
	eventually(t, "everybody was called, once and whole", func() bool {
		c := w.detail(id).Counters
		return c.Completed == 4 && c.Attempts == 4
	})
	<-other.read
	if err := other.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	if n := len(model.Ledger().Calls()); n != 4 {
		t.Errorf("%d calls for 4 contacts", n)
	}
}
