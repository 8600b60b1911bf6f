package sim

import (
	"maps"
	"slices"

	"dialler/engine"
	"dialler/engine/callee"
)

// botSocket is a socket of the bot that no call has taken.
type botSocket struct {
	r      *runner
	stands bool
}

// openSocket opens a socket ahead of its call.
func (p *process) openSocket(r *runner, e *engine.OpenSocket) {
	w, x := p.w, &botSocket{r: r}
	p.sockets[e.Socket] = x
	w.check.socket(r.c)
	w.socketsOpened++
	in, stands, lost := w.in.Bot.Opens(callee.ChanceOf(w.seed, w.socketsOpened|1<<62), e.Timeout)
	p.do(in, func() {
		switch {
		case p.sockets[e.Socket] != x:
		case w.botDown > 0 || !stands:
			p.fell(e.Socket, "refused")
		default:
			x.stands = true
			p.tellSocket(x, &engine.SocketEvent{Socket: e.Socket, Stands: true, Endpoint: e.Endpoints[0]})
			if lost > 0 {
				p.do(lost, func() { p.lose(e.Socket, x) })
			}
			p.do(e.Limit, func() { p.lose(e.Socket, x) })
		}
	})
}

// lose closes a socket that still waits for its call.
func (p *process) lose(id engine.SocketID, x *botSocket) {
	if p.sockets[id] == x {
		p.fell(id, "closed")
	}
}

func (p *process) fell(id engine.SocketID, why string) {
	x := p.sockets[id]
	delete(p.sockets, id)
	p.tellSocket(x, &engine.SocketEvent{Socket: id, Reason: why})
}

func (p *process) tellSocket(x *botSocket, e *engine.SocketEvent) { p.after(0, x.r, e) }

// takeSocket gives a call its open socket; false if it is not open.
func (p *process) takeSocket(id engine.SocketID) bool {
	x := p.sockets[id]
	delete(p.sockets, id)
	return x != nil && x.stands
}

// socketsOf counts the sockets of a campaign that no call has taken.
func (p *process) socketsOf(c *campaignRecord) (n int) {
	for _, x := range p.sockets {
		if x.r.c == c {
			n++
		}
	}
	return n
}

// breakBot makes the bot unavailable: open sockets are closed, none can be opened, and
// conversations end.
func (w *campaignWorld) breakBot() {
	if w.botDown++; w.botDown > 1 || w.process == nil {
		return
	}
	p := w.process
	for _, id := range slices.Sorted(maps.Keys(p.sockets)) {
		if p.sockets[id].stands {
			p.fell(id, "lost")
		}
	}
	for _, c := range w.campaigns {
		w.check.lost(c)
		w.check.note(c, "the bot is gone")
		r := p.runs[c.i]
		if r == nil {
			continue
		}
		for _, a := range r.inOrder() {
			if m := p.media[a.core.Call.Machine.A.ID]; m != nil && m.served {
				m.session++ // the rest of the conversation does not happen
				m.happens(0, engine.MediaEvent{Kind: engine.MediaBotClosed, Error: "lost"})
			}
		}
	}
}
