package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"dialler/bench/botcheck"
	"dialler/engine"
)

type botCmd struct {
	Check botCheckCmd `cmd:"" help:"${help_bot_check}"`
}

// botCheckCmd talks to a bot as a call would; no dialler needs to run.
type botCheckCmd struct {
	Endpoint  string            `arg:"" help:"Where the bot listens: ws:// or wss://."`
	AuthToken string            `help:"Signs the request, as the bot's auth_token does." placeholder:"TOKEN"`
	Header    []string          `help:"${help_bot_check_header}" placeholder:"HEADER" sep:"none"`
	HealthURL string            `name:"health-url" help:"${help_bot_check_health}" placeholder:"URL"`
	Variable  map[string]string `help:"${help_bot_check_variable}" placeholder:"NAME=VALUE" mapsep:"none"`
	Talk      time.Duration     `help:"How long the conversation lasts." default:"8s"`
	Patience  time.Duration     `help:"How long the result is awaited after it." default:"5s"`
	JSON      bool              `name:"json" help:"One JSON object a line."`
}

// errBotCheck is the error of a check that found faults, which were printed already.
var errBotCheck = errors.New("calls with this bot fail")

// Run checks the bot. The exit code says whether calls with it would work.
func (b *botCheckCmd) Run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return b.check(ctx, os.Stdout)
}

func (b *botCheckCmd) check(ctx context.Context, out io.Writer) error {
	cfg := botcheck.Config{Bot: engine.Bot{Endpoints: []string{b.Endpoint}, AuthToken: b.AuthToken,
		HealthURL: b.HealthURL}, Variables: b.Variable, Talk: b.Talk, Patience: b.Patience}
	for _, h := range b.Header {
		name, value, _ := strings.Cut(h, ":")
		cfg.Bot.Headers = append(cfg.Bot.Headers, engine.HTTPHeader{Name: strings.TrimSpace(name),
			Value: strings.TrimSpace(value)})
	}
	faults := botcheck.Run(ctx, cfg, func(f botcheck.Finding) {
		if b.JSON {
			_ = json.NewEncoder(out).Encode(f)
			return
		}
		_, _ = fmt.Fprintf(out, "%-8s %-8s %s\n", f.Level, f.Step, f.Text)
	})
	if faults > 0 {
		return errBotCheck
	}
	return nil
}
