package process

import (
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
)

// A carrier that loses power and a bot that is killed are red on every page, by name and since when, and recovery
// clears it; a dialler that does not answer is told from one that does.
func TestTroubleIsSeenOnEveryPageOfTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 3*time.Second)
	alive := carrier.Config{Media: true, Profile: []carrier.Behaviour{person(100 * time.Millisecond)}}
	dead := alive
	dead.Dead = true
	model := w.carrier(alive)
	const operator, name = "tess@example.org", "Autumn renewals"
	w.consoleUser(operator, "operator")
	id := w.running(map[string]any{"name": name, "concurrency": 2, "max_attempts": 9, "retry_delay_s": 1})
	numbers := make([]string, 800) // more than are reached while the script runs
	for i := range numbers {
		numbers[i] = newNumber()
	}
	w.addTo(id, numbers...).expect(200)
	at, err := url.Parse(w.bot.URL())
	if err != nil {
		t.Fatal(err)
	}
	back := func() error {
		w.bot, err = bot.Start(bot.Config{Listen: at.Host, AuthToken: ourToken,
			Conversations: []bot.Conversation{conversation(3 * time.Second)}})
		return err
	}
	t.Cleanup(func() { _ = w.bot.Close() })
	does := map[string]func() error{
		"/carrier-dies":  func() error { return model.Configure(dead) },
		"/carrier-lives": func() error { return model.Configure(alive) },
		"/bot-dies":      func() error { return w.bot.Close() },
		"/bot-lives":     back,
	}
	control := httptest.NewServer(nethttp.HandlerFunc(func(to nethttp.ResponseWriter, r *nethttp.Request) {
		if err := does[r.URL.Path](); err != nil {
			nethttp.Error(to, err.Error(), nethttp.StatusInternalServerError)
		}
	}))
	defer control.Close()
	w.browse("trouble.mjs", "EMAIL", operator, "PASSWORD", browserPassword,
		"CAMPAIGN", string(id), "CAMPAIGN_NAME", name, "BOT", ourBot, "CONTROL", control.URL)
	w.act(id, "stop").expect(200)
	w.quiet()
}
