package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"dialler/bench/carrier"
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
	// A desktop without the opener: the address is printed, that is enough.
	openPage("http://127.0.0.1:1/", func(string) string { return ":0" }, func(string) (string, error) { return "", errors.New("not installed") })
}

func TestCampaignsOfAnInterruptedSandboxAreStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Busy()}})
	running, paused, draft := w.running(nil), w.running(map[string]any{"name": "Paused"}), w.campaign(map[string]any{"name": "Draft"})
	w.act(paused, "pause").expect(200)
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	if err := endEarlier(t.Context(), w.p, say); err != nil {
		t.Fatal(err)
	}
	if a, b, c := w.detail(running).Status, w.detail(paused).Status, w.detail(draft).Status; a != "completed" || b != "completed" || c != "draft" || len(said) != 2 {
		t.Errorf("%s, %s, %s; %q", a, b, c, said)
	}
	if err := endEarlier(t.Context(), w.p, say); err != nil || len(said) != 2 {
		t.Errorf("once more: %v, %q", err, said)
	}
}
