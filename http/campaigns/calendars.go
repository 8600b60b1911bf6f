package campaigns

import (
	"context"
	"errors"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"dialler/engine"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/holidays"
	"dialler/engine/number"
	"dialler/engine/window"
	"dialler/http/form"
	"dialler/http/wire"
)

// Calendars: named opening hours with holidays, which campaigns share.

type calendarView struct {
	ID         engine.CalendarID            `json:"calendar_id"`
	Name       string                       `json:"name"`
	Zone       *string                      `json:"zone"`  // null: the clocks of the campaign's window
	Hours      map[window.Day][]window.Span `json:"hours"` // null: at any time
	Sets       []string                     `json:"holiday_sets"`
	URL        *string                      `json:"holidays_url"`
	File       *holidaysFileView            `json:"holidays_file"`
	Exceptions []window.Exception           `json:"exceptions"`
	Countries  []string                     `json:"countries"`
	Version    int64                        `json:"version"`
	CreatedAt  time.Time                    `json:"created_at"`
	UpdatedAt  time.Time                    `json:"updated_at"`
}

// holidaysFileView is the last good file of a calendar.
type holidaysFileView struct {
	Days    int       `json:"days"`
	ReadAt  time.Time `json:"read_at"`
	TriedAt time.Time `json:"tried_at"`
	Problem *string   `json:"problem"` // why the last fetch failed
}

func viewCalendar(c *calendar.Named) calendarView {
	v := calendarView{ID: c.ID, Name: c.Name, Zone: textOrNull(c.Hours.Zone), Hours: c.Hours.Hours, Sets: c.Sets,
		URL: textOrNull(c.URL), Exceptions: c.Hours.Exceptions, Countries: c.Hours.Countries, Version: c.Version,
		CreatedAt: c.CreatedAt.UTC(), UpdatedAt: c.UpdatedAt.UTC()}
	v.Sets, v.Countries = append([]string{}, v.Sets...), append([]string{}, v.Countries...)
	v.Exceptions = append([]window.Exception{}, v.Exceptions...)
	if f := &c.File; !f.ReadAt.IsZero() {
		v.File = &holidaysFileView{Days: len(f.Holidays), ReadAt: f.ReadAt.UTC(), TriedAt: f.TriedAt.UTC(),
			Problem: textOrNull(f.Problem)}
	}
	return v
}

// viewCalendarFor is viewCalendar for who asks: addresses of files, which may be secret, are shown to operators;
// viewers see their servers.
func viewCalendarFor(r *wire.Request, c *calendar.Named) calendarView {
	v := viewCalendar(c)
	if v.URL != nil && (r.MayAs(wire.RoleOperator) != nil || r.Key != nil && !wire.InScope(r.Key, wire.ScopeCalendars)) {
		masked := "***"
		if u, err := url.Parse(c.URL); err == nil {
			masked = u.Scheme + "://" + u.Host + "/***"
		}
		v.URL = &masked
	}
	return v
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

type calendarList struct {
	Calendars []calendarView `json:"calendars"`
	Total     int            `json:"total"`
}

func (s *API) ListCalendars(r *wire.Request) error {
	list, err := s.Calendars.Calendars(r.Ctx())
	if err != nil {
		return err
	}
	out := calendarList{Calendars: make([]calendarView, len(list)), Total: len(list)}
	for i := range list {
		out.Calendars[i] = viewCalendarFor(r, &list[i])
	}
	return r.Reply(nethttp.StatusOK, out)
}

// calendarOf is the calendar in the path, with all there are.
func (s *API) calendarOf(r *wire.Request) (*calendar.Named, error) {
	list, err := s.Calendars.Calendars(r.Ctx())
	if err != nil {
		return nil, err
	}
	if c := calendar.Find(list, engine.CalendarID(r.Param("calendar_id"))); c != nil {
		return c, nil
	}
	return nil, engine.NotFound("calendar_not_found", "")
}

func (s *API) ShowCalendar(r *wire.Request) error {
	c, err := s.calendarOf(r)
	if err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, viewCalendarFor(r, c))
}

type holidaySetView struct {
	Code    string `json:"code"`
	Country string `json:"country"`
}

