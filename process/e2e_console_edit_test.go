package process

import (
	"bytes"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dialler/bench/carrier"
	"dialler/engine"
)

// arguments returns what a shell passes to curl for a command.
func arguments(t *testing.T, command string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `curl() { for a in "$@"; do printf '%s\0' "$a"; done; }; `+command).Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// paste runs a command from the console, with the key filled in.
func (w *world) paste(command string) answer {
	w.t.Helper()
	var method, url, body string
	var headers []string
	args := arguments(w.t, strings.ReplaceAll(command, "<API_KEY>", w.key))
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case strings.HasPrefix(arg, "http"):
			url = arg
		case i+1 == len(args):
			w.t.Fatalf("%s ends with %s", command, arg)
		default:
			i++
			switch arg {
			case "-X":
				method = args[i]
			case "-H":
				name, value, _ := strings.Cut(args[i], ": ")
				headers = append(headers, name, value)
			case "-d":
				body = args[i]
			default:
				w.t.Fatalf("%s: what is %s?", command, arg)
			}
		}
	}
	path, ok := strings.CutPrefix(url, w.p.URL())
	if !ok {
		w.t.Fatalf("%s asks %s, the console is at %s", command, url, w.p.URL())
	}
	return w.send(method, path, body, headers...)
}

func TestTwoOperatorsEditCloneAndRestartInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(200 * time.Millisecond)}})
	const email, other, name = "olga@example.org", "otto@example.org", "Spring renewals"
	w.consoleUser(email, "operator")
	w.consoleUser(other, "operator")
	numbers := []string{ourNumber}
	for i := 1; i < 6; i++ {
		numbers = append(numbers, fmt.Sprintf("%s%d", strings.TrimSuffix(ourNumber, "0"), i))
		w.operator("PUT", "/api/v1/numbers/"+numbers[i], map[string]any{}).expect(201)
	}
	sketch := map[string]any{"name": name, "concurrency": 4, "max_attempts": 3, "retry_delay_s": 1800,
		"number_pool": numbers, "always_on": true,
		"retry_on_system": []string{"no_answer", "busy"}, "retry_on_custom": []string{"call later"},
		"stop_redials_after_s": 45,
		"window": map[string]any{"zone": "UTC", "start": "00:00", "end": "00:00",
			"days": []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sun"}}}
	id := w.campaign(sketch)
	w.addTo(id, newNumber(), newNumber(), newNumber()).expect(200)

	var saw struct {
		Commands map[string]string
		Copy     engine.CampaignID
	}
	out := w.browse("edit.mjs", "EMAIL", email, "OTHER", other, "PASSWORD", browserPassword, "CAMPAIGN", string(id),
		"CAMPAIGN_NAME", name, "NUMBERS", strings.Join(numbers, ","), "BOT", ourBot)
	if err := json.Unmarshal(out, &saw); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	w.operator("GET", "/api/v1/campaigns/"+string(id), nil).expect(nethttp.StatusNotFound)

	// The integration panel's commands, pasted: those for another, existing and running campaign.
	running := w.running(map[string]any{"number_pool": numbers})
	for _, step := range []struct{ endpoint, want string }{{"Trigger", `"contact_id"`},
		{"Exclude a number", `"matched":1`}, {"Exclude by account", `"matched":0`}, {"Dialout", `"call_id"`}} {
		if step.endpoint == "Dialout" {
			w.quiet() // the trigger called the number that it calls
		}
		a := w.paste(strings.ReplaceAll(saw.Commands[step.endpoint], string(id), string(running)))
		if a.status/100 != 2 || !strings.Contains(string(a.body), step.want) {
			t.Errorf("%s, pasted: %s", step.endpoint, a)
		}
	}
	w.act(running, "stop").expect(200)
	w.quiet()
}

func TestTheCampaignPageOfTheConsoleShowsWhatTheSpecificationSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	const email, name, contacts, code = "olga@example.org", "Winter renewals", 53, 499
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Refusal(code, "Client Closed", 0)}})
	w.consoleUser(email, "operator")
	id := w.campaign(map[string]any{"name": name, "max_attempts": 1, "concurrency": 10})
	rows := make([]any, contacts)
	numbers := make([]string, contacts)
	for i := range rows {
		numbers[i] = newNumber()
		rows[i] = map[string]any{"mobile": numbers[i], "metadata": map[string]any{"first_name": "Ada"}}
	}
	w.operator("POST", "/api/v1/campaigns/"+string(id)+"/contacts", map[string]any{"contacts": rows}).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "the campaign is over", func() bool { return w.detail(id).Status == "completed" })
	between := newReportHolder(t, w.p.URL())
	w.browse("report.mjs", "DIALLER_URL", between.URL, "CONTROL", between.URL+"/test", "EMAIL", email, "PASSWORD",
		browserPassword, "CAMPAIGN", string(id), "ROWS", fmt.Sprint(contacts))
	w.browse("page.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "CAMPAIGN_NAME", name,
		"CONTACTS", fmt.Sprint(contacts), "UNMAPPED", numbers[52], "CODE", fmt.Sprint(code), "FROM", ourNumber)
}

func TestAnOperatorActsOnOneContactInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 100*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{carrier.Refusal(603, "Decline", 0)}})
	const email, attempts = "olga@example.org", 2
	w.consoleUser(email, "operator")
	id := w.campaign(map[string]any{"always_on": true, "callback_detection": true, "max_attempts": attempts,
		"concurrency": 1})
	ended, waiting, other := newNumber(), newNumber(), newNumber()
	w.addTo(id, ended).expect(200)
	w.act(id, "start").expect(200)
	eventually(t, "one contact has come to its end", func() bool { return w.detail(id).Counters.Failed == 1 })
	w.act(id, "pause").expect(200)
	w.triggerPerson(id, numbersOf(waiting, other)).expect(200)
	control := httptest.NewServer(nethttp.HandlerFunc(func(nethttp.ResponseWriter, *nethttp.Request) {
		w.act(id, "stop").expect(200)
	}))
	defer control.Close()
	w.browse("contact.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "WAITING", waiting,
		"OTHER", other, "ENDED", ended, "MAX", fmt.Sprint(attempts), "CONTROL", control.URL)
	w.quiet()
}

func TestANewCampaignIsSetUpInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(100 * time.Millisecond)}})
	const email = "olga@example.org"
	w.consoleUser(email, "operator")
	numbers := make([]string, 12)
	for i := range numbers {
		numbers[i] = newNumber()
	}
	w.operator("POST", "/api/v1/suppressions", map[string]any{"number": numbers[11]}).expect(200)
	w.browse("wizard.mjs", "EMAIL", email, "PASSWORD", browserPassword, "FROM", ourNumber, "NUMBERS",
		strings.Join(numbers, ","))
}

func TestAListAsAGermanSpreadsheetSavesItIsAddedInTheConsole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, time.Second)
	const email = "olga@example.org"
	w.consoleUser(email, "operator")
	id := w.campaign(map[string]any{"number_pool": []string{ourNumber}})
	var list strings.Builder
	list.WriteString("Name;Telefon;Ort\r\n")
	for i := range 30 {
		fmt.Fprintf(&list, "Jürgen Müller;0151 21%06d;\"Köln;\r\nDeutz\"\r\nZoë;(030) 23125 1%02d;Gießen\r\n", i, i)
	}
	list.WriteString("Jürgen Müller;0151 1;Köln\r\nNiemand;unbekannt;Köln\r\n")
	var latin []byte // in Latin-1 a character is the byte of its number
	for _, r := range list.String() {
		latin = append(latin, byte(r)) //nolint:gosec // none of them is beyond
	}
	file := filepath.Join(t.TempDir(), "Kunden.csv")
	if err := os.WriteFile(file, latin, 0o600); err != nil {
		t.Fatal(err)
	}
	w.browse("import.mjs", "EMAIL", email, "PASSWORD", browserPassword, "CAMPAIGN", string(id), "CSV", file)
	w.quiet()
}

func TestACampaignIsRunInTheConsoleByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 4*time.Second)
	w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(500 * time.Millisecond)}})
	const email = "olga@example.org"
	w.consoleUser(email, "operator")
	numbers := make([]string, 400) // more than are dialled while the script runs
	for i := range numbers {
		numbers[i] = newNumber()
	}
	w.browse("keyboard.mjs", "EMAIL", email, "PASSWORD", browserPassword, "NUMBERS", strings.Join(numbers, ","))
	w.quiet()
}

// newReportHolder is a server in front of the dialler. It passes everything through except the
// Attempt Report, of which it sends the first half and waits for "go". Then "hold" sends the rest;
// "break" and "lose" end the connection, and a request for the rest gets it, or is told that it is
// no longer kept. "cancelled" answers when the reader of a held report has gone.
func newReportHolder(t *testing.T, dialler string) *httptest.Server {
	t.Helper()
	to, err := url.Parse(dialler)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host
	}}
	var mode atomic.Value
	mode.Store("")
	goOn, gone := make(chan struct{}), make(chan struct{}, 1)
	server := httptest.NewServer(nethttp.HandlerFunc(func(answer nethttp.ResponseWriter, r *nethttp.Request) {
		if order, ok := strings.CutPrefix(r.URL.Path, "/test/"); ok {
			switch order {
			case "go":
				select {
				case goOn <- struct{}{}:
				case <-r.Context().Done():
				}
			case "cancelled":
				select {
				case <-gone:
				case <-r.Context().Done():
				}
			default:
				mode.Store(order)
			}
			return
		}
		if !strings.HasSuffix(r.URL.Path, "/attempts.csv") {
			through.ServeHTTP(answer, r)
			return
		}
		follows := r.URL.Query().Has("after")
		if follows && mode.Load() == "lose" {
			answer.WriteHeader(nethttp.StatusNotFound)
			_, _ = answer.Write([]byte(`{"code":"cursor_not_found","detail":"the dial is not kept any more"}`))
			return
		}
		r.Header.Del("Accept-Encoding")
		whole := httptest.NewRecorder()
		through.ServeHTTP(whole, r)
		for _, name := range []string{"Content-Type", "X-Report-Columns"} {
			answer.Header().Set(name, whole.Header().Get(name))
		}
		body := whole.Body.Bytes()
		if follows {
			_, _ = answer.Write(body)
			return
		}
		half := bytes.IndexByte(body[len(body)/2:], '\n') + len(body)/2 + 1 // a broken report may end with a whole row
		_, _ = answer.Write(body[:half])
		answer.(nethttp.Flusher).Flush()
		select {
		case <-goOn:
			if mode.Load() != "hold" {
				panic(nethttp.ErrAbortHandler)
			}
			_, _ = answer.Write(body[half:])
		case <-r.Context().Done():
			gone <- struct{}{}
		}
	}))
	t.Cleanup(server.Close)
	return server
}
