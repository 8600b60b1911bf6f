package http

import (
	"context"
	"io"
	"net"
	nethttp "net/http"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"dialler/engine"
)

// evidenceCap bounds the records of runs that are being made or sent: each has a
// snapshot of the database and a file.
const evidenceCap = 2

// evidence answers with the record of a run (docs/evidence.md). It is made as a
// whole before its first byte is sent.
func (s *Server) evidence(r *request) error {
	id, err := r.campaignOf()
	if err != nil {
		return err
	}
	run, err := strconv.Atoi(r.param("run"))
	if err != nil || run < 1 || run > 1<<30 {
		return engine.NotFound("run_not_found", "the campaign has no run of this number")
	}
	if err := s.Evidence.RunExists(r.ctx(), id, run); err != nil {
		return err
	}
	if s.records.Add(1) > evidenceCap {
		s.records.Add(-1)
		return engine.Unavailable("too_many_reports", "Records of runs are being made already; try again when one has ended.", 10*time.Second)
	}
	who := r.who()
	r.send(nethttp.StatusOK, "application/zip", nil)
	h := &r.rc.Response.Header
	h.Set("Content-Disposition", `attachment; filename="evidence-`+string(id)+`-`+strconv.Itoa(run)+`.zip"`)
	h.Set("Cache-Control", "no-store")
	h.SetConnectionClose()
	h.SetContentLength(-1) // replaced once it is known
	head := &fasthttp.ResponseHeader{}
	h.CopyTo(head)
	r.rc.HijackSetNoResponse(true)
	r.rc.Hijack(s.atLeisure(func() { s.records.Add(-1) }, func(ctx context.Context, conn net.Conn) {
		f, err := s.Evidence.OpenEvidence(ctx, id, run, who)
		if err != nil {
			s.Log.Warn().Str("code", engine.ErrorCode(err)).Str("campaign_id", string(id)).Msg("the record of a run could not be made; who asked for it sees a broken answer")
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
		out := &patient{conn: conn, patience: s.ReportPatience}
		if _, err := out.Write(head.AppendBytes(nil)); err == nil {
			_, _ = io.CopyN(out, f, size)
		}
	}))
	return nil
}
