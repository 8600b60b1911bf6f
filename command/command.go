package command

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"dialler/process"
)

// cli is the command line. Every flag is also an environment variable (DIALLER_ and its name) and a
// key of the YAML file: flags take precedence over the environment, and the environment over the
// file. The file may also contain trunks and SIP listeners. A flag with the tag secret may also come
// from a file that a variable with _FILE at its end names, and is not shown.
type cli struct {
	ConfigFile string `name:"config" help:"${help_config}" type:"existingfile" placeholder:"FILE"`
	LogLevel   string `help:"${help_log_level}" enum:"debug,info,warn,error" default:"info"`
	LogFormat  string `help:"json, or console for people." enum:"json,console" default:"console"`

	Serve   serveCmd   `cmd:"" help:"Run the dialler."`
	Sandbox sandboxCmd `cmd:"" help:"${help_sandbox}"`
	Bench   benchCmd   `cmd:"" help:"${help_bench}"`
	Sim     simCmd     `cmd:"" help:"${help_sim}"`
	Config  configCmd  `cmd:"" help:"Settings of the dialler."`
	Trunk   trunkCmd   `cmd:"" help:"Carrier connections."`
	Bot     botCmd     `cmd:"" help:"Voice bots."`
	User    userCmd    `cmd:"" help:"People who may log in."`
	Key     keyCmd     `cmd:"" help:"API keys, and the signing key."`
	DB      dbCmd      `cmd:"" name:"db" help:"The database."`
	Export  exportCmd  `cmd:"" help:"Records for others."`
	Verify  verifyCmd  `cmd:"" help:"Check what was exported."`
	Audit   auditCmd   `cmd:"" help:"Compare our history with what others say."`
	Replay  replayCmd  `cmd:"" help:"${help_replay}"`
	Version versionCmd `cmd:"" help:"Print version, commit and date."`

	Completion completionCmd `cmd:"" help:"${help_completion}"`

	args    []string // with which the program was started
	sources *sources
}

// parse reads flags, then the environment, then the file, in order of precedence.
func parse(args []string) (*cli, *kong.Context, error) {
	c := &cli{args: args}
	file, err := configFile(args)
	if err != nil {
		return nil, nil, err
	}
	from, err := readSources(file, args)
	if err != nil {
		return nil, nil, err
	}
	options := []kong.Option{
		kong.Name("dialler"),
		kong.Description("An outbound dialler engine for voice bots."),
		kong.DefaultEnvars("DIALLER"),
		kong.Vars{"default_sip": process.DefaultSIP, "default_http": process.DefaultHTTP,
			"first_admin": process.FirstAdminEmail},
		kong.PostBuild(insertHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Resolvers(from),
	}
	p, err := kong.New(c, options...)
	if err != nil {
		return nil, nil, err
	}
	from.know(p.Model)
	c.sources = from
	ctx, err := p.Parse(args)
	if err != nil {
		return nil, nil, from.locate(err)
	}
	for _, f := range []*process.Flags{&c.Serve.Flags, &c.Sandbox.Flags, &c.Config.Check.Flags, &c.Config.Show.Flags} {
		f.ConfigPath = file
	}
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

// isTerminal says whether a person reads what is written to a file.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
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
		return zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: "15:04:05.000",
			NoColor: os.Getenv("NO_COLOR") != "" || !isTerminal(os.Stderr)}).With().Timestamp().Logger()
	}
	return zerolog.New(os.Stderr).With().Timestamp().Logger()
}
