package evidence_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"dialler/engine/campaign"
	"dialler/engine/evidence"
	"dialler/engine/journal"
)

// The cap of a run is the one in force at its end; one that was set afterwards is shown as such.
func TestACapThatIsChangedAfterTheRunIsNotTheRuns(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	var list []evidence.RuleChange
	event := func(run int, kind journal.Type) *evidence.RuleChange {
		n := len(list) + 1
		list = append(list, evidence.RuleChange{Seq: int64(n), Run: run, At: at.Add(time.Duration(n) * time.Hour),
			Type: kind})
		return &list[n-1]
	}
	edit := func(run int, to string) {
		e := event(run, journal.CampaignEdited)
		e.Changes = []campaign.Change{{Field: "abandon_cap_pct", From: []byte("1"), To: []byte(to)}}
	}
	f := func(run, ppm int, caps ...evidence.Cap) {
		t.Helper()
		got, all := evidence.CapsOf(&evidence.Rules{Settings: campaign.Settings{AbandonCapPPM: 7}, Changes: list}, run)
		if got != ppm || len(all) != len(caps) {
			t.Fatalf("run %d: %d %+v, want %d %+v", run, got, all, ppm, caps)
		}
		for i, c := range caps {
			if all[i].Seq != c.Seq || all[i].PPM != c.PPM || all[i].AfterRun != c.AfterRun {
				t.Errorf("run %d: %+v, want %+v", run, all[i], c)
			}
		}
	}
	f(1, 7) // no event says
	event(1, journal.CampaignCreated).Settings = &campaign.Settings{AbandonCapPPM: 30_000}
	edit(1, "2.5")
	event(1, journal.CampaignStarted)
	edit(1, "2.5") // the same
	edit(1, "1.1")
	event(1, journal.CampaignPaused)
	event(1, journal.CampaignCompleted)
	edit(1, "5")
	run1 := []evidence.Cap{{Seq: 1, PPM: 30_000}, {Seq: 2, PPM: 25_000}, {Seq: 5, PPM: 11_000},
		{Seq: 8, PPM: 50_000, AfterRun: true}}
	f(1, 11_000, run1...)
	event(2, journal.CampaignRestarted)
	event(2, journal.CampaignStarted)
	edit(2, "3")
	f(1, 11_000, run1...)
	f(2, 30_000, evidence.Cap{Seq: 8, PPM: 50_000}, evidence.Cap{Seq: 11, PPM: 30_000})
}

// The caps of a record are those of its events: whoever has the key cannot give the run another one.
func TestACapThatNoEventSetIsNotInARecord(t *testing.T) {
	f := func(says, name string, change func(string) string) {
		t.Helper()
		v, err := verify(signedAgain(t, rebuilt(t, file(t), name, change)), nil)
		if err != nil || !strings.Contains(strings.Join(v.Wrong, "\n"), says) {
			t.Errorf("%s: %q, %v", name, v.Wrong, err)
		}
	}
	in := func(old, fresh string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, old) {
				t.Errorf("%s is not there", old)
			}
			return strings.Replace(text, old, fresh, 1)
		}
	}
	const other = "the manifest's abandon caps are not those"
	f(other, evidence.ManifestFile, in(`"abandon_cap_ppm": 50000`, `"abandon_cap_ppm": 30000`))
	f(other, evidence.ManifestFile, in(`"abandon_cap_ppm": 30000`, `"abandon_cap_ppm": 50000`))
	f("an abandon cap of event 5 that the event does not have", evidence.RulesFile, in(`"to": 3`, `"to": 5`))
	f("does not have the abandon cap of event 5", evidence.RulesFile, in("abandon_cap_pct", "max_lines"))
	f("the rate or the cap of event 7", evidence.RateFile, in("500000,30000", "500000,50000"))
}

// signedAgain is a file whose holder of the key says that its parts are as they are.
func signedAgain(t *testing.T, b []byte) []byte {
	t.Helper()
	parts := contents(b)
	var m evidence.Manifest
	if err := json.Unmarshal([]byte(parts[evidence.ManifestFile]), &m); err != nil {
		t.Fatal(err)
	}
	return signedParts(t, m, string(key.Public().PEM()), parts)
}
