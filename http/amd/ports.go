package amd

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Classification is what people say about who answered, and what is left on machines.
type Classification interface {
	// Voicemails lists the messages that can be left on machines, newest first.
	Voicemails(ctx context.Context) ([]engine.Voicemail, error)
	// AddVoicemail stores a WAV file. It returns Invalid "invalid_audio" or Conflict
	// "too_many_voicemails".
	AddVoicemail(ctx context.Context, id engine.VoicemailID, name string, wav []byte, who engine.Who) (engine.Voicemail,
		error)
	// VoicemailFile returns a message as a WAV file, or NotFound "voicemail_not_found".
	VoicemailFile(ctx context.Context, id engine.VoicemailID) ([]byte, error)
	// DeleteVoicemail: Conflict "voicemail_in_use".
	DeleteVoicemail(ctx context.Context, id engine.VoicemailID, who engine.Who) error

	// AMDReviews returns one page of the verdicts under review, newest first, and their number.
	AMDReviews(ctx context.Context, q engine.AMDReviewQuery, page campaign.Page) ([]engine.AMDReview, int, error)
	// AMDReview: NotFound "review_not_found".
	AMDReview(ctx context.Context, id engine.AttemptID) (engine.AMDReview, error)
	// LabelAMDReview stores a reviewer's label of a call; "" removes it.
	LabelAMDReview(ctx context.Context, id engine.AttemptID, label engine.Verdict, who engine.Who) error
	// AMDConfusion counts the labelled verdicts, ordered by trunk, country, label.
	AMDConfusion(ctx context.Context, q engine.AMDReviewQuery) ([]engine.AMDConfusion, error)
	// AMDAudio returns the callee's side of a call's first minute as a WAV file. Errors as for
	// OpenRecording.
	AMDAudio(ctx context.Context, id engine.AttemptID) ([]byte, error)
	// OpenAMDExport makes a zipped folder of labelled calls, which is deleted when it is closed.
	OpenAMDExport(ctx context.Context, q engine.AMDReviewQuery) (io.ReadSeekCloser, error)
}
