package command

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
	"gopkg.in/yaml.v3"

	"dialler/process"
	"dialler/process/configfile"
)

// cli is the command line. Every flag is also an environment variable (DIALLER_ and its name) and a
// key of the YAML file: flags take precedence over the environment, and the environment over the
// file. The file may also contain trunks and SIP listeners.
type cli struct {
	ConfigFile string `name:"config" help:"${help_config}" type:"existingfile" placeholder:"FILE"`
	LogLevel   string `help:"${help_log_level}" enum:"debug,info,warn,error" default:"info"`
	LogFormat  string `help:"json, or console for people." enum:"json,console" default:"console"`

	Serve   serveCmd   `cmd:"" help:"Run the dialler."`
	Sandbox sandboxCmd `cmd:"" help:"${help_sandbox}"`
	Bench   benchCmd   `cmd:"" help:"${help_bench}"`
	Sim     simCmd     `cmd:"" help:"${help_sim}"`
	Trunk   trunkCmd   `cmd:"" help:"Carrier connections."`
	Bot     botCmd     `cmd:"" help:"Voice bots."`
	User    userCmd    `cmd:"" help:"People who may log in."`
	Key     keyCmd     `cmd:"" help:"API keys, and the signing key."`
	DB      dbCmd      `cmd:"" name:"db" help:"The database."`
	Export  exportCmd  `cmd:"" help:"Records for others."`
	Verify  verifyCmd  `cmd:"" help:"Check what was exported."`
	Audit   auditCmd   `cmd:"" help:"Compare our history with what others say."`
	Replay  replayCmd  `cmd:"" help:"${help_replay}"`
	Version versionCmd `cmd:"" help:"Print the version."`

	args []string // with which the program was started
}

// parse reads flags, then the environment, then the file, in order of precedence.
func parse(args []string) (*cli, *kong.Context, error) {
	c := &cli{args: args}
	file, err := configFile(args)
	if err != nil {
		return nil, nil, err
	}
	options := []kong.Option{
		kong.Name("dialler"),
		kong.Description("An outbound dialler engine for voice bots."),
		kong.DefaultEnvars("DIALLER"),
		kong.Vars{"default_sip": process.DefaultSIP, "default_http": process.DefaultHTTP,
			"first_admin": process.FirstAdminEmail},
		help,
		kong.Vars(process.FlagHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	}
	if file != "" {
		r, err := yamlResolver(file)
		if err != nil {
			return nil, nil, err
		}
		options = append(options, kong.Resolvers(r))
	}
	p, err := kong.New(c, options...)
	if err != nil {
		return nil, nil, err
	}
	ctx, err := p.Parse(args)
	if err != nil {
		return nil, nil, err
	}
	c.Serve.ConfigPath, c.Sandbox.ConfigPath = file, file
	return c, ctx, nil
}

// configFile finds the file before the flags are parsed, because the file affects their parsing.
func configFile(args []string) (string, error) {
	for i, a := range args {
		if v, ok := strings.CutPrefix(a, "--config="); ok {
			return v, nil
		}
		if a == "--config" {
			if i+1 == len(args) {
				return "", fmt.Errorf("--config needs a file")
			}
			return args[i+1], nil
		}
	}
	return os.Getenv("DIALLER_CONFIG"), nil
}

// yamlResolver gives flags their values from a YAML file; an unknown key is an
// error, so that a misspelt setting is not silently ignored.
func yamlResolver(path string) (kong.Resolver, error) {
	b, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	values := map[string]any{}
	if err := yaml.Unmarshal(b, &values); err != nil {
		return nil, fmt.Errorf("%s is not valid YAML: %w", path, err)
	}
	return &fileValues{path: path, values: values}, nil
}

type fileValues struct {
	path   string
	values map[string]any
}

// Validate implements kong.Resolver.
func (f *fileValues) Validate(app *kong.Application) error {
	known := map[string]bool{}
	_ = kong.Visit(app, func(n kong.Visitable, next kong.Next) error {
		if flag, ok := n.(*kong.Flag); ok {
			known[flag.Name] = true
		}
		return next(nil)
	})
	for key := range f.values {
		if !known[key] && key != configfile.TrunksKey && key != configfile.ListenersKey {
			return fmt.Errorf("%s: unknown setting %q; settings are the names of flags, see dialler serve --help", f.path, key)
		}
	}
	return nil
}

// Resolve implements kong.Resolver.
func (f *fileValues) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	switch v := f.values[flag.Name].(type) {
	case nil:
		return nil, nil // missing, or nothing after the colon
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = fmt.Sprint(one)
		}
		return strings.Join(parts, ","), nil
	case map[string]any, map[any]any:
		return nil, fmt.Errorf("%s: the setting %q takes one value, not keys and values", f.path, flag.Name)
	default:
		return fmt.Sprint(v), nil
	}
}

// logger logs to stderr: stdout is for a command's output.
func (c *cli) logger() zerolog.Logger {
	level, err := zerolog.ParseLevel(c.LogLevel)
	if err != nil {
		level = zerolog.InfoLevel
	}
	zerolog.SetGlobalLevel(level) // not on the logger: it may change
	zerolog.TimeFieldFormat = time.RFC3339Nano
	if c.LogFormat == "console" {
		return zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: "15:04:05.000"}).With().Timestamp().Logger()
	}
	return zerolog.New(os.Stderr).With().Timestamp().Logger()
}
