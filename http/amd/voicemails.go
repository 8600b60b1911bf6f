package amd

import (
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
	"dialler/http/form"
	"dialler/http/wire"
)

type voicemailView struct {
	ID        engine.VoicemailID `json:"id"`
	Name      string             `json:"name"`
	DurationS float64            `json:"duration_s"`
	AudioURL  string             `json:"audio_url"`
	CreatedAt time.Time          `json:"created_at"`
	CreatedBy string             `json:"created_by"`
}

type voicemailList struct {
	Voicemails []voicemailView `json:"voicemails"`
}

func viewVoicemail(v *engine.Voicemail) voicemailView {
	return voicemailView{ID: v.ID, Name: v.Name, DurationS: v.Duration.Seconds(), AudioURL: "/api/v1/voicemails/" +
		string(v.ID) + "/audio",
		CreatedAt: v.CreatedAt.UTC(), CreatedBy: v.CreatedBy}
}

func (s *API) ListVoicemails(r *wire.Request) error {
	list, err := s.store.Voicemails(r.Ctx())
	if err != nil {
		return err
	}
	out := voicemailList{Voicemails: make([]voicemailView, len(list))}
	for i := range list {
		out.Voicemails[i] = viewVoicemail(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

// AddVoicemail accepts a WAV file; its name is a parameter.
func (s *API) AddVoicemail(r *wire.Request) error {
	var errs form.Errors
	name := string(r.HTTP.QueryArgs().Peek("name"))
	r.HTTP.QueryArgs().Del("name")
	if name == "" || len(name) > voicemailNameCap || !form.Printable(name) {
		errs.Add("name", "invalid_format", "must be 1 to "+strconv.Itoa(voicemailNameCap)+" printable characters")
	}
	for k := range r.HTTP.QueryArgs().All() {
		errs.UnknownParameter(string(k))
	}
	if err := errs.Err(); err != nil {
		return err
	}
	if ct := string(r.HTTP.Request.Header.ContentType()); ct != wire.ContentWAV && ct != "audio/x-wav" {
		return &engine.Error{Kind: wire.KindMediaType, Code: "unsupported_media_type",
			Detail: "Send the message as audio/wav."}
	}
	file, err := r.Upload(voicemailBodyCap)
	if err != nil {
		return err
	}
	wav, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	v, err := s.store.AddVoicemail(r.Ctx(), engine.VoicemailID("vm_"+strings.ToLower(wire.RandomText(20))), name, wav,
		r.Who())
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusCreated, viewVoicemail(&v))
}

func (s *API) VoicemailAudio(r *wire.Request) error {
	wav, err := s.store.VoicemailFile(r.Ctx(), engine.VoicemailID(r.Param("voicemail_id")))
	if err != nil {
		return err
	}
	r.Send(nethttp.StatusOK, wire.ContentWAV, wav)
	return nil
}

func (s *API) DeleteVoicemail(r *wire.Request) error {
	if err := s.store.DeleteVoicemail(r.Ctx(), engine.VoicemailID(r.Param("voicemail_id")), r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

const (
	voicemailBodyCap = 4 << 20
	voicemailNameCap = 100
)
