package http

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/fleet"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/engine/numberpool"
	"dialler/engine/sim"
	"dialler/engine/trunk"
)

// ports are the rest of the dialler, faked: what was asked is kept, what is
// answered can be replaced.
type ports struct {
	mu      sync.Mutex
	keys    []engine.APIKey
	users   []engine.User
	replies map[engine.Idempotency]journal.Reply
	used    map[engine.KeyID]time.Time
	logins  []engine.UserID

	failures map[engine.UserID]int
	locker   engine.Who
	lookups  int

	sessions  map[[32]byte]engine.UserSession
	kept      int
	noted     int // sessions noted as used
	notedFail error

	triggers           []campaign.Trigger
	excludes           []campaign.Exclude
	contactActs        []campaign.ActOnContact
	exclusions         []journal.Exclusion
	excludeCap         int // from then on they fail; 0 = never
	importedExclusions []campaign.ExclusionsImported
	lifts              []campaign.Lift
	dialouts           []campaign.Dialout
	ladder             []engine.SIPMessage
	audio              []byte // of theAttempt
	opened             int    // files
	owner              engine.CampaignID
	deleted            []engine.AttemptID
	creates            []campaign.Create
	adds               []campaign.AddContacts
	acts               []campaign.Act
	clones             []campaign.Clone
	pages              []campaign.Page
	kinds              [][]journal.Type // of the activity that was asked for
	events             []journal.Event
	results            []campaign.SubmitResult
	hungUp             []engine.CallID
	asked              []attempt.Query
	older              engine.AttemptID // the cursor of lists of calls
	digits             []string
	transfers          []string
	transferFail       error
	hangFail           error
	resultFail         error
	bots               []engine.Bot
	forced             []bool // of the bots deleted
	trunks             []engine.TrunkSettings
	numbers            []engine.NumberSettings
	past               sim.Past
	keep               bool

	erasures []string

	hooks hooks

	suppressed  []journal.Suppression
	suppressors []engine.Who

	voicemails []engine.Voicemail
	reviews    []engine.AMDReview
	reviewed   engine.AMDReviewQuery
	confused   []engine.AMDConfusion

	imports  []importedFile
	onImport func(context.Context, campaign.ImportContacts, io.Reader) (campaign.Import, error)

	actFail     error
	fail        error // what every campaign and call command answers
	onTrigger   func(context.Context, campaign.Trigger) (campaign.TriggerReply, error)
	onDetail    func(context.Context, engine.CampaignID) (campaign.Detail, error)
	onList      func(context.Context, campaign.Page) ([]campaign.Detail, int, error)
	requested   []campaign.Import // begun with an Idempotency-Key
	theImport   func() campaign.Import
	cancelled   []engine.ImportID
	cancelledAs campaign.Import
	batches     []campaign.AddBatch
	onRejected  func(campaign.Page) ([]campaign.RejectedRow, int, error)
	onPart      func(campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error)
	onSeries    func(campaign.SeriesQuery) (campaign.Series, error)
	onBreakdown func(engine.CampaignID, int) (campaign.Breakdown, error)
	findFail    error
	storeFail   error
	userFail    error
	alive       error
	checks      []Check
	attempt     attempt.Attempt
}

func newPorts() *ports {
	p := &ports{
		replies: map[engine.Idempotency]journal.Reply{}, used: map[engine.KeyID]time.Time{},
		sessions: map[[32]byte]engine.UserSession{}, failures: map[engine.UserID]int{},
		bots: []engine.Bot{{ID: "bot_1", Name: "Anna", Active: true, Seats: 5, Account: theAccount, AuthToken: "bot-secret",
			Endpoints: []string{"ws://127.0.0.1:7000/ws"}, CreatedAt: testAt}},
		trunks:  []engine.TrunkSettings{{ID: "t1", Host: "sip.example.org", Port: 5060, Transport: "udp", Username: "u", Password: "trunk-secret", NumberFormat: "e164", Active: true}},
		numbers: []engine.NumberSettings{{Number: "+493023125000", State: "resting"}},
		checks:  []Check{{Name: "database", OK: true}, {Name: "trunks", OK: true}, {Name: "rtp_ports", OK: true}, {Name: "draining", OK: true}},
	}
	sum := sha256.Sum256([]byte("call-token"))
	at := testAt
	p.attempt = attempt.Attempt{
		ID: theAttempt, Campaign: "cmp_1", Contact: "c1", Bot: "bot_1", To: mobile, From: "+493023125000",
		State: attempt.Connected, ReservedAt: &at, InviteAt: &at, ResultToken: hex.EncodeToString(sum[:]),
	}
	return p
}

