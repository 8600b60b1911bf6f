package command

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// sysmonSetting keeps Go's monitor thread from its deep sleep: the setting requests a line about
// the scheduler every 24 days.
const sysmonSetting = "schedtrace=2147483647"

// steadyMonitor restarts the program, in the same process, with a setting that Go only reads at the
// start. A server that handles some thousand small events per second is idle for a moment after
// each. Go's monitor thread goes to sleep with the last idle processor, is woken by the next system
// call, and then polls every 20 µs for a while: a quarter of all CPU time at 300 calls per second.
// Kept from that sleep it polls every 10 ms. A GODEBUG that names schedtrace is left alone. See
// docs/adr/0012-monitor-thread.md.
func steadyMonitor() {
	have := os.Getenv("GODEBUG")
	if runtime.GOOS != "linux" || strings.Contains(have, "schedtrace=") {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	env := make([]string, 0, len(os.Environ())+1)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "GODEBUG=") {
			env = append(env, kv)
		}
	}
	if have != "" {
		have += ","
	}
	// The program also runs without the setting, at a higher cost.
	_ = syscall.Exec(self, os.Args, append(env, "GODEBUG="+have+sysmonSetting)) //nolint:gosec // ourselves
}
