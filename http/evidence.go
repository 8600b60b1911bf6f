package http

import (
	"context"
	"strconv"

	"dialler/engine"
)

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
	who := r.who()
	return s.sendArchive(r, "evidence-"+string(id)+"-"+strconv.Itoa(run)+".zip", "the record of a run could not be made", id,
		func(ctx context.Context) (RecordingFile, error) { return s.Evidence.OpenEvidence(ctx, id, run, who) })
}
