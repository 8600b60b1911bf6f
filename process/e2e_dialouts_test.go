package process

import (
	"encoding/json"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/bench/ports"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// dialoutAt asks for a call at a time from now.
func (w *world) dialoutAt(to string, in time.Duration, fields map[string]any) (rep campaign.DialoutReply) {
	w.t.Helper()
	body := map[string]any{"bot_id": ourBot, "to_number": to,
		"not_before": time.Now().Add(in).Truncate(time.Microsecond).Format(time.RFC3339Nano)}
	for k, v := range fields {
		body[k] = v
	}
	w.crm("POST", "/api/v1/sip/dialout", body).expect(202).into(&rep)
	return rep
}

// waiting is what a call shows that waits for its time.
type waiting struct {
	State     string
	Outcome   engine.Outcome
	StartedAt *time.Time `json:"started_at"`
	Scheduled *struct {
		NotBefore time.Time `json:"not_before"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	Explanation struct {
		Code   string
		NextAt *time.Time `json:"next_at"`
	}
}

func (w *world) waiting(id engine.CallID) (c waiting) {
	w.t.Helper()
	w.crm("GET", "/api/v1/calls/"+string(id), nil).expect(200).into(&c)
	return c
}

// invites are the calls to a number at the carrier.
func invites(m *carrier.Carrier, to string) (list []carrier.Call) {
	for _, c := range m.Ledger().Calls() {
		if c.Number.E164() == to {
			list = append(list, c)
		}
	}
	return list
}

// calledAt says that a number was called once, at its time.
func (w *world) calledAt(m *carrier.Carrier, to string, at time.Time, late time.Duration) {
	w.t.Helper()
	list := invites(m, to)
	if len(list) != 1 || list[0].InviteAt.Before(at) || list[0].InviteAt.After(at.Add(late)) {
		w.t.Errorf("called %d times, at %v, want once within %s of %s", len(list), list, late, at)
	}
}

// onTime is how late a call may be on a busy machine; a second is the aim.
const onTime = 3 * time.Second

func TestADialoutIsPlacedAtItsTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	to := newNumber()
	rep := w.dialoutAt(to, 2*time.Second, nil)
	if c := w.waiting(rep.CallID); c.State != "scheduled" || c.Scheduled == nil || c.StartedAt != nil ||
		!c.Scheduled.NotBefore.Equal(*rep.NotBefore) || !c.Scheduled.ExpiresAt.Equal(rep.NotBefore.Add(time.Hour)) ||
		c.Explanation.Code != "not_before" || c.Explanation.NextAt == nil {
		t.Errorf("%+v", c)
	}
	var listed struct {
		Calls []struct {
			CallID engine.CallID `json:"call_id"`
			State  string
		}
	}
	w.operator("GET", "/api/v1/calls", nil).expect(200).into(&listed)
	if len(listed.Calls) != 1 || listed.Calls[0].CallID != rep.CallID || listed.Calls[0].State != "scheduled" {
		t.Errorf("%+v", listed)
	}
	w.ended(rep.CallID, engine.OutcomeCompleted)
	w.calledAt(model, to, *rep.NotBefore, onTime)
	if r := w.crm("DELETE", "/api/v1/calls/"+string(rep.CallID), nil); r.status != 409 || r.code() != "dialout_placed" {
		t.Errorf("cancelled after its call: %s", r)
	}
	// The same request again is answered with the same call, and places no other.
	body := map[string]any{"bot_id": ourBot, "to_number": newNumber(),
		"not_before": time.Now().Add(time.Hour).Format(time.RFC3339)}
	var first, again campaign.DialoutReply
	w.crm("POST", "/api/v1/sip/dialout", body, "Idempotency-Key", "later").expect(202).into(&first)
	w.crm("POST", "/api/v1/sip/dialout", body, "Idempotency-Key", "later").expect(202).into(&again)
	if first.CallID != again.CallID || w.rows("scheduled_dialouts") != 1 {
		t.Errorf("%s and %s", first.CallID, again.CallID)
	}
	refused := w.crm("POST", "/api/v1/sip/dialout", map[string]any{"bot_id": ourBot, "to_number": newNumber(),
		"not_before": time.Now().Add(-time.Hour).Format(time.RFC3339)}).expect(422)
	if !strings.Contains(string(refused.body), "a valid one is") {
		t.Errorf("%s", refused.body)
	}
}

func TestADialoutThatIsCancelledExpiresOrIsSuppressedIsNotPlaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{webhookEvery: 50 * time.Millisecond}, 100*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	in := newIntegrator(t)
	w.hook(in.URL, map[string]any{"types": []string{"dialout.ended"}})
	soon := 2 * time.Second
	cancelled, hungUp := w.dialoutAt(newNumber(), soon, nil), w.dialoutAt(newNumber(), soon, nil)
	w.crm("DELETE", "/api/v1/calls/"+string(cancelled.CallID), nil).expect(200)
	w.crm("POST", "/api/v1/calls/"+string(hungUp.CallID)+"/hang-up", nil).expect(200)
	asked := newNumber()
	blocked := w.dialoutAt(asked, soon, nil)
	w.operator("POST", "/api/v1/suppressions", map[string]any{"numbers": []string{asked}}).expect(200)
	// Its bot takes no calls.
	w.operator("PUT", "/api/v1/bots/idle", map[string]any{"name": "Idle", "endpoints": []string{"ws://127.0.0.1:1/x"},
		"seats": 1, "active": true})
	expired := w.dialoutAt(newNumber(), time.Second, map[string]any{"bot_id": "idle",
		"expires_at": time.Now().Add(4 * time.Second).Format(time.RFC3339Nano)})
	w.operator("PUT", "/api/v1/bots/idle", map[string]any{"name": "Idle", "endpoints": []string{"ws://127.0.0.1:1/x"},
		"seats": 1, "active": false})
	eventually(t, "it says for what it waits", func() bool {
		return w.waiting(expired.CallID).Explanation.Code == "bot_inactive"
	})
	gone := newNumber()
	erased := w.dialoutAt(gone, time.Hour, map[string]any{"variables": map[string]string{"name": "Grace Hopper"}})

	w.ended(cancelled.CallID, engine.OutcomeCancelled)
	w.ended(hungUp.CallID, engine.OutcomeCancelled)
	w.ended(blocked.CallID, engine.OutcomeBlocked)
	w.ended(expired.CallID, engine.OutcomeExpired)
	if a := w.stored(expired.CallID); a.EndedAt.Sub(*expired.ExpiresAt) > onTime || a.EndedAt.Before(*expired.ExpiresAt) {
		t.Errorf("expired at %s, not %s", a.EndedAt, expired.ExpiresAt)
	}
	if n := len(model.Ledger().Calls()); n != 0 {
		t.Errorf("%d calls", n)
	}
	eventually(t, "the webhook is told of four ends", func() bool {
		told := map[string]int{}
		for _, r := range in.all() {
			var m struct{ Data struct{ Outcome string } }
			_ = json.Unmarshal(r.Body, &m)
			told[m.Data.Outcome]++
		}
		return told["cancelled"] == 2 && told["blocked"] == 1 && told["expired"] == 1
	})
	for what, n := range map[string]float64{"scheduled": 5, "cancelled": 2, "expired": 1} {
		if got := w.labelled("dialler_scheduled_dialouts_total", "what", what); got != n {
			t.Errorf("%s: %v", what, got)
		}
	}
	w.operator("DELETE", "/api/v1/persons/"+gone, nil).expect(200)
	w.ended(erased.CallID, engine.OutcomeCancelled)
	for line := range strings.Lines(w.dump()) {
		if strings.Contains(line, gone) || strings.Contains(line, "Grace Hopper") {
			t.Errorf("the person is not forgotten: %.300s", line)
		}
	}
	if w.rows("scheduled_dialouts") != 0 {
		t.Error("a dialout waits on")
	}
}

// The process is killed while a dialout waits, and again at the time of another; the next one places
// what was not placed, and nobody is called twice.
func TestADialoutOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	w.p.Close()
	w.tampered = true // no audit while another process runs
	w.flags.SIP = "127.0.0.1:" + strconv.Itoa(ports.Of(t))
	kill := func(r *running) {
		t.Helper()
		if err := r.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = r.cmd.Wait()
		<-r.read
	}
	first := w.another()
	waits := newNumber()
	late := w.dialoutAt(waits, 4*time.Second, nil)
	var due []string
	for range 20 { // some of them are being placed as it dies
		to := newNumber()
		due = append(due, to)
		w.dialoutAt(to, time.Second, nil)
	}
	eventually(t, "the first is called", func() bool { return len(model.Ledger().Calls()) > 0 })
	kill(first)
	second := w.another()
	eventually(t, "the one that waited is called", func() bool { return len(invites(model, waits)) > 0 })
	w.calledAt(model, waits, *late.NotBefore, 2*patience)
	kill(second)
	w.start()
	w.tampered = false
	eventually(t, "all of them are over", func() bool {
		return w.rows("scheduled_dialouts") == 0 && w.rows("attempts WHERE live") == 0 && w.rows("attempts") == 21
	})
	for _, to := range append(due, waits) {
		var outcome string
		w.query("SELECT outcome FROM attempts WHERE to_number = '"+to+"'", &outcome)
		n := len(invites(model, to))
		if n > 1 || n == 0 && outcome != string(engine.OutcomeLost) {
			t.Errorf("%d calls, %s", n, outcome)
		}
	}
}

// placedAgain does what a CRM does that is told that a call was not sent in time: it places it again.
func (w *world) placedAgain(model *carrier.Carrier, to []string) {
	w.t.Helper()
	for range 5 {
		again := 0
		for _, n := range to {
			if len(invites(model, n)) == 0 && w.tooLate(n) {
				again++
				w.dialout(n)
			}
		}
		if again == 0 {
			return
		}
		eventually(w.t, "they are over", func() bool { return w.rows("attempts WHERE live") == 0 })
	}
}

// tooLate says that a dialout was given up because its INVITE could not leave within what the keepers of the trunk and
// of the number had granted: within 1.5 s, which a busy machine does not always manage.
func (w *world) tooLate(to string) (late bool) {
	w.t.Helper()
	w.query("SELECT coalesce(bool_or(friendly = 'Not sent in time' AND invite_at IS NULL), false) FROM attempts "+
		"WHERE to_number = '"+to+"'", &late)
	return late
}

// Any node places a dialout: the one that took it is killed, and each is called once.
func TestADialoutOfAKilledNodeIsPlacedByAnother(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 100*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	theirs := w.at(other.api)
	var to []string
	var at []time.Time
	for range 10 {
		to = append(to, newNumber())
		at = append(at, *theirs.dialoutAt(to[len(to)-1], 3*time.Second, nil).NotBefore)
	}
	ours := newNumber()
	rep := theirs.dialoutAt(ours, time.Hour, nil)
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	within(t, 2*patience, "all are over", func() bool { return w.rows("attempts WHERE NOT live") >= len(to) })
	for i := range to { // this node looks every five seconds for what another one took
		if w.tooLate(to[i]) { // it took it, but could not place it
			if n := w.rows("attempts WHERE to_number = '" + to[i] + "' AND reserved_at BETWEEN '" +
				at[i].Format(time.RFC3339Nano) + "' AND '" + at[i].Add(10*time.Second).Format(time.RFC3339Nano) + "'"); n != 1 {
				t.Errorf("taken over %d times within ten seconds", n)
			}
			continue
		}
		w.calledAt(model, to[i], at[i], 10*time.Second)
	}
	w.placedAgain(model, to)
	for i := range to {
		if n := len(invites(model, to[i])); n != 1 {
			t.Errorf("%d calls", n)
		}
	}
	w.crm("DELETE", "/api/v1/calls/"+string(rep.CallID), nil).expect(200)
	w.ended(rep.CallID, engine.OutcomeCancelled)
	eventually(t, "no call is left", func() bool { return w.rows("attempts WHERE live") == 0 })
	if twice := model.Ledger().DuplicateInvites(); len(twice) > 0 || w.stored(rep.CallID).State != attempt.Ended {
		t.Errorf("dialled twice: %v", twice)
	}
}

// Both nodes live: each dialout is placed by one of them.
func TestADialoutIsPlacedByOneOfTwoNodes(t *testing.T) {
	t.Parallel()
	if hasItsOwnProcess(t) {
		return
	}
	w, other := newClusterWorld(t, 100*time.Millisecond)
	model := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	theirs := w.at(other.api)
	var to []string
	for i := range 20 {
		to = append(to, newNumber())
		if i%2 == 0 {
			w.dialoutAt(to[i], 2*time.Second, nil)
		} else {
			theirs.dialoutAt(to[i], 2*time.Second, nil)
		}
	}
	within(t, 2*patience, "all are over", func() bool {
		return w.rows("scheduled_dialouts") == 0 && w.rows("attempts WHERE NOT live") == len(to)
	})
	w.placedAgain(model, to)
	for i := range to {
		if n := len(invites(model, to[i])); n != 1 {
			t.Errorf("%d calls", n)
		}
	}
}
