package calls

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

// amdView is the verdict of answer classification on a call.
type amdView struct {
	Verdict       engine.Verdict     `json:"verdict"`
	RevisedFrom   engine.Verdict     `json:"revised_from,omitempty"`
	Confidence    float64            `json:"confidence"`
	TookMS        int64              `json:"took_ms"`
	DecidedAt     *time.Time         `json:"decided_at"`
	GreetingEndAt *time.Time         `json:"greeting_end_at,omitempty"`
	VoicemailAt   *time.Time         `json:"voicemail_left_at,omitempty"`
	Features      map[string]float64 `json:"features,omitempty"`
}

func viewAMD(a *attempt.Attempt) *amdView {
	if a.Verdict == "" {
		return nil
	}
	return &amdView{
		Verdict: a.Verdict, RevisedFrom: a.RevisedFrom, Confidence: a.Confidence, TookMS: a.AMDTook.Milliseconds(),
		DecidedAt:     a.VerdictAt,
		GreetingEndAt: a.GreetingEndAt, VoicemailAt: a.VoicemailLeftAt, Features: a.Features,
	}
}
