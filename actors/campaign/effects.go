package campaign

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	fleetactor "dialler/actors/fleet"
	numberactor "dialler/actors/number"
	trunkactor "dialler/actors/trunk"
	"dialler/actors/writer"
	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	core "dialler/engine/run"
)

// do carries out one effect of the run.
func (r *run) do(effect core.Effect) {
	d := r.d
	switch e := effect.(type) {
	case core.PassOn:
		d.Root.Send(r.writer(), &writer.Persist{Write: *e.Write, ReplyTo: r.up[e.Contact], Step: e.Step, Run: r.self})
	case core.Write:
		p := &writer.Persist{Write: *e.Write}
		if e.Revoke {
			p.Run = r.self
		}
		if then, self := e.Then, r.self; then != nil {
			p.Then = func(err error) { d.Root.Send(self, &core.Written{Then: then, Err: err}) }
		}
		d.Root.Send(r.writer(), p)
	case core.Fence:
		d.Root.Send(r.writer(), &writer.Barrier{ReplyTo: r.self, N: e.Ticket})
	case core.PassFence:
		d.Root.Send(r.writer(), &writer.Barrier{ReplyTo: d.Requester(e.Request)})

	case core.Spawn:
		r.spawn(e)
	case core.Tell:
		r.tell(e)
	case core.CallRoster:
		d.Root.Send(r.contacts, &roster{life: e.Life, ReplyTo: r.self})

	case core.ReserveTrunks:
		d.Root.Send(d.Trunks, &trunkactor.ReserveBatch{Round: e.Round, Legs: e.Legs, Draws: e.Draws, ReplyTo: r.self})
	case core.ReleaseTrunk:
		d.Root.Send(d.Trunks, &call.TrunkEvent{Trunk: e.Trunk, Leg: e.Leg, Over: true, At: d.Clock.Now()})
	case core.ReserveNumbers:
		d.Root.Send(r.pool, &numberactor.Reserve{Round: e.Round, Want: e.Want, ReplyTo: r.self})
	case core.ReleaseNumber:
		d.Root.Send(r.pool, &call.ReleaseNumber{Attempt: e.Attempt, Number: e.Number, End: e.End})
	case core.DemandSeats:
		if e.Keep {
			r.activations.seats.Store(int64(e.Want))
		}
		d.Root.Send(d.Fleet, &fleetactor.Demand{Holder: fleet.Holder(r.id), Bot: e.Bot, Want: e.Want, Weight: e.Weight,
			GiveUp: e.GiveUp, N: e.N,
			Epoch: e.Epoch, ReplyTo: r.self})
	case core.OpenSocket:
		self := r.self
		e.Open.Endpoints = d.Reach.Order(e.Bot, e.Open.Endpoints)
		d.Media.OpenSocket(e.Open, func(ev engine.SocketEvent) { d.Root.Send(self, &ev) })
	case core.CloseSocket:
		d.Media.CloseSocket(e.Socket, e.Node)
	case core.CloseSockets:
		d.Media.CloseSockets(r.id)
	case *call.BotTried:
		d.Root.Send(d.Fleet, e)
	case core.SetPool:
		d.Root.Send(r.pool, &numberactor.SetPool{Numbers: e.Numbers, LocalMatch: e.LocalMatch})
	case core.PoolChanged:
		d.Root.Send(r.pool, &core.NumberChanged{Number: e.Number})

	case core.Reply:
		d.Reply(d.Requester(e.Request), e.Value, e.Err)
	case core.Arm:
		r.arm(e)
	case core.Disarm:
		if stop := r.timers[e.Timer]; stop != nil {
			stop()
			delete(r.timers, e.Timer)
		}
	case core.SendPulse:
		d.Root.Send(r.self, &core.Pulse{At: e.At})
	case core.Publish:
		if e.Figures == nil {
			d.Board.remove(r.id)
		} else {
			d.Board.put(e.Figures)
		}
	case core.Leave:
		d.After(leaveAfter, r.guardian, &campaignGone{r.id})
	case core.SayLastWord:
		if m := r.stop; m != nil {
			d.Root.Send(m.To, &readyToStop{Campaign: r.id, Actors: m.Actors, Stays: e.Stays})
		}

	case core.Abandoned:
		now := d.Clock.Now()
		d.Abandoned.Add(e.Number, now, now)
		d.Log.Info().Str("campaign_id", string(r.id)).Str("cause", string(e.Cause)).Msg("live answer abandoned")
	case core.Illegal:
		d.Stats.Illegal.Add(1)
	case core.Overloaded:
		d.System.Stats.Overloads.Add(1)
	case core.Failed:
		if !journal.Temporary(e.Err) { // otherwise reported as a database fault
			d.Log.Error().Err(e.Err).Str("campaign_id", string(r.id)).Msg(e.What)
		}
	case core.ClockStepped:
		d.Log.Warn().Str("campaign_id", string(r.id)).Dur("step_ms", e.By).
			Msg("the wall clock was stepped; windows and due contacts are checked again")
	case core.RoundLost:
		d.Log.Warn().Str("campaign_id", string(r.id)).Msg("a reservation was not answered; its contacts return to the queue")
	case core.Closing:
		d.Log.Info().Str("campaign_id", string(r.id)).Int("attempts",
			e.Attempts).Msg("closing attempts left open by an earlier process")
	default:
		if !r.ask(effect) {
			panic(fmt.Sprintf("actors: no handler for a run's effect %T", effect))
		}
	}
}

// writer returns the writer that keeps the order of the campaign's writes.
func (r *run) writer() *actor.PID { return r.d.Writers.For(string(r.id)) }

// arm starts a timer; a named one replaces the previous timer of that name.
func (r *run) arm(e core.Arm) {
	stop := r.d.After(e.After, r.self, &core.TimerFired{Timer: e.Timer, Epoch: e.Epoch, Owed: e.Owed})
	if !e.Timer.Single() {
		return
	}
	if old := r.timers[e.Timer]; old != nil {
		old()
	}
	r.timers[e.Timer] = stop
}
