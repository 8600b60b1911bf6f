package command

import (
	"errors"
	"testing"
)

func TestTheConsoleIsOpenedOnlyWhereSomebodySeesIt(t *testing.T) {
	f := func(system string, env map[string]string, want string) {
		t.Helper()
		if got := opener(system, func(name string) string { return env[name] }); got != want {
			t.Errorf("%s %v: %q, want %q", system, env, got, want)
		}
	}
	f("linux", nil, "")
	f("linux", map[string]string{"DISPLAY": ":0"}, "xdg-open")
	f("linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, "xdg-open")
	f("freebsd", map[string]string{"DISPLAY": ":0"}, "xdg-open")
	f("darwin", nil, "open")
	// A desktop without an opener: printing the address is enough.
	openPage("http://127.0.0.1:1/", func(string) string { return ":0" },
		func(string) (string, error) { return "", errors.New("not installed") })
}
