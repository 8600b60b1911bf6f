package process

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// Three campaigns with a hundred thousand contacts in all, one person in each of them: the console finds
// exactly who has what is typed, and shows the person's story over all three.
func TestAnyoneIsFoundInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	const (
		admin, name = "ada@example.org", "Zoë Quandt"
		campaigns   = 3
	)
	rows := 100_000
	if raceEnabled {
		rows = 10_000
	}
	w.consoleUser(admin, "admin")
	number := newNumber()
	number = number[:len(number)-4] + "9999"
	want := map[string][]string{"9999": {number}, "zoe": {number}, "ZOË quandt": {number}, "Z-777": {number}}
	var ids []engine.CampaignID
	for c := range campaigns {
		id := w.campaign(map[string]any{"name": fmt.Sprintf("Spring renewals %d", c+1), "max_attempts": 1})
		ids = append(ids, id)
		var file strings.Builder
		file.WriteString("phone_number,first_name,last_name,account\n")
		for i := range rows / campaigns {
			n := i*campaigns + c
			fmt.Fprintf(&file, "+4930%07d,Ada%d,Meier,A-%06d\n", n, n, n)
			if hit := fmt.Sprintf("+4930%07d", n); strings.Contains(hit, "9999") {
				want["9999"] = append(want["9999"], hit)
			}
		}
		person := number + ",,,"
		switch c {
		case 0:
			person = number + ",Zoë,Quandt,Z-777"
		case 1:
			person = number + ",Zoë,,B-1"
		}
		file.WriteString(person + "\n")
		w.upload(id, file.String()).expect(201)
	}
	if len(want["9999"]) > 20 || !raceEnabled && len(want["9999"]) != 19 {
		t.Fatalf("%d people have 9999; a search shows 20", len(want["9999"]))
	}
	want[number[len(number)-6:]] = []string{number}

	// They are called, and call back.
	w.policy(map[string]any{"callback_policy": "message"})
	w.ended(w.dialout(number), engine.OutcomeCompleted)
	w.callers(played, number).over()
	eventually(t, "the call back is stored", func() bool { return w.inbounds("NOT live") == 1 })

	expected, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	out := w.browse("people.mjs", "EMAIL", admin, "PASSWORD", browserPassword, "NUMBER", number, "NAME", name,
		"EXPECTED", string(expected), "CAMPAIGN", string(ids[0]), "CAMPAIGN_NAME", "Spring renewals 1",
		"LIMIT_MS", strconv.Itoa(int(patience.Milliseconds())))
	t.Logf("milliseconds from typing to the answer in the browser: %s", out)
	if n := w.rows("contact_search WHERE position('quandt' IN lines) > 0 OR position('" + number[4:] +
		"' IN lines) > 0"); n != 0 {
		t.Errorf("%d rows of the search have what was erased", n)
	}
	w.quiet()
}
