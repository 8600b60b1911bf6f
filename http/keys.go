package http

import (
	"context"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"dialler/engine"
)

// API keys (spec: API key). The full key is in the answer to its creation and
// nowhere else.

// maxDialoutsPerDay is the greatest cap that a key can have: 11 calls a second.
const maxDialoutsPerDay = 1_000_000

type keyView struct {
	ID         engine.KeyID        `json:"id"`
	Name       string              `json:"name"`
	Masked     string              `json:"masked"`
	Key        string              `json:"key,omitempty"` // full; only when created
	Active     bool                `json:"is_active"`
	ExpiresAt  *time.Time          `json:"expires_at"`
	Scopes     []string            `json:"scopes"`           // all of them when the key is not restricted
	Campaigns  []engine.CampaignID `json:"campaigns"`        // empty = all
	PerDay     int                 `json:"dialouts_per_day"` // 0 = no cap
	CreatedAt  time.Time           `json:"created_at"`
	CreatedBy  string              `json:"created_by"`
	LastUsedAt *time.Time          `json:"last_used_at"`
}

func viewKey(k *engine.APIKey) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, Masked: k.Masked, Active: k.Active, ExpiresAt: k.ExpiresAt, Scopes: k.Scopes,
		Campaigns: k.Campaigns, PerDay: k.DialoutsPerDay, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy, LastUsedAt: k.LastUsedAt,
	}
	if len(v.Scopes) == 0 {
		v.Scopes = scopes
	}
	if v.Campaigns == nil {
		v.Campaigns = []engine.CampaignID{}
	}
	return v
}

type keyList struct {
	Keys  []keyView `json:"api_keys"`
	Total int       `json:"total"`
}

func (s *Server) listKeys(r *request) error {
	keys, err := s.Keys.Keys(r.ctx())
	if err != nil {
		return err
	}
	out := keyList{Keys: make([]keyView, len(keys)), Total: len(keys)}
	for i := range keys {
		out.Keys[i] = viewKey(&keys[i])
	}
	return r.reply(nethttp.StatusOK, out)
}

func (s *Server) createKey(r *request) error {
	f, err := r.body()
	if err != nil {
		return err
	}
	full, key := NewAPIKey(f.text("name", required, 100), s.Now())
	key.ExpiresAt = f.when("expires_at")
	key.Active = f.flag("is_active", true)
	if list := f.scopeList(); list != nil {
		key.Scopes = *list
	}
	if list := f.campaignList(); list != nil {
		key.Campaigns = *list
	}
	key.DialoutsPerDay = f.within("dialouts_per_day", 0, 0, maxDialoutsPerDay)
	key.CreatedBy = r.who().Name
	f.done()
	if err := f.errs.err(); err != nil {
		return err
	}
	if err := s.Keys.CreateKey(r.ctx(), key, r.who()); err != nil {
		return err
	}
	s.keys.forget()
	v := viewKey(&key)
	v.Key = full
	return r.reply(nethttp.StatusCreated, v)
}

// changeKey toggles is_active and the rest. Spec: "Deactivating is preferred
// over deleting, to keep an audit trail"; so there is no deletion.
func (s *Server) changeKey(r *request) error {
	id := r.param("key_id")
	if !validIdentifier(id) {
		return errNoKey
	}
	f, err := r.body()
	if err != nil {
		return err
	}
	var change KeyChange
	if f.has("name") {
		name := f.text("name", required, 100)
		change.Name = &name
	}
	if f.has("is_active") {
		active := f.flag("is_active", true)
		change.Active = &active
	}
	if f.sent("expires_at") { // null: never expires
		at := f.when("expires_at")
		change.ExpiresAt = &at
	}
	if f.sent("dialouts_per_day") {
		n := f.within("dialouts_per_day", 0, 0, maxDialoutsPerDay)
		change.DialoutsPerDay = &n
	}
	change.Scopes = f.scopeList()
	change.Campaigns = f.campaignList()
	f.done()
	if err := f.errs.err(); err != nil {
		return err
	}
	if change == (KeyChange{}) {
		return engine.Invalid("validation_failed", "Name at least one field to change.")
	}
	key, err := s.Keys.ChangeKey(r.ctx(), engine.KeyID(id), change, r.who())
	// Whether or not the store says that it was changed: it may have been.
	s.keys.forget()
	if err != nil {
		return err
	}
	// SEMANTICS §12: "the deactivation's answer comes after every live node
	// dropped the key".
	if s.SharedKeys {
		if err := wait(r.ctx(), s.KeyCacheTTL); err != nil {
			return err
		}
	}
	return r.reply(nethttp.StatusOK, viewKey(&key))
}

var errNoKey = engine.NotFound("key_not_found", "There is no such key.")

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// sent says whether a field came, null included.
func (f form) sent(field string) bool {
	for i := range f.v.members {
		if f.v.members[i].name == field {
			return true
		}
	}
	return false
}

func (f form) scopeList() *[]string { return f.someOf("scopes", scopes) }

// someOf reads a list of members of a closed set, each once; nil when it was not
// sent.
func (f form) someOf(field string, set []string) *[]string {
	list := f.words(field, len(set))
	if list == nil {
		return nil
	}
	for i, word := range list {
		at := field + "[" + strconv.Itoa(i) + "]"
		if !slices.Contains(set, word) {
			f.fail(at, "unknown_value", "must be one of "+strings.Join(set, ", "))
		} else if slices.Contains(list[:i], word) {
			f.fail(at, "duplicate", "is given more than once")
		}
	}
	return &list
}

func (f form) campaignList() *[]engine.CampaignID {
	list := f.words("campaigns", 1000)
	if list == nil {
		return nil
	}
	out := make([]engine.CampaignID, len(list))
	for i, id := range list {
		if !validIdentifier(id) {
			f.fail("campaigns["+strconv.Itoa(i)+"]", "invalid_format", "must be a campaign id")
		}
		out[i] = engine.CampaignID(id)
	}
	return &out
}