// importedFile is a file as it came through.
type importedFile struct {
	cmd  campaign.ImportContacts
	text string
	err  error
}

const theImport = engine.ImportID("0198c5a1b2c3d4e5f60718293a4b5c6d")

func anImport(c campaign.ImportContacts) campaign.Import {
	return campaign.Import{ID: theImport, Campaign: c.Campaign, State: campaign.ImportActive, Filename: c.Filename, Rows: 3, Added: 1, Invalid: 1, Duplicate: 1,
		CreatedAt: testAt, CreatedBy: c.Who, FinishedAt: &testAt}
}

// Import reads to the end, or to the error, as the campaign tree does.
func (p *ports) Import(ctx context.Context, c campaign.ImportContacts, file io.Reader) (campaign.Import, error) {
	p.mu.Lock()
	hook, fail := p.onImport, p.fail
	p.mu.Unlock()
	if hook != nil {
		return hook(ctx, c, file)
	}
	if fail != nil {
		return campaign.Import{}, fail
	}
	if err := asText(c.Filename); err != nil {
		return campaign.Import{}, err
	}
	text, err := io.ReadAll(file)
	defer p.lock()()
	p.imports = append(p.imports, importedFile{c, string(text), err})
	return anImport(c), err
}

func (p *ports) ImportByRequest(_ context.Context, id engine.CampaignID, request engine.Idempotency) (campaign.Import, bool, error) {
	defer p.lock()()
	for _, imp := range p.requested {
		if imp.Campaign == id && imp.Idempotency.Key == request.Key && imp.Idempotency.Token == request.Token && imp.State != campaign.ImportFailed {
			return imp, true, p.fail
		}
	}
	return campaign.Import{}, false, p.fail
}

func (p *ports) CancelImport(_ context.Context, id engine.ImportID) (campaign.Import, error) {
	defer p.lock()()
	p.cancelled = append(p.cancelled, id)
	if p.cancelledAs.State != "" {
		return p.cancelledAs, p.fail
	}
	return anImport(campaign.ImportContacts{Campaign: "cmp_1"}), p.fail
}

func (p *ports) Imports(_ context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.Import, int, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	if id != "cmp_1" {
		return nil, 0, p.fail
	}
	failed := anImport(campaign.ImportContacts{Campaign: id})
	failed.State, failed.Problem, failed.FinishedAt = campaign.ImportFailed, &campaign.ImportProblem{Code: "interrupted", Detail: "it was"}, nil
	return []campaign.Import{anImport(campaign.ImportContacts{Campaign: id, Filename: "f.csv"}), failed}, 2, p.fail
}

func (p *ports) ImportByID(_ context.Context, id engine.ImportID) (campaign.Import, error) {
	defer p.lock()()
	if id != theImport {
		return campaign.Import{}, errNoImport
	}
	if p.theImport != nil {
		return p.theImport(), p.fail
	}
	return anImport(campaign.ImportContacts{Campaign: "cmp_1"}), p.fail
}

func (p *ports) RejectedRows(_ context.Context, _ engine.ImportID, page campaign.Page) ([]campaign.RejectedRow, int, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	if p.onRejected != nil {
		return p.onRejected(page)
	}
	return []campaign.RejectedRow{{Line: 17, Number: "0151", Reason: "invalid_number", Message: "m"}, {Line: 19, Number: mobile, Reason: "duplicate", Message: "m"}}, 2, p.fail
}

// asText is what the database says of text: NUL and bytes that are no UTF-8 are
// not stored.
func asText[T ~string](s T) error {
	if strings.IndexByte(string(s), 0) >= 0 || !utf8.ValidString(string(s)) {
		return fmt.Errorf("pq: invalid byte sequence for encoding UTF8: %q", string(s))
	}
	return nil
}

func (p *ports) lock() func() { p.mu.Lock(); return p.mu.Unlock }

func detail(id engine.CampaignID, s campaign.Settings, state campaign.State) campaign.Detail {
	s = s.WithDefaults()
	s.Window.Zone = "Europe/Berlin"
	if s.Bot == "" {
		s.Bot, s.Concurrency = "bot_1", 2
	}
	at := testAt
	return campaign.Detail{
		Campaign: campaign.Campaign{ID: id, Settings: s, State: state, Version: 1, Run: 1, CreatedAt: testAt,
			CreatedBy: engine.Who{Name: "admin@example.org", User: "usr_admin"}},
		Live: &campaign.Live{At: testAt, LastDialAt: &at, Constraint: engine.ConstraintWindow, Indicator: campaign.IndicatorLive, Ledgers: []campaign.LedgerView{}},
	}
}

