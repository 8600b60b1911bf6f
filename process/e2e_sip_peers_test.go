package process

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dialler/bench/ports"
	"dialler/engine"
)

// Kamailio, a proxy, and baresip, a softphone, are independent implementations, as SIPp is.

// peer is a third-party program that a test runs.
type peer struct {
	t    *testing.T
	name string
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  bytes.Buffer
	done chan struct{}
}

func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *peer) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// startPeer runs a program in its own process group, which ends with the test.
func startPeer(t *testing.T, name, paths string, args ...string) *peer {
	t.Helper()
	path, err := exec.LookPath(name)
	for dir := range strings.FieldsSeq(paths) {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, name))
		}
	}
	if err != nil {
		t.Fatalf("%s is not installed; make deps installs it (Debian package %s)", name, name)
	}
	p := &peer{t: t, name: name, done: make(chan struct{})}
	p.cmd = exec.CommandContext(t.Context(), path, args...)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(3 * time.Second):
		}
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
		if t.Failed() {
			said := p.said()
			t.Logf("%s:\n%s", name, said[max(0, len(said)-12000):])
		}
	})
	return p
}

// ready waits for the line that shows that the program is up.
func (p *peer) ready(line string) {
	p.t.Helper()
	eventually(p.t, p.name+" is up", func() bool {
		select {
		case <-p.done:
			p.t.Fatalf("%s ended at once", p.name)
		default:
		}
		return strings.Contains(p.said(), line)
	})
}

// softphone is a baresip that answers every call, plays a tone of phoneTone Hz and records what it
// hears.
type softphone struct {
	*peer
	user string
	port int // UDP and TCP; TLS is on the next port up
	dir  string
}

const phoneTone, botTone = 440, 1000 // Hz

// startSoftphone starts baresip. account is a list of account parameters (";mediaenc=srtp"), config
// further lines of its configuration.
func startSoftphone(t *testing.T, user, account, config string) *softphone {
	t.Helper()
	return startSoftphoneAt(t, "127.0.0.1", user, account, config)
}

