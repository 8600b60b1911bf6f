package http

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/besthour"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/forecast"
	"dialler/engine/journal"
	"dialler/engine/people"
	"dialler/engine/setup"
)

// ports fakes the rest of the dialler: requests are recorded, answers can be replaced.
type ports struct {
	mu      sync.Mutex
	now     func() time.Time
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
	noted     int // sessions recorded as used
	notedFail error

	triggers           []campaign.Trigger
	excludes           []campaign.Exclude
	contactActs        []campaign.ActOnContact
	exclusions         []journal.Exclusion
	excludeCap         int // beyond it they fail; 0 = never
	importedExclusions []campaign.ExclusionsImported
	undone             []campaign.UndoImport
	undoCounts         campaign.UndoCounts
	undoState          campaign.UndoState
	undoErr            error
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
	onClone            func(context.Context)
	listed             []campaign.Import
	pages              []campaign.Page
	kinds              [][]journal.Type // of the requested activity
	events             []journal.Event
	results            []campaign.SubmitResult
	hungUp             []engine.CallID
	hungUpBy           engine.Who // the last of them
	unscheduled        []campaign.CancelDialout
	asked              []attempt.Query
	older              engine.AttemptID // the next cursor in lists of calls
	hold               *attempt.Hold
	digits             []string
	transfers          []string
	transferFail       error
	hangFail           error
	resultFail         error
	resultLater        bool
	bots               []engine.Bot
	cadences           []cadence.Named
	calendars          []calendar.Named
	holidays           string // of every address
	forced             []bool // of the bots deleted
	trunks             []engine.TrunkSettings
	numbers            []engine.NumberSettings
	country            string // the only one that is called
	called, hidden     bool   // as the set-up knows it
	model              *setup.Model
	people             callee.People
	backTests          []forecast.RunBackTest
	hours              besthour.Table

	withHour, controlHour besthour.Cell
	standing              campaign.Position
	keep                  bool

	erasures []string
	sought   []contact.Search
	searched people.Searched
	person   people.Person

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
	fail        error // the answer to every campaign and call command
	onTrigger   func(context.Context, campaign.Trigger) (campaign.TriggerReply, error)
	onDetail    func(context.Context, engine.CampaignID) (campaign.Detail, error)
	onList      func(context.Context, campaign.Page) ([]campaign.Detail, int, error)
	requested   []campaign.Import // begun with an Idempotency-Key
	theImport   func() campaign.Import
	cancelled   []engine.ImportID
	cancelledAs campaign.Import
	batches     []campaign.AddBatch
	onRejected  func(after int) ([]campaign.RejectedRow, error)
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
		now:     func() time.Time { return testAt },
		replies: map[engine.Idempotency]journal.Reply{}, used: map[engine.KeyID]time.Time{},
		sessions: map[[32]byte]engine.UserSession{}, failures: map[engine.UserID]int{},
		bots: []engine.Bot{{ID: "bot_1", Name: "Anna", Active: true, Seats: 5, Account: theAccount, AuthToken: "bot-secret",
			Endpoints: []string{"ws://127.0.0.1:7000/ws"}, CreatedAt: testAt}},
		trunks: []engine.TrunkSettings{{ID: "t1", Host: "sip.example.org", Port: 5060, Transport: "udp", Username: "u",
			Password: "trunk-secret", NumberFormat: "e164", Active: true}},
		numbers: []engine.NumberSettings{{Number: "+493023125000", State: "resting"}},
		checks: []Check{{Name: "database", OK: true}, {Name: "trunks", OK: true}, {Name: "rtp_ports", OK: true},
			{Name: "draining", OK: true}},
	}
	sum := sha256.Sum256([]byte("call-token"))
	at := testAt
	p.attempt = attempt.Attempt{
		ID: theAttempt, Campaign: "cmp_1", Contact: "c1", Bot: "bot_1", To: mobile, From: "+493023125000",
		State: attempt.Connected, ReservedAt: &at, InviteAt: &at, ResultToken: hex.EncodeToString(sum[:]),
	}
	return p
}

// asText simulates the database's check of text: NUL and invalid UTF-8 are not stored.
func asText[T ~string](s T) error {
	if strings.IndexByte(string(s), 0) >= 0 || !utf8.ValidString(string(s)) {
		return fmt.Errorf("pq: invalid byte sequence for encoding UTF8: %q", string(s))
	}
	return nil
}

func (p *ports) lock() func() { p.mu.Lock(); return p.mu.Unlock }

// commit stores a success with its effects, as the campaign tree does.
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

func (p *ports) Alive() error { defer p.lock()(); return p.alive }

func (p *ports) Checks(context.Context) []Check { defer p.lock()(); return p.checks }

var errBoom = errors.New("pq: key (number)=(+4915112345678) is broken")

// notFound is a port's error for a missing resource.
func notFound(code string) error { return engine.NotFound(code, "There is none.") }
