package process

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"time"

	"dialler/engine/destination"
	"dialler/process/configfile"
)

// reloadable are the flags that count anew without a restart, by their names.
var reloadable = map[string]bool{
	"allowed-countries": true, "callee-cap": true, "callee-period": true, "drain-timeout": true,
	"keep-ladders": true, "keep-attempts": true, "keep-events": true,
}

// check says what is wrong with settings that can be judged by themselves.
func (f *Flags) check() error {
	if err := destination.Check(f.AllowedCountries); err != nil {
		return fmt.Errorf("--allowed-countries: %w", err)
	}
	if f.CalleeCap < 0 || f.CalleeCap > 1000 || f.CalleeCap > 0 && (f.CalleePeriod < time.Minute || f.CalleePeriod > 90*24*time.Hour) {
		return fmt.Errorf("--callee-cap must be 0 to 1000 calls and --callee-period 1m to 2160h; got %d within %s", f.CalleeCap, f.CalleePeriod)
	}
	if err := checkPublicURL(f.PublicURL); err != nil {
		return err
	}
	return checkKeep(f)
}

// settings are the flags as they count now.
func (p *Process) settings() Flags {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flags
}

// Reload makes settings count that were read anew, and the trunks of the
// configuration file. restart names the flags that are other ones than at the
// start and count only after a restart. What is wrong with any of it leaves
// everything as it is.
func (p *Process) Reload(ctx context.Context, to Flags) (restart []string, err error) {
	if err := to.check(); err != nil {
		return nil, err
	}
	list, err := configfile.Trunks(p.flags.ConfigPath, os.LookupEnv)
	if err == nil {
		err = configfile.CheckListeners(p.flags.ConfigPath, list, p.listeners)
	}
	if err == nil {
		_, err = to.sipListeners() // read at the start only, but a mistake in them would keep the next one from coming up
	}
	if err != nil {
		return nil, err
	}
	n, err := configfile.Apply(ctx, p.front, list)
	if err != nil {
		return nil, err
	}
	changed, restart := p.take(to)
	now := p.settings()
	p.tree.SetRules(now.AllowedCountries, now.CalleeCap, now.CalleePeriod)
	p.log.Info().Int("changed", n).Strs("settings", changed).Msg("settings and trunks of the configuration file read anew")
	return restart, nil
}

// take makes those of the flags count that may change.
func (p *Process) take(to Flags) (changed, restart []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, is := reflect.ValueOf(&p.flags).Elem(), reflect.ValueOf(&to).Elem()
	for i := range was.NumField() {
		name := was.Type().Field(i).Tag.Get("name")
		if name == "" || same(was.Field(i), is.Field(i)) {
			continue
		}
		if !reloadable[name] {
			restart = append(restart, name)
			continue
		}
		was.Field(i).Set(is.Field(i))
		changed = append(changed, name)
	}
	slices.Sort(restart)
	return changed, restart
}

// same compares two values of a flag: a list that is empty is one that is not
// there.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
