package ownership

import (
	"strings"
	"testing"
	"time"
)

func TestAProcessIsAdmittedUnlessAnotherIsHeardOf(t *testing.T) {
	alone, node := Presence{Life: "me"}, Presence{Life: "me", Cluster: true}
	f := func(why string, me Presence, waited time.Duration, want Admission, others ...Presence) {
		t.Helper()
		if got := Admit(&me, others, waited); got != want {
			t.Errorf("%s: %s, want %s", why, got, want)
		}
	}
	lively, silent := Presence{Life: "a", Silent: time.Second}, Presence{Life: "a", Silent: 3 * time.Second}
	f("the other may just be ending", alone, 0, AskAgain, lively)
	f("the other serves", alone, 500*time.Millisecond, GiveUp, lively)
	f("the other serves, and a node is refused too", node, 500*time.Millisecond, GiveUp, lively)
	f("the other may have lost its machine", alone, 11*time.Second, AskAgain, silent)
	f("the other is silent, but its session lives", alone, 12*time.Second, GiveUp, silent)
	f("one of two is heard of", alone, time.Second, GiveUp, silent, lively)
	f("its own session from before the network was cut", alone, 0, EndOwn, Presence{Life: "me", Silent: time.Hour})
	f("nodes that are heard of speak against one alone", alone, time.Second, GiveUp, Presence{Life: "a", Cluster: true})
	heir := alone
	heir.TakesOver = true
	f("it is to take the other's place", heir, 0, Replace, lively)
	f("and that of one that is silent", heir, 0, Replace, silent)
	f("the other is just starting", heir, 0, AskAgain, Presence{})
	f("the other was just starting", heir, time.Second, GiveUp, Presence{})
	f("nobody takes the place of a node", heir, time.Second, GiveUp, Presence{Life: "a", Cluster: true})
	f("its own session from before", heir, 0, EndOwn, Presence{Life: "me"})
	f("another node does not speak against a node", node, time.Second, AskAgain, silent,
		Presence{Life: "b", Cluster: true})
}

func TestTheRefusalNamesWhoServes(t *testing.T) {
	since := time.Date(2030, 3, 1, 9, 0, 0, 0, time.UTC)
	err := InUse("database d", &Presence{Cluster: true}, []Presence{{Name: "n", Cluster: true},
		{Name: "web-1", Host: "h", PID: 4711, Since: since}})
	for _, want := range []string{"database d", `"web-1"`, "host h", "pid 4711", "since 2030-03-01T09:00:00Z",
		"--cluster"} {
		if !strings.Contains(err.Detail, want) {
			t.Errorf("%q does not name %s", err.Detail, want)
		}
	}
	if !strings.Contains(err.Detail, "--take-over") {
		t.Errorf("%q does not say what else there is", err.Detail)
	}
	err = InUse("database d", &Presence{}, []Presence{{Name: "n", Cluster: true}})
	if strings.Contains(err.Detail, "--take-over") {
		t.Error(err)
	}
	if err := InUse("database d", &Presence{}, []Presence{{}}); err.Code != "database_in_use" ||
		!strings.Contains(err.Detail, "just starting") {
		t.Error(err)
	}
}
