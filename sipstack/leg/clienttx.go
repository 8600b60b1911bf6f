package leg

import (
	"slices"
	"time"

	"dialler/engine"
	"dialler/sipstack/auth"
	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// maxTxs bounds the requests of a leg whose responses are awaited: as far as a
// far side can cause them at will.
const maxTxs = 64

// clientTx is a client transaction other than that of the first INVITE: a
// CANCEL, or a request inside a dialog, driven by the leg's timer (RFC 3261
// §17.1.2; for a re-INVITE §17.1.1).
type clientTx struct {
	method sip.RequestMethod
	branch string
	cseq   uint32
	to     transport.Target
	data   []byte
	// plain is the request for UDP, where its length led to TCP.
	plain []byte
	// dlg is the dialog of the request; stray when it is not the leg's own.
	dlg     *dialog
	stray   bool
	cause   engine.HangUpCause // of a BYE
	headers string             // whole lines
	body    []byte
	auth    *auth.Credentials // once challenged

	gap      time.Duration
	resendAt time.Duration // timer E; 0 over TCP
	endAt    time.Duration // timer F
}

// clientTxs are the transactions that a leg waits for.
type clientTxs []*clientTx

func (t *clientTxs) remove(i int) {
	*t = slices.Delete(*t, i, i+1)
	if len(*t) == 0 {
		*t = nil
	}
}

// dropCancels stops CANCEL transactions, whose outcome is known by other means.
func (t *clientTxs) dropCancels() {
	t.drop(func(tx *clientTx) bool { return tx.method == sip.CANCEL })
}

// drop stops the transactions that f names.
func (t *clientTxs) drop(f func(*clientTx) bool) {
	for i := len(*t) - 1; i >= 0; i-- {
		if f((*t)[i]) {
			t.remove(i)
		}
	}
}
