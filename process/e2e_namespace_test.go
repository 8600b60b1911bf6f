package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/engine"
	"dialler/persistence/storetest"
)

// inNamespace is set, to the test's database, in the process that has a network of its own:
// PostgreSQL is reached by a socket in the file system.
const inNamespace = "DIALLER_TEST_NAMESPACE_DATABASE"

// unshared runs a command in its own network namespace, as root there.
func unshared(args ...string) *exec.Cmd {
	how := "-n"
	if os.Geteuid() != 0 {
		how = "-Urn"
	}
	return exec.Command("unshare", append([]string{how}, args...)...)
}

// hasItsOwnNetwork runs the test in a process in its own network namespace; done says that this was
// the outer process.
func hasItsOwnNetwork(t *testing.T) (done bool) {
	t.Helper()
	mark := "in a network of its own: " + t.Name()
	if os.Getenv(inNamespace) != "" {
		fmt.Println(mark)
		return false
	}
	if out, err := unshared("sh", "-c", "ip link set lo up && ip link add here type veth peer name there && unshare -n "+
		"true").CombinedOutput(); err != nil {
		t.Skipf("no networks of the test's own can be made; it needs unshare and ip, and root or unprivileged namespaces: "+
			"%v %s", err, out)
	}
	cmd := unshared(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=5m", "-test.v")
	cmd.Env = append(os.Environ(), inNamespace+"="+storetest.URL(t))
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte(mark)) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// ip runs a command that sets the network up.
func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v %s", strings.Join(args, " "), err, out)
	}
}

// Addresses of the test's two machines.
const (
	diallersAddress = "10.77.0.1"
	botsAddress     = "10.77.0.2"
)

// botElsewhere starts a model bot on a machine of its own, one wire away.
func botElsewhere(t *testing.T, cfg bot.Config) (socket string) {
	t.Helper()
	const port = ":5080"
	spec, err := json.Marshal(cfg)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "bot.json")
	if err := os.WriteFile(file, spec, 0o600); err != nil {
		t.Fatal(err)
	}
	script := "read wired && ip addr add " + botsAddress +
		"/24 dev there && ip link set there up && ip link set lo up && exec \"$@\""
	cmd := exec.Command("unshare", "-n", "sh", "-c", script, "sh", os.Args[0], "bench", "bot",
		"--listen="+botsAddress+port, "--spec="+file)
	cmd.Env = append(os.Environ(), AsProgram+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the bot says:\n%s", said.String())
		}
	})
	ip(t, "link", "set", "lo", "up")
	ip(t, "link", "add", "here", "type", "veth", "peer", "name", "there")
	ip(t, "addr", "add", diallersAddress+"/24", "dev", "here")
	ip(t, "link", "set", "here", "up")
	own := fmt.Sprintf("/proc/%d/ns/net", cmd.Process.Pid)
	eventually(t, "the bot has a network of its own", func() bool {
		mine, err := os.Readlink("/proc/self/ns/net")
		its, err2 := os.Readlink(own)
		return err == nil && err2 == nil && mine != its
	})
	ip(t, "link", "set", "there", "netns", fmt.Sprint(cmd.Process.Pid))
	if _, err := io.WriteString(in, "wired\n"); err != nil {
		t.Fatal(err)
	}
	return "ws://" + botsAddress + port + "/media"
}

// A dialler that listens on all addresses must not give bots "all addresses" as the one to post
// results to.
func TestABotOnAnotherMachinePostsItsResultToADiallerThatListensOnAllAddresses(t *testing.T) {
	t.Parallel()
	if hasItsOwnNetwork(t) {
		return
	}
	c := conversation(300 * time.Millisecond)
	socket := botElsewhere(t, bot.Config{AuthToken: ourToken, AllowRemote: true, Conversations: []bot.Conversation{c},
		ResultTries: 2})
	database := os.Getenv(inNamespace)
	w := bringUp(t, &world{url: database, flags: Flags{DatabaseURL: database, ListenHTTP: "0.0.0.0:0"}}, tuning{}, 0)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.operator("PUT", "/api/v1/bots/"+ourBot, map[string]any{"name": "Anna", "seats": 10, "endpoints": []string{socket},
		"auth_token": ourToken, "account": ourAccount}).expect(200)
	// The bot in the other network may still be starting.
	var id engine.CallID
	eventually(t, "the bot takes a call", func() bool {
		a := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber()})
		if a.status != 201 {
			return false
		}
		var rep struct {
			CallID engine.CallID `json:"call_id"`
		}
		a.into(&rep)
		id = rep.CallID
		return true
	})
	if got := w.ended(id, engine.OutcomeCompleted); got.Disposition != "interested" {
		t.Errorf("%+v", got)
	}
	// The error for another address names the setting for it.
	u, err := url.Parse(w.p.URL())
	if err != nil {
		t.Fatal(err)
	}
	if log := w.log.String(); !strings.Contains(log, `"result_url":"http://`+diallersAddress+":"+u.Port()+`"`) ||
		!strings.Contains(log, "--public-url") {
		t.Errorf("the log does not name the address and --public-url:\n%s", w.log.without("migration"))
	}
}
