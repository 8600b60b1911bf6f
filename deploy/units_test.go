package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// exposureCap is the highest exposure level that systemd-analyze may report, out of 100: it calls
// 20 OK.
const exposureCap = "20"

// units copies the units to a folder and replaces their program by an existing one.
func units(t *testing.T) (dir string, services []string) {
	t.Helper()
	dir = t.TempDir()
	for _, pattern := range []string{"*.service", "*.timer"} {
		files, err := filepath.Glob(filepath.Join("systemd", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("no %s: %v", pattern, err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			to := filepath.Join(dir, filepath.Base(f))
			if err := os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "/usr/local/bin/dialler", "/bin/true")),
				0o600); err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(f, ".service") {
				services = append(services, to)
			}
		}
	}
	return dir, services
}

func TestSystemdTakesTheUnitsAndFindsThemHardened(t *testing.T) {
	t.Parallel()
	dir, services := units(t)
	all, _ := filepath.Glob(filepath.Join(dir, "*"))
	if said := tool(t, "systemd-analyze", append([]string{"verify", "--man=no"}, all...)...); strings.Contains(said, dir) {
		t.Errorf("systemd has doubts: %s", said)
	}
	for _, s := range services {
		tool(t, "systemd-analyze", "security", "--no-pager", "--offline=true", "--threshold="+exposureCap, s)
	}
}

// A command without the service's settings would work on another database.
func TestEveryUnitGoesByTheSettingsOfTheService(t *testing.T) {
	t.Parallel()
	_, services := units(t)
	for _, s := range services {
		text, err := os.ReadFile(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`(?m)^ExecStart=\S+ .*--config /etc/dialler/dialler\.yaml`,
			`(?m)^EnvironmentFile=-/etc/dialler/dialler\.env$`, `(?m)^Environment=DIALLER_DATA_DIR=/var/lib/dialler`} {
			if !regexp.MustCompile(want).Match(text) {
				t.Errorf("%s has no %s", filepath.Base(s), want)
			}
		}
	}
}

func TestTheServiceIsGivenTheTimeThatADrainTakes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("systemd/dialler.service")
	if err != nil {
		t.Fatal(err)
	}
	drain := regexp.MustCompile(`DIALLER_DRAIN_TIMEOUT=(\w+)`).FindSubmatch(text)
	stop := regexp.MustCompile(`(?m)^TimeoutStopSec=(\w+)$`).FindSubmatch(text)
	if drain == nil || stop == nil {
		t.Fatal("the unit does not say how long a drain and a stop may take")
	}
	d, err1 := time.ParseDuration(string(drain[1]))
	s, err2 := time.ParseDuration(string(stop[1]) + "s")
	if err1 != nil || err2 != nil || s < d+20*time.Second {
		t.Errorf("a drain may take %s, a stop %s: the end of a drain would be a kill", drain[1], stop[1])
	}
	for _, want := range []string{"KillMode=mixed", "User=dialler", "LimitNOFILE=", "EnvironmentFile=", "ExecReload="} {
		if !strings.Contains(string(text), "\n"+want) {
			t.Errorf("the unit has no %s", want)
		}
	}
}
