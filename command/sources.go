package command

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"gopkg.in/yaml.v3"

	"dialler/process/configfile"
	"dialler/process/keys"
)

// secretTag marks a flag whose value is a secret.
const secretTag = "secret"

// variablePrefix begins the names of all variables that are ours.
const variablePrefix = "DIALLER_"

// sources are where flags get their values when they are not on the command line: the environment, files
// that it names, and the configuration file, in order of precedence.
type sources struct {
	path   string // of the configuration file, "" without
	args   []string
	values map[string]any
	lines  map[string]int // of the file's keys
	flags  map[string]*kong.Flag
}

// readSources reads the configuration file, if there is one.
func readSources(path string, args []string) (*sources, error) {
	s := &sources{path: path, args: args, lines: map[string]int{}, flags: map[string]*kong.Flag{}}
	if path == "" {
		return s, nil
	}
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	var tree yaml.Node
	if err = yaml.Unmarshal(b, &s.values); err == nil {
		err = yaml.Unmarshal(b, &tree)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not valid YAML: %w", path, err)
	}
	for _, root := range tree.Content {
		for i := 0; i < len(root.Content); i += 2 { // key, value, key, …
			s.lines[root.Content[i].Value] = root.Content[i].Line
		}
	}
	return s, nil
}

// know learns the flags of all commands. Those of one name are the same setting.
func (s *sources) know(app *kong.Application) {
	_ = kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if flag, ok := n.(*kong.Flag); ok {
			if first := s.flags[flag.Name]; first == nil || len(first.Envs) == 0 {
				s.flags[flag.Name] = flag
			}
		}
		return next(nil)
	})
}

// Validate implements kong.Resolver: an unknown key is an error, so that a misspelt setting is not silently
// ignored.
func (s *sources) Validate(*kong.Application) error {
	for _, key := range s.sorted() {
		if s.flags[key] == nil && key != configfile.TrunksKey && key != configfile.ListenersKey {
			return fmt.Errorf("%s: unknown setting %q; settings are the names of flags, see dialler serve --help",
				s.at(key), key)
		}
	}
	return nil
}

// sorted returns the keys of the file in its order.
func (s *sources) sorted() []string {
	var keys []string
	for key := range s.values {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return s.lines[a] - s.lines[b] })
	return keys
}

// at is where the file has a key.
func (s *sources) at(key string) string {
	if n := s.lines[key]; n > 0 {
		return fmt.Sprintf("%s:%d", s.path, n)
	}
	return s.path
}

// Resolve implements kong.Resolver.
func (s *sources) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if env := fileVariable(flag); env != "" {
		secret, _, err := keys.Variable(strings.TrimSuffix(env, keys.FileSuffix))
		if flag.Target.Kind() == reflect.Slice {
			secret = strings.ReplaceAll(secret, "\n", ",")
		}
		return secret, err
	}
	if variable(flag) != "" {
		return nil, nil // kong reads it
	}
	switch v := s.values[flag.Name].(type) {
	case nil:
		return nil, nil // missing, or nothing after the colon
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = fmt.Sprint(one)
		}
		return strings.Join(parts, ","), nil
	case map[string]any, map[any]any:
		return nil, errors.New("it takes one value, not keys and values")
	default:
		return fmt.Sprint(v), nil
	}
}

// variable returns the environment variable that sets a flag, "" if none does.
func variable(flag *kong.Flag) string {
	for _, env := range flag.Envs {
		if _, ok := os.LookupEnv(env); ok {
			return env
		}
	}
	return ""
}

// fileVariable returns the variable that names the file with a flag's value, "" if none does.
func fileVariable(flag *kong.Flag) string {
	if !flag.Tag.Has(secretTag) {
		return ""
	}
	for _, env := range flag.Envs {
		if os.Getenv(env+keys.FileSuffix) != "" {
			return env + keys.FileSuffix
		}
	}
	return ""
}

// fromArgs says whether the command line sets a flag.
func (s *sources) fromArgs(name string) bool {
	return slices.ContainsFunc(s.args, func(a string) bool {
		return a == "--"+name || a == "--no-"+name || strings.HasPrefix(a, "--"+name+"=")
	})
}

// source says where a setting has its value from.
func (s *sources) source(name string) string {
	flag := s.flags[name]
	switch {
	case s.fromArgs(name):
		return "command line"
	case flag != nil && fileVariable(flag) != "":
		env := fileVariable(flag)
		return env + " " + os.Getenv(env)
	case flag != nil && variable(flag) != "":
		return variable(flag)
	case s.values[name] != nil:
		return s.at(name)
	}
	return "default"
}

// named matches the flag that a mistake begins with.
var named = regexp.MustCompile(`^--([a-z][a-z-]*)`)

// locate adds to each mistake about a flag where the value stands, if it does in the configuration file.
func (s *sources) locate(err error) error {
	if err == nil || s.path == "" {
		return err
	}
	var all []error
	for line := range strings.SplitSeq(err.Error(), "\n") {
		if m := named.FindStringSubmatch(line); m != nil && s.values[m[1]] != nil && s.source(m[1]) == s.at(m[1]) {
			line = s.at(m[1]) + ": " + line
		}
		all = append(all, errors.New(line))
	}
	return errors.Join(all...)
}

// strangers returns the variables of the environment that are named like settings and are none.
func (s *sources) strangers() (list []string) {
	known := map[string]bool{}
	secret := func(env string) { known[env], known[env+keys.FileSuffix] = true, true }
	secret(keys.SecretsKeysEnv)
	for _, flag := range s.flags {
		for _, env := range flag.Envs {
			if known[env] = true; flag.Tag.Has(secretTag) {
				secret(env)
			}
		}
	}
	trunks, _ := s.values[configfile.TrunksKey].([]any)
	for _, t := range trunks {
		if fields, ok := t.(map[string]any); ok {
			secret(fmt.Sprint(fields["password_env"]))
		}
	}
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, variablePrefix) && !known[name] {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}
