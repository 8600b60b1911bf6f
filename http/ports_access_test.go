package http

import (
	"context"
	"slices"
	"time"

	"dialler/engine"
	"dialler/http/access"
)

func (p *ports) KeyByHash(_ context.Context, hash [32]byte) (engine.APIKey, bool, error) {
	defer p.lock()()
	p.lookups++
	if p.userFail != nil {
		return engine.APIKey{}, false, p.userFail
	}
	for _, k := range p.keys {
		if k.Hash == hash || k.OldHash != nil && *k.OldHash == hash {
			return k, true, nil
		}
	}
	return engine.APIKey{}, false, nil
}

func (p *ports) Keys(context.Context) ([]engine.APIKey, error) {
	defer p.lock()()
	return append([]engine.APIKey(nil), p.keys...), nil
}

func (p *ports) CreateKey(_ context.Context, key engine.APIKey, _ engine.Who) error {
	defer p.lock()()
	p.keys = append(p.keys, key)
	return nil
}

func (p *ports) DeleteKey(_ context.Context, id engine.KeyID, _ engine.Who) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	i := slices.IndexFunc(p.keys, func(k engine.APIKey) bool { return k.ID == id })
	switch {
	case i < 0:
		return engine.NotFound("key_not_found", "")
	case p.keys[i].Active:
		return engine.Conflict("key_active", "")
	}
	p.keys = slices.Delete(p.keys, i, i+1)
	return nil
}

func (p *ports) ChangeKey(_ context.Context, id engine.KeyID, c access.KeyChange, _ engine.Who) (engine.APIKey, error) {
	if err := asText(id); err != nil {
		return engine.APIKey{}, err
	}
	defer p.lock()()
	for i := range p.keys {
		k := &p.keys[i]
		if k.ID != id {
			continue
		}
		changed := *k
		if err := c.Apply(&changed, p.now()); err != nil {
			return engine.APIKey{}, err
		}
		*k = changed
		return *k, nil
	}
	return engine.APIKey{}, engine.NotFound("key_not_found", "There is no such key.")
}

func (p *ports) KeysUsed(_ context.Context, used map[engine.KeyID]time.Time) error {
	defer p.lock()()
	for id, at := range used {
		p.used[id] = at
	}
	return nil
}

func (p *ports) UserByEmail(_ context.Context, email string) (engine.User, bool, error) {
	if err := asText(email); err != nil {
		return engine.User{}, false, err
	}
	defer p.lock()()
	for _, u := range p.users {
		if u.Email == email {
			return u, true, nil
		}
	}
	return engine.User{}, false, p.userFail
}

func (p *ports) UserBySubject(_ context.Context, subject string) (engine.User, bool, error) {
	defer p.lock()()
	for _, u := range p.users {
		if subject != "" && u.Subject == subject {
			return u, true, nil
		}
	}
	return engine.User{}, false, p.userFail
}

func (p *ports) User(_ context.Context, id engine.UserID) (engine.User, bool, error) {
	defer p.lock()()
	if p.userFail != nil {
		return engine.User{}, false, p.userFail
	}
	for _, u := range p.users {
		if u.ID == id {
			return u, true, nil
		}
	}
	return engine.User{}, false, nil
}

func (p *ports) Users(context.Context) ([]engine.User, error) {
	defer p.lock()()
	return slices.Clone(p.users), p.userFail
}

func (p *ports) CreateUser(_ context.Context, u engine.User, _ engine.Who) error {
	defer p.lock()()
	for _, known := range p.users {
		if known.Email == u.Email {
			return engine.Conflict("user_exists", "")
		}
	}
	p.users = append(p.users, u)
	return nil
}

func (p *ports) UpdateUser(_ context.Context, id engine.UserID, change func(*engine.User), _ engine.Who) (engine.User,
	error) {
	defer p.lock()()
	for i, u := range p.users {
		if u.ID != id {
			continue
		}
		hash := u.PasswordHash
		change(&u)
		if u.PasswordHash != hash || !u.Active {
			u.TokenGeneration++
		}
		if u.PasswordHash != hash {
			u.LockedUntil = nil
		}
		if (!u.Active || u.Role != "admin") &&
			!slices.ContainsFunc(p.users, func(o engine.User) bool { return o.ID != id && o.Active && o.Role == "admin" }) {
			return engine.User{}, engine.Conflict("last_admin", "")
		}
		p.users[i] = u
		return u, nil
	}
	return engine.User{}, engine.NotFound("user_not_found", "")
}

func (p *ports) LoggedIn(_ context.Context, id engine.UserID, _ time.Time) error {
	defer p.lock()()
	p.logins = append(p.logins, id)
	delete(p.failures, id)
	for i := range p.users {
		if p.users[i].ID == id {
			p.users[i].LockedUntil = nil
		}
	}
	return nil
}

// LogInFailed counts as the store does.
func (p *ports) LogInFailed(_ context.Context, email string, at time.Time, who engine.Who) (bool, error) {
	defer p.lock()()
	for i := range p.users {
		u := &p.users[i]
		if u.Email != email || u.Locked(at) {
			continue
		}
		if p.failures[u.ID]++; p.failures[u.ID] < engine.LogInFailures {
			return false, p.userFail
		}
		until := at.Add(engine.LogInLock)
		u.LockedUntil, p.locker = &until, who
		delete(p.failures, u.ID)
		return true, p.userFail
	}
	return false, p.userFail
}

func (p *ports) CreateSession(_ context.Context, u engine.UserSession, keep int) error {
	defer p.lock()()
	for _, user := range p.users {
		if user.ID == u.User && user.Active {
			p.sessions[u.Hash], p.kept = u, keep
			return nil
		}
	}
	return engine.NotFound("user_not_found", "no user has this identifier")
}

func (p *ports) SessionByHash(_ context.Context, hash [32]byte) (engine.UserSession, bool, error) {
	defer p.lock()()
	p.lookups++
	u, ok := p.sessions[hash]
	return u, ok, p.userFail
}

func (p *ports) EndSession(_ context.Context, hash [32]byte) error {
	defer p.lock()()
	delete(p.sessions, hash)
	return nil
}

func (p *ports) SessionsSeen(_ context.Context, seen []engine.UserSession) error {
	defer p.lock()()
	if p.notedFail != nil {
		return p.notedFail
	}
	for _, u := range seen {
		p.noted++
		if _, ok := p.sessions[u.Hash]; ok {
			p.sessions[u.Hash] = u
		}
	}
	return nil
}
