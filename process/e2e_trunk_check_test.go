package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dialler/bench/carrier"
)

// trunkCheck runs dialler trunk check; it returns its exit status and what it said on each stream.
func trunkCheck(t *testing.T, database string, args ...string) (status int, out, said string) {
	t.Helper()
	cmd := program(t, database, append([]string{"trunk", "check", "--sip=127.0.0.1:0"}, args...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // its status says more
	if strings.Contains(stdout.String()+stderr.String(), alicesPassword) {
		t.Errorf("%q: the password is said", args)
	}
	return cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// A carrier, or what is in its place, and the exit status and the sentence of its fault.
func TestATrunkCheckHasASentenceAndAnExitStatusForEachFault(t *testing.T) {
	t.Parallel()
	f := func(want int, code, sentence string, args ...string) {
		t.Helper()
		status, out, said := trunkCheck(t, "", args...)
		if status != want || !strings.Contains(out, sentence) || (code == "") != (said == "") ||
			!strings.HasPrefix(said, strings.Repeat("dialler: "+code+": ", min(1, len(code)))) {
			t.Errorf("%q: %d, want %d\n%s%s", args, status, want, out, said)
		}
	}
	model := func(c carrier.Config) string {
		t.Helper()
		c.Listen = "127.0.0.1:0"
		m, err := carrier.Start(c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m.Addr()
	}
	file := func(at, fields string) string {
		host, port, err := splitHostPort(at)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "dialler.yaml")
		text := fmt.Sprintf("trunks:\n  - {id: a, host: %s, port: %d%s}\n", host, port, fields)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "--config=" + path
	}
	plain := model(carrier.Config{})
	f(0, "", "answers (200 OK)", "sip:"+plain)
	f(0, "", "can be connected to", "sip:"+plain+";transport=tcp")
	f(0, "", "answers (200 OK)", "a", file(plain, ""))
	f(10, "trunk_dns", "nowhere.invalid has no address", "sip:nowhere.invalid:5060")

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close() // no TLS is spoken here
		}
	}()
	f(12, "trunk_tls", "no connection over TLS", "sips:"+l.Addr().String())
	_ = l.Close()
	f(11, "trunk_unreachable", "cannot be connected to: ", "sip:"+l.Addr().String()+";transport=tcp")

	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	f(13, "trunk_silent", "answers no OPTIONS within 300ms", "sip:"+silent.LocalAddr().String(), "--timeout=300ms")

	account := model(carrier.Config{Credentials: &carrier.Credentials{Username: alice, Password: alicesPassword}})
	const registered = ", kind: registered, username: " + alice + ", password: "
	f(0, "", "the registrar takes user name and password", "a", file(account, registered+alicesPassword))
	f(14, "trunk_credentials", "the registrar refuses user name and password", "a", file(account, registered+"wrong"))
	f(15, "trunk_refused", "out of service (503", "sip:"+model(carrier.Config{Options: 503}))
	f(16, "trunk_nat", "sees us at 127.0.0.1, and we say 203.0.113.9", "sip:"+plain, "--sip-external=203.0.113.9")

	for want, args := range map[string][]string{
		"no configuration file has the trunk nobody, and the database: database_missing": {"nobody", file(plain, ""),
			"--data-dir=" + t.TempDir()},
		"is no address of a trunk": {"sip:"},
	} {
		if status, _, said := trunkCheck(t, "", args...); status != 1 || !strings.Contains(said, want) {
			t.Errorf("%q: %d %s", args, status, said)
		}
	}
}

func TestATrunkCheckFindsTheTrunkInTheDatabaseAndLeavesTheDiallerAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 0)
	model := w.carrier(carrier.Config{Credentials: &carrier.Credentials{Username: alice, Password: alicesPassword}})
	host, port, err := splitHostPort(model.Addr())
	if err != nil {
		t.Fatal(err)
	}
	w.trunk("model", host, port, asRegistered)
	registered(&sipCall{world: w})
	if status, _, said := trunkCheck(t, w.url, "nobody"); status != 1 || !strings.Contains(said, "trunk_not_found") {
		t.Errorf("%d %s", status, said)
	}
	status, out, said := trunkCheck(t, w.url, "model", "--json")
	var got struct {
		Trunk    string
		OK       bool
		Code     string
		Findings []TrunkFinding
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || status != 0 || !got.OK || got.Code != "" ||
		got.Trunk != "model" {
		t.Fatalf("%d: %v\n%s%s", status, err, out, said)
	}
	if last := got.Findings[len(got.Findings)-1]; last.Step != "nat" || last.Fault != "" || last.Detail == "" {
		t.Errorf("%+v", got.Findings)
	}
	for _, r := range w.p.sip.Registrations() {
		if !r.Registered || r.Code != 200 {
			t.Errorf("%+v", r)
		}
	}
}
