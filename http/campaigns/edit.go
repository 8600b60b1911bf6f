package campaigns

import (
	"encoding/json"
	"errors"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/form"
	"dialler/http/wire"
)

// Edit (SEMANTICS §2): a JSON Merge Patch (RFC 7396) of a campaign's settings. The edited version
// is required, as the member version of the body or as If-Match: if others have changed the
// settings meanwhile, the edit is refused with the current ones.

// editedNow is the current campaign as shown in a refused edit.
type editedNow struct {
	Version  int64        `json:"version"`
	Settings settingsView `json:"settings"`
}

func (s *API) Edit(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	f, err := readPatch(r)
	if err != nil {
		return err
	}
	version := editedVersion(r, f)
	if err := f.Errs.Err(); err != nil {
		return err
	}
	d, err := s.Campaigns.Detail(r.Ctx(), id)
	if err != nil {
		return err
	}
	merged, err := mergeSettings(&d.Campaign.Settings, f)
	if err != nil {
		return err
	}
	settings := readSettings(merged)
	merged.Done()
	f.Errs.Merge(settings.Validate())
	if err := s.checkNamed(r.Ctx(), &settings, f.Errs); err != nil {
		return err
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	d, err = s.Campaigns.Act(r.Ctx(), campaign.Act{Campaign: id, Action: campaign.ActionEdit, Settings: &settings,
		Version: version, Who: r.Who()})
	if err != nil {
		return conflicting(err)
	}
	return r.Reply(nethttp.StatusOK, View(&d))
}

// conflicting adds the readable campaign to a version conflict.
func conflicting(err error) error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return err
	}
	c, ok := e.Current.(campaign.Campaign)
	if !ok {
		return err
	}
	shown := *e
	shown.Current = editedNow{Version: c.Version, Settings: viewSettings(&c.Settings)}
	return &shown
}

// readPatch reads a merge patch; plain JSON is accepted as one too.
func readPatch(r *wire.Request) (form.Form, error) {
	const mergePatchType = "application/merge-patch+json"
	if ct := r.HTTP.Request.Header.ContentType(); strings.EqualFold(string(ct), mergePatchType) {
		r.HTTP.Request.Header.SetContentType(wire.ContentJSON)
	}
	return r.Body()
}

// editedVersion returns the version that was edited; an error goes to the form.
func editedVersion(r *wire.Request, f form.Form) int64 {
	inBody := int64(f.Whole("version", 0))
	f.Value.Members = slices.DeleteFunc(f.Value.Members, func(m form.Member) bool { return m.Name == "version" })
	given := string(r.HTTP.Request.Header.Peek("If-Match"))
	if given == "" {
		switch {
		case len(f.Errs.List) > 0:
		case inBody < 1:
			f.Fail(
				"version",
				"required",
				"is required, in the body or as If-Match: the version of the settings that were "+
					"edited",
			)
		}
		return inBody
	}
	n, err := strconv.ParseInt(strings.Trim(given, `"`), 10, 64)
	switch {
	case err != nil || n < 1:
		f.Fail("If-Match", "invalid_format", `must be a version, for example "3"`)
	case inBody != 0 && inBody != n:
		f.Fail("version", "mismatch", "must be the one in If-Match")
	}
	return n
}

// mergeSettings returns the form of the settings with the patch applied; errors are added to the
// patch's.
func mergeSettings(now *campaign.Settings, patch form.Form) (form.Form, error) {
	raw, err := json.Marshal(viewSettings(now))
	if err != nil {
		return form.Form{}, err
	}
	base, e := form.Parse(raw, patch.Errs)
	if e != nil {
		return form.Form{}, e
	}
	merged := form.MergeValues(base, *patch.Value)
	return form.Form{Value: &merged, Errs: patch.Errs}, nil
}