func (p *ports) Create(_ context.Context, c campaign.Create) (campaign.Detail, error) {
	defer p.lock()()
	p.creates = append(p.creates, c)
	return detail("cmp_1", c.Settings, campaign.Draft), p.fail
}

func (p *ports) Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error) {
	if err := asText(id); err != nil {
		return campaign.Detail{}, err
	}
	defer p.lock()()
	if p.onDetail != nil {
		return p.onDetail(ctx, id)
	}
	if id == "cmp_none" {
		return campaign.Detail{}, errNoCampaign
	}
	return detail(id, campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 2}, campaign.Running), p.fail
}

func (p *ports) List(ctx context.Context, page campaign.Page) ([]campaign.Detail, int, error) {
	defer p.lock()()
	if p.onList != nil {
		return p.onList(ctx, page)
	}
	p.pages = append(p.pages, page)
	return []campaign.Detail{detail("cmp_1", campaign.Settings{Name: "n"}, campaign.Running)}, 1, p.fail
}

func (p *ports) AddContacts(_ context.Context, c campaign.AddContacts) (campaign.AddReport, error) {
	defer p.lock()()
	p.adds = append(p.adds, c)
	return campaign.AddReport{Added: len(c.Contacts), Total: len(c.Contacts)}, p.fail
}

func (p *ports) AddBatch(_ context.Context, c campaign.AddBatch) (campaign.BatchReply, error) {
	p.mu.Lock()
	p.batches = append(p.batches, c)
	rows := make([]campaign.BatchResult, len(c.Contacts))
	for i := range rows {
		rows[i] = campaign.BatchResult{Status: campaign.RowAdded, ContactID: engine.ContactID(fmt.Sprintf("%032x", i+1))}
	}
	reply, fail := c.Reply(rows), p.fail
	p.mu.Unlock()
	if fail != nil {
		return campaign.BatchReply{}, fail
	}
	return reply, p.commit(c.Idempotency, 200, reply)
}

func (p *ports) ListExclusions(_ context.Context, _ engine.CampaignID, n engine.PhoneNumber, page campaign.Page) (list []journal.Exclusion, total int, err error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	for _, x := range p.exclusions {
		if n == "" || x.Number == n {
			list = append(list, x)
		}
	}
	return list, len(list), p.fail
}

func (p *ports) ExclusionsAfter(_ context.Context, _ engine.CampaignID, after journal.Exclusion, limit int) (list []journal.Exclusion, err error) {
	defer p.lock()()
	for _, x := range p.exclusions {
		if (x.Number > after.Number || after.Number == "" && len(after.Match) == 0) && len(list) < limit {
			list = append(list, x)
		}
	}
	return list, p.fail
}

func (p *ports) ExclusionsImported(_ context.Context, c campaign.ExclusionsImported) error {
	defer p.lock()()
	p.importedExclusions = append(p.importedExclusions, c)
	return p.fail
}

func (p *ports) Lift(_ context.Context, c campaign.Lift) (campaign.LiftReply, error) {
	if err := asText(c.Campaign); err != nil {
		return campaign.LiftReply{}, err
	}
	defer p.lock()()
	p.lifts = append(p.lifts, c)
	return campaign.LiftReply{Readmitted: 1}, p.fail
}

func (p *ports) Act(_ context.Context, c campaign.Act) (campaign.Detail, error) {
	if err := asText(c.Campaign); err != nil {
		return campaign.Detail{}, err
	}
	defer p.lock()()
	p.acts = append(p.acts, c)
	if p.actFail != nil {
		return campaign.Detail{}, p.actFail
	}
	return detail(c.Campaign, campaign.Settings{Name: "n"}, campaign.Running), p.fail
}

func (p *ports) Suppressions(_ context.Context, n engine.PhoneNumber, page campaign.Page) (list []journal.Suppression, total int, err error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	for _, x := range p.suppressed {
		if n == "" || x.Number == n {
			list = append(list, x)
		}
	}
	return list, len(list), p.fail
}

func (p *ports) Suppress(_ context.Context, numbers []engine.PhoneNumber, reason string, who engine.Who) (added int, err error) {
	if err := asText(reason); err != nil {
		return 0, err
	}
	defer p.lock()()
	p.suppressors = append(p.suppressors, who)
	for _, n := range numbers {
		if !slices.ContainsFunc(p.suppressed, func(x journal.Suppression) bool { return x.Number == n }) {
			p.suppressed = append(p.suppressed, journal.Suppression{Number: n, Reason: reason, CreatedAt: testAt})
			added++
		}
	}
	return added, p.fail
}

