package campaigns

import (
	"encoding/json"
	"strconv"

	"dialler/engine/campaign"
	"dialler/engine/window"
	"dialler/http/form"
)

// settingsView is a campaign's settings as people read and write them.
type settingsView struct{ of *campaign.Settings }

// MarshalJSON writes the settings in the order of their table. Settings newer than the stored ones
// get their defaults.
func (v settingsView) MarshalJSON() ([]byte, error) {
	filled := v.of.WithDefaults()
	filled.RetryOnSystem = v.of.RetryOnSystem // none stays none
	return writeSettings(&filled, func(*campaign.Field) bool { return true })
}

// writeSettings writes an object of the wanted settings that have a value.
func writeSettings(s *campaign.Settings, want func(*campaign.Field) bool) ([]byte, error) {
	out := []byte{'{'}
	for i := range campaign.Fields {
		f := &campaign.Fields[i]
		v := f.Value(s)
		if v == nil || !want(f) {
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(strconv.AppendQuote(out, f.Name), ':'), b...)
	}
	return append(out, '}'), nil
}

func viewSettings(c *campaign.Settings) settingsView { return settingsView{of: c} }

// readSettings reads what was sent, and takes the default for the rest. A zero that was sent stays
// zero, so that the rules can refuse it.
func readSettings(f form.Form) campaign.Settings {
	s := campaign.Defaults()
	for i := range campaign.Fields {
		readSetting(f, &campaign.Fields[i], &s)
	}
	if !f.Has("window") {
		f.Fail("window", "required", "is required")
	}
	return s
}

// readSetting reads one setting; one that was not sent stays unchanged.
func readSetting(f form.Form, field *campaign.Field, s *campaign.Settings) {
	name := field.Name
	switch at := field.At(s).(type) {
	case *int:
		if field.Unit.Scale() == 1 {
			*at = f.Whole(name, *at)
		} else if f.Has(name) {
			*at = field.Stored(f.Decimal(name, 0))
		}
	case *bool:
		*at = f.Flag(name, *at)
	case *string:
		switch {
		case !f.Has(name):
		case field.Choices != nil:
			if term := f.Term(name, ""); term != "" {
				*at = term
			}
		default:
			*at = f.Text(name, form.Optional, field.Max)
		}
	case campaign.List:
		if list := f.Words(name, field.Max); list != nil {
			at.Set(list)
		}
	case *window.Window:
		if w, ok := f.Object(name); ok {
			*at = readWindow(w)
		}
	}
}

// readWindow reads the calling window in the form of engine/window.
func readWindow(f form.Form) window.Window {
	w := window.Window{
		Zone:        f.Text("zone", form.Required, 64),
		Start:       readTimeOfDay(f, "start"),
		End:         readTimeOfDay(f, "end"),
		ContactZone: f.Flag("contact_zone", false),
	}
	if list := f.Words("days", 7); list != nil {
		w.Days = make([]window.Day, len(list))
		for i, d := range list {
			w.Days[i] = window.Day(d)
		}
	}
	for i, text := range f.Words("holidays", 1000) {
		d, err := window.ParseDate(text)
		if err != nil {
			f.Fail("holidays["+strconv.Itoa(i)+"]", "invalid_date", "must be a date that exists, written YYYY-MM-DD")
			continue
		}
		w.Holidays = append(w.Holidays, d)
	}
	f.Done()
	return w
}

func readTimeOfDay(f form.Form, field string) window.TimeOfDay {
	text := f.Text(field, form.Required, 5)
	if text == "" {
		return 0
	}
	t, err := window.ParseTimeOfDay(text)
	if err != nil {
		f.Fail(field, "invalid_time", "must be a time of day written HH:MM, from 00:00 to 24:00")
	}
	return t
}
