package process

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"dialler/engine"
	"dialler/engine/frequency"
	"dialler/engine/number"
	"dialler/process/configfile"
	"dialler/process/keys"
)

// reloadable are the names of the flags that take effect without a restart.
var reloadable = map[string]bool{
	"allowed-countries": true, "call-frequency": true, "callee-cap": true, "callee-period": true,
	"drain-timeout": true,
	"keep-ladders":  true, "keep-flights": true, "keep-attempts": true, "keep-events": true,
}

// frequency returns the rules of --call-frequency and --callee-cap.
func (f *Flags) frequency() (frequency.Rules, error) {
	rules, err := frequency.Parse(f.CallFrequency, number.SupportedRegion)
	if err != nil {
		return rules, fmt.Errorf("--call-frequency: %w", err)
	}
	if f.CalleeCap < 0 || f.CalleeCap > frequency.MostCap || f.CalleeCap > 0 &&
		(f.CalleePeriod < frequency.LeastTime || f.CalleePeriod > frequency.MostTime) {
		return rules, fmt.Errorf("--callee-cap must be 0 to 1000 calls and --callee-period 1m to 2160h; got %d within %s",
			f.CalleeCap, f.CalleePeriod)
	}
	if f.CalleeCap > 0 {
		rules = rules.With(frequency.Rule{Limits: []frequency.Limit{
			{What: frequency.Attempts, Most: f.CalleeCap, Period: f.CalleePeriod}}})
	}
	return rules, nil
}

// noteFrequency is frequency, once the history says how the rules have changed.
func (p *Process) noteFrequency(ctx context.Context, f *Flags) (frequency.Rules, error) {
	rules, err := f.frequency()
	if err == nil {
		_, err = p.store.Configuration.NoteCallFrequency(ctx, rules.String(), engine.Who{Name: "configuration"})
	}
	return rules, err
}

// settings returns the flags currently in effect.
func (p *Process) settings() Flags {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flags
}

// Reload applies newly read settings, and the trunks of the configuration file. restart names the
// flags that differ from those at the start and need a restart. An error in any of it leaves
// everything unchanged.
func (p *Process) Reload(ctx context.Context, to Flags) (restart []string, err error) {
	if err := to.Check(); err != nil { // also what is read at a start only: it would prevent the next
		return nil, err
	}
	list, err := configfile.Trunks(p.flags.ConfigPath, keys.Variable)
	if err == nil {
		err = configfile.CheckNames(p.flags.ConfigPath, list, p.listeners, p.families)
	}
	if err != nil {
		return nil, err
	}
	n, err := configfile.Apply(ctx, p.front, list)
	if err != nil {
		return nil, err
	}
	rules, err := p.noteFrequency(ctx, &to) // right before they hold
	if err != nil {
		return nil, err
	}
	changed, restart := p.take(to)
	now := p.settings()
	p.tree.SetRules(now.AllowedCountries, rules)
	p.log.Info().Int("changed", n).Strs("settings",
		changed).Msg("settings and trunks read again from the configuration file")
	return restart, nil
}

// take applies those flags that may change.
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

// same compares two values of a flag: an empty list equals a missing one.
func same(a, b reflect.Value) bool {
	if a.Kind() == reflect.Slice && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