type presetView struct {
	ID        string                       `json:"preset"`
	Name      string                       `json:"name"`
	Hours     map[window.Day][]window.Span `json:"hours"`
	Sets      []string                     `json:"holiday_sets"`
	Countries []string                     `json:"countries"`
	Source    string                       `json:"source"`
	Since     string                       `json:"since"`
}

type calendarChoices struct {
	Sets    []holidaySetView `json:"holiday_sets"`
	Presets []presetView     `json:"presets"`
}

// CalendarChoices lists what calendars can be made of.
func (s *API) CalendarChoices(r *wire.Request) error {
	var out calendarChoices
	for _, set := range holidays.Sets {
		out.Sets = append(out.Sets, holidaySetView{set.Code, set.Country})
	}
	for i := range calendar.Presets {
		p := &calendar.Presets[i]
		c := p.Calendar()
		out.Presets = append(out.Presets, presetView{p.ID, p.Name, c.Hours.Hours, append([]string{}, c.Sets...),
			c.Hours.Countries, p.Source, p.Since})
	}
	return r.Reply(nethttp.StatusOK, out)
}

// PutCalendar creates a calendar, or edits the version that it names.
func (s *API) PutCalendar(r *wire.Request) error {
	f, err := r.Body()
	if err != nil {
		return err
	}
	list, err := s.Calendars.Calendars(r.Ctx())
	if err != nil {
		return err
	}
	id := engine.CalendarID(wire.PathID(f, r, "calendar_id"))
	before := calendar.Find(list, id)
	c := readCalendar(f)
	c.ID = id
	if f.Has("version") || len(r.HTTP.Request.Header.Peek("If-Match")) > 0 {
		c.Version = editedVersion(r, f)
	}
	text := f.Text("holidays_file", form.Optional, holidays.FileMost)
	dropped := f.Sent("holidays_file")
	f.Done()
	if err := s.ofCountries(r, before, &c); err != nil {
		return err
	}
	f.Errs.Merge(c.Validate(number.SupportedRegion))
	if c.URL != "" && text != "" {
		f.Fail("holidays_file", "conflict", "is given together with holidays_url; leave one of them out")
	}
	if err := f.Errs.Err(); err != nil {
		return err
	}
	keep := before != nil && !before.File.ReadAt.IsZero() && text == "" && before.URL == c.URL && (c.URL != "" || !dropped)
	field := "holidays_file"
	switch {
	case keep:
		c.File = before.File
		c.Complete()
	case c.URL != "":
		field = "holidays_url"
		if text, err = s.Calendars.FetchHolidays(r.Ctx(), c.URL); err != nil {
			f.Fail(field, "unreachable", engine.ErrorDetail(err))
			return f.Errs.Err()
		}
		fallthrough
	case text != "":
		if err := c.Read(text, s.Now()); err != nil {
			f.Fail(field, "invalid_format", engine.ErrorDetail(err)+"; for example "+strconv.Quote(holidays.Example))
			return f.Errs.Err()
		}
	}
	if !(window.Window{Zone: "UTC"}).With([]*window.Calendar{&c.Hours}, nil).CanEverOpen(s.Now()) {
		f.Fail("hours", "never_opens", "is not open in the next "+strconv.Itoa(window.HorizonDays)+
			` days; give it hours, for example {"Mon":["09:00-18:00"]}`)
		return f.Errs.Err()
	}
	stored, created, err := s.Calendars.PutCalendar(r.Ctx(), c, keep, s.Now(), r.Who())
	var e *engine.Error
	if errors.As(err, &e) {
		if now, ok := e.Current.(calendar.Named); ok {
			shown := *e
			shown.Current = viewCalendar(&now)
			return &shown
		}
	}
	if err != nil {
		return err
	}
	return r.Reply(wire.PutStatus(created), viewCalendar(&stored))
}

// ofCountries refuses a change of the hours of countries by who is no administrator. Other
// calendars may be nil.
func (s *API) ofCountries(r *wire.Request, calendars ...*calendar.Named) error {
	for _, c := range calendars {
		if c != nil && len(c.Hours.Countries) > 0 {
			return r.MayAs(wire.RoleAdmin)
		}
	}
	return nil
}

