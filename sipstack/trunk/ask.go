package trunk

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/message"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// question is one request outside calls whose answer somebody waits for (RFC 3261 §17.1.2).
type question struct {
	set    *Set
	seq    uint32 // CSeq
	final  chan *sip.Response
	slowly atomic.Bool   // a provisional arrived: retransmit at T2 (§17.1.2.2)
	failed chan struct{} // it could not be sent
}

var (
	errNotSent   = errors.New("nothing can be sent to it")
	errNoAnswer  = errors.New("it did not answer in time")
	errUnusable  = errors.New("the address cannot be used")
	errUnsettled = errors.New("its host name is not resolved")
)

// Ask probes whether a SIP address accepts calls: nil when it answers OPTIONS. An answer that says
// that it is out of service (engine.SignOfLife) does not count. It blocks until then; ctx bounds the
// time.
func (k *Set) Ask(ctx context.Context, uri string) error {
	t := k.ForLeg("", uri, "")
	if t.Conf.Host == "" {
		return errUnusable
	}
	if t.fault != "" {
		return errors.New(t.fault)
	}
	to, err := t.resolvedWithin(ctx)
	if err != nil || len(to) == 0 {
		return errUnsettled
	}
	callID := k.newCallID()
	answer, err := k.exchange(ctx, to[0], callID, 1, t.options(to[0], uri, callID, 1, nil))
	if err == nil && !engine.SignOfLife(answer.StatusCode) {
		err = errors.New("it answered SIP " + strconv.Itoa(answer.StatusCode))
	}
	return err
}

// newCallID returns the Call-ID of a question.
func (k *Set) newCallID() string { return k.nonce + "-ask-" + strconv.FormatUint(k.asked.Add(1), 36) }

// exchange sends a request, again while there is no answer, and returns the final response.
func (k *Set) exchange(ctx context.Context, to transport.Target, callID string, cseq uint32,
	data []byte) (*sip.Response, error) {
	q := &question{set: k, seq: cseq, final: make(chan *sip.Response, 1), failed: make(chan struct{}, 1)}
	k.probes.Store(callID, q)
	defer k.probes.Delete(callID)
	gap := k.timers.T1
	for {
		if !q.send(to, data) {
			return nil, errNotSent
		}
		wait := time.NewTimer(gap)
		select {
		case answer := <-q.final:
			wait.Stop()
			return answer, nil
		case <-q.failed:
			wait.Stop()
			return nil, errNotSent
		case <-ctx.Done():
			wait.Stop()
			return nil, errNoAnswer
		case <-wait.C:
		}
		if gap = min(2*gap, k.timers.T2); q.slowly.Load() {
			gap = k.timers.T2
		}
		if to.Reliable() {
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

// options writes OPTIONS (RFC 3261 §11), with the credentials of account unless that is nil.
func (t *Trunk) options(to transport.Target, uri, callID string, cseq uint32, account *auth.Credentials) []byte {
	local := t.SentBy(to)
	b := message.AppendStart(nil, "OPTIONS", uri, to.Transport, local, message.DeriveBranch(callID, cseq, "OPTIONS"))
	b = append(b, t.RouteLine...)
	b = append(b, "From: <sip:"+local+">;tag="+message.DeriveTag(callID)+"\r\nTo: <"+uri+">\r\n"...)
	b = message.AppendCallID(b, callID, cseq, "OPTIONS")
	b = append(b, "Contact: <sip:"+local+t.Params+">\r\nAccept: application/sdp\r\n"...)
	b = append(b, t.AgentLines...)
	if account != nil {
		b = account.AppendTo(b)
	}
	return message.AppendContent(b, nil)
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

func (q *question) onResponse(r *sip.Response, seq uint32) {
	if seq != q.seq { // a repeated one to the request before
		return
	}
	if r.StatusCode < 200 {
		q.slowly.Store(true)
		return
	}
	select {
	case q.final <- r:
	default: // a repeated response
	}
}
