package campaigns

import (
	"maps"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/http/form"
	"dialler/http/wire"
)

// The activity log (spec: "One per start, pause, resume and stop action: the action, the user who
// did it and a timestamp. Listed most recent first"). All other actions need a filter.

// ActionNames are the API's names for events of the history.
var ActionNames = map[journal.Type]string{ //nolint:gosec // no passwords
	journal.CampaignStarted: "start", journal.CampaignPaused: "pause", journal.CampaignResumed: "resume",
	journal.CampaignStopped:   "stop",
	journal.CampaignRestarted: "restart", journal.CampaignRestartCancelled: "cancel_restart",
	journal.CampaignCreated: "create", journal.CampaignEdited: "edit", journal.CampaignCloned: "clone",
	journal.CampaignDeleted:   "delete",
	journal.CampaignCompleted: "complete", journal.CampaignFailed: "fail", journal.ContactsAdded: "add_contacts",
	journal.ImportUndone:    "undo_import",
	journal.ExclusionLifted: "lift_exclusion",
	journal.ContactExcluded: "exclude_contact", journal.ContactCallBackSet: "call_back_contact",
	journal.ContactRetried:     "retry_contact",
	journal.ExclusionsImported: "import_exclusions",

	"cadence.created": "create_cadence", "cadence.changed": "change_cadence", "cadence.deleted": "delete_cadence",
	"calendar.created": "create_calendar", "calendar.changed": "change_calendar", "calendar.deleted": "delete_calendar",
	"calendar.refreshed": "refresh_calendar",
	"bot.created":        "create_bot", "bot.changed": "change_bot", "bot.deleted": "delete_bot",
	"trunk.created": "create_trunk", "trunk.changed": "change_trunk", "trunk.deleted": "delete_trunk",
	"number.created": "create_number", "number.changed": "change_number",
	"key.created": "create_key", "key.changed": "change_key", "key.deleted": "delete_key",
	"key.secret_rotated": "rotate_key_secret",
	"user.created":       "create_user", "user.changed": "change_user", journal.UserLocked: "lock_user",
	journal.UserUnlocked: "unlock_user",
	"webhook.created":    "create_webhook", "webhook.changed": "change_webhook", "webhook.deleted": "delete_webhook",
	"webhook.disabled":       "disable_webhook",
	"webhook.secret_rotated": "rotate_webhook_secret", "webhook.tested": "test_webhook",
	"webhook.replayed":       "replay_webhook",
	journal.SuppressionAdded: "suppress", journal.SuppressionLifted: "lift_suppression",
	journal.RecordingDeleted: "delete_recording",
	journal.VoicemailAdded:   "add_voicemail", journal.VoicemailDeleted: "delete_voicemail",
	journal.VerdictLabelled: "label_verdict",
	journal.PersonErased:    "erase_person", journal.RestoreAccepted: "accept_restore",
	journal.CallFrequencyChanged: "change_call_frequency",
}

// shownActions are the actions in a campaign's log without a filter.
var shownActions = []journal.Type{journal.CampaignStarted, journal.CampaignPaused, journal.CampaignResumed,
	journal.CampaignStopped}

type activityList struct {
	Activity []activityView `json:"activity"`
	Page     int            `json:"page"`
	PageSize int            `json:"page_size"`
	Total    int            `json:"total"`
}

type activityView struct {
	Action string     `json:"action"`
	At     time.Time  `json:"at"`
	Who    engine.Who `json:"who"`
	Run    int        `json:"run,omitempty"`
	// Changes are the settings that an edit changed.
	Changes []campaign.Change `json:"changes,omitempty"`
	Reason  string            `json:"reason,omitempty"`
	// Subject is the identifier of what was created or changed, unless it is the campaign of the
	// log.
	Subject string `json:"subject,omitempty"`
	// Other is the other campaign of a clone.
	Other    engine.CampaignID `json:"campaign_id,omitempty"`
	Contacts int               `json:"contacts,omitempty"`
	Import   engine.ImportID   `json:"import_id,omitempty"`
	// Contact is the contact concerned, DueAt when it is to be dialled.
	Contact engine.ContactID `json:"contact_id,omitempty"`
	DueAt   *time.Time       `json:"due_at,omitempty"`
}

func viewActivity(e *journal.Event) activityView {
	v := activityView{Action: ActionNames[e.Type], At: e.At, Run: e.Run, Changes: e.Data.Changes,
		Other: e.Data.Campaign, Import: e.Data.Import, Contact: e.Contact, DueAt: e.Data.DueAt}
	if v.Action == "" {
		v.Action = string(e.Type)
	}
	if e.Data.Who != nil {
		v.Who = *e.Data.Who
	}
	switch e.Type { //nolint:exhaustive // those with a count of people
	case journal.ContactsAdded, journal.ImportUndone, journal.ExclusionsImported, journal.SuppressionAdded:
		v.Contacts = e.Data.Count
	}
	if e.Campaign == "" {
		v.Subject = e.Data.Reason
	} else {
		v.Reason = e.Data.Reason
	}
	return v
}

// ShowActivity shows the log of one campaign.
func (s *API) ShowActivity(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	types, page, err := activityQuery(r, shownActions)
	if err != nil {
		return err
	}
	list, total, err := s.Activity.Activity(r.Ctx(), id, types, page)
	if err != nil {
		return err
	}
	if total == 0 {
		if _, err := s.Campaigns.Detail(r.Ctx(), id); err != nil {
			return err
		}
	}
	return replyActivity(r, list, total, page)
}

// ShowConfigActivity shows the log of installation-wide configuration: bots, trunks, numbers, keys,
// users, and deleted campaigns.
func (s *API) ShowConfigActivity(r *wire.Request) error {
	types, page, err := activityQuery(r, nil)
	if err != nil {
		return err
	}
	list, total, err := s.Activity.Activity(r.Ctx(), "", types, page)
	if err != nil {
		return err
	}
	return replyActivity(r, list, total, page)
}

func replyActivity(r *wire.Request, list []journal.Event, total int, page campaign.Page) error {
	out := activityList{Activity: make([]activityView, len(list)), Page: page.Number, PageSize: page.Size, Total: total}
	for i := range list {
		out.Activity[i] = viewActivity(&list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

// activityQuery parses the filter; types is nil for all.
func activityQuery(r *wire.Request, shown []journal.Type) (types []journal.Type, page campaign.Page, err error) {
	var errs form.Errors
	types = shown
	q := r.HTTP.QueryArgs()
	all, kinds := string(q.Peek("all")), string(q.Peek("kinds"))
	if q.Has("all") && all != "true" && all != "false" {
		errs.Add("all", "unknown_value", "must be true or false")
	}
	if all == "true" {
		types = nil
	}
	if q.Has("kinds") {
		if all == "true" {
			errs.Add("kinds", "not_both", "must not be sent with all=true")
		}
		types = kindsOf(kinds, &errs)
	}
	q.Del("all")
	q.Del("kinds")
	page.Number, page.Size, _, err = r.Page(nil)
	if len(errs.List) > 0 {
		errs.Merge(err)
		err = errs.Err()
	}
	return types, page, err
}

func kindsOf(list string, errs *form.Errors) (types []journal.Type) {
	for _, kind := range strings.Split(list, ",") {
		found := false
		for t, name := range ActionNames {
			if name == kind {
				types, found = append(types, t), true
			}
		}
		if !found {
			errs.Add("kinds", "unknown_value", "must be a list, separated by commas, of "+
				""+strings.Join(slices.Sorted(maps.Values(ActionNames)), ", "))
			return nil
		}
	}
	return types
}
