package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/redial"
	"dialler/engine/tally"
	"dialler/engine/window"
	"dialler/http/wire"
)

// Files generated from the core's tables: parts of openapi.yaml, and the console's copy of the
// settings. -update writes them.

const consoleWords = "console/src/words/"

func TestWhatIsMadeOfTheTablesIsInStep(t *testing.T) {
	const why = "is behind the tables of engine: run go test ./http -update, then make docs for the console's types"
	for path, want := range map[string]string{
		"openapi.yaml":                   document(t),
		consoleWords + "settings.gen.ts": settingsTS(t),
		consoleWords + "outcomes.gen.ts": outcomesTS(t),
		consoleWords + "scopes.gen.ts":   scopesTS(t),
		"../docs/access.md":              accessPage(t),
	} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // as the others are
				t.Fatal(err)
			}
		} else if have, err := os.ReadFile(path); err != nil || string(have) != want {
			t.Error(path, why, err)
		}
	}
}

// document returns openapi.yaml with its generated parts up to date. They are between the comments
// "begin NAME" and "end NAME".
func document(t *testing.T) string {
	t.Helper()
	text := string(openapiYAML)
	for _, part := range []struct {
		name  string
		lines []string
	}{
		{"outcomes", []string{"      enum: [" + joined(engine.Outcomes) + "]"}},
		{"scopes", []string{"      enum: [" + strings.Join(yamlWords(wire.Scopes), ", ") + "]"}},
		{"settings", settingsSchemas()},
		{"changed settings", whatIfSchema()},
		{"played settings", playedSchema()},
	} {
		before, rest, ok := strings.Cut(text, "# begin "+part.name+"\n")
		_, after, found := strings.Cut(rest, "# end "+part.name+"\n")
		if !ok || !found {
			t.Fatalf("openapi.yaml has no part %q", part.name)
		}
		indent := before[strings.LastIndexByte(before, '\n')+1:]
		text = before + "# begin " + part.name + "\n" + strings.Join(part.lines, "\n") + "\n" + indent +
			"# end " + part.name + "\n" + after
	}
	return secured(t, described(t, text))
}

// accessPage is docs/access.md with the table of scopes, and which requests each opens.
func accessPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../docs/access.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), "<!-- begin scopes -->\n")
	_, after, found := strings.Cut(rest, "<!-- end scopes -->")
	if !ok || !found {
		t.Fatal("docs/access.md has no table of scopes")
	}
	opens := map[string][]string{}
	for _, rt := range newBench(t).server.routes {
		opens[rt.access.Scope] = append(opens[rt.access.Scope], "`"+rt.method+" "+strings.TrimPrefix(rt.path, "/api/v1")+"`")
	}
	var table strings.Builder
	table.WriteString("| scope | what it is for | includes | requests, below `/api/v1` |\n|---|---|---|---|\n")
	for _, s := range wire.ScopeTable {
		name := "`" + s.Name + "`"
		if s.First {
			name += " *"
		}
		var more []string
		for _, in := range s.Includes {
			more = append(more, "`"+in+"`")
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, s.May, strings.Join(more, ", "),
			strings.Join(opens[s.Name], ", "))
	}
	return before + "<!-- begin scopes -->\n" + table.String() + "<!-- end scopes -->" + after
}

// scopesTS is the console's table of scopes.
func scopesTS(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("// Made from http/wire/scopes.go: run go test ./http -update.\n" +
		"export interface ScopeWords {\n  group: string;\n  may: string;\n  includes: readonly string[];\n" +
		"  first: boolean;\n}\n\n" +
		"export const scopeTable = {\n")
	text := func(s string) string { return "'" + strings.ReplaceAll(s, "'", "\\'") + "'" }
	for _, s := range wire.ScopeTable {
		name := s.Name
		if strings.Contains(name, ":") {
			name = text(name)
		}
		in := make([]string, len(s.Includes))
		for i := range in {
			in[i] = text(s.Includes[i])
		}
		fmt.Fprintf(&b, "  %s: {\n    group: %s,\n    may: %s,\n    includes: [%s],\n    first: %t,\n  },\n", name,
			text(s.Group), text(s.May), strings.Join(in, ", "), s.First)
	}
	b.WriteString("} as const satisfies Record<string, ScopeWords>;\n")
	return b.String()
}

