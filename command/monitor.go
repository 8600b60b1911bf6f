package command

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// sysmonSetting keeps Go's monitor thread out of its deep sleep: the setting
// asks for a line about the scheduler every 24 days.
const sysmonSetting = "schedtrace=2147483647"

// steadyMonitor starts the program anew, in the same process, with a setting
// that Go reads only at the start. A server that handles some thousand small
// events a second is idle for a moment after each. Go's monitor thread goes to
// sleep with the last idle processor, is woken by the next system call, and
// polls every 20 µs for a while: a quarter of all processor time at 300 calls a
// second. Kept out of that sleep it polls every 10 ms. A GODEBUG that names
// schedtrace is left as it is. See docs/adr/0012-monitor-thread.md.
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
	// Without the setting the program runs as well, at a higher cost.
	_ = syscall.Exec(self, os.Args, append(env, "GODEBUG="+have+sysmonSetting)) //nolint:gosec // ourselves
}
