package routing

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"sync"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// AddContacts adds contacts to a campaign.
func (r *Router) AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	return carry(ctx, r, cmd.Campaign, "add_contacts", cmd, r.tree.AddContacts)
}

// AddBatch adds contacts to a campaign, judging each by itself.
func (r *Router) AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error) {
	return carry(ctx, r, cmd.Campaign, "add_batch", cmd, r.tree.AddBatch)
}

// UndoImport takes back an import.
func (r *Router) UndoImport(ctx context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error) {
	return carry(ctx, r, cmd.Campaign, "undo_import", cmd, r.tree.UndoImport)
}

const (
	// pieceSize is how much of a file is sent to its campaign's owner at a time.
	pieceSize = 256 << 10
	// uploadsCap bounds the concurrent uploads from other nodes, uploadIdle the wait for the next
	// piece of one.
	uploadsCap = 64
	uploadIdle = time.Minute
	// settleWait bounds the wait for the end of an import.
	settleWait = 15 * time.Minute
)

var (
	errUploads = engine.Unavailable("too_many_uploads", "", 5*time.Second)
	// errUploadLost means that earlier pieces went to another owner, or came too slowly.
	errUploadLost = engine.Unavailable("upload_interrupted", "", time.Second)
	errCutShort   = errors.New("routing: the file was cut short")
)

// piece is part of a file in transit.
type piece struct {
	Upload string
	Begin  *campaign.ImportContacts // in the first one
	Bytes  []byte
	Last   bool
	Broken bool // the file cannot be read completely
}

// Import reads a file of contacts into a campaign. The file is sent to the owner in pieces, at the
// owner's pace.
func (r *Router) Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	if _, err := r.nodes.Owner(ctx, of(cmd.Campaign)); err != nil {
		return campaign.Import{}, err
	}
	if _, mine := r.nodes.Owned(of(cmd.Campaign)); mine {
		return r.tree.Import(ctx, cmd, file)
	}
	send := func(p piece) (campaign.Import, error) {
		wait := uploadIdle
		if p.Last {
			wait = settleWait
		}
		ctx, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		return carry(ctx, r, cmd.Campaign, "upload", p, r.take)
	}
	p := piece{Upload: rand.Text(), Begin: &cmd}
	if imp, err := send(p); err != nil {
		return imp, err
	}
	p.Begin = nil
	buf := make([]byte, pieceSize)
	for {
		n, err := io.ReadFull(file, buf)
		p.Bytes, p.Last = buf[:n], errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !p.Last {
			p.Bytes, p.Broken = nil, true
			_, _ = send(p)
			return campaign.Import{}, err // the reader's own
		}
		if imp, serr := send(p); serr != nil || p.Last {
			return imp, serr
		}
	}
}

// uploads are the files that other nodes are sending here.
type uploads struct {
	mu   sync.Mutex
	open map[string]*upload
}

// of returns an upload, nil if it is unknown.
func (u *uploads) of(id string) *upload {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.open[id]
}

func (u *uploads) drop(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.open, id)
}

type upload struct {
	pipe   *io.PipeWriter
	cancel context.CancelFunc
	idle   *time.Timer
	done   chan struct{} // closed once imp and err are set
	imp    campaign.Import
	err    error
}

// take is the owner's side.
func (r *Router) take(ctx context.Context, p piece) (campaign.Import, error) {
	if p.Begin != nil {
		return campaign.Import{}, r.beginUpload(p)
	}
	u := r.uploads.of(p.Upload)
	if u == nil {
		return campaign.Import{}, errUploadLost
	}
	u.idle.Reset(uploadIdle)
	if p.Broken {
		_ = u.pipe.CloseWithError(errCutShort)
		return campaign.Import{}, nil
	}
	if _, err := u.pipe.Write(p.Bytes); err != nil || !p.Last {
		if err == nil {
			return campaign.Import{}, nil
		}
		// No reader is left: the import ended before the file did.
	}
	u.idle.Stop()
	_ = u.pipe.Close()
	select {
	case <-u.done:
		r.uploads.drop(p.Upload)
		if errors.Is(u.err, errCutShort) {
			return u.imp, errUploadLost
		}
		return u.imp, u.err
	case <-ctx.Done():
		return campaign.Import{}, ctx.Err()
	}
}

func (r *Router) beginUpload(p piece) error {
	r.uploads.mu.Lock()
	defer r.uploads.mu.Unlock()
	if r.uploads.open == nil {
		r.uploads.open = map[string]*upload{}
	}
	if len(r.uploads.open) >= uploadsCap {
		return errUploads
	}
	reader, writer := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	u := &upload{pipe: writer, cancel: cancel, done: make(chan struct{})}
	u.idle = time.AfterFunc(uploadIdle, func() { _ = writer.CloseWithError(errCutShort) })
	r.uploads.open[p.Upload] = u
	go func() {
		defer cancel()
		u.imp, u.err = r.tree.Import(ctx, *p.Begin, reader)
		_ = reader.CloseWithError(io.ErrClosedPipe) // a pending write learns that there is no reader
		close(u.done)
		// The sender asks for the end, or never will.
		time.AfterFunc(uploadIdle, func() { r.uploads.drop(p.Upload) })
	}()
	return nil
}