// yamlWords are scopes in the form of YAML.
func yamlWords(scopes []string) []string {
	out := make([]string, len(scopes))
	for i, s := range scopes {
		if out[i] = s; strings.Contains(s, ":") {
			out[i] = strconv.Quote(s)
		}
	}
	return out
}

// secured gives each operation in openapi.yaml the credentials of its route, and the scope that a key needs.
func secured(t *testing.T, text string) string {
	t.Helper()
	access := map[string]wire.Access{}
	for _, rt := range newBench(t).server.routes {
		access[rt.method+" "+rt.path] = rt.access
	}
	var path, method string
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		switch key, _, _ := strings.Cut(strings.TrimSpace(line), ":"); {
		case strings.HasPrefix(line, "  /"):
			path = strings.Trim(strings.TrimSuffix(strings.TrimSpace(line), ":"), `"`)
		case strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "     "):
			method = strings.ToUpper(key)
		case strings.HasPrefix(line, "      security:"):
			if want := security(access[method+" "+path], method); want != "" {
				lines[i] = "      security: [" + want + "]"
			}
		}
	}
	return strings.Join(lines, "\n")
}

// security is what openapi.yaml says of who may use a route; "" for what it says itself.
func security(a wire.Access, method string) string {
	var ways []string
	if a.OwnToken {
		ways = append(ways, "{ callToken: [] }")
	}
	if a.Role != wire.RoleNone {
		if !a.Session {
			ways = append(ways, "{ bearer: [] }")
		}
		csrf := ", csrf: []"
		if method == "GET" {
			csrf = ""
		}
		ways = append(ways, "{ session: []"+csrf+" }")
	}
	if a.Scope != "" {
		ways = append(ways, "{ apiKey: ["+yamlWords([]string{a.Scope})[0]+"] }")
	}
	return strings.Join(ways, ", ")
}

// described gives each figure in openapi.yaml the description from engine/tally's table.
func described(t *testing.T, text string) string {
	t.Helper()
	old := regexp.MustCompile(`,? ?description: ("(\\.|[^"\\])*"|[^,{}"]+)`)
	for i := range tally.Figures {
		f := &tally.Figures[i]
		if f.Inner {
			continue
		}
		schemas := []string{string(f.Of)}
		if f.Of == tally.OfLedger {
			schemas = append(schemas, "AbandonLedger") // the same, with the period's bounds
		}
		for _, schema := range schemas {
			before, rest, ok := strings.Cut(text, "\n    "+schema+":\n")
			from := regexp.MustCompile(`(?m)^ +` + f.Name + `: \{ (.*) \}$`).FindStringSubmatchIndex(rest)
			ends := regexp.MustCompile(`(?m)^    [A-Za-z]+:`).FindStringIndex(rest)
			if !ok || from == nil || ends != nil && ends[0] < from[0] {
				t.Fatalf("openapi.yaml: %s has no %s", schema, f.Name)
			}
			body := strings.TrimSpace(old.ReplaceAllString(rest[from[2]:from[3]], ""))
			body += ", description: " + strconv.Quote(f.Says())
			text = before + "\n    " + schema + ":\n" + rest[:from[2]] + body + rest[from[3]:]
		}
	}
	return text
}

// The console uses the table's name and description for each figure.
func TestTheConsoleSaysOfAFigureWhatTheTableSays(t *testing.T) {
	var pages strings.Builder
	for _, page := range []string{"counters", "live-card", "passes-card"} {
		text, err := os.ReadFile("console/src/pages/campaign/" + page + ".tsx")
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(text)
	}
	said := 0
	for i := range tally.Figures {
		f := &tally.Figures[i]
		if f.Means == "" {
			continue
		}
		// An addition, such as the number it is based on, may follow the sentence.
		stat := regexp.MustCompile(`\slabel="` + regexp.QuoteMeta(f.Label) + `"\s+about=("|\{\s*` + "`" + `)` +
			regexp.QuoteMeta(strings.TrimSuffix(f.Means, ".")) + `[.,]`)
		if !stat.MatchString(pages.String()) {
			t.Errorf("the console does not show %s of %s as %q, with %q", f.Name, f.Of, f.Label, f.Means)
		}
		said++
	}
	// Last Dial is a time.
	if stats := len(regexp.MustCompile(`<Stat\s`).FindAllString(pages.String(), -1)); stats != said+1 {
		t.Errorf("the console explains %d figures, the table %d", stats-1, said)
	}
}

