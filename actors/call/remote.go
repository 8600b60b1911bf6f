package call

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
)

// This file handles calls whose legs are on another node, or were placed by an earlier process.

// WhenSettled sends a message once the node with the attempt's legs has carried out all its
// commands.
func (p *Process) WhenSettled(e *call.WhenSettled, to *actor.PID) {
	p.Remote.Settled(e.Attempt, func() { p.Root.Send(to, e.Message) })
}

// replaced ends what is here of a call that another node acts for.
func (p *Process) replaced(e *call.Replaced) {
	p.Log.Warn().
		Str("attempt_id", string(e.Attempt)).
		Msg("another owner acts for a call; it is ended here unless that one has it")
	if p.Remote != nil {
		p.Remote.Replaced(e.Attempt, e.Peers)
		return
	}
	p.Media.DetachBot(e.Attempt)
	for _, leg := range append(e.Legs, e.Peers...) {
		p.Phone.HangUpLeg(leg, engine.HangUpCause{Q850: 41, Text: "owner lost"})
	}
}

// AdoptLegs makes this node the owner of open attempts whose legs may be on other nodes, except
// those with an actor here. epoch is the campaign's current one, not that of the node that dialled:
// the latest owner gets them. It blocks until every node has answered or been given up.
func (p *Process) AdoptLegs(ctx context.Context, epoch int64, open []attempt.Attempt) {
	if p.Remote == nil {
		return
	}
	asked := 0
	answers := make(chan struct{}, len(open))
	for i := range open {
		at := open[i]
		at.Epoch = epoch
		if at.Node == 0 || p.Owners.Owned(at.ID) || p.Remote.Away(at.ID) {
			continue
		}
		asked++
		p.Remote.AdoptLegs(&at, func(_ []engine.LegID, err error) {
			if err != nil {
				p.Log.Warn().Err(err).Str("attempt_id", string(at.ID)).Int32("node", int32(at.Node)).
					Msg("the node that carries a call does not answer; the call is lost")
			} else if p.Held != nil {
				p.Held(at)
			}
			answers <- struct{}{}
		})
	}
	for range asked {
		select {
		case <-answers:
		case <-ctx.Done():
			return
		}
	}
}

// EndAnswered ends the legs of an attempt that were answered under an earlier process here: the
// campaign's new owner does not know their dialogs, and has only cancelled them. A call that
// another node carries is not ended: its new owner has found it there.
func (p *Process) EndAnswered(a *attempt.Attempt) {
	for i := range a.Legs {
		l := &a.Legs[i]
		if l.Dialog == nil || l.EndedAt != nil || a.Node != 0 &&
			!p.PlacedHere(l.Trunk, l.Dialog.LocalAddr) {
			continue
		}
		p.Log.Info().Str("attempt_id", string(a.ID)).
			Msg("ending a call that an earlier process answered; its campaign has another owner")
		p.Phone.RecoverLeg(engine.RecoveredLeg{Attempt: a.ID, Leg: l.ID, Trunk: l.Trunk, From: a.From, To: a.To,
			Dialog: l.Dialog, GiveUp: p.RingGrace},
			func(e engine.LegEvent) {
				if e.Kind.Final() {
					go p.Phone.ForgetLegs(e.Attempt) // the sink must not call back
				}
			})
	}
}
