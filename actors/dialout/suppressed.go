package dialout

import (
	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	core "dialler/engine/run"
)

// suppressedCalls are the calls whose confirmation dialout awaits.
type suppressedCalls struct {
	replyTo *actor.PID
	awaited map[engine.AttemptID]struct{}
}

func (o *dialout) suppressed(ctx actor.Context, m *core.Suppressed, sender *actor.PID) {
	if len(o.calls) == 0 {
		o.d.Reply(sender, nil, nil)
		return
	}
	o.opSeq++
	op := &suppressedCalls{sender, make(map[engine.AttemptID]struct{}, len(o.calls))}
	o.ops[o.opSeq] = op
	for id, pid := range o.calls {
		op.awaited[id] = struct{}{}
		ctx.Send(pid, &call.NumbersSuppressed{Numbers: m.Numbers, Op: o.opSeq})
	}
}

// suppressedCall records that a call has confirmed an operation, or is over, which confirms all of
// them.
func (o *dialout) suppressedCall(id engine.AttemptID, of func(op int) bool) {
	for n, op := range o.ops {
		if !of(n) {
			continue
		}
		if delete(op.awaited, id); len(op.awaited) == 0 {
			delete(o.ops, n)
			o.d.Reply(op.replyTo, nil, nil)
		}
	}
}
