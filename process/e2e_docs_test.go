package process

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"dialler/bench/bot"
	"dialler/bench/carrier"
)

// commandsOf returns the shell blocks of a page that contain curl, joined: later ones use variables
// set in earlier ones.
func commandsOf(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if regexp.MustCompile(`curl|\b(api|crm) `).MatchString(m[1]) {
			b.WriteString(m[1])
		}
	}
	return b.String()
}

// shell runs commands with a curl that records every response, and returns these.
func shell(t *testing.T, commands string) []shown {
	t.Helper()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("curl was not found: apt-get install curl")
	}
	dir := t.TempDir()
	// The page's curl, which also records its requests and responses.
	wrapper := "#!/bin/bash\nn=$(ls " + dir + " | wc -l)\n" +
		curl + ` --max-time 30 --write-out '\n%{stderr}%{json}\n' "$@" > ` + dir + "/$n.body 2> " + dir +
		"/$n.meta\ncode=$?\ncat " + dir + "/$n.body\nexit $code\n"
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "curl"), []byte(wrapper), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-e", "-o", "pipefail", "-c", commands)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the commands of the page: %v\n%s", err, out)
	}
	var list []shown
	for n := 0; ; n += 2 {
		meta, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.meta", n)))
		if os.IsNotExist(err) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.body", n)))
		if err != nil {
			t.Fatal(err)
		}
		s := shown{body: []byte(strings.TrimSpace(string(body)))}
		if err := json.Unmarshal(meta[strings.IndexByte(string(meta), '{'):], &s); err != nil {
			t.Fatalf("%s: %v", meta, err)
		}
		list = append(list, s)
	}
}

// shown is a response that a reader who follows a page gets.
type shown struct {
	Method string
	URL    string `json:"url_effective"`
	Status int    `json:"response_code"`
	Type   string `json:"content_type"`
	body   []byte
}

// check checks the response against openapi.yaml and returns the route's template.
func (s *shown) check(t *testing.T, doc *openapi3.T) string {
	t.Helper()
	path := regexp.MustCompile(`^https?://[^/]+([^?]*)`).FindStringSubmatch(s.URL)[1]
	for _, template := range doc.Paths.InMatchingOrder() {
		pattern := "^" + regexp.MustCompile(`\\\{[a-z_]+\\\}`).ReplaceAllString(regexp.QuoteMeta(template), "[^/]+") + "$"
		item := doc.Paths.Value(template)
		op := item.GetOperation(s.Method)
		if op == nil || !regexp.MustCompile(pattern).MatchString(path) {
			continue
		}
		resp := op.Responses.Status(s.Status)
		if resp == nil || s.Status > 299 {
			t.Errorf("%s %s is answered %d %s", s.Method, template, s.Status, s.body)
			return template
		}
		media := resp.Value.Content.Get(s.Type)
		if media == nil {
			t.Errorf("%s %s: %d as %s is not in openapi.yaml", s.Method, template, s.Status, s.Type)
			return template
		}
		var v any
		if err := json.Unmarshal(s.body, &v); err != nil {
			t.Errorf("%s %s: %v", s.Method, template, err)
		} else if err := media.Schema.Value.VisitJSON(v, openapi3.EnableJSONSchema2020()); err != nil {
			t.Errorf("%s %s: %v", s.Method, template, err)
		}
		return template
	}
	t.Errorf("%s %s is not in openapi.yaml", s.Method, path)
	return ""
}

// A reader who types what the pages say gets what the API promises.
func TestTheCommandsOfThePagesDoWhatTheySay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, tuning{}, 300*time.Millisecond)
	m := w.carrier(carrier.Config{Profile: []carrier.Behaviour{person(50 * time.Millisecond)}})
	_, port, err := splitHostPort(m.Addr())
	if err != nil {
		t.Fatal(err)
	}
	voice, err := bot.Start(bot.Config{Conversations: []bot.Conversation{conversation(300 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = voice.Close() })
	doc, err := openapi3.NewLoader().LoadFromFile("../http/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// What a reader fills in: the addresses of the models, and values from earlier responses.
	fill := func(page string, pairs ...string) string {
		t.Helper()
		text := commandsOf(t, page)
		for i := 0; i+1 < len(pairs); i += 2 {
			if !strings.Contains(text, pairs[i]) {
				t.Fatalf("%s has no %q any more; this test fills something in there", page, pairs[i])
			}
			text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
		}
		return text
	}
	last := func(name string) string {
		return `$(grep -ho '"` + name + `":"[^"]*"' "$ANSWER" | head -1 | cut -d'"' -f4)`
	}
	// Every response is saved to a file, from which a reader would copy identifiers.
	keep := "ANSWER=$(mktemp)\n"
	readme := keep + fill("README.md",
		"API=http://127.0.0.1:8080", "API="+w.p.URL(),
		"PASSWORD=…", "PASSWORD="+w.hidden[0],
		`"port":5070`, fmt.Sprintf(`"port":%d`, port),
		"ws://127.0.0.1:5080/media", voice.URL(),
		`'Content-Type: application/json' "$@"; echo; }`, `'Content-Type: application/json' "$@" | tee $ANSWER; echo; }`,
		"ID=cmp_…", "ID="+last("campaign_id"),
		"KEY=vx_…", "KEY="+last("key"),
		"calls/CA…", "calls/"+last("call_id"))
	answers := shell(t, readme)
	seen := map[string]int{}
	for i := range answers {
		seen[answers[i].Method+" "+answers[i].check(t, doc)]++
	}
	for _, want := range []string{"POST /api/v1/auth/token", "PUT /api/v1/trunks/{trunk_id}", "PUT /api/v1/bots/{bot_id}",
		"PUT /api/v1/numbers/{number}",
		"POST /api/v1/campaigns", "POST /api/v1/campaigns/{campaign_id}/contacts",
		"POST /api/v1/campaigns/{campaign_id}/start", "GET /api/v1/campaigns/{campaign_id}",
		"POST /api/v1/api-keys", "POST /api/v1/campaigns/trigger", "POST /api/v1/contacts/exclude",
		"POST /api/v1/sip/dialout", "GET /api/v1/calls/{call_id}"} {
		if seen[want] == 0 {
			t.Errorf("README.md has no %s", want)
		}
	}
	w.quiet()
	hooks := shell(t, "TOKEN="+w.admin+"\n"+fill("docs/webhooks.md", "https://dialler.example.org", w.p.URL()))
	if len(hooks) != 1 || hooks[0].check(t, doc) != "/api/v1/webhooks" {
		t.Fatalf("docs/webhooks.md: %d answers", len(hooks))
	}
	var hook struct{ ID string }
	if err := json.Unmarshal(hooks[0].body, &hook); err != nil {
		t.Fatal(err)
	}
	w.operator("DELETE", "/api/v1/webhooks/"+hook.ID, nil).expect(204) // its server is not ours
}
