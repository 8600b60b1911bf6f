package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/botcheck"
	"dialler/bench/draw"
)

func TestABotIsCheckedFromTheCommandLine(t *testing.T) {
	b, err := bot.Start(bot.Config{AuthToken: "token", Conversations: []bot.Conversation{
		{Utterance: draw.Exactly(300 * time.Millisecond), Pause: draw.Exactly(100 * time.Millisecond)}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	f := func(token string, want error, last string) {
		t.Helper()
		c, _, err := parse([]string{"bot", "check", b.URL(), "--auth-token", token, "--header", "X-A: b, c: d",
			"--variable", "name=Ada; Lovelace", "--talk", "400ms", "--patience", "2s", "--json"})
		if err != nil {
			t.Fatal(err)
		}
		if h, v := c.Bot.Check.Header, c.Bot.Check.Variable; len(h) != 1 || h[0] != "X-A: b, c: d" ||
			v["name"] != "Ada; Lovelace" {
			t.Errorf("read as %q and %q", h, v)
		}
		var out bytes.Buffer
		if err := c.Bot.Check.check(t.Context(), &out); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
		var found botcheck.Finding
		for d := json.NewDecoder(&out); d.More(); {
			if err := d.Decode(&found); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(found.Level) + " " + found.Step; got != last {
			t.Errorf("the last finding is %s: %s", got, found.Text)
		}
	}
	f("token", nil, "ok result")
	f("another", errBotCheck, "fault session")
	for _, s := range b.Sessions() {
		if s.Parameters["name"] != "Ada; Lovelace" {
			t.Errorf("the bot was told %v", s.Parameters)
		}
	}
}
