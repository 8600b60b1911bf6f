package cluster

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/engine"
	"dialler/engine/ownership"
)

const (
	answersFor   = time.Minute
	answersMax   = 8192
	answersBytes = 32 << 20
)

// answers are what this node has answered, so that a request that comes again is
// not carried out again. The oldest go first.
type answers struct {
	mu    sync.Mutex
	byID  map[string]*past
	order []*past // those that are answered, in order
	bytes int
}

type past struct {
	id      string
	answer  *wrapperspb.BytesValue
	at      engine.BootTime
	waiting []func(*wrapperspb.BytesValue)
}

type response struct {
	to func(*wrapperspb.BytesValue)
	m  *wrapperspb.BytesValue
}

func newAnswers() *answers { return &answers{byID: map[string]*past{}} }

// begin notes a request: known when it has come before, with its answer or, while
// it is being carried out, with respond among those who hear it.
func (a *answers) begin(id string, respond func(*wrapperspb.BytesValue), now engine.BootTime) (known bool, answer *wrapperspb.BytesValue) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(now)
	if p := a.byID[id]; p != nil {
		if p.answer == nil {
			p.waiting = append(p.waiting, respond)
		}
		return true, p.answer
	}
	a.byID[id] = &past{id: id, at: now, waiting: []func(*wrapperspb.BytesValue){respond}}
	return false, nil
}

// end keeps the answer and gives who waits for it.
func (a *answers) end(id string, h *header, body []byte, err error) []response {
	m := answerTo(h, body, err)
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.byID[id]
	var all []response
	for _, to := range p.waiting {
		all = append(all, response{to, m})
	}
	p.answer, p.waiting = m, nil
	a.order = append(a.order, p)
	a.bytes += len(m.GetValue())
	return all
}

func (a *answers) drop(now engine.BootTime) {
	n := 0
	for n < len(a.order) {
		p := a.order[n]
		if now < p.at.Add(answersFor) && len(a.order)-n < answersMax && a.bytes <= answersBytes {
			break
		}
		delete(a.byID, p.id)
		a.bytes -= len(p.answer.GetValue())
		a.order[n] = nil
		n++
	}
	a.order = a.order[n:]
}

func (h *header) identity() ownership.Identity { return ownership.Identity{Kind: h.Kind, ID: h.Of} }
