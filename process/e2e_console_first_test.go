package process

import (
	"bufio"
	"regexp"
	"strings"
	"testing"
	"time"

	"dialler/bench/bot"
	"dialler/bench/carrier"
	"dialler/persistence/storetest"
)

// A new installation, as the shipped program serves it: from an empty database a person reaches a conversation with
// their bot by what the console offers.

// mostClicks is how many clicks an administrator needs at most, from the log-in to the conversation.
const mostClicks = "12"

var printed = regexp.MustCompile(`password \(shown once\): (\S+)`)

// newUser adds a user by the command line and gives the password that it prints.
func newUser(t *testing.T, database, email, role string) string {
	t.Helper()
	out, err := program(t, database, "user", "add", email, "--role", role).Output()
	m := printed.FindSubmatch(out)
	if err != nil || m == nil {
		t.Fatalf("user add printed %q: %v", out, err)
	}
	return string(m[1])
}

// firstPeers are a carrier that lets everybody answer and a bot that talks until the callee hangs up.
func firstPeers(t *testing.T) (*carrier.Carrier, *bot.Bot) {
	t.Helper()
	model, err := carrier.Start(carrier.Config{Media: true, Profile: []carrier.Behaviour{person(200 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	talks, err := bot.Start(bot.Config{Conversations: []bot.Conversation{conversation(0)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = talks.Close() })
	return model, talks
}

func TestANewAdministratorTalksToTheBotWithinTwelveClicksInTheConsole(t *testing.T) {
	t.Parallel()
	consoleIsBuilt(t)
	db := storetest.EmptyURL(t)
	r := serve(t, db)
	defer r.terminate()
	model, talks := firstPeers(t)
	phone := newNumber()
	browseAt(t, r.api, "first.mjs", "JOURNEY", "clicks", "EMAIL", "nina@example.org", "PASSWORD",
		newUser(t, db, "nina@example.org", "admin"), "CLICKS", mostClicks, "CARRIER", model.Addr(), "NUMBER", ourNumber,
		"BOT", talks.URL(), "PHONE", national(phone))
	calls := model.Ledger().Calls()
	if len(calls) != 1 || calls[0].Number.E164() != phone || calls[0].From != ourNumber {
		t.Errorf("the carrier has %d calls", len(calls))
	}
	if n := len(talks.Sessions()); n != 1 {
		t.Errorf("the bot has held %d conversations", n)
	}
}

func TestEveryMistakeOfTheSetUpStandsAtItsFieldInTheConsole(t *testing.T) {
	t.Parallel()
	consoleIsBuilt(t)
	db := storetest.EmptyURL(t)
	r := serve(t, db)
	defer r.terminate()
	model, talks := firstPeers(t)
	const admin, operator, viewer = "nina@example.org", "olga@example.org", "vera@example.org"
	browseAt(t, r.api, "first.mjs", "JOURNEY", "mistakes", "EMAIL", admin, "PASSWORD", newUser(t, db, admin, "admin"),
		"OPERATOR", operator, "OPERATOR_PASSWORD", newUser(t, db, operator, "operator"),
		"VIEWER", viewer, "VIEWER_PASSWORD", newUser(t, db, viewer, "viewer"),
		"CARRIER", model.Addr(), "NUMBER", ourNumber, "BOT", talks.URL(), "PHONE", newNumber())
}

func TestTheConsoleOfTheSandboxOffersAModelCarrierAndBotInOneClick(t *testing.T) {
	t.Parallel()
	consoleIsBuilt(t)
	cmd := program(t, storetest.EmptyURL(t), "sandbox", "--empty", "--no-open", "--listen-http=127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var password, console string
	lines := bufio.NewScanner(out)
	for console == "" && lines.Scan() {
		if m := printed.FindStringSubmatch(lines.Text()); m != nil {
			password = m[1]
		}
		if _, at, ok := strings.Cut(lines.Text(), "Console: "); ok {
			console = strings.TrimSuffix(at, "/dashboard/")
		}
	}
	browseAt(t, console, "first.mjs", "JOURNEY", "model", "EMAIL", FirstAdminEmail, "PASSWORD", password, "CLICKS", "4")
	if err := cmd.Cancel(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to its end
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// national writes a German number as people there do.
func national(number string) string {
	n := "0" + strings.TrimPrefix(number, "+49")
	return n[:4] + " " + n[4:]
}
