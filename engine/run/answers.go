package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/pacing"
)

// Tables are the queries that a run makes of durable data.
type Tables interface {
	Campaign(context.Context, engine.CampaignID) (campaign.Campaign, error)
	AcquireCampaign(context.Context, engine.CampaignID) (campaign.Campaign, error)
	RemoveCampaign(context.Context, engine.CampaignID, engine.Who) error
	Counters(context.Context, engine.CampaignID, int) (campaign.Counters, error)
	RunOfContacts(context.Context, engine.CampaignID) (int, error)
	ResetContacts(context.Context, engine.CampaignID, int, bool, time.Time, journal.Event) error
	RestoreContacts(context.Context, engine.CampaignID, int, journal.Event) error
	Exclusions(context.Context, engine.CampaignID) ([]journal.Exclusion, error)
	TakeBack(context.Context, journal.TakeBack) (journal.TakenBack, error)
	OpenUndo(context.Context, engine.CampaignID) (engine.ImportID, error)
	EventAt(context.Context, engine.CampaignID, int64) (journal.Event, bool, error)
	FindReply(context.Context, engine.Idempotency) (journal.Reply, bool, error)
	StagedNumber(context.Context, engine.ImportID, engine.PhoneNumber) (bool, error)
	Bots(context.Context) ([]engine.Bot, error)
	Cadences(context.Context) ([]cadence.Named, error)
	Calendars(context.Context) ([]calendar.Named, error)
	AnswerHours(context.Context) (besthour.Table, error)

	ContactByID(context.Context, engine.ContactID) (contact.Contact, bool, error)
	ContactByNumber(context.Context, engine.CampaignID, engine.PhoneNumber) (contact.Contact, bool, error)
	ContactsByNumber(context.Context, engine.CampaignID, engine.PhoneNumber) ([]contact.Contact, error)
	ContactsMatching(context.Context, engine.CampaignID, map[string]string) ([]contact.Contact, error)
	ExcludedContacts(context.Context, engine.CampaignID, []engine.PhoneNumber) ([]contact.Contact, error)
	SuppressedContacts(context.Context, engine.CampaignID, int, []engine.PhoneNumber, engine.ContactID,
		int) ([]contact.Contact, error)
	DueContacts(context.Context, engine.CampaignID, int, contact.Order, int, []engine.ContactID) ([]contact.Contact, error)
	NextDue(context.Context, engine.CampaignID, int) (*time.Time, int, error)
	Exhausted(context.Context, engine.CampaignID, int) (bool, error)
	ResultsOverdue(context.Context, engine.CampaignID, time.Time, int) ([]contact.Contact, error)
	Expired(context.Context, engine.CampaignID, int, time.Time, int) ([]contact.Contact, *time.Time, error)
	Suppressed(context.Context, ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error)

	OpenAttempts(context.Context) ([]attempt.Attempt, error)
	OpenLegs(context.Context) ([]attempt.Attempt, error)
	Attempt(context.Context, engine.AttemptID) (attempt.Attempt, bool, error)
	AbandonedSince(context.Context, []engine.PhoneNumber, time.Time) (map[engine.PhoneNumber]time.Time, error)
	AbandonLedger(context.Context, engine.CampaignID, time.Time) (pacing.Counts, error)
	AbandonHours(context.Context, engine.CampaignID, time.Time) (map[int64]pacing.Counts, error)
	Pacing(context.Context, engine.CampaignID) (pacing.State, bool, error)
	SavePacing(context.Context, engine.CampaignID, int64, pacing.State, time.Time) error
}

// Asked is a query of a campaign's run to the tables, made at a given time.
type Asked struct {
	Campaign engine.CampaignID
	Question Effect
	At       time.Time
	// Abandoned is told which numbers in the answer were abandoned in the last 72 hours.
	Abandoned func(engine.PhoneNumber, time.Time)
	// Together asks questions side by side and returns once all are answered; nil: in their order.
	Together func(questions ...func())
}

// longestWait exceeds the longest wait for a result.
const longestWait = 366 * 24 * time.Hour

// overduePage bounds how many overdue results are read at once.
const overduePage = 256

