package actors_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dialler/actors/actortest"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// handing is a campaign with one talking call, which may be transferred.
func handing(t *testing.T, bot engine.Bot, target actortest.Script) (*rig, engine.AttemptID) {
	t.Helper()
	r := newRig(t, steady(2*time.Second, 2*time.Hour), func(s *campaign.Settings) {
		s.TransferTargets, s.TransferLimit = []string{"+4930*", "sip:*@pbx.example"}, 2
		s.CallLimitSec = 4 * 3600
	})
	r.world.View(func() { r.world.Target = target })
	r.bots(bot)
	r.add(1)
	r.act(campaign.ActionStart)
	r.until(time.Minute, "it talks", func() bool { return r.detail().Live.InProgress == 1 })
	return r, r.openAttempts()[0].ID
}

func wsBot() engine.Bot {
	return engine.Bot{ID: "bot", Active: true, Seats: 10, Endpoints: []string{"ws://bot"}}
}

func (r *rig) attempt(id engine.AttemptID) (a attempt.Attempt) {
	r.t.Helper()
	a, err := r.tree.Call(context.Background(), id.Call())
	if err != nil {
		r.t.Fatal(err)
	}
	return a
}

func (r *rig) transfer(id engine.AttemptID, to, want string) {
	r.t.Helper()
	if err := r.tree.Transfer(context.Background(), id.Call(), to); (err == nil) != (want == "") || err != nil &&
		engine.ErrorCode(err) != want {
		r.t.Fatalf("transfer to %s: %v, want %q", to, err, want)
	}
	synctest.Wait()
}

func (r *rig) transferIs(id engine.AttemptID, want attempt.TransferResult) {
	r.t.Helper()
	r.until(5*time.Minute, "the transfer is "+string(want), func() bool {
		tr := r.attempt(id).Transfer
		return tr != nil && tr.Result == want
	})
}

func (r *rig) ends(id engine.AttemptID, by engine.Party) {
	r.t.Helper()
	r.until(time.Hour, "the call ends", func() bool {
		return r.attempt(id).State == attempt.Ended && r.world.LivePeers() == 0
	})
	a := r.attempt(id)
	if a.HungUpBy != by || !a.WasConnected() {
		r.t.Errorf("%s, hung up by %s", a.Outcome, a.HungUpBy)
	}
	synctest.Wait()
	st := r.tree.Stats()
	if n := st.Trunks.Leases.Load() + st.Numbers.Leases.Load() + st.Calls.Illegal.Load(); n != 0 {
		r.t.Errorf(
			"%d channels, %d numbers held, %d events refused",
			st.Trunks.Leases.Load(),
			st.Numbers.Leases.Load(),
			st.Calls.Illegal.Load(),
		)
	}
	r.peersOver()
}

func TestACallIsHandedOverToANumberThroughATrunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := handing(t, wsBot(), actortest.Script{Ring: 5 * time.Second, Code: 200, Talk: time.Minute})
		defer r.tree.Close()
		r.transfer(id, "+4940123456", "transfer_not_allowed")
		r.transfer(id, "+4930123456", "")
		r.transferIs(id, attempt.TransferCalling)
		r.transfer(id, "+4930123456", "transfer_in_progress")
		if n := r.tree.Stats().Trunks.Leases.Load(); n != 2 {
			t.Errorf("%d channels are held, the callee's and the target's", n)
		}
		r.transferIs(id, attempt.TransferBridged)
		synctest.Wait()
		if d := r.detail(); d.Live.InProgress != 0 {
			t.Errorf("%d conversations of bots", d.Live.InProgress)
		}
		r.world.View(func() {
			cmd := r.world.Targets[0]
			if cmd.To != "+4930123456" || cmd.From != r.openFrom() || cmd.Trunk != "trunk" || cmd.URI != "" {
				t.Errorf("%+v", cmd)
			}
		})
		r.ends(id, engine.PartyTarget)
		if tr := r.attempt(id).Transfer; tr.Result != attempt.TransferBridged || tr.EndedAt == nil ||
			tr.To != "+4930123456" || tr.By != "api" {
			t.Errorf("%+v", tr)
		}
		r.transfer(id, "+4930123456", "call_ended")
	})
}

// openFrom returns the caller ID of the only attempt; the world's lock is held.
func (r *rig) openFrom() (from engine.PhoneNumber) {
	r.store.View(func() {
		for a := range r.store.AllAttempts() {
			from = a.From
		}
	})
	return from
}

func TestABotBySIPHandsOverByReferAndIsToldHowItWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := handing(t, sipBot(), actortest.Script{Ring: 5 * time.Second, Code: 486})
		defer r.tree.Close()
		r.world.Refer(id.Leg(2), "sip:else@example.org")
		r.world.Refer(id.Leg(2), "sip:desk@pbx.example")
		r.world.Refer(id.Leg(1), "sip:desk@pbx.example") // from the callee's side
		r.transferIs(id, attempt.TransferRefused)
		r.world.View(func() { r.world.Target.Code = 200 })
		r.world.Refer(id.Leg(2), "sip:desk@pbx.example")
		r.transferIs(id, attempt.TransferBridged)
		r.until(time.Minute, "the bot's leg is ended", func() bool { return r.world.LivePeers() == 1 })
		r.world.View(func() {
			if len(r.world.Refers) != 4 || r.world.Refers[0] || !r.world.Refers[1] || r.world.Refers[2] || !r.world.Refers[3] {
				t.Errorf("REFERs answered %v", r.world.Refers)
			}
			if len(r.world.Notified) != 2 || r.world.Notified[0] != 486 || r.world.Notified[1] != 200 {
				t.Errorf("notified %v", r.world.Notified)
			}
			for _, h := range r.world.Targets[1].Headers {
				if h.Name == "X-result_token" {
					t.Error("the target is told the bot's token")
				}
			}
		})
		r.world.EndPeer(r.attempt(id).Peers[2].ID)
		r.ends(id, engine.PartyTarget)
	})
}

func TestACalleeWhoHangsUpEndsTheCallToTheTarget(t *testing.T) {
	for _, ring := range []time.Duration{time.Second, time.Hour} { // bridged, ringing
		synctest.Test(t, func(t *testing.T) {
			r, id := handing(t, wsBot(), actortest.Script{Ring: ring, Code: 200})
			defer r.tree.Close()
			r.transfer(id, "sip:desk@pbx.example", "")
			time.Sleep(5 * time.Second) // virtual
			r.world.EndCallee(id)
			r.ends(id, engine.PartyCallee)
		})
	}
}

func TestATargetsLegOfAnEarlierLifeIsEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, id := handing(t, wsBot(), actortest.Script{Ring: time.Second, Code: 200})
		defer func() { r.tree.Close() }()
		r.transfer(id, "+4930123456", "")
		r.transferIs(id, attempt.TransferBridged)
		synctest.Wait()
		r.kill()
		r.start()
		r.until(5*time.Second, "callee and target are ended", func() bool {
			return r.world.RecoveredLegs() == 2 && r.world.LiveCalls() == 0
		})
		r.until(time.Minute, "the attempt is closed", func() bool { return len(r.openAttempts()) == 0 })
		r.peersOver()
	})
}

func TestACampaignThatAllowsNoTransferDeclinesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, steady(2*time.Second, time.Hour), nil)
		defer r.tree.Close()
		r.add(1)
		r.act(campaign.ActionStart)
		r.until(time.Minute, "it talks", func() bool { return r.detail().Live.InProgress == 1 })
		r.transfer(r.openAttempts()[0].ID, "+4930123456", "transfer_not_allowed")
	})
}
