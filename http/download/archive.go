package download

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
	"dialler/http/wire"
)

// ArchiveCap bounds the archives made concurrently: each has a database snapshot and a file until
// it has been sent.
const ArchiveCap = 2

// SendArchive sends a zip file that open completes first, so that its length is known: a truncated
// one is detected as such. If open fails, that is logged as failed, with the campaign if there is
// one.
func (s *Files) SendArchive(r *wire.Request, name, failed string, campaign engine.CampaignID,
	open func(context.Context) (io.ReadSeekCloser, error)) error {
	if !s.Archives.Take(r.Ctx()) {
		return engine.Unavailable("too_many_reports",
			"Other records and exports are being made; try again when one has ended.", 10*time.Second)
	}
	r.Send(nethttp.StatusOK, "application/zip", nil)
	h := &r.HTTP.Response.Header
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.SetConnectionClose()
	h.SetContentLength(-1) // replaced once it is known
	head := &fasthttp.ResponseHeader{}
	h.CopyTo(head)
	r.AtLeisure(s.Archives.Leave, func(ctx context.Context, conn net.Conn) {
		f, err := open(ctx)
		if err != nil {
			e := s.host.Log.Warn().Str("code", engine.ErrorCode(err))
			if campaign != "" {
				e = e.Str("campaign_id", string(campaign))
			}
			e.Msg(failed + "; the client sees a broken answer")
			return
		}
		defer func() { _ = f.Close() }()
		size, err := f.Seek(0, io.SeekEnd)
		if err == nil {
			_, err = f.Seek(0, io.SeekStart)
		}
		if err != nil {
			return
		}
		head.SetContentLength(int(size))
		out := &wire.Patient{Conn: conn, Patience: s.patience}
		if _, err := out.Write(head.AppendBytes(nil)); err == nil {
			_, _ = io.CopyN(out, f, size)
		}
	})
	return nil
}
