package contract

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
)

func (m *Maker) one(in int) bool { return m.rnd.IntN(in) == 0 }

func (m *Maker) mostly() bool { return !m.one(30) }

func (m *Maker) word() string {
	return []string{"alpha", "beta", "gamma", "delta", "omega"}[m.rnd.IntN(5)]
}

func sortText(s []string) { slices.Sort(s) }

// odd is a text that programs often mishandle.
func (m *Maker) odd() string {
	return []string{
		"", " ", "\x00", "null", "-1", "0", "1e999", "99999999999999999999", "%s%n", "' OR 1=1 --", "../../etc/passwd",
		"\u202ereversed", "\U0001f4de", strings.Repeat("a", 5000), "\r\nX-Other: 1", "=1+1", "{}", "[]", "true", "\ufeff",
		"a\tb", "<b>", "é", "\xff\xfe",
	}[m.rnd.IntN(24)]
}

// value returns a value that the schema allows, nearly always.
func (m *Maker) value(name string, ref *openapi3.SchemaRef, depth int) any {
	if ref == nil || ref.Value == nil {
		return m.word()
	}
	s := ref.Value
	for _, list := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(list) > 0 {
			return m.value(name, list[m.rnd.IntN(len(list))], depth)
		}
	}
	if len(s.AllOf) > 0 {
		whole := map[string]any{}
		for _, part := range s.AllOf {
			o, ok := m.value(name, part, depth).(map[string]any)
			if !ok {
				return m.value(name, s.AllOf[0], depth)
			}
			for k, v := range o {
				whole[k] = v
			}
		}
		return whole
	}
	if s.Const != nil {
		return s.Const
	}
	if len(s.Enum) > 0 {
		return s.Enum[m.rnd.IntN(len(s.Enum))]
	}
	kind := "object"
	if s.Type != nil {
		var kinds []string
		for _, k := range s.Type.Slice() {
			if k != "null" {
				kinds = append(kinds, k)
			} else if m.one(8) {
				return nil
			}
		}
		if len(kinds) == 0 {
			return nil
		}
		kind = kinds[m.rnd.IntN(len(kinds))]
	}
	switch kind {
	case "string":
		return m.str(name, s)
	case "integer":
		return int64(m.number(s))
	case "number":
		return m.number(s)
	case "boolean":
		return m.one(2)
	case "array":
		return m.list(name, s, depth)
	default:
		return m.object(s, depth)
	}
}

func (m *Maker) object(s *openapi3.Schema, depth int) any {
	o := map[string]any{}
	names := make([]string, 0, len(s.Properties))
	for k := range s.Properties {
		names = append(names, k)
	}
	sortText(names)
	for _, k := range names {
		if slices.Contains(s.Required, k) || depth < 4 && m.one(3) {
			o[k] = m.value(k, s.Properties[k], depth+1)
		}
	}
	if more := s.AdditionalProperties.Schema; more != nil {
		for range m.rnd.IntN(4) {
			o[m.word()] = m.value("", more, depth+1)
		}
	}
	return o
}

func (m *Maker) list(name string, s *openapi3.Schema, depth int) any {
	least, most := int(s.MinItems), 4 //nolint:gosec // limits of a file
	if s.MaxItems != nil {
		most = min(most, int(*s.MaxItems)) //nolint:gosec // likewise
	}
	list := make([]any, 0, 4)
	for n := least + m.rnd.IntN(max(most-least, 0)+1); len(list) < n; {
		list = append(list, m.value(name, s.Items, depth+1))
	}
	return list
}

func (m *Maker) number(s *openapi3.Schema) float64 {
	low, high := 0.0, 100.0
	if s.Min != nil {
		low, high = *s.Min, *s.Min+100
	}
	if s.Max != nil {
		high = *s.Max
	}
	switch m.rnd.IntN(120) {
	case 0:
		return low - 1
	case 1:
		return high + 1
	}
	switch m.rnd.IntN(6) {
	case 0:
		return low
	case 1:
		return high
	}
	if s.Max != nil && high-low > 1000 {
		high = low + 1000 // large caps and delays only slow a run down
	}
	return math.Floor(low + m.rnd.Float64()*(high-low+1))
}