// Answer puts a question to the tables and returns the event that answers it. The event is nil when
// nothing follows, or when the question is repeated by itself. ok is false for effects that are no
// question to the tables: AddContacts, CheckStart, FetchConfig and CheckReady among them.
func (a *Asked) Answer(ctx context.Context, t Tables) (event any, ok bool) {
	id, now := a.Campaign, a.At
	switch e := a.Question.(type) {
	case Load:
		m := &Loaded{Life: e.Life}
		m.Err = a.load(ctx, t, m)
		return m, true
	case ReadContact:
		m := &ContactRead{Contact: e.Contact}
		m.Row, m.OK, m.Err = t.ContactByID(ctx, e.Contact)
		return m, true
	case ReadDue:
		return a.readDue(ctx, t, e), true
	case ReadOverdue:
		m := &OverdueRead{Read: e.Read, All: e.All}
		if e.All {
			now = now.Add(longestWait)
		}
		m.Rows, m.Err = t.ResultsOverdue(ctx, id, now, overduePage)
		return m, true
	case ReadExpired:
		m := &ExpiredRead{Read: e.Read, Run: e.Run}
		m.Rows, m.Next, m.Err = t.Expired(ctx, id, e.Run, now, e.Limit)
		m.More = len(m.Rows) == e.Limit
		return m, true
	case FindContacts:
		m := &ContactsFound{Read: e.Read, Op: e.Op}
		if e.Number == "" {
			m.Rows, m.Err = t.ContactsMatching(ctx, id, e.Match)
			return m, true
		}
		m.Rows, m.Err = t.ContactsByNumber(ctx, id, e.Number)
		return m, true
	case ReadExcluded:
		m := &ExcludedRead{Read: e.Read, Again: e.Again, Left: e.Left}
		m.Rows, m.Err = t.ExcludedContacts(ctx, id, NumbersOf(e.Again))
		return m, true
	case ReadSuppressed:
		m := &SuppressedRead{Read: e.Read, Run: e.Run, Numbers: e.Numbers, After: e.After}
		m.Rows, m.Err = t.SuppressedContacts(ctx, id, e.Run, e.Numbers, e.After, e.Limit)
		return m, true
	case FindTrigger:
		return a.findTrigger(ctx, t, e), true
	case FindOperated:
		return a.findOperated(ctx, t, e), true
	case Prepare:
		return a.prepare(ctx, t, e), true
	case TakeBack:
		m := &TookBack{Page: e.Page}
		m.Out, m.Err = t.TakeBack(ctx, e.Page)
		return m, true
	case ReadBulk:
		m := &BulkRead{Seq: e.Seq, Epoch: e.Epoch}
		m.Event, m.Stored, m.Err = t.EventAt(ctx, id, e.Seq)
		return m, true
	case ReadOpen:
		open, err := t.OpenAttempts(ctx)
		if err != nil {
			return nil, true // asked again at the next comparison
		}
		c, err := t.Campaign(ctx, id)
		if err != nil {
			return nil, true
		}
		return &OpenListed{Life: e.Life, Epoch: c.Epoch, Open: open}, true
	case SavePacing:
		if err := t.SavePacing(ctx, id, e.Epoch, e.State, now); err != nil {
			return &NotSaved{err}, true
		}
		return nil, true
	}
	return nil, false
}

// AsksTables says whether an effect is a question that Answer answers.
func AsksTables(e Effect) bool {
	switch e.(type) {
	case ReadOpen, SavePacing:
		return true
	}
	return Unanswered(e, nil) != nil
}

// Unanswered is the answer to a question that could not be put, for whatever reason; nil means that
// nothing follows.
func Unanswered(question Effect, err error) any {
	switch e := question.(type) {
	case Load:
		return &Loaded{Life: e.Life, Err: err}
	case ReadContact:
		return &ContactRead{Contact: e.Contact, Err: err}
	case ReadDue:
		return &DueRead{Open: -1, Err: err}
	case ReadOverdue:
		return &OverdueRead{Read: e.Read, All: e.All, Err: err}
	case ReadExpired:
		return &ExpiredRead{Read: e.Read, Run: e.Run, Err: err}
	case FindContacts:
		return &ContactsFound{Read: e.Read, Op: e.Op, Err: err}
	case ReadExcluded:
		return &ExcludedRead{Read: e.Read, Again: e.Again, Left: e.Left, Err: err}
	case ReadSuppressed:
		return &SuppressedRead{Read: e.Read, Run: e.Run, Numbers: e.Numbers, After: e.After, Err: err}
	case FindTrigger:
		return &TriggerFound{Read: e.Read, Request: e.Request, Command: e.Command, Importing: e.Importing, Live: e.Live,
			Err: err}
	case FindOperated:
		return &OperateFound{Read: e.Read, Command: e.Command, Request: e.Request, Err: err}
	case Prepare:
		return &Prepared{Of: e.Of, Err: err}
	case TakeBack:
		return &TookBack{Page: e.Page, Err: err}
	case ReadBulk:
		return &BulkRead{Seq: e.Seq, Epoch: e.Epoch, Err: err}
	}
	return nil
}

// NumbersOf lists the numbers of new contacts.
func NumbersOf(list []campaign.NewContact) []engine.PhoneNumber {
	numbers := make([]engine.PhoneNumber, len(list))
	for i := range list {
		numbers[i] = list[i].Number
	}
	return numbers
}

