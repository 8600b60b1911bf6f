package process

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/media"
)

// AddVoicemail implements http.Classification.
func (f *Front) AddVoicemail(ctx context.Context, id engine.VoicemailID, name string, wav []byte,
	who engine.Who) (engine.Voicemail, error) {
	audio, err := media.EncodeMessage(wav)
	if err != nil {
		return engine.Voicemail{}, engine.Invalid("invalid_audio", "The message cannot be used: "+err.Error()+".")
	}
	v := engine.Voicemail{ID: id, Name: name, CreatedAt: f.p.clock.Now(), CreatedBy: who.Name,
		Duration: time.Duration(len(audio)) * time.Second / 8000}
	return v, f.Store.AddVoicemail(ctx, v, audio, who)
}

// VoicemailFile implements http.Classification: the message as a WAV file.
func (f *Front) VoicemailFile(ctx context.Context, id engine.VoicemailID) ([]byte, error) {
	audio, err := f.Store.VoicemailAudio(ctx, id)
	if err != nil {
		return nil, err
	}
	return monoWAV(audio), nil
}

// reviewedAudio is how much of a call is played for a review: what the classifier heard, including
// the beep that may have revised it.
const reviewedAudio = 60 * time.Second

// AMDAudio implements http.Classification.
func (f *Front) AMDAudio(ctx context.Context, id engine.AttemptID) ([]byte, error) {
	file, _, err := f.OpenRecording(ctx, id)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return calleeOf(file)
}

// calleeOf extracts the callee's side from the beginning of a recording.
func calleeOf(r io.Reader) ([]byte, error) {
	const samples = int(reviewedAudio/time.Second) * 8000
	b, err := io.ReadAll(io.LimitReader(r, int64(recordingHeader+2*samples)))
	if err != nil || len(b) < recordingHeader {
		return nil, errors.Join(err, io.ErrUnexpectedEOF)
	}
	b = b[recordingHeader:]
	left := make([]byte, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		left = append(left, b[i])
	}
	return monoWAV(left), nil
}

// recordingHeader is the header length of media/recording's files.
const recordingHeader = 58

// monoWAV wraps μ-law at 8 kHz in a WAV file (WAVE format 7).
func monoWAV(audio []byte) []byte {
	pad := len(audio) & 1
	le := binary.LittleEndian
	b := make([]byte, 0, recordingHeader+len(audio)+pad)
	b = append(b, "RIFF"...)
	b = le.AppendUint32(b, uint32(50+len(audio)+pad)) //nolint:gosec // a minute
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 18)
	for _, v := range []uint16{7, 1} {
		b = le.AppendUint16(b, v)
	}
	b = le.AppendUint32(b, 8000)
	b = le.AppendUint32(b, 8000)
	for _, v := range []uint16{1, 8, 0} {
		b = le.AppendUint16(b, v)
	}
	b = append(b, "fact"...)
	b = le.AppendUint32(b, 4)
	b = le.AppendUint32(b, uint32(len(audio))) //nolint:gosec // a minute
	b = append(b, "data"...)
	b = le.AppendUint32(b, uint32(len(audio))) //nolint:gosec // a minute
	return append(append(b, audio...), make([]byte, pad)...)
}

// exportCap bounds how many calls an export contains.
const exportCap = 2000

// OpenAMDExport implements http.Classification: a folder in the form that `lab amd eval` and `lab
// amd train` read, in an unnamed file. A call whose recording has been deleted, or is on a node
// that is unavailable, is left out.
func (f *Front) OpenAMDExport(ctx context.Context, q engine.AMDReviewQuery) (io.ReadSeekCloser, error) {
	file, err := os.CreateTemp("", "dialler-amd") // 0600
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err == nil {
		err = f.writeAMDExport(ctx, q, file)
	}
	if err != nil {
		if file != nil {
			_ = file.Close()
		}
		return nil, err
	}
	return file, nil
}

func (f *Front) writeAMDExport(ctx context.Context, q engine.AMDReviewQuery, out io.Writer) error {
	z := zip.NewWriter(out)
	var table bytes.Buffer
	rows := csv.NewWriter(&table)
	_ = rows.Write([]string{"file", "label", "real", "voice", "license_source"}) // to memory
	yes := true
	q.Labelled = &yes
	const size = 100
	for page := 1; page <= exportCap/size; page++ {
		list, _, err := f.Store.Recordings.AMDReviews(ctx, q, campaign.Page{Number: page, Size: size})
		if err != nil {
			return err
		}
		for i := range list {
			v := &list[i]
			audio, err := f.AMDAudio(ctx, v.Attempt)
			if err != nil {
				continue
			}
			name := string(v.Attempt) + ".wav"
			w, err := z.Create("amd/" + name)
			if err == nil {
				_, err = w.Write(audio)
			}
			if err != nil {
				return err
			}
			_ = rows.Write([]string{name, string(v.Label), "1", string(v.Attempt), "calls of " + string(v.Campaign)})
		}
		if len(list) < size {
			break
		}
	}
	rows.Flush()
	w, err := z.Create("amd/labels.csv")
	if err == nil {
		_, err = w.Write(table.Bytes())
	}
	return errors.Join(err, z.Close())
}