func (p *ports) Unsuppress(_ context.Context, n engine.PhoneNumber, _ engine.Who) (bool, error) {
	defer p.lock()()
	before := len(p.suppressed)
	p.suppressed = slices.DeleteFunc(p.suppressed, func(x journal.Suppression) bool { return x.Number == n })
	return len(p.suppressed) < before, p.fail
}

// Destination: calls to Austria are not allowed.
func (p *ports) Destination(to number.Callee) error {
	if to.Region == "AT" {
		return engine.Invalid("destination_not_allowed", "calls to AT are not allowed")
	}
	return nil
}

func (p *ports) Behaviour(context.Context, engine.CampaignID) (sim.Past, error) {
	defer p.lock()()
	return p.past, p.fail
}

func (p *ports) Preflight(_ context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	defer p.lock()()
	if id == "cmp_none" {
		return campaign.Readiness{}, errNoCampaign
	}
	at := testAt
	return campaign.Readiness{
		Blockers: []engine.FieldError{{Field: "trunk", Code: "no_trunk", Message: "m"}},
		Warnings: []engine.FieldError{{Field: "bot_id", Code: "bot_inactive", Message: "m"}},
		Contacts: campaign.ContactsAhead{Total: 3, ToDial: 2, Skipped: []campaign.SkipReason{{Reason: "suppressed", Count: 1}}},
		Estimate: &campaign.Estimate{DurationSeconds: 60, Dials: 4, Answers: 2, Abandons: 0, EndsAt: &at, AnswerRate: 0.5, AHTSeconds: 30, Measured: true},
	}, p.fail
}

func (p *ports) Contacts(_ context.Context, _ engine.CampaignID, page campaign.Page) (campaign.ContactList, error) {
	if err := asText(page.Filter); err != nil {
		return campaign.ContactList{}, err
	}
	defer p.lock()()
	p.pages = append(p.pages, page)
	a := p.attempt
	ended := testAt.Add(time.Minute)
	unmapped := attempt.Attempt{ID: theAttempt, Number: 1, State: attempt.Ended, Outcome: engine.OutcomeSystemError,
		From: "+493023125000", SIPCode: 499, SIPReason: "Strange", ReservedAt: &ended, EndedAt: &ended}
	return campaign.ContactList{Total: 1, Contacts: []campaign.ContactView{{
		Contact:  contact.Contact{ID: "c1", Number: mobile, State: contact.Connected, Used: 1, Max: 3, Run: 1, Source: "api", CreatedAt: testAt, UpdatedAt: testAt, Callback: contact.CallbackPending, LastOutcome: engine.OutcomeBusy},
		Attempts: []attempt.Attempt{unmapped, a},
	}}}, p.fail
}

func (p *ports) Contact(_ context.Context, id engine.CampaignID, cid engine.ContactID) (campaign.ContactDetail, error) {
	if err := asText(id); err != nil {
		return campaign.ContactDetail{}, err
	}
	defer p.lock()()
	if cid != "c1" {
		return campaign.ContactDetail{}, engine.NotFound("contact_not_found", "The campaign has no such contact.")
	}
	at, ahead := testAt.Add(time.Hour), 3
	return campaign.ContactDetail{
		ContactView: campaign.ContactView{Contact: contact.Contact{ID: cid, Campaign: id, Number: mobile, State: contact.Pending, Max: 3, Run: 1,
			Source: "api", CreatedAt: testAt, UpdatedAt: testAt, DueAt: &at}},
		Explain: campaign.Explanation{Code: campaign.WhyOutsideWindow, Message: "its calling window opens then", NextAt: &at, Ahead: &ahead},
	}, p.fail
}

func (p *ports) Trigger(ctx context.Context, c campaign.Trigger) (campaign.TriggerReply, error) {
	p.mu.Lock()
	p.triggers = append(p.triggers, c)
	hook, fail := p.onTrigger, p.fail
	p.mu.Unlock()
	if hook != nil {
		return hook(ctx, c)
	}
	if fail != nil {
		return campaign.TriggerReply{}, fail
	}
	reply := campaign.TriggerReply{Status: "dialled", ContactID: "c1", CampaignID: c.Campaign, AttemptID: theAttempt}
	return reply, p.commit(c.Idempotency, 200, reply)
}

// commit stores a success as the campaign tree does, with what it did.
func (p *ports) commit(id engine.Idempotency, status int, reply any) error {
	if !id.Present() {
		return nil
	}
	body, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return p.StoreReply(context.Background(), journal.Reply{Idempotency: id, Status: status, Body: body})
}

