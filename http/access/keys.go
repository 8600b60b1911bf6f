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
	Scopes     []string            `json:"scopes"`           // wire.FirstScopes if nothing was said
	Campaigns  []engine.CampaignID `json:"campaigns"`        // empty = all
	PerDay     int                 `json:"dialouts_per_day"` // 0 = no cap
	CreatedAt  time.Time           `json:"created_at"`
	CreatedBy  string              `json:"created_by"`
	LastUsedAt *time.Time          `json:"last_used_at"`
	// OldSecretUntil is until when the secret before the last rotation is valid; null if it is not.
	OldSecretUntil *time.Time `json:"old_secret_until"`
}

func viewKey(k *engine.APIKey, now time.Time) keyView {
	v := keyView{
		ID: k.ID, Name: k.Name, Masked: k.Masked, Active: k.Active, ExpiresAt: k.ExpiresAt,
		Campaigns: k.Campaigns, PerDay: k.DialoutsPerDay, CreatedAt: k.CreatedAt, CreatedBy: k.CreatedBy,
		LastUsedAt: k.LastUsedAt,
	}
	v.Scopes = wire.ScopesOf(k)
	if k.OldUntil != nil && now.Before(*k.OldUntil) {
		v.OldSecretUntil = k.OldUntil
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
		out.Keys[i] = viewKey(&keys[i], s.Now())
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
	if err := manages(r.Key, &key); err != nil {
		return err
	}
	if err := multiplies(r.Key, &key); err != nil {
		return err
	}
	if err := s.Keys.CreateKey(r.Ctx(), key, r.Who()); err != nil {
		return err
	}
	s.keys.forget()
	v := viewKey(&key, s.Now())
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
	if r.Key != nil {
		all, err := s.Keys.Keys(r.Ctx())
		if err != nil {
			return err
		}
		for i := range all {
			if string(all[i].ID) == id {
				err = manages(r.Key, &all[i])
			}
		}
		if err != nil {
			return err
		}
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
	if f.Sent("old_secret_until") { // null: no longer
		at := s.readOverlap(f)
		change.OldUntil = &at
	}
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
	v, err := s.changeKey(r, engine.KeyID(id), change)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, v)
}

// changeKey changes a key on every node.
func (s *Gate) changeKey(r *wire.Request, id engine.KeyID, change KeyChange) (keyView, error) {
	change.By = r.Key
	key, err := s.Keys.ChangeKey(r.Ctx(), id, change, r.Who())
	// Whether or not the store confirms the change: it may have happened.
	s.keys.forget()
	if err != nil {
		return keyView{}, err
	}
	// SEMANTICS §12: "the deactivation's answer comes after every live node
	// dropped the key".
	if s.SharedKeys {
		if err := wait(r.Ctx(), s.KeyCacheTTL); err != nil {
			return keyView{}, err
		}
	}
	return viewKey(&key, s.Now()), nil
}

const (
	// overlapUsual is how long the secret before a rotation stays valid if nothing is said, overlapMost how long it may.
	overlapUsual = 24 * time.Hour
	overlapMost  = 90 * 24 * time.Hour
)

// readOverlap reads until when the secret before a rotation is valid; nil for not at all.
func (s *Gate) readOverlap(f form.Form) *time.Time {
	at := f.When("old_secret_until")
	if at != nil && at.After(s.Now().Add(overlapMost)) {
		f.Fail("old_secret_until", "out_of_range", "must be within 90 days, for example "+
			s.Now().Add(overlapUsual).UTC().Format(time.RFC3339))
	}
	return at
}

// RotateKey makes a new secret of a key; the one before it stays valid for a while, so that the other system can be
// changed meanwhile. Again while it is valid, only the new secret is replaced.
func (s *Gate) RotateKey(r *wire.Request) error {
	id := r.Param("key_id")
	if !form.ValidIdentifier(id) {
		return errNoKey
	}
	full, secret := newSecret()
	change := KeyChange{Secret: &secret}
	if len(r.HTTP.PostBody()) > 0 {
		f, err := r.Body()
		if err != nil {
			return err
		}
		if f.Sent("old_secret_until") {
			change.OldUntil = new(s.readOverlap(f))
		}
		f.Done()
		if err := f.Errs.Err(); err != nil {
			return err
		}
	}
	v, err := s.changeKey(r, engine.KeyID(id), change)
	if err != nil {
		return err
	}
	v.Key = full
	return r.Reply(nethttp.StatusOK, v)
}

// manages says whether a key may make, change or delete another: not one that may do more than itself. Users may.
func manages(by, of *engine.APIKey) error {
	if by == nil {
		return nil
	}
	for _, scope := range wire.ScopesOf(of) {
		if !wire.InScope(by, scope) {
			return wire.Forbidden("key_above_own",
				"A key manages only keys that may do no more than itself, and this one has not the scope "+scope+".")
		}
	}
	later := by.ExpiresAt != nil && (of.ExpiresAt == nil || of.ExpiresAt.After(*by.ExpiresAt))
	if later || by.DialoutsPerDay > 0 && (of.DialoutsPerDay == 0 || of.DialoutsPerDay > by.DialoutsPerDay) {
		return wire.Forbidden("key_above_own",
			"A key manages only keys that expire no later than itself, and that place no more dialouts.")
	}
	return nil
}

// multiplies says whether a key with a cap would get more dialouts by another key, whose cap is counted for itself. It
// still deactivates and deletes those with the scope.
func multiplies(by, of *engine.APIKey) error {
	if by != nil && by.DialoutsPerDay > 0 && by.ID != of.ID && wire.InScope(of, "dialout") {
		return wire.Forbidden("key_above_own",
			"A key with a cap on dialouts makes, activates and rotates no key with the scope dialout.")
	}
	return nil
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

// FirstScopes are the scopes that every release knows.
var FirstScopes = wire.FirstScopes

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
