package http

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
)

// Classification of the fake: reviews that a test has added.

func (p *ports) Voicemails(context.Context) ([]engine.Voicemail, error) {
	defer p.lock()()
	return slices.Clone(p.voicemails), p.fail
}

func (p *ports) AddVoicemail(_ context.Context, id engine.VoicemailID, name string, wav []byte,
	who engine.Who) (engine.Voicemail, error) {
	defer p.lock()()
	if len(wav) < 4 || string(wav[:4]) != "RIFF" {
		return engine.Voicemail{}, engine.Invalid("invalid_audio", "The message cannot be used.")
	}
	v := engine.Voicemail{ID: id, Name: name, Duration: 1500 * time.Millisecond, CreatedAt: testAt, CreatedBy: who.Name}
	p.voicemails = append(p.voicemails, v)
	return v, p.fail
}

func (p *ports) VoicemailFile(_ context.Context, id engine.VoicemailID) ([]byte, error) {
	defer p.lock()()
	if !slices.ContainsFunc(p.voicemails, func(v engine.Voicemail) bool { return v.ID == id }) {
		return nil, engine.NotFound("voicemail_not_found", "There is no such message.")
	}
	return []byte("RIFF"), nil
}

func (p *ports) DeleteVoicemail(_ context.Context, id engine.VoicemailID, _ engine.Who) error {
	defer p.lock()()
	before := len(p.voicemails)
	p.voicemails = slices.DeleteFunc(p.voicemails, func(v engine.Voicemail) bool { return v.ID == id })
	if len(p.voicemails) == before {
		return engine.NotFound("voicemail_not_found", "There is no such message.")
	}
	return p.fail
}

func (p *ports) AMDReviews(_ context.Context, q engine.AMDReviewQuery, page campaign.Page) (list []engine.AMDReview,
	total int, err error) {
	defer p.lock()()
	p.pages, p.reviewed = append(p.pages, page), q
	return slices.Clone(p.reviews), len(p.reviews), p.fail
}

func (p *ports) AMDReview(_ context.Context, id engine.AttemptID) (engine.AMDReview, error) {
	defer p.lock()()
	for _, v := range p.reviews {
		if v.Attempt == id {
			return v, p.fail
		}
	}
	return engine.AMDReview{}, notFound("review_not_found")
}

func (p *ports) LabelAMDReview(_ context.Context, id engine.AttemptID, label engine.Verdict, who engine.Who) error {
	defer p.lock()()
	for i := range p.reviews {
		if v := &p.reviews[i]; v.Attempt == id {
			at := testAt
			v.Label, v.LabelledBy, v.LabelledAt = label, who.Name, &at
			if label == "" {
				v.LabelledBy, v.LabelledAt = "", nil
			}
		}
	}
	return p.fail
}

func (p *ports) AMDConfusion(_ context.Context, q engine.AMDReviewQuery) ([]engine.AMDConfusion, error) {
	defer p.lock()()
	p.reviewed = q
	return p.confused, p.fail
}

func (p *ports) AMDAudio(context.Context, engine.AttemptID) ([]byte, error) {
	defer p.lock()()
	return []byte("RIFF"), p.fail
}

func (p *ports) OpenAMDExport(_ context.Context, q engine.AMDReviewQuery) (io.ReadSeekCloser, error) {
	defer p.lock()()
	p.reviewed = q
	f, err := os.CreateTemp("", "export")
	if err == nil {
		_ = os.Remove(f.Name())
		_, err = f.WriteString("PK-export")
	}
	return f, err
}
