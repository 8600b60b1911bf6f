package access

import (
	"context"
	"fmt"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"dialler/engine"
	"dialler/http/form"
	"dialler/http/wire"
)

// API keys (spec: API key). The full key is only in the answer to its creation.

// maxDialoutsPerDay is the greatest cap that a key can have: 11 calls per second.
const maxDialoutsPerDay = 1_000_000

type keyView struct {
	ID         engine.KeyID        `json:"id"`
	Name       string              `json:"name"`
	Masked     string              `json:"masked"`
	Key        string              `json:"key,omitempty"` // in full; only on creation
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
		Campaigns: k.Campaigns, PerDay: k.DialoutsPerDay, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy,
		LastUsedAt: k.LastUsedAt,
	}
	if len(v.Scopes) == 0 {
		v.Scopes = wire.Scopes
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

func (s *Gate) ListKeys(r *wire.Request) error {
	keys, err := s.Keys.Keys(r.Ctx())
	if err != nil {
		return err
	}
	out := keyList{Keys: make([]keyView, len(keys)), Total: len(keys)}
	for i := range keys {
		out.Keys[i] = viewKey(&keys[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

func (s *Gate) CreateKey(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	full, key := NewAPIKey(f.Text("name", form.Required, 100), s.Now())
	key.ExpiresAt = f.When("expires_at")
	key.Active = f.Flag("is_active", true)
	if list := readScopes(f); list != nil {
		key.Scopes = *list
	}
	if list := f.CampaignList(); list != nil {
		key.Campaigns = *list
	}
	key.DialoutsPerDay = f.Within("dialouts_per_day", 0, 0, maxDialoutsPerDay)
	key.CreatedBy = r.Who().Name
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if err := s.Keys.CreateKey(r.Ctx(), key, r.Who()); err != nil {
		return err
	}
	s.keys.forget()
	v := viewKey(&key)
	v.Key = full
	return r.Reply(nethttp.StatusCreated, v)
}

// DeleteKey deletes a key. Spec: "Deactivating is preferred over deleting, to keep an audit trail"; so a
// key is deactivated first, and the history keeps what was done with it.
func (s *Gate) DeleteKey(r *wire.Request) error {
	id := r.Param("key_id")
	if !form.ValidIdentifier(id) {
		return errNoKey
	}
	if err := s.Keys.DeleteKey(r.Ctx(), engine.KeyID(id), r.Who()); err != nil {
		return err
	}
	s.keys.forget()
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

// ChangeKey changes is_active and the other fields.
func (s *Gate) ChangeKey(r *wire.Request) error {
	id := r.Param("key_id")
	if !form.ValidIdentifier(id) {
		return errNoKey
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	var change KeyChange
	if f.Has("name") {
		name := f.Text("name", form.Required, 100)
		change.Name = &name
	}
	if f.Has("is_active") {
		active := f.Flag("is_active", true)
		change.Active = &active
	}
	if f.Sent("expires_at") { // null: never expires
		at := f.When("expires_at")
		change.ExpiresAt = &at
	}
	if f.Sent("dialouts_per_day") {
		n := f.Within("dialouts_per_day", 0, 0, maxDialoutsPerDay)
		change.DialoutsPerDay = &n
	}
	change.Scopes = readScopes(f)
	change.Campaigns = f.CampaignList()
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if change == (KeyChange{}) {
		return engine.Invalid("validation_failed", "Name at least one field to change.")
	}
	key, err := s.Keys.ChangeKey(r.Ctx(), engine.KeyID(id), change, r.Who())
	// Whether or not the store confirms the change: it may have happened.
	s.keys.forget()
	if err != nil {
		return err
	}
	// SEMANTICS §12: "the deactivation's answer comes after every live node
	// dropped the key".
	if s.SharedKeys {
		if err := wait(r.Ctx(), s.KeyCacheTTL); err != nil {
			return err
		}
	}
	return r.Reply(nethttp.StatusOK, viewKey(&key))
}

var errNoKey = engine.NotFound("key_not_found", "")

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

// CheckScopes says which scopes a key cannot have.
func CheckScopes(list []string) error {
	for _, s := range list {
		if !slices.Contains(wire.Scopes, s) {
			return fmt.Errorf("%q is no scope of a key; the scopes are %s", s, strings.Join(wire.Scopes, ", "))
		}
	}
	return nil
}

func readScopes(f form.Form) *[]string { return f.SomeOf("scopes", wire.Scopes) }
