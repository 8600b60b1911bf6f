package cluster

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/engine"
)

// desk is where the messages of other nodes are taken and their requests
// carried out.
type desk struct {
	n       *Node
	past    *answers
	slots   chan struct{}
	running sync.WaitGroup
}

func newDesk(n *Node) *desk {
	return &desk{n: n, past: newAnswers(), slots: make(chan struct{}, n.cfg.Requests)}
}

// take takes one message. What is told is taken in the order of the calls.
func (d *desk) take(m *wrapperspb.BytesValue, respond func(*wrapperspb.BytesValue)) {
	h, body, err := unpack(m)
	if err != nil {
		d.n.stats.Refused.Add(1)
		return
	}
	switch h.Type {
	case typeTell:
		d.told(&h, body)
	case typeAsk:
		d.asked(&h, body, respond)
	}
}

func (d *desk) told(h *header, body []byte) {
	n := d.n
	n.mu.Lock()
	r := n.tells[h.Method]
	n.mu.Unlock()
	if r == nil || !n.Was(h.To) {
		n.stats.Refused.Add(1)
		return
	}
	defer d.survive(h)
	r(h.From, body)
}

func (d *desk) survive(h *header) {
	if r := recover(); r != nil {
		d.n.log.Error().Str("method", h.Method).Str("why", fmt.Sprint(r)).Msg("a message of another node was not carried out")
	}
}

func (d *desk) asked(h *header, body []byte, respond func(*wrapperspb.BytesValue)) {
	n := d.n
	switch known, answer := d.past.begin(h.ID, respond, n.clock.Boot()); {
	case answer != nil:
		n.stats.Repeated.Add(1)
		respond(answer)
		return
	case known:
		n.stats.Repeated.Add(1)
		return
	}
	finish := func(body []byte, err error) {
		for _, respond := range d.past.end(h.ID, h, body, err) {
			respond.to(respond.m)
		}
	}
	left := h.remaining(time.Now())
	select {
	case d.slots <- struct{}{}:
	default:
		n.stats.Refused.Add(1)
		finish(nil, ErrBusy)
		return
	}
	d.running.Go(func() {
		var answer []byte
		err := error(ErrUnanswered)
		defer func() {
			if r := recover(); r != nil {
				n.log.Error().Str("method", h.Method).Str("why", fmt.Sprint(r)).Msg("a request of another node was not carried out")
				err = fmt.Errorf("cluster: %v", r)
			}
			<-d.slots // before who asked knows, and asks again
			finish(answer, err)
		}()
		if left <= 0 {
			n.stats.Refused.Add(1)
			return
		}
		ctx, cancel := context.WithTimeout(n.ctx, left)
		defer cancel()
		if h.Of == "" && !n.Was(h.To) {
			n.stats.Refused.Add(1)
			err = engine.NotFound("node_not_found", "the node that this was for is not here any more")
			return
		}
		answer, err = n.carryOut(ctx, h.From, h.identity(), h.Method, body)
		n.stats.Answered.Add(1)
	})
}