func (s *API) DeleteCalendar(r *wire.Request) error {
	c, err := s.calendarOf(r)
	if err != nil {
		return err
	}
	if err := s.ofCountries(r, c); err != nil {
		return err
	}
	if err := s.Calendars.DeleteCalendar(r.Ctx(), c.ID, r.Who()); err != nil {
		return err
	}
	r.Send(nethttp.StatusNoContent, "", nil)
	return nil
}

// readCalendar reads what people write of a calendar: a preset, and what is sent in place of its parts.
func readCalendar(f form.Form) (c calendar.Named) {
	if id := f.Text("preset", form.Optional, 64); id != "" {
		i := slices.IndexFunc(calendar.Presets, func(p calendar.Preset) bool { return p.ID == id })
		if i < 0 {
			f.Fail("preset", "unknown_value", "is no preset, for example "+calendar.Presets[0].ID)
		} else {
			c = calendar.Presets[i].Calendar()
		}
	}
	if name := f.Text("name", c.Name == "", 100); name != "" {
		c.Name = name
	}
	c.Hours.Zone = f.Text("zone", form.Optional, 64)
	if hours, ok := f.Object("hours"); ok {
		c.Hours.Hours = map[window.Day][]window.Span{}
		for _, day := range []window.Day{window.Mon, window.Tue, window.Wed, window.Thu, window.Fri, window.Sat, window.Sun} {
			if spans := readSpans(hours, string(day)); len(spans) > 0 {
				c.Hours.Hours[day] = spans
			}
		}
		hours.Done()
	}
	if sets := f.Words("holiday_sets", 100); sets != nil {
		c.Sets = sets
	}
	c.URL = f.Link("holidays_url")
	if countries := f.Words("countries", 300); countries != nil {
		c.Hours.Countries = countries
	}
	c.Hours.Exceptions = readExceptions(f)
	c.Complete()
	return c
}

// readSpans reads the hours of a day.
func readSpans(f form.Form, field string) (list []window.Span) {
	for i, text := range f.Words(field, 100) {
		s, err := window.ParseSpan(text)
		if err != nil {
			f.Fail(field+"["+strconv.Itoa(i)+"]", "invalid_format", "must be written HH:MM-HH:MM, for example 09:00-18:00")
			continue
		}
		list = append(list, s)
	}
	slices.SortStableFunc(list, func(a, b window.Span) int { return int(a.From - b.From) })
	return list
}

// readExceptions reads the dates with hours of their own, in any order.
func readExceptions(f form.Form) (list []window.Exception) {
	v := f.List("exceptions", 1000)
	if v == nil {
		return nil
	}
	for i := range v.Items {
		path := f.Name("exceptions") + "[" + strconv.Itoa(i) + "]"
		if v.Items[i].Kind != form.Object {
			f.Errs.Add(path, "wrong_type", `must be an object, for example {"date":"2030-12-24","hours":["09:00-12:00"]}`)
			continue
		}
		one := form.Form{Value: &v.Items[i], Path: path, Errs: f.Errs}
		date, err := window.ParseDate(one.Text("date", form.Required, 10))
		if err != nil && one.Has("date") {
			one.Fail("date", "invalid_date", "must be a date that exists, for example 2030-12-24")
		}
		list = append(list, window.Exception{Date: date, Hours: append([]window.Span{}, readSpans(one, "hours")...)})
		one.Done()
	}
	slices.SortStableFunc(list, func(a, b window.Exception) int { return a.Date.Compare(b.Date) })
	return list
}

// checkCalendars refuses calendars that do not exist.
func (s *API) checkCalendars(ctx context.Context, c *campaign.Settings, errs *form.Errors) error {
	if len(c.Calendars) == 0 {
		return nil
	}
	list, err := s.Calendars.Calendars(ctx)
	if err != nil {
		return err
	}
	message := "is no calendar, and there are none yet; leave it out"
	if len(list) > 0 {
		message = "is no calendar; GET /api/v1/calendars lists them, for example " + string(list[0].ID)
	}
	for i, id := range c.Calendars {
		field := "calendar_ids[" + strconv.Itoa(i) + "]"
		if calendar.Find(list, id) == nil {
			errs.Add(field, "unknown_value", message)
		}
		if slices.Contains(c.Calendars[:i], id) {
			errs.Add(field, "duplicate", "is given more than once")
		}
	}
	return nil
}

