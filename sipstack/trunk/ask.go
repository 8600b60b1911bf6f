package trunk

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// question is one OPTIONS to an address that belongs to no trunk (RFC 3261 §11).
type question struct {
	set    *Set
	final  chan int      // status of the final response
	slowly atomic.Bool   // a provisional arrived: retransmit at T2 (§17.1.2.2)
	failed chan struct{} // it could not be sent
}

// Ask probes whether a SIP address accepts calls: nil when it answers OPTIONS. An answer that says
// that it is out of service (engine.SignOfLife) does not count. It blocks until then; ctx bounds the
// time.
func (k *Set) Ask(ctx context.Context, uri string) error {
	t := k.ForLeg("", uri, "")
	if t.Conf.Host == "" {
		return errors.New("the address cannot be used")
	}
	if t.fault != "" {
		return errors.New(t.fault)
	}
	to, err := t.resolvedWithin(ctx)
	if err != nil || len(to) == 0 {
		return errors.New("its host name is not resolved")
	}
	q := &question{set: k, final: make(chan int, 1), failed: make(chan struct{}, 1)}
	callID := k.nonce + "-ask-" + strconv.FormatUint(k.asked.Add(1), 36)
	k.probes.Store(callID, q)
	defer k.probes.Delete(callID)
	data := q.request(t, to[0], uri, callID)
	gap := k.timers.T1
	for {
		if !q.send(to[0], data) {
			return errors.New("nothing can be sent to it")
		}
		wait := time.NewTimer(gap)
		select {
		case code := <-q.final:
			wait.Stop()
			if !engine.SignOfLife(code) {
				return errors.New("it answered SIP " + strconv.Itoa(code))
			}
			return nil
		case <-q.failed:
			wait.Stop()
			return errors.New("nothing can be sent to it")
		case <-ctx.Done():
			wait.Stop()
			return errors.New("it did not answer in time")
		case <-wait.C:
		}
		if gap = min(2*gap, k.timers.T2); q.slowly.Load() {
			gap = k.timers.T2
		}
		if to[0].Reliable() {
			data = nil // TCP retransmits by itself
		}
	}
}

// resolvedWithin is Resolved, abandoned when ctx ends.
func (t *Trunk) resolvedWithin(ctx context.Context) (to []transport.Target, err error) {
	if to = t.Targets(); len(to) > 0 {
		return to, nil
	}
	type found struct {
		to  []transport.Target
		err error
	}
	c := make(chan found, 1)
	go func() {
		to, err := t.Resolved()
		c <- found{to, err}
	}()
	select {
	case f := <-c:
		return f.to, f.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *question) request(t *Trunk, to transport.Target, uri, callID string) []byte {
	local := t.SentBy(to)
	b := message.AppendStart(nil, "OPTIONS", uri, to.Transport, local, message.DeriveBranch(callID, 1, "OPTIONS"))
	b = append(b, "From: <sip:"+local+">;tag="+message.DeriveTag(callID)+"\r\nTo: <"+uri+">\r\n"...)
	b = message.AppendCallID(b, callID, 1, "OPTIONS")
	b = append(b, "Contact: <sip:"+local+t.Params+">\r\nAccept: application/sdp\r\n"...)
	b = append(b, t.AgentLines...)
	return append(b, "Content-Length: 0\r\n\r\n"...)
}

// send writes the request, or nothing when a retransmission is not needed.
func (q *question) send(to transport.Target, data []byte) bool {
	if data == nil {
		return true
	}
	if !to.Reliable() {
		return q.set.net.Write(to, data) == nil
	}
	return q.set.net.Push(to, transport.Queued{Data: data, After: func(_ bool, err error) {
		if err != nil {
			select {
			case q.failed <- struct{}{}:
			default:
			}
		}
	}}) == nil
}

func (q *question) onResponse(r *sip.Response, _ uint32) {
	if r.StatusCode < 200 {
		q.slowly.Store(true)
		return
	}
	select {
	case q.final <- r.StatusCode:
	default: // a repeated response
	}
}
