package reports

import (
	"context"
	"io"
	"strconv"

	"dialler/engine"
	"dialler/http/wire"
)

// SendEvidence sends the record of a run (docs/evidence.md). It is complete before its first byte
// is sent.
func (s *API) SendEvidence(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	run, err := strconv.Atoi(r.Param("run"))
	if err != nil || run < 1 || run > 1<<30 {
		return engine.NotFound("run_not_found", "")
	}
	if err := s.Evidence.RunExists(r.Ctx(), id, run); err != nil {
		return err
	}
	who := r.Who()
	return s.files.SendArchive(r, "evidence-"+string(id)+"-"+strconv.Itoa(run)+".zip",
		"the record of a run could not be made", id,
		func(ctx context.Context) (io.ReadSeekCloser, error) {
			return s.Evidence.OpenEvidence(ctx, id, run, who)
		})
}
