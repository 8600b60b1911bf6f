package cluster

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"dialler/engine"
	"dialler/engine/ownership"
)

// header is what precedes the bytes of a message. protoactor's remote carries
// protobuf messages only: ours is one bytes value that holds the length of the
// header (4 bytes, big endian), the header as JSON, and the body.
type header struct {
	Type   string             `json:"t"`
	ID     string             `json:"id,omitempty"` // of a request and its answer: unique over nodes and lives
	From   engine.Incarnation `json:"from,omitempty"`
	To     engine.Incarnation `json:"to,omitempty"` // 0: whoever owns Owned's identity
	Method string             `json:"m,omitempty"`
	Kind   ownership.Kind     `json:"k,omitempty"`
	Of     string             `json:"of,omitempty"` // the identity
	// Left is how much of the request's time was left when it was sent, in ms;
	// By is its deadline on the sender's wall clock, in Unix ms.
	Left  int64         `json:"left,omitempty"`
	By    int64         `json:"by,omitempty"`
	Error *engine.Error `json:"err,omitempty"`
}

const (
	typeAsk    = "ask"
	typeAnswer = "answer"
	typeTell   = "tell"
)

const maxHeader = 256 << 10 // an error may carry what holds now

var errEnvelope = errors.New("cluster: not a message of ours")

func pack(h *header, body []byte) (*wrapperspb.BytesValue, error) {
	if len(body) > MaxBody {
		return nil, ErrTooLarge
	}
	j, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(j) > maxHeader {
		return nil, ErrTooLarge
	}
	b := make([]byte, 4, 4+len(j)+len(body))
	binary.BigEndian.PutUint32(b, uint32(len(j))) //nolint:gosec // at most maxHeader
	return wrapperspb.Bytes(append(append(b, j...), body...)), nil
}

func unpack(m *wrapperspb.BytesValue) (h header, body []byte, err error) {
	b := m.GetValue()
	if len(b) < 4 {
		return h, nil, errEnvelope
	}
	n := binary.BigEndian.Uint32(b)
	if n > maxHeader || uint64(len(b)-4) < uint64(n) || len(b)-4-int(n) > MaxBody { //nolint:gosec // it has four bytes
		return h, nil, errEnvelope
	}
	d := json.NewDecoder(bytes.NewReader(b[4 : 4+n]))
	d.UseNumber() // what holds now is passed on as it came
	if err := d.Decode(&h); err != nil {
		return h, nil, errEnvelope
	}
	return h, b[4+n:], nil
}

// skew is how far the wall clocks of two nodes may be apart before a request
// is taken for late that is not.
const skew = 2 * time.Second

// remaining is how long a request that arrived may still take; 0: it is late.
func (h *header) remaining(now time.Time) time.Duration {
	left := time.Duration(h.Left) * time.Millisecond
	if by := time.UnixMilli(h.By); now.After(by.Add(skew)) {
		return 0
	}
	return max(left, 0)
}

// told is an error as it travels.
func told(err error) *engine.Error {
	var e *engine.Error
	if errors.As(err, &e) {
		return e
	}
	return &engine.Error{Kind: engine.KindInternal, Code: "internal", Detail: "the node that acts for this failed; its log says why"}
}
