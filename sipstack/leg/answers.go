package leg

import (
	"slices"
	"strings"
	"time"

	"dialler/sipstack/transport"

	"github.com/emiago/sipgo/sip"
)

// keptAnswers bounds how many requests of the far side are remembered of a leg.
const keptAnswers = 4

// answer is a server transaction inside a dialog (RFC 3261 §17.2): a repeated
// request gets the same bytes again and is not acted on twice. That of an
// INVITE is repeated until its ACK comes.
type answer struct {
	method sip.RequestMethod
	branch string
	cseq   uint32
	to     transport.Target
	data   []byte // nil: not answered yet
	code   int
	gap    time.Duration
	// resendAt is timer G, endAt timer H (64*T1); 0 once the ACK came.
	resendAt, endAt time.Duration
	offered         bool // our 2xx holds an offer; the ACK answers it
}

// answers are the last requests of the far side with what they got.
type answers []answer

// remember enters a request that is, or will be, answered.
func (as *answers) remember(r *sip.Request) *answer {
	if a := as.answered(r); a != nil {
		return a
	}
	if len(*as) >= keptAnswers {
		oldest := max(slices.IndexFunc(*as, func(a answer) bool { return a.endAt == 0 }), 0)
		*as = slices.Delete(*as, oldest, oldest+1)
	}
	branch, _ := r.Via().Params.Get("branch")
	*as = append(*as, answer{method: r.Method, branch: strings.Clone(branch), cseq: r.CSeq().SeqNo})
	return &(*as)[len(*as)-1]
}

// answered finds a request that came before.
func (as answers) answered(r *sip.Request) *answer {
	branch, _ := r.Via().Params.Get("branch")
	for i := range as {
		if a := &as[i]; a.method == r.Method && a.cseq == r.CSeq().SeqNo && a.branch == branch {
			return a
		}
	}
	return nil
}

// unacked finds a re-INVITE of the far side whose 2xx has no ACK yet.
func (as answers) unacked() *answer {
	for i := range as {
		if a := &as[i]; a.endAt != 0 && a.code < 300 {
			return a
		}
	}
	return nil
}