func (p *ports) Exclude(_ context.Context, c campaign.Exclude) (campaign.ExcludeReply, error) {
	p.mu.Lock()
	p.excludes = append(p.excludes, c)
	fail := p.fail
	if p.excludeCap > 0 && len(p.excludes) > p.excludeCap {
		fail = engine.Unavailable("database_unavailable", "Away.", 0)
	}
	p.mu.Unlock()
	if fail != nil {
		return campaign.ExcludeReply{}, fail
	}
	reply := campaign.ExcludeReply{Matched: 1, Excluded: 1}
	return reply, p.commit(c.Idempotency, 200, reply)
}

func (p *ports) ActOnContact(_ context.Context, c campaign.ActOnContact) error {
	defer p.lock()()
	p.contactActs = append(p.contactActs, c)
	return p.fail
}

func (p *ports) Dialout(_ context.Context, c campaign.Dialout) (campaign.DialoutReply, error) {
	p.mu.Lock()
	p.dialouts = append(p.dialouts, c)
	fail := p.fail
	p.mu.Unlock()
	if fail != nil {
		return campaign.DialoutReply{}, fail
	}
	reply := campaign.DialoutReply{Status: "ok", CallID: theCall, AttemptID: theAttempt, BotID: c.Bot,
		ToNumber: c.To.E164(), FromNumber: "+493023125000", CreatedAt: testAt}
	return reply, p.commit(c.Idempotency, 201, reply)
}

func (p *ports) Ladder(_ context.Context, id engine.CallID) ([]engine.SIPMessage, error) {
	defer p.lock()()
	if id != theCall {
		return nil, errNoCall
	}
	return p.ladder, p.fail
}

func (p *ports) Calls(_ context.Context, q attempt.Query) ([]attempt.Attempt, engine.AttemptID, error) {
	defer p.lock()()
	p.asked = append(p.asked, q)
	return []attempt.Attempt{p.attempt}, p.older, p.fail
}

func (p *ports) Call(_ context.Context, id engine.CallID) (attempt.Attempt, error) {
	defer p.lock()()
	if id != theCall {
		return attempt.Attempt{}, errNoCall
	}
	return p.attempt, p.fail
}

func (p *ports) SubmitResult(_ context.Context, c campaign.SubmitResult) error {
	defer p.lock()()
	p.results = append(p.results, c)
	return cmp.Or(p.resultFail, p.fail)
}

func (p *ports) HangUp(_ context.Context, id engine.CallID) error {
	defer p.lock()()
	p.hungUp = append(p.hungUp, id)
	return cmp.Or(p.hangFail, p.fail)
}

func (p *ports) SendDigits(_ context.Context, _ engine.CallID, digits string) error {
	defer p.lock()()
	p.digits = append(p.digits, digits)
	return p.fail
}

func (p *ports) Transfer(_ context.Context, _ engine.CallID, to string) error {
	defer p.lock()()
	p.transfers = append(p.transfers, to)
	return p.transferFail
}

func (p *ports) KeyByHash(_ context.Context, hash [32]byte) (engine.APIKey, bool, error) {
	defer p.lock()()
	p.lookups++
	if p.userFail != nil {
		return engine.APIKey{}, false, p.userFail
	}
	for _, k := range p.keys {
		if k.Hash == hash {
			return k, true, nil
		}
	}
	return engine.APIKey{}, false, nil
}

func (p *ports) Keys(context.Context) ([]engine.APIKey, error) {
	defer p.lock()()
	return append([]engine.APIKey(nil), p.keys...), nil
}

func (p *ports) CreateKey(_ context.Context, key engine.APIKey, _ engine.Who) error {
	defer p.lock()()
	p.keys = append(p.keys, key)
	return nil
}

func (p *ports) ChangeKey(_ context.Context, id engine.KeyID, c KeyChange, _ engine.Who) (engine.APIKey, error) {
	if err := asText(id); err != nil {
		return engine.APIKey{}, err
	}
	defer p.lock()()
	for i := range p.keys {
		k := &p.keys[i]
		if k.ID != id {
			continue
		}
		if c.Active != nil {
			k.Active = *c.Active
		}
		if c.ExpiresAt != nil {
			k.ExpiresAt = *c.ExpiresAt
		}
		if c.Name != nil {
			k.Name = *c.Name
		}
		if c.DialoutsPerDay != nil {
			k.DialoutsPerDay = *c.DialoutsPerDay
		}
		if c.Scopes != nil {
			k.Scopes = *c.Scopes
		}
		if c.Campaigns != nil {
			k.Campaigns = *c.Campaigns
		}
		return *k, nil
	}
	return engine.APIKey{}, engine.NotFound("key_not_found", "There is no such key.")
}

func (p *ports) KeysUsed(_ context.Context, used map[engine.KeyID]time.Time) error {
	defer p.lock()()
	for id, at := range used {
		p.used[id] = at
	}
	return nil
}