type windowsView struct {
	Zone     string           `json:"zone"` // by whose clock times are written
	OpensAt  *time.Time       `json:"opens_at"`
	ClosedBy *string          `json:"closed_by"` // the calendar that is closed now
	Openings []openingView    `json:"openings"`
	Days     []specialDayView `json:"special_days"`
}

type openingView struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

type specialDayView struct {
	Date     window.Date   `json:"date"`
	Calendar string        `json:"calendar"`
	Holiday  *string       `json:"holiday"`
	Hours    []window.Span `json:"hours"`
}

const (
	windowsUsual = 14 * 24 * time.Hour
	windowsMost  = 62 * 24 * time.Hour
)

// windows answers when a window is open.
func (s *API) windows(r *wire.Request, w window.Window, from, to time.Time) error {
	now, loc := s.Now(), w.Local(from).Location()
	v := windowsView{Zone: loc.String(), ClosedBy: textOrNull(w.ClosedBy(now)), Openings: []openingView{},
		Days: []specialDayView{}}
	if at, ok := w.NextOpening(now); ok {
		at = at.In(loc)
		v.OpensAt = &at
	}
	for _, o := range w.Openings(from, to) {
		v.Openings = append(v.Openings, openingView{o.From.In(loc), o.To.In(loc)})
	}
	for _, d := range w.SpecialDays(window.DateOf(from.In(loc)), window.DateOf(to.In(loc))) {
		v.Days = append(v.Days, specialDayView{d.Date, d.Calendar, textOrNull(d.Holiday),
			append([]window.Span{}, d.Hours...)})
	}
	return r.Reply(nethttp.StatusOK, v)
}

// span reads from and to, and one more parameter.
func (s *API) span(r *wire.Request, other string) (from, to time.Time, value string, err error) {
	var errs form.Errors
	from = s.Now()
	for k, v := range r.HTTP.QueryArgs().All() {
		switch key := string(k); key {
		case "from", "to":
			if at := chartTime(key, string(v), &errs); key == "from" {
				from = at
			} else {
				to = at
			}
		case other:
			value = string(v)
		default:
			errs.UnknownParameter(key)
		}
	}
	if to.IsZero() {
		to = from.Add(windowsUsual)
	}
	if err := errs.Err(); err != nil {
		return from, to, value, err
	}
	if !to.After(from) || to.Sub(from) > windowsMost {
		errs.Add("to", "out_of_range", "must be after from, and at most 62 days")
	}
	return from, to, value, errs.Err()
}

// CampaignWindows says when a campaign calls: its window within its calendars, for the number of a
// contact if one is given.
func (s *API) CampaignWindows(r *wire.Request) error {
	id, err := r.CampaignOf()
	if err != nil {
		return err
	}
	from, to, phone, err := s.span(r, "phone")
	if err != nil {
		return err
	}
	var home window.Home
	if phone != "" {
		n, err := number.Parse(phone)
		if err != nil {
			return engine.Invalid("validation_failed", "", engine.FieldError{Field: "phone", Code: "invalid_format",
				Message: "must be a number in E.164, for example +4930123456"})
		}
		home = number.HomeOf(n)
	}
	d, err := s.Campaigns.Detail(r.Ctx(), id)
	if err != nil {
		return err
	}
	list, err := s.Calendars.Calendars(r.Ctx())
	if err != nil {
		return err
	}
	d.Campaign.Narrow(list)
	return s.windows(r, d.Campaign.Settings.Window.For(home), from, to)
}

// CalendarWindows says when a calendar is open, by its clock or that of a given zone.
func (s *API) CalendarWindows(r *wire.Request) error {
	from, to, zone, err := s.span(r, "zone")
	if err != nil {
		return err
	}
	c, err := s.calendarOf(r)
	if err != nil {
		return err
	}
	w := window.Window{Zone: "UTC"}
	if c.Hours.Zone != "" {
		w.Zone = c.Hours.Zone
	}
	if zone != "" {
		w.Zone = zone
	}
	if err := w.Validate(); err != nil {
		return engine.Invalid("validation_failed", "", engine.FieldError{Field: "zone", Code: "unknown_zone",
			Message: "must be a name of the IANA time zone database, for example Europe/Berlin"})
	}
	return s.windows(r, w.With([]*window.Calendar{&c.Hours}, nil), from, to)
}