// startSoftphoneAt starts one at another address.
func startSoftphoneAt(t *testing.T, host, user, account, config string) *softphone {
	t.Helper()
	s := &softphone{user: user, port: ports.Of(t), dir: t.TempDir()}
	modules := ""
	for _, dir := range []string{"/usr/lib/baresip/modules", "/usr/local/lib/baresip/modules"} {
		if _, err := os.Stat(filepath.Join(dir, "sndfile.so")); err == nil {
			modules = dir
		}
	}
	if modules == "" {
		t.Fatal("baresip has no modules here; make deps installs them (Debian package baresip)")
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("tone.wav", string(toneFile(phoneTone, 20*time.Second)))
	at := strings.TrimSuffix(net.JoinHostPort(host, ""), ":")
	write("accounts", fmt.Sprintf("<sip:%s@%s>;regint=0;answermode=auto%s\n", user, at, account))
	write("config", fmt.Sprintf(`poll_method epoll
sip_listen %s:%d
net_interface %s
call_max_calls 4
audio_source aufile,%s/tone.wav
audio_player aubridge,nobody
audio_alert aubridge,nobody
ausrc_srate 8000
auplay_srate 8000
ausrc_channels 1
auplay_channels 1
rtp_ports %d-%d
module_path %s
module g711.so
module g722.so
module srtp.so
module aubridge.so
module aufile.so
module sndfile.so
module_tmp account.so
module_app menu.so
snd_path %s
%s
`, at, s.port, host, s.dir, s.port+100, s.port+120, modules, s.dir, config))
	s.peer = startPeer(t, "baresip", "", "-f", s.dir, "-v", "-s")
	s.ready("baresip is ready.")
	return s
}

// heard gives the samples that baresip decoded, and their rate.
func (s *softphone) heard() (pcm []int16, rate int) {
	s.t.Helper()
	files, _ := filepath.Glob(filepath.Join(s.dir, "*-dec.wav"))
	if len(files) != 1 {
		s.t.Fatalf("baresip wrote %v", files)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		s.t.Fatal(err)
	}
	i := bytes.Index(raw, []byte("data"))
	if i < 0 {
		s.t.Fatal("no WAV file")
	}
	rate = int(binary.LittleEndian.Uint32(raw[24:]))
	raw = raw[i+8:]
	pcm = make([]int16, len(raw)/2)
	for i := range pcm {
		pcm[i] = int16(binary.LittleEndian.Uint16(raw[2*i:]))
	}
	return pcm, rate
}

// proxy is a Kamailio that challenges INVITEs, records its route and relays to one far side.
type proxy struct {
	*peer
	port int
}

// startProxy starts Kamailio before a user at a host:port; with a certificate it listens for TLS on the next port.
// What comes in a dialog without a Route goes on by its Request-URI: SIPp's scenarios write none.
func startProxy(t *testing.T, user, next, certificate string) *proxy {
	t.Helper()
	p := &proxy{port: ports.Of(t)}
	modules, _ := filepath.Glob("/usr/lib/*/kamailio/modules")
	if len(modules) == 0 {
		t.Fatal("Kamailio has no modules here; make deps installs them (Debian package kamailio)")
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "kamailio.cfg")
	secure := ""
	if certificate != "" {
		secure = fmt.Sprintf("enable_tls=yes\nlisten=tls:127.0.0.1:%d\nloadmodule \"tls.so\"\nmodparam(\"tls\", "+
			"\"tls_method\", \"TLSv1.2+\")\nmodparam(\"tls\", \"private_key\", %q)\n"+
			"modparam(\"tls\", \"certificate\", %q)\n", p.port+1, certificate, certificate)
	}
	text := strings.NewReplacer("SECURE", secure, "PORT", strconv.Itoa(p.port), "MODULES", modules[0], "NEXT", next,
		"USER", user).Replace(proxyConfig)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.peer = startPeer(t, "kamailio", "/usr/sbin /usr/local/sbin", "-DD", "-E", "-f", conf, "-m", "64", "-M", "8", "-Y",
		dir, "-w", dir)
	eventually(t, "Kamailio answers", func() bool {
		select {
		case <-p.done:
			t.Fatal("Kamailio ended at once")
		default:
		}
		c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(p.port))
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	return p
}

const proxyConfig = `#!KAMAILIO
debug=2
log_stderror=yes
children=1
tcp_children=1
auto_aliases=no
listen=udp:127.0.0.1:PORT
listen=tcp:127.0.0.1:PORT
mpath="MODULES"
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "maxfwd.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "auth.so"
loadmodule "xlog.so"
loadmodule "nathelper.so"
SECURE
reply_route {
	if (is_present_hf("Contact")) set_contact_alias();
	return 1;
}
request_route {
	xlog("L_NOTICE", "$rm $ru from $si $proto: route $hdr(Route)\n");
	if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
	if (has_totag()) {
		if (loose_route()) {
			handle_ruri_alias();
		} else if (is_method("ACK")) {
			t_check_trans(); # ends here where it is of a refusal
		}
		t_relay();
		exit;
	}
	if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
	if (is_method("OPTIONS")) { sl_send_reply("200", "Alive"); exit; }
	if (!is_method("INVITE")) { sl_send_reply("405", "Method Not Allowed"); exit; }
	if (!pv_proxy_authenticate("carrier.test", "` + alicesPassword + `", "0")) {
		proxy_challenge("carrier.test", "1");
		exit;
	}
	consume_credentials();
	record_route();
	$ru = "sip:USER@NEXT";
	t_relay();
}
`

// talkedWith places a call for a bot that posts no result, and waits for its end.
func (w *world) talkedWith(bot *toneBot, to string) sipCall {
	w.t.Helper()
	var rep struct {
		CallID engine.CallID `json:"call_id"`
	}
	w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": bot.id, "to_number": to}).expect(201).into(&rep)
	w.ended(rep.CallID, engine.OutcomeConnectedNoResult)
	c := sipCall{world: w, to: to, row: w.stored(rep.CallID)}
	if c.row.SIPCode != 200 || c.row.HungUpBy != engine.PartyBot || c.row.Quality == nil ||
		c.row.Quality.PacketsReceived < 20 {
		w.t.Errorf("row: SIP %d, hung up by %s, quality %+v", c.row.SIPCode, c.row.HungUpBy, c.row.Quality)
	}
	w.quiet()
	return c
}
