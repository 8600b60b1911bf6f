package process

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/ownership"
	"dialler/media/recording"
)

// A recording is on the disk of the node that carried its call. Any node can serve it: recordings
// of other nodes are read over the link in parts, one at a time.

const (
	askedRecording = "recording"
	// recordingPart is how much of a recording one message contains: little enough that calls do
	// not wait behind it.
	recordingPart = 32 << 10
	// recordingWait bounds the search for a recording, and the wait for a part.
	recordingWait = 5 * time.Second
)

// recordingQuestion requests bytes of a recording; with Bytes 0 it asks for its size.
type recordingQuestion struct {
	Place       string
	From, Bytes int64
}

type recordingAnswer struct {
	Size  int64
	Bytes []byte
}

// serveRecordings reads recordings for other nodes.
func (p *Process) serveRecordings(s *several) {
	s.node.Handle(
		askedRecording,
		func(_ context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte, error) {
			var q recordingQuestion
			if err := link.Decode(body, &q); err != nil || q.From < 0 {
				return nil, engine.Invalid("request_unreadable", "")
			}
			a, err := readRecording(p.recorder, &q)
			return link.Encode(&a), err
		},
	)
}

func readRecording(files *recording.Recorder, q *recordingQuestion) (a recordingAnswer, err error) {
	f, err := files.Open(q.Place)
	if err != nil {
		return a, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return a, err
	}
	a.Size = info.Size()
	a.Bytes = make([]byte, max(0, min(q.Bytes, recordingPart, a.Size-q.From)))
	_, err = f.ReadAt(a.Bytes, q.From)
	return a, err
}

// askRecording asks one node.
func (s *several) askRecording(
	ctx context.Context,
	at engine.Incarnation,
	q recordingQuestion,
) (a recordingAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, recordingWait)
	defer cancel()
	body, err := s.node.AskNode(ctx, at, askedRecording, link.Encode(&q))
	if err == nil {
		err = link.Decode(body, &a)
	}
	return a, err
}

// openRecording opens a recording that is not on this node's disk. It asks every node that is up: a
// disk may have moved to a node with another name. carrier returns the name of the node that
// recorded it, "" when that is no longer known.
func (s *several) openRecording(
	ctx context.Context,
	place string,
	carrier func(context.Context) (string, error),
) (*recordingElsewhere, error) {
	nodes, err := s.owners.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	type said struct {
		by  *ownership.Node
		a   recordingAnswer
		err error
	}
	all := make(chan said, len(nodes))
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	for i := range nodes {
		n := &nodes[i]
		if s.node.Was(n.Incarnation) { // already known not to be here
			all <- said{by: n, err: errNoRecording}
			continue
		}
		go func() {
			a, err := s.askRecording(asking, n.Incarnation, recordingQuestion{Place: place})
			all <- said{n, a, err}
		}()
	}
	var silent, without []string
	for range nodes {
		switch one := <-all; {
		case one.err == nil:
			return &recordingElsewhere{
				s: s, ctx: context.WithoutCancel(ctx), at: one.by.Incarnation, place: place, size: one.a.Size,
			}, nil
		case engine.ErrorCode(one.err) == "recording_in_progress":
			return nil, one.err
		case errors.Is(one.err, errNoRecording):
			without = append(without, one.by.Name)
		default:
			silent = append(silent, one.by.Name)
		}
	}
	name, err := carrier(ctx)
	switch {
	case err != nil:
		return nil, err
	case name == "" && len(silent) > 0: // too old: any node may have had it
		name = silent[0]
	case name == "", slices.Contains(without, name) && !slices.Contains(silent, name):
		return nil, errNoRecording
	}
	return nil, engine.Unavailable("recording_elsewhere",
		"The recording is on the node "+name+", which does not answer. Try again once that node is up.", recordingRetry)
}

// recordingRetry is the pause before an unavailable node is tried again.
const recordingRetry = 10 * time.Second

var errNoRecording = engine.NotFound("recording_not_found", "")

// recordingElsewhere is a recording on another node's disk; it buffers nothing.
type recordingElsewhere struct {
	s        *several
	ctx      context.Context // of the request, which the sending outlives
	at       engine.Incarnation
	place    string
	size, on int64
}

// Read implements io.Reader: it sends one message to the other node.
func (r *recordingElsewhere) Read(p []byte) (int, error) {
	left := r.size - r.on
	if left <= 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), recordingPart, left)
	a, err := r.s.askRecording(r.ctx, r.at, recordingQuestion{Place: r.place, From: r.on, Bytes: n})
	switch {
	case err != nil:
		return 0, err
	case int64(len(a.Bytes)) > n:
		return 0, link.ErrMalformed
	case len(a.Bytes) == 0: // it got shorter
		return 0, io.ErrUnexpectedEOF
	}
	r.on += int64(len(a.Bytes))
	return copy(p, a.Bytes), nil
}

// Seek implements io.Seeker.
func (r *recordingElsewhere) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.on
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, errors.New("process: a position before the recording's start")
	}
	r.on = offset
	return offset, nil
}

// Close implements io.Closer.
func (*recordingElsewhere) Close() error { return nil }