func (m *Maker) str(name string, s *openapi3.Schema) string {
	if strings.Contains(s.Pattern, `\+`) || strings.Contains(name, "number") || name == "mobile" {
		if len(m.numbers) > 0 && !m.one(20) {
			return m.numbers[m.rnd.IntN(len(m.numbers))]
		}
	}
	if list := m.known[name]; len(list) > 0 && !m.one(20) {
		return list[m.rnd.IntN(len(list))]
	}
	if address.MatchString(name) {
		return []string{"127.0.0.1", "ws://127.0.0.1:9/bot", "http://127.0.0.1:9/", "sip:bot@127.0.0.1:9",
			"wss://127.0.0.1:9/", "127.0.0.1:9"}[m.rnd.IntN(6)]
	}
	if list := m.known[strings.TrimSuffix(name, "_id")+"/id"]; len(list) > 0 && strings.HasSuffix(name, "_id") &&
		!m.one(10) {
		return list[m.rnd.IntN(len(list))]
	}
	switch s.Format {
	case "date-time":
		return time.Date(2020+m.rnd.IntN(30), 1, 1+m.rnd.IntN(365), m.rnd.IntN(24), 0, 0, 0, time.UTC).Format(time.RFC3339)
	case "date":
		return time.Date(2020+m.rnd.IntN(30), 1, 1+m.rnd.IntN(365), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}
	if s.Pattern != "" {
		if t, err := syntax.Parse(s.Pattern, syntax.Perl); err == nil {
			var b strings.Builder
			m.match(&b, t.Simplify())
			return b.String()
		}
	}
	if m.one(30) {
		return m.odd()
	}
	text := fmt.Sprintf("%s %d", m.word(), m.rnd.IntN(1000))
	least, most := int(s.MinLength), 200 //nolint:gosec // limits of a file
	if s.MaxLength != nil {
		most = int(*s.MaxLength) //nolint:gosec // likewise
	}
	if m.one(60) {
		return strings.Repeat("x", min(most, 10_000)+m.rnd.IntN(2))
	}
	for len(text) < least {
		text += "x"
	}
	return text[:min(len(text), max(most, 0))]
}

// match writes a text that matches a regular expression.
func (m *Maker) match(b *strings.Builder, t *syntax.Regexp) {
	repeat := func(least, most int) {
		if most < 0 || most > least+5 {
			most = least + 5
		}
		for range least + m.rnd.IntN(most-least+1) {
			m.match(b, t.Sub[0])
		}
	}
	switch t.Op {
	case syntax.OpLiteral:
		b.WriteString(string(t.Rune))
	case syntax.OpCharClass:
		i := 2 * m.rnd.IntN(len(t.Rune)/2)
		b.WriteRune(t.Rune[i] + rune(m.rnd.IntN(int(min(t.Rune[i+1]-t.Rune[i], 60))+1))) //nolint:gosec // at most 60
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpStar:
		repeat(0, -1)
	case syntax.OpPlus:
		repeat(1, -1)
	case syntax.OpQuest:
		repeat(0, 1)
	case syntax.OpRepeat:
		repeat(t.Min, t.Max)
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range t.Sub {
			m.match(b, sub)
		}
	case syntax.OpAlternate:
		m.match(b, t.Sub[m.rnd.IntN(len(t.Sub))])
	default: // it matches no text: ^, $
	}
}

// csv is a file of contacts, more or less valid.
func (m *Maker) csv() string {
	var b strings.Builder
	b.WriteString([]string{"phone_number,name\n", "phone_number\n", "\ufeffphone_number,name\r\n", "phone_number;name\n",
		"name\n", ""}[m.rnd.IntN(6)])
	for range m.rnd.IntN(20) {
		number := m.odd()
		if len(m.numbers) > 0 && !m.one(5) {
			number = m.numbers[m.rnd.IntN(len(m.numbers))]
		}
		b.WriteString(number)
		if m.one(2) {
			b.WriteString("," + m.word())
		}
		b.WriteByte('\n')
	}
	return b.String()
}