// Added is the answer once a list was stored, or storing it failed; it finds the excluded contacts
// that are added again.
func (e *AddContacts) Added(ctx context.Context, t Tables, id engine.CampaignID, report campaign.AddReport,
	err error) *RowsAdded {
	m := &RowsAdded{Read: e.Read, Request: e.Request, Report: report, Command: e.Command, Epoch: e.Insert.Epoch,
		Lifting: e.Lifting, Event: e.Insert.Event, Err: err}
	m.Event.Data.Count = report.Added
	if err == nil && e.Lifting && report.Duplicates > 0 {
		numbers := make([]engine.PhoneNumber, len(e.Insert.Contacts)) // anybody left out of the list stays excluded
		for i := range e.Insert.Contacts {
			numbers[i] = e.Insert.Contacts[i].Number
		}
		m.Again, m.Err = t.ExcludedContacts(ctx, id, numbers)
		m.Report.Readmitted = len(m.Again)
	}
	return m
}

// load takes ownership and reads the durable state.
func (a *Asked) load(ctx context.Context, t Tables, m *Loaded) (err error) {
	id := a.Campaign
	if m.Campaign, err = t.AcquireCampaign(ctx, id); err != nil {
		return err
	}
	if m.Counters, err = t.Counters(ctx, id, m.Campaign.Run); err != nil {
		return err
	}
	if m.Contacts, err = t.RunOfContacts(ctx, id); err != nil {
		return err
	}
	if m.Exclusions, err = t.Exclusions(ctx, id); err != nil {
		return err
	}
	if m.TakingBack, err = t.OpenUndo(ctx, id); err != nil {
		return err
	}
	if m.Bots, err = t.Bots(ctx); err != nil {
		return err
	}
	if m.Cadences, err = t.Cadences(ctx); err != nil {
		return err
	}
	if m.Calendars, err = t.Calendars(ctx); err != nil {
		return err
	}
	if m.Hours, err = t.AnswerHours(ctx); err != nil {
		return err
	}
	open, err := t.OpenAttempts(ctx)
	if err != nil {
		return err
	}
	watched, err := t.OpenLegs(ctx)
	if err != nil {
		return err
	}
	m.Open = OfCampaign(id, append(open, watched...))
	// The previous owner of these calls may have gone before it learnt of the suppressions.
	to := make([]engine.PhoneNumber, len(m.Open))
	for i := range m.Open {
		to[i] = m.Open[i].To
	}
	if len(to) > 0 {
		if m.Suppressed, err = t.Suppressed(ctx, to...); err != nil {
			return err
		}
	}
	if m.Ledgers, err = ledgers(ctx, t, &m.Campaign, a.At); err != nil {
		return err
	}
	learnt, ok, err := t.Pacing(ctx, id)
	if err == nil && ok {
		m.Learnt = &learnt
	}
	return err
}

// ledgers reads the counts of the guaranteed periods, and the hourly ones.
func ledgers(ctx context.Context, t Tables, c *campaign.Campaign, now time.Time) (l Ledgers, err error) {
	l.Books, err = campaign.Books(c, now, func(since time.Time) (pacing.Counts, error) {
		return t.AbandonLedger(ctx, c.ID, since)
	})
	if err != nil || c.StartedAt == nil {
		return l, err
	}
	hours, err := t.AbandonHours(ctx, c.ID, now.Add(-pacing.ThirtyDays))
	for hour, n := range hours {
		l.Hours.Put(hour, n)
	}
	return l, err
}

// noteAbandons reports which of the numbers were abandoned in the last 72 hours.
func (a *Asked) noteAbandons(ctx context.Context, t Tables, numbers ...engine.PhoneNumber) error {
	if len(numbers) == 0 {
		return nil
	}
	found, err := t.AbandonedSince(ctx, numbers, a.At.Add(-pacing.SeatedAfterAbandon))
	for n, at := range found {
		a.Abandoned(n, at)
	}
	return err
}

func (a *Asked) readDue(ctx context.Context, t Tables, e ReadDue) *DueRead {
	m := &DueRead{Open: -1}
	if m.Rows, m.Err = t.DueContacts(ctx, a.Campaign, e.Run, e.Order, e.Limit, e.Except); m.Err != nil {
		return m
	}
	numbers := make([]engine.PhoneNumber, len(m.Rows))
	for i := range m.Rows {
		numbers[i] = m.Rows[i].NextNumber()
	}
	if m.Err = a.noteAbandons(ctx, t, numbers...); m.Err != nil || len(m.Rows) >= e.Limit {
		return m
	}
	m.Next, m.Open, m.Err = t.NextDue(ctx, a.Campaign, e.Run)
	if m.Err == nil && m.Open == 0 && e.Ends { // everything is durable by then
		m.Exhausted, m.Err = t.Exhausted(ctx, a.Campaign, e.Run)
	}
	return m
}

