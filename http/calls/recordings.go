package calls

import (
	"bytes"
	"context"
	"io"
	"net"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/http/wire"
)

const (
	// listenCap bounds the recordings sent concurrently.
	listenCap = 64
)

// recordingView is a recording as its attempt shows it.
type recordingView struct {
	URL        string     `json:"url,omitempty"` // absent once the recording is deleted
	StartedAt  time.Time  `json:"started_at"`
	DurationS  float64    `json:"duration_s"`
	Bytes      int64      `json:"bytes"`
	Incomplete bool       `json:"incomplete"`
	DeletedAt  *time.Time `json:"deleted_at,omitempty"`
}

func viewRecording(a *attempt.Attempt) *recordingView {
	if a.Quality == nil || a.Quality.Recording == nil {
		return nil
	}
	rec := a.Quality.Recording
	v := &recordingView{StartedAt: rec.StartedAt, DurationS: rec.Duration.Seconds(), Bytes: rec.Bytes,
		Incomplete: rec.Incomplete, DeletedAt: rec.DeletedAt}
	if rec.DeletedAt == nil {
		v.URL = "/api/v1/recordings/" + string(a.ID)
	}
	return v
}

var errNoRecording = engine.NotFound("recording_not_found", "")

// recordingOf opens the recording of the path; one that the key may not hear counts as not found.
func (s *API) recordingOf(r *wire.Request) (engine.AttemptID, io.ReadSeekCloser, error) {
	id := engine.AttemptID(r.Param("attempt_id"))
	if _, ok := id.Call().Attempt(); !ok {
		return "", nil, errNoRecording
	}
	f, owner, err := s.Recordings.OpenRecording(r.Ctx(), id)
	if r.MayUse(owner) || (err != nil && owner == "") {
		return id, f, err
	}
	if err == nil {
		_ = f.Close()
	}
	return "", nil, errNoRecording
}

// SendRecording sends a WAV file, or the requested range of it (RFC 9110 §14), because players
// seek.
func (s *API) SendRecording(r *wire.Request) error {
	id, f, err := s.recordingOf(r)
	if err != nil {
		return err
	}
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		_ = f.Close()
		return err
	}
	from, until, status := int64(0), size, nethttp.StatusOK
	// Several ranges, and units other than bytes, may be ignored (§14.2).
	if asked := r.HTTP.Request.Header.Peek("Range"); bytes.HasPrefix(asked, []byte("bytes=")) &&
		bytes.IndexByte(asked, ',') < 0 {
		first, last, err := fasthttp.ParseByteRange(asked, int(size))
		if err != nil || first > last { // bytes=-0 selects nothing (§14.1.1)
			_ = f.Close()
			r.HTTP.Response.Header.Set("Content-Range", "bytes */"+strconv.FormatInt(size, 10))
			return &engine.Error{
				Kind:   wire.KindRange,
				Code:   "range_not_satisfiable",
				Detail: "The recording has no such range.",
			}
		}
		from, until, status = int64(first), int64(last)+1, nethttp.StatusPartialContent
	}
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		_ = f.Close()
		return err
	}
	if s.Listening.Add(1) > listenCap {
		s.Listening.Add(-1)
		_ = f.Close()
		return engine.Unavailable(
			"too_many_recordings",
			"",
			5*time.Second,
		)
	}
	r.Send(status, wire.ContentWAV, nil)
	h := &r.HTTP.Response.Header
	h.Set("Accept-Ranges", "bytes")
	h.Set("Content-Disposition", `inline; filename="`+string(id)+`.wav"`)
	if status == nethttp.StatusPartialContent {
		h.Set("Content-Range", "bytes "+strconv.FormatInt(from, 10)+"-"+strconv.FormatInt(until-1,
			10)+"/"+strconv.FormatInt(size, 10))
	}
	h.SetContentLength(int(until - from))
	h.SetConnectionClose()
	head := h.AppendBytes(nil)
	r.AtLeisure(func() {
		_ = f.Close()
		s.Listening.Add(-1)
	}, func(_ context.Context, conn net.Conn) {
		out := &wire.Patient{Conn: conn, Patience: s.Patience}
		if _, err := out.Write(head); err == nil {
			// If the reader disconnects, or the file has become shorter, the connection ends.
			_, _ = io.CopyN(out, f, until-from)
		}
	})
	return nil
}

// DeleteRecording deletes a recording before its retention ends.
func (s *API) DeleteRecording(r *wire.Request) error {
	id, f, err := s.recordingOf(r)
	if err != nil {
		return err
	}
	_ = f.Close()
	if err := s.Recordings.DeleteRecording(r.Ctx(), id, r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}