func joined[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = string(v)
	}
	return strings.Join(texts, ", ")
}

func quoted[T ~string](list []T) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = "'" + string(v) + "'"
	}
	return strings.Join(texts, ", ")
}

func settingsSchemas() []string {
	var required, shown []string
	properties, optional := []string{}, []string{}
	for i := range campaign.Fields {
		f := &campaign.Fields[i]
		if f.Required {
			required = append(required, f.Name)
		}
		if f.Optional() {
			optional = append(optional, "        "+f.Name+": "+schemaOf(f, schemaStyle{bounds: true, null: true}))
		} else {
			shown = append(shown, f.Name)
		}
		properties = append(properties, "        "+f.Name+": "+schemaOf(f, schemaStyle{bounds: true, whole: true}))
	}
	lines := []string{
		"    SettingsRequest:", "      type: object", "      required: [" + strings.Join(required, ", ") + "]",
		"      additionalProperties: false", "      properties: &settings",
	}
	lines = append(lines, properties...)
	lines = append(lines, "    SettingsPatch:", "      type: object", "      additionalProperties: false",
		"      properties:", "        <<: *settings",
		"        window: { type: object, additionalProperties: false, properties: *window }")
	lines = append(lines, optional...)
	return append(lines,
		"        version: { type: integer, minimum: 1, description: The version that was edited; "+
			"required unless If-Match is sent. }",
		"    Settings:", "      type: object", "      required: ["+strings.Join(shown, ", ")+"]",
		"      properties: *settings")
}

func whatIfSchema() (lines []string) {
	for i := range campaign.Fields {
		if f := &campaign.Fields[i]; f.WhatIf {
			lines = append(lines, "            "+f.Name+": "+schemaOf(f, schemaStyle{bounds: true, null: true}))
		}
	}
	return lines
}

func playedSchema() []string {
	names, lines := []string{"seats"}, []string{"            seats: { type: integer }"}
	for i := range campaign.Fields {
		if f := &campaign.Fields[i]; f.WhatIf {
			names, lines = append(names, f.Name), append(lines, "            "+f.Name+": "+schemaOf(f, schemaStyle{}))
		}
	}
	return append([]string{"          required: [" + strings.Join(names, ", ") + "]", "          properties:"}, lines...)
}

// schemaStyle is the detail of a schema: bounds, default and description (whole), and whether null
// is allowed, as in a merge patch.
type schemaStyle struct{ bounds, whole, null bool }

func schemaOf(f *campaign.Field, style schemaStyle) string {
	kind, def, has := "", "", []string{}
	bound := func(key string, v any) { has = append(has, fmt.Sprintf("%s: %v", key, v)) }
	switch f.At(&campaign.Settings{}).(type) {
	case *int:
		kind = "integer"
		if f.Unit.Scale() > 1 {
			kind = "number"
		}
		bound("minimum", f.Wire(f.Min))
		bound("maximum", strconv.FormatFloat(f.Wire(f.Max), 'f', -1, 64))
		if n, ok := f.Default.(int); ok {
			def = fmt.Sprint(f.Wire(n))
		}
	case *bool:
		kind, def = "boolean", fmt.Sprint(f.Default)
	case *string:
		kind = "string"
		if f.Required {
			bound("minLength", 1)
		}
		if f.Choices == nil {
			bound("maxLength", f.Max)
			break
		}
		values := make([]string, len(f.Choices))
		for i, c := range f.Choices {
			values[i] = strconv.Quote(c.Value) // "off" bare would be a boolean
		}
		if style.null {
			values = append(values, "null")
		}
		if text, ok := f.Default.(string); ok {
			def = strconv.Quote(text)
		}
		if style.bounds {
			bound("enum", "["+strings.Join(values, ", ")+"]")
		}
	case campaign.List:
		kind = "array"
		bound("maxItems", f.Max)
		bound("items", "{ type: string }")
		if f.Items != "" {
			has[1] = `items: { $ref: "#/components/schemas/` + f.Items + `" }`
		}
	case *window.Window:
		if style.null {
			return `{ anyOf: [{ $ref: "#/components/schemas/Window" }, { type: "null" }] }`
		}
		return `{ $ref: "#/components/schemas/Window" }`
	}
	if style.null {
		kind = "[" + kind + `, "null"]`
	}
	if !style.bounds {
		has = nil
	}
	if style.whole && def != "" {
		bound("default", def)
	}
	if text := describe(f); style.whole && text != "" {
		bound("description", strconv.Quote(text))
	}
	return "{ " + strings.Join(append([]string{"type: " + kind}, has...), ", ") + " }"
}