func (p *ports) UserByEmail(_ context.Context, email string) (engine.User, bool, error) {
	if err := asText(email); err != nil {
		return engine.User{}, false, err
	}
	defer p.lock()()
	for _, u := range p.users {
		if u.Email == email {
			return u, true, nil
		}
	}
	return engine.User{}, false, p.userFail
}

func (p *ports) User(_ context.Context, id engine.UserID) (engine.User, bool, error) {
	defer p.lock()()
	if p.userFail != nil {
		return engine.User{}, false, p.userFail
	}
	for _, u := range p.users {
		if u.ID == id {
			return u, true, nil
		}
	}
	return engine.User{}, false, nil
}

func (p *ports) Users(context.Context) ([]engine.User, error) {
	defer p.lock()()
	return slices.Clone(p.users), p.userFail
}

func (p *ports) CreateUser(_ context.Context, u engine.User, _ engine.Who) error {
	defer p.lock()()
	for _, known := range p.users {
		if known.Email == u.Email {
			return engine.Conflict("user_exists", "")
		}
	}
	p.users = append(p.users, u)
	return nil
}

func (p *ports) UpdateUser(_ context.Context, id engine.UserID, change func(*engine.User), _ engine.Who) (engine.User, error) {
	defer p.lock()()
	for i, u := range p.users {
		if u.ID != id {
			continue
		}
		hash := u.PasswordHash
		change(&u)
		if u.PasswordHash != hash || !u.Active {
			u.TokenGeneration++
		}
		if u.PasswordHash != hash {
			u.LockedUntil = nil
		}
		if (!u.Active || u.Role != "admin") && !slices.ContainsFunc(p.users, func(o engine.User) bool { return o.ID != id && o.Active && o.Role == "admin" }) {
			return engine.User{}, engine.Conflict("last_admin", "")
		}
		p.users[i] = u
		return u, nil
	}
	return engine.User{}, engine.NotFound("user_not_found", "")
}

func (p *ports) LoggedIn(_ context.Context, id engine.UserID, _ time.Time) error {
	defer p.lock()()
	p.logins = append(p.logins, id)
	delete(p.failures, id)
	return nil
}

// LogInFailed counts as the store does.
func (p *ports) LogInFailed(_ context.Context, email string, at time.Time, who engine.Who) (bool, error) {
	defer p.lock()()
	for i := range p.users {
		u := &p.users[i]
		if u.Email != email || u.Locked(at) {
			continue
		}
		if p.failures[u.ID]++; p.failures[u.ID] < engine.LogInFailures {
			return false, p.userFail
		}
		until := at.Add(engine.LogInLock)
		u.LockedUntil, p.locker = &until, who
		delete(p.failures, u.ID)
		return true, p.userFail
	}
	return false, p.userFail
}

func (p *ports) CreateSession(_ context.Context, u engine.UserSession, keep int) error {
	defer p.lock()()
	for _, user := range p.users {
		if user.ID == u.User && user.Active {
			p.sessions[u.Hash], p.kept = u, keep
			return nil
		}
	}
	return engine.NotFound("user_not_found", "no user has this identifier")
}

func (p *ports) SessionByHash(_ context.Context, hash [32]byte) (engine.UserSession, bool, error) {
	defer p.lock()()
	p.lookups++
	u, ok := p.sessions[hash]
	return u, ok, p.userFail
}

func (p *ports) EndSession(_ context.Context, hash [32]byte) error {
	defer p.lock()()
	delete(p.sessions, hash)
	return nil
}

func (p *ports) SessionsSeen(_ context.Context, seen []engine.UserSession) error {
	defer p.lock()()
	if p.notedFail != nil {
		return p.notedFail
	}
	for _, u := range seen {
		p.noted++
		if _, ok := p.sessions[u.Hash]; ok {
			p.sessions[u.Hash] = u
		}
	}
	return nil
}

func replyKey(id engine.Idempotency) engine.Idempotency { id.BodyHash = ""; return id }

func (p *ports) FindReply(_ context.Context, id engine.Idempotency) (journal.Reply, bool, error) {
	defer p.lock()()
	r, ok := p.replies[replyKey(id)]
	return r, ok, p.findFail
}

func (p *ports) StoreReply(_ context.Context, r journal.Reply) error {
	defer p.lock()()
	if p.storeFail != nil {
		return p.storeFail
	}
	if _, ok := p.replies[replyKey(r.Idempotency)]; ok {
		return journal.ErrReplyExists
	}
	p.replies[replyKey(r.Idempotency)] = r
	return nil
}

