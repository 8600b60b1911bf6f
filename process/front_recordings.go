package process

import (
	"context"
	"errors"
	"io"

	"dialler/engine"
)

// OpenRecording implements http.Recordings.
func (f *Front) OpenRecording(ctx context.Context, id engine.AttemptID) (io.ReadSeekCloser, engine.CampaignID, error) {
	place, owner, err := f.Store.Recordings.Recording(ctx, id)
	if err != nil {
		return nil, owner, err
	}
	file, err := f.p.recorder.Open(place)
	if err == nil {
		return file, owner, nil
	}
	if f.p.several != nil && errors.Is(err, errNoRecording) {
		var elsewhere *recordingElsewhere
		elsewhere, err = f.p.several.openRecording(ctx, place, func(ctx context.Context) (string, error) {
			return f.Store.Recordings.CarriedBy(ctx, id)
		})
		if err == nil {
			return elsewhere, owner, nil
		}
	}
	return nil, owner, err // no typed nil in the interface
}

// DeleteRecording implements http.Recordings.
func (f *Front) DeleteRecording(ctx context.Context, id engine.AttemptID, who engine.Who) error {
	place, _, err := f.Store.Recordings.Recording(ctx, id)
	if err != nil {
		return err
	}
	if f.p.several != nil {
		err = f.p.eraseEverywhere(ctx, erasureStep{Step: "files", Recordings: []string{place}})
	} else {
		err = f.p.recorder.Remove(place)
	}
	if err != nil {
		return err
	}
	return f.Store.Recordings.NoteRecordingDeleted(ctx, id, who)
}
