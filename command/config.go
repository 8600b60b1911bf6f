package command

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"dialler/process"
	"dialler/process/configfile"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"${help_config_check}"`
	Show  configShowCmd  `cmd:"" help:"${help_config_show}"`
}

type configCheckCmd struct {
	process.Flags `embed:""`
}

// Run prints each mistake on a line of its own; the error counts them.
func (f *configCheckCmd) Run(c *cli, k *kong.Context) error {
	err := c.sources.locate(f.Check())
	if err == nil {
		_, err := fmt.Fprintln(k.Stdout, "the settings are right")
		return err
	}
	mistakes := strings.Split(err.Error(), "\n")
	for _, m := range mistakes {
		_, _ = fmt.Fprintln(k.Stdout, m)
	}
	return fmt.Errorf("mistakes in the settings: %d", len(mistakes))
}

type configShowCmd struct {
	process.Flags `embed:""`
	JSON          bool `name:"json" help:"Print one JSON object per setting, one per line."`
}

// shownSetting is one setting as it is in effect.
type shownSetting struct {
	Name  string `json:"name"`
	Value string `json:"value"` // *** for a secret
	// Source is default, command line, the environment variable, or file:line.
	Source string `json:"source"`
}

// Run prints the settings that a start would have.
func (f *configShowCmd) Run(c *cli, k *kong.Context) error {
	var list []shownSetting
	add := func(flags []*kong.Flag) {
		for _, flag := range flags {
			if flag.Name != "help" && flag.Target.Addr().Interface() != any(&f.JSON) {
				list = append(list, shownSetting{flag.Name, valueOf(flag), c.sources.source(flag.Name)})
			}
		}
	}
	add(k.Model.Flags)
	add(k.Selected().Flags)
	for _, key := range []string{configfile.ListenersKey, configfile.TrunksKey} {
		if entries, ok := c.sources.values[key].([]any); ok {
			list = append(list, shownSetting{key, names(entries), c.sources.at(key)})
		}
	}
	if f.JSON {
		e := json.NewEncoder(k.Stdout)
		for _, s := range list {
			if err := e.Encode(s); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(k.Stdout, 0, 0, 2, ' ', 0)
	for _, s := range list {
		if _, err := fmt.Fprintf(w, "%s\t%s\t%s\n", s.Name, s.Value, s.Source); err != nil {
			return err
		}
	}
	return w.Flush()
}

// hidden is shown in place of a secret.
const hidden = "***"

// valueOf is a flag's value as the configuration file would have it, without secrets.
func valueOf(flag *kong.Flag) string {
	v := flag.Target
	switch {
	case v.IsZero():
		if v.Kind() == reflect.String || v.Kind() == reflect.Slice {
			return ""
		}
	case flag.Tag.Has(secretTag):
		return hidden
	}
	if v.Kind() == reflect.Slice {
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = fmt.Sprint(v.Index(i).Interface())
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(v.Interface())
}

// names returns the names of the trunks or listeners of the file.
func names(entries []any) string {
	var list []string
	for _, e := range entries {
		fields, _ := e.(map[string]any)
		for _, key := range []string{"id", "name"} {
			if name := fields[key]; name != nil {
				list = append(list, fmt.Sprint(name))
				break
			}
		}
	}
	return strings.Join(list, ",")
}