func (p *ports) Bots(context.Context) ([]engine.Bot, error) {
	defer p.lock()()
	return append([]engine.Bot(nil), p.bots...), nil
}

func (p *ports) BotStatuses(context.Context) (map[engine.BotID]BotStatus, error) {
	defer p.lock()()
	now := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	out := map[engine.BotID]BotStatus{}
	for _, b := range p.bots {
		s := BotStatus{Health: fleet.Down, Held: 3}
		for i, e := range b.Endpoints {
			st := fleet.EndpointStatus{Endpoint: e, Health: fleet.Unknown}
			if i == 0 {
				st.Health, st.Since, st.Reason, st.AskedAgainAt = fleet.Down, now, "the bot answered HTTP 503", &now
			}
			s.Endpoints = append(s.Endpoints, st)
		}
		out[b.ID] = s
	}
	return out, nil
}

func (p *ports) PutBot(_ context.Context, b engine.Bot, keep bool, _ engine.Who) (engine.Bot, bool, error) {
	defer p.lock()()
	p.keep = keep
	for i := range p.bots {
		if p.bots[i].ID == b.ID {
			if keep {
				b.AuthToken = p.bots[i].AuthToken
			}
			p.bots[i] = b
			return b, false, nil
		}
	}
	p.bots = append(p.bots, b)
	return b, true, nil
}

func (p *ports) Trunks(context.Context) ([]engine.TrunkSettings, error) {
	defer p.lock()()
	return append([]engine.TrunkSettings(nil), p.trunks...), nil
}

func (p *ports) DeleteTrunk(_ context.Context, id engine.TrunkID, _ engine.Who) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	n := len(p.trunks)
	p.trunks = slices.DeleteFunc(p.trunks, func(t engine.TrunkSettings) bool { return t.ID == id })
	if len(p.trunks) == n {
		return engine.NotFound("trunk_not_found", "no trunk has this identifier")
	}
	return nil
}

func (p *ports) TrunkStatuses(context.Context) (map[engine.TrunkID]TrunkStatus, error) {
	defer p.lock()()
	at := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	until, retry := at.Add(10*time.Minute), at.Add(time.Minute)
	return map[engine.TrunkID]TrunkStatus{"t1": {Status: trunk.Status{Health: trunk.Held, Rate: 5, Share: 0.5, Placed: 2.5, Legs: 7, Channels: 30, RetryAt: &retry},
		Reason: "200 OK", CheckedAt: &at, RegisteredUntil: &until}}, nil
}

func (p *ports) PutTrunk(_ context.Context, t engine.TrunkSettings, keep bool, _ engine.Who) (bool, error) {
	defer p.lock()()
	p.keep = keep
	for i := range p.trunks {
		if p.trunks[i].ID == t.ID {
			if keep {
				t.Password = p.trunks[i].Password
			}
			p.trunks[i] = t
			return false, nil
		}
	}
	p.trunks = append(p.trunks, t)
	return true, nil
}

func (p *ports) NumberStatuses(context.Context) (map[engine.PhoneNumber]numberpool.Status, error) {
	at := testAt
	return map[engine.PhoneNumber]numberpool.Status{"+493023125000": {State: numberpool.Resting, InUse: 1, HourDials: 7, DayDials: 20, Strikes: 2,
		Answered: 16, Ended: 64, Alarm: numberpool.AlarmFloor, UsedAt: &at, RestsTill: &at}}, p.fail
}

func (p *ports) Numbers(context.Context) ([]engine.NumberSettings, error) {
	defer p.lock()()
	return append([]engine.NumberSettings(nil), p.numbers...), nil
}

func (p *ports) PutNumber(_ context.Context, n engine.NumberSettings, _ engine.Who) (bool, error) {
	defer p.lock()()
	p.numbers = append(p.numbers, n)
	return true, nil
}

func (p *ports) Alive() error                   { defer p.lock()(); return p.alive }
func (p *ports) Checks(context.Context) []Check { defer p.lock()(); return p.checks }

var errBoom = errors.New("pq: key (number)=(+4915112345678) is broken")

func (p *ports) AttemptsPage(_ context.Context, q campaign.AttemptsQuery) ([]campaign.ReportedAttempt, error) {
	if err := asText(q.Campaign); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.onPart == nil {
		return nil, p.fail
	}
	return p.onPart(q)
}

func (p *ports) ReportVariables(context.Context, engine.CampaignID, int) ([]string, error) {
	return []string{"city", "note"}, nil
}

func (p *ports) Series(_ context.Context, q campaign.SeriesQuery) (campaign.Series, error) {
	if err := asText(q.Campaign); err != nil {
		return campaign.Series{}, err
	}
	if p.onSeries == nil {
		return campaign.NewSeries(q.Now, q.Now, q.Points), p.fail
	}
	return p.onSeries(q)
}