// describe returns the API document's description of a setting.
func describe(f *campaign.Field) string {
	if f.API != "" || f.Help == "" {
		return f.API
	}
	return f.Help + "."
}

// settingsTS is the settings table for the console.
func settingsTS(t *testing.T) string {
	t.Helper()
	var rows, defaults bytes.Buffer
	for i := range campaign.Fields {
		f := &campaign.Fields[i]
		blank := campaign.Defaults()
		def := f.Value(&blank)
		if f.Default != nil {
			fmt.Fprintf(&defaults, "  %s: %s,\n", f.Name, encoded(t, def))
		}
		rows.WriteString("  {")
		sep := " "
		put := func(key string, v any, given bool) {
			if given {
				fmt.Fprintf(&rows, "%s%s: %s", sep, key, encoded(t, v))
				sep = ", "
			}
		}
		put("name", f.Name, true)
		put("group", f.Group, true)
		put("label", f.Label, true)
		put("help", f.Help, f.Help != "")
		switch f.At(&campaign.Settings{}).(type) {
		case *int:
			put("kind", "number", true)
			put("low", f.Wire(f.Min), true)
			put("high", f.Wire(f.Max), true)
			put("whole", true, f.Unit.Scale() == 1)
		case *bool:
			put("kind", "switch", true)
		case *string:
			kind := "text"
			switch {
			case f.Choices != nil:
				kind = "choice"
			case f.Address:
				kind = "address"
			}
			put("kind", kind, true)
			put("length", f.Max, f.Choices == nil)
		case campaign.List:
			put("kind", "list", true)
			put("length", f.Max, true)
		case *window.Window:
			put("kind", "window", true)
		}
		put("unit", f.Unit, f.Unit != "")
		put("shown", f.Shown, f.Shown != 0)
		put("zero", f.Zero, f.Zero != "")
		put("first", f.First, f.First != 0)
		put("says", f.Says, f.Says != nil)
		put("optional", true, f.Optional())
		put("under", f.Under, f.Under != "")
		put("locked", true, f.Locked)
		put("quiet", true, f.Quiet)
		put("unasked", true, f.Unasked)
		put("whatIf", true, f.WhatIf)
		if f.Choices != nil {
			rows.WriteString(", choices: [\n")
			for _, c := range f.Choices {
				fmt.Fprintf(&rows, "    { value: %s, label: %s, about: %s },\n", encoded(t, c.Value), encoded(t, c.Label),
					encoded(t, c.About))
			}
			rows.WriteString("  ]")
		}
		rows.WriteString(" },\n")
	}
	return `// Generated from engine/campaign/fields.go by go test ./http -update; do not edit.
import type { Schemas } from '../api/client';
import type { Setting } from './settings';

/** The settings of a campaign, in the order of the form. */
export const table: readonly Setting[] = [
` + rows.String() + `];

/** What a campaign has of which nothing is said. */
export const defaults = {
` + defaults.String() + `} satisfies Partial<Schemas['SettingsRequest']>;
`
}

// outcomesTS is the outcomes table for the console.
func outcomesTS(t *testing.T) string {
	t.Helper()
	var rows strings.Builder
	for _, r := range engine.OutcomeRows {
		fmt.Fprintf(&rows, "  %s: { label: %s, tone: %s },\n", r.Outcome, encoded(t, r.Label), encoded(t, r.Tone))
	}
	return `// Generated from engine/outcome.go by go test ./http -update; do not edit.
import type { Schemas } from '../api/client';
import type { Named } from './states';

export const outcomes: Record<Schemas['Outcome'], Named> = {
` + rows.String() + `};

/** Outcomes that may stand in Retry On System; the others are never redialled by a list. */
export const listable: Schemas['Outcome'][] = [` + quoted(redial.ListableOutcomes()) + `];
`
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	to := json.NewEncoder(&out)
	to.SetEscapeHTML(false)
	if err := to.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}