// findTrigger asks all that a trigger needs at once, because the caller waits for the answer. A
// stored reply takes precedence; a suppressed number comes before read errors.
func (a *Asked) findTrigger(ctx context.Context, t Tables, e FindTrigger) *TriggerFound {
	m := &TriggerFound{Read: e.Read, Command: e.Command, Request: e.Request, Importing: e.Importing, Live: e.Live}
	n := e.Command.Number
	var answered, suppressed bool
	var errReply, errSuppressed, errAbandons, errRow error
	var questions []func()
	if e.Command.Idempotency.Present() && !e.Unanswered {
		questions = append(questions, func() { _, answered, errReply = t.FindReply(ctx, e.Command.Idempotency) })
	}
	if !e.Live {
		questions = append(questions,
			func() {
				suppressed, errSuppressed = stops(ctx, t, &contact.Contact{Number: n, Alternates: e.Command.Alternates})
			},
			func() { errAbandons = a.noteAbandons(ctx, t, n) },
			func() { m.Row, m.OK, errRow = t.ContactByNumber(ctx, a.Campaign, n) })
	}
	if a.Together != nil {
		a.Together(questions...)
	} else {
		for _, ask := range questions {
			ask()
		}
	}
	if suppressed && errRow == nil && m.OK { // a contact may have more numbers than its request
		row := m.Row
		row.Choice = 0
		row.TakeNumbers(n, e.Command.Alternates)
		suppressed, errSuppressed = stops(ctx, t, &row)
	}
	switch {
	case answered:
		m.Err = journal.ErrReplyExists
	case errReply == nil && suppressed:
		m.Err = journal.ErrSuppressed
	default:
		m.Err = errors.Join(errRow, errReply, errSuppressed, errAbandons)
	}
	if m.Err == nil && !m.OK && !e.Live && e.Importing != "" {
		m.Staged, m.Err = t.StagedNumber(ctx, e.Importing, n)
	}
	return m
}

// stops says whether the numbers of a person that may be called are all on the suppression list.
func stops(ctx context.Context, t Tables, c *contact.Contact) (bool, error) {
	listed, err := t.Suppressed(ctx, slices.Collect(c.Numbers())...)
	return err == nil && c.StopsFor(func(n engine.PhoneNumber) bool { _, ok := listed[n]; return ok }), err
}

func (a *Asked) findOperated(ctx context.Context, t Tables, e FindOperated) *OperateFound {
	m := &OperateFound{Read: e.Read, Command: e.Command, Request: e.Request}
	m.Row, m.OK, m.Err = t.ContactByID(ctx, e.Command.Contact)
	m.OK = m.OK && m.Row.Campaign == e.Command.Campaign
	if e.Calls && m.OK && m.Err == nil {
		var suppressed bool
		if suppressed, m.Err = stops(ctx, t, &m.Row); suppressed {
			m.Err = journal.ErrSuppressed
		}
	}
	return m
}

func (a *Asked) prepare(ctx context.Context, t Tables, e Prepare) *Prepared {
	id, n := e.Campaign.ID, e.Campaign.Run
	m := &Prepared{Of: e.Of}
	switch of := e.Of.(type) {
	case campaign.ResetContacts:
		m.Err = t.ResetContacts(ctx, id, n, of.Unreached, e.At, e.Event)
	case campaign.RestoreContacts:
		m.Err = t.RestoreContacts(ctx, id, n, e.Event)
	case campaign.Remove:
		m.Err = t.RemoveCampaign(ctx, id, of.Who)
		return m
	}
	if m.Err == nil {
		m.Counters, m.Err = t.Counters(ctx, id, n)
	}
	if _, restored := e.Of.(campaign.RestoreContacts); restored && m.Err == nil {
		m.Ledgers, m.Err = ledgers(ctx, t, &e.Campaign, e.At)
	}
	return m
}

// RecoverContact reads the contact of an attempt without an owner; ok is false when nothing is left
// to recover.
func RecoverContact(ctx context.Context, t Tables, of engine.AttemptID, who engine.ContactID) (r RecoveredContact,
	ok bool, err error) {
	if r.Row, ok, err = t.ContactByID(ctx, who); err != nil || !ok {
		return r, false, err
	}
	// It may have ended since it was listed.
	r.Attempt, ok, err = t.Attempt(ctx, of)
	return r, ok && (r.Attempt.State != attempt.Ended || r.Attempt.OpenLeg()), err
}