func (p *ports) Breakdown(_ context.Context, id engine.CampaignID, run int) (campaign.Breakdown, error) {
	if err := asText(id); err != nil {
		return campaign.Breakdown{}, err
	}
	if p.onBreakdown == nil {
		return campaign.Breakdown{Run: max(run, 1)}, p.fail
	}
	return p.onBreakdown(id, run)
}

func (p *ports) Activity(_ context.Context, _ engine.CampaignID, types []journal.Type, page campaign.Page) ([]journal.Event, int, error) {
	defer p.lock()()
	p.pages, p.kinds = append(p.pages, page), append(p.kinds, types)
	return p.events, len(p.events), nil
}

func (p *ports) Clone(_ context.Context, c campaign.Clone) (campaign.Detail, error) {
	defer p.lock()()
	p.clones = append(p.clones, c)
	return detail("cmp_2", campaign.Settings{Name: "n (copy)"}, campaign.Draft), p.fail
}

func (p *ports) Runs(_ context.Context, id engine.CampaignID, page campaign.Page) ([]campaign.RunRecord, int, error) {
	defer p.lock()()
	p.pages = append(p.pages, page)
	if id == "cmp_none" {
		return nil, 0, errNoCampaign
	}
	at, who := testAt, engine.Who{Name: "oper@example.org", User: "usr_oper"}
	return []campaign.RunRecord{
		{Run: 2, State: campaign.RunPrepared, RestartedAt: &at, RestartedBy: &who, OnlyUnreached: true},
		{Run: 1, State: campaign.RunCompleted, StartedAt: &at, StartedBy: &who, CompletedAt: &at, EndedBy: &who,
			CompletionReason: campaign.ReasonManuallyStopped, Counters: campaign.Counters{Total: 7}},
	}, 2, p.fail
}

func (p *ports) DeleteBot(_ context.Context, id engine.BotID, force bool, _ engine.Who) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	switch {
	case id != "bot_1":
		return errNoBot
	case !force:
		e := engine.Conflict("bot_in_use", "It is in use.")
		e.Fields = []engine.FieldError{{Field: "campaign_id", Code: "running", Message: "cmp_1 is running"}}
		return e
	}
	p.forced = append(p.forced, force)
	return p.fail
}

type audioFile struct {
	*bytes.Reader
	closed func()
}

func (f audioFile) Close() error { f.closed(); return nil }

func (p *ports) OpenRecording(_ context.Context, id engine.AttemptID) (RecordingFile, engine.CampaignID, error) {
	defer p.lock()()
	switch {
	case id != theAttempt:
		return nil, "", errNoRecording
	case p.audio == nil:
		return nil, p.owner, engine.NotFound("recording_deleted", "It is kept no longer.")
	}
	p.opened++
	return audioFile{bytes.NewReader(p.audio), func() { defer p.lock()(); p.opened-- }}, p.owner, p.fail
}

func (p *ports) RunExists(_ context.Context, id engine.CampaignID, run int) error {
	if err := asText(id); err != nil {
		return err
	}
	defer p.lock()()
	switch {
	case id != "cmp_1":
		return engine.NotFound("campaign_not_found", "no campaign has this identifier")
	case run > 2:
		return engine.NotFound("run_not_found", "the campaign has no run of this number")
	}
	return nil
}

func (p *ports) OpenEvidence(_ context.Context, _ engine.CampaignID, _ int, who engine.Who) (RecordingFile, error) {
	defer p.lock()()
	if p.fail != nil {
		return nil, p.fail
	}
	p.suppressors = append(p.suppressors, who)
	p.opened++
	return audioFile{bytes.NewReader(p.audio), func() { defer p.lock()(); p.opened-- }}, nil
}

func (p *ports) DeleteRecording(_ context.Context, id engine.AttemptID, who engine.Who) error {
	defer p.lock()()
	p.deleted, p.audio = append(p.deleted, id), nil
	p.suppressors = append(p.suppressors, who)
	return p.fail
}

func (p *ports) ErasePerson(_ context.Context, n engine.PhoneNumber, suppress *bool, who engine.Who) (engine.ErasedPerson, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fail != nil {
		return engine.ErasedPerson{}, p.fail
	}
	p.erasures = append(p.erasures, fmt.Sprintf("%s %v %v %s", n.E164(), suppress != nil, suppress != nil && *suppress, who.User))
	until := testAt
	return engine.ErasedPerson{Contacts: 2, Attempts: 3, Recordings: 1, Suppressed: suppress != nil && *suppress, RestsUntil: &until}, nil
}
