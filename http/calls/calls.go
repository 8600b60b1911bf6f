package calls

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	nethttp "net/http"
	"strings"
	"sync/atomic"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/http/access"
	"dialler/http/form"
	"dialler/http/idempotency"
	"dialler/http/wire"
)

// API serves calls: placing them, their outcomes, and commands to live ones.
type API struct {
	*wire.Host
	gate    *access.Gate
	replays *idempotency.Replays
	Ports
	Options

	Listening atomic.Int32 // recordings being sent
}

// Ports are what the API needs from the rest of the dialler.
type Ports struct {
	Calls        Calls
	Bots         Bots
	Destinations wire.Destinations
	Recordings   Recordings
}

// Options are the process's settings for the API.
type Options struct {
	// ResultToken returns the bearer token with which a call's bot may post its result; nil if only
	// the hash stored with the call is known.
	ResultToken func(engine.CallID) string
	// Patience limits how long sending a recording may take.
	Patience time.Duration
}

// New makes the API.
func New(h *wire.Host, gate *access.Gate, kept *idempotency.Replays, p Ports, o Options) *API {
	return &API{Host: h, gate: gate, replays: kept, Ports: p, Options: o}
}

// CallView is an attempt as API callers see it. Fields of the attempt trail (spec: Attempt) have
// the same names in contactView's trail.
type CallView struct {
	CallID     engine.CallID     `json:"call_id"`
	CampaignID engine.CampaignID `json:"campaign_id,omitempty"`
	ContactID  engine.ContactID  `json:"contact_id,omitempty"`
	BotID      engine.BotID      `json:"bot_id"`
	ToNumber   string            `json:"to_number"`
	AttemptView
	Result *resultView `json:"result,omitempty"`
	Hold   *holdView   `json:"number_held,omitempty"`
	// Scheduled and Explain are there while a dialout waits for its time.
	Scheduled *scheduledView        `json:"scheduled,omitempty"`
	Explain   *campaign.Explanation `json:"explanation,omitempty"`
}

// scheduledView says when a dialout may be dialled.
type scheduledView struct {
	NotBefore time.Time `json:"not_before"`
	ExpiresAt time.Time `json:"expires_at"`
	Priority  int       `json:"priority"`
}

// holdView says why the number must not be called, and until when at the latest.
type holdView struct {
	Until *time.Time `json:"until"` // null: as long as the call lives
	Why   string     `json:"why"`
}

// AttemptView is one entry of the attempt trail.
type AttemptView struct {
	AttemptID engine.AttemptID `json:"attempt_id"`
	// ShortID is what operators see: spec, "the last 8 characters are displayed".
	ShortID string `json:"short_id"`
	// Direction is outbound, or inbound for a call of the person; ReturnsCall is the call that they call back.
	Direction   attempt.Direction `json:"direction"`
	ReturnsCall engine.CallID     `json:"returns_call_id,omitempty"`
	Run         int               `json:"run,omitempty"`
	Pass        int               `json:"pass,omitempty"`
	Number      int               `json:"number,omitempty"` // absent while unconsumed
	State       attempt.State     `json:"state"`
	// Outcome is null while it is not final; for an ended attempt AwaitingResult says why.
	Outcome        *engine.Outcome `json:"outcome"`
	AwaitingResult bool            `json:"awaiting_result"`
	Cause          string          `json:"abandon_cause,omitempty"`
	ToNumber       string          `json:"to_number"` // of a person with several, the one that was called
	FromNumber     string          `json:"from_number"`
	Trunk          engine.TrunkID  `json:"trunk,omitempty"`
	StartedAt      *time.Time      `json:"started_at"` // time of the INVITE, or of the reservation before it
	RingingAt      *time.Time      `json:"ringing_at,omitempty"`
	AnsweredAt     *time.Time      `json:"answered_at,omitempty"`
	Connected      *time.Time      `json:"connected_at,omitempty"`
	EndedAt        *time.Time      `json:"ended_at"` // null: still open
	SessionID      string          `json:"session_id,omitempty"`
	SIPReason      string          `json:"sip_reason,omitempty"`
	SIPCode        int             `json:"sip_code,omitempty"` // only when no friendly reason is known
	Verdict        engine.Verdict  `json:"amd_verdict,omitempty"`
	AMD            *amdView        `json:"amd,omitempty"`
	HungUpBy       engine.Party    `json:"hung_up_by,omitempty"`
	Disp           string          `json:"disposition,omitempty"`
	// VariablesLeftOut counts variables not sent to a bot by SIP for lack of space.
	VariablesLeftOut int            `json:"variables_left_out,omitempty"`
	Callback         bool           `json:"callback,omitempty"`
	TalkSec          *float64       `json:"talk_s,omitempty"`
	Recording        *recordingView `json:"recording,omitempty"`
	Quality          *qualityView   `json:"quality,omitempty"`
	// Attestation is what the network said about our caller ID.
	Attestation string        `json:"attestation,omitempty"`
	Transfer    *transferView `json:"transfer,omitempty"`
}

type resultView struct {
	Disposition    string            `json:"disposition,omitempty"`
	SubDisposition string            `json:"sub_disposition,omitempty"`
	Summary        string            `json:"summary,omitempty"`
	Variables      map[string]string `json:"variables,omitempty"`
	DoNotCall      bool              `json:"do_not_call"`
	TranscriptURL  string            `json:"transcript_url,omitempty"`
	RecordingURL   string            `json:"recording_url,omitempty"`
	Unknown        map[string]string `json:"unknown_fields,omitempty"`
	ReceivedAt     time.Time         `json:"received_at"`
}

// ViewAttempt converts an attempt to an entry of the trail.
func ViewAttempt(a *attempt.Attempt) AttemptView {
	v := AttemptView{
		AttemptID: a.ID, ShortID: a.ID.Short(), Direction: a.Direction(), Run: a.Run, Pass: a.Pass,
		Number: a.Number, State: a.State,
		Outcome: a.FinalOutcome(), AwaitingResult: a.AwaitsResult, Cause: string(a.Cause), ToNumber: a.To.E164(),
		FromNumber: a.From.E164(), Trunk: a.Trunk,
		StartedAt: a.InviteAt, RingingAt: a.RingingAt, AnsweredAt: a.AnsweredAt, Connected: a.BotConnectedAt,
		EndedAt: a.EndedAt, SessionID: string(a.Session), SIPReason: a.Friendly, Verdict: a.Verdict, AMD: viewAMD(a),
		HungUpBy: a.HungUpBy, VariablesLeftOut: a.VariablesLeftOut, Callback: a.Callback, Quality: viewQuality(a.Quality),
		Attestation: a.Attestation,
		Recording:   viewRecording(a),
		Transfer:    viewTransfer(a.Transfer),
	}
	if a.Returns != "" {
		v.ReturnsCall = a.Returns.Call()
	}
	if v.StartedAt == nil && !a.SendBy.IsZero() { // a dialout that ends while it waits has not begun
		v.StartedAt = a.ReservedAt
	}
	// spec: "The raw SIP error code is displayed when the failure is not one
	// of the mapped friendly reasons."
	if a.Friendly == "" {
		v.SIPReason, v.SIPCode = a.SIPReason, a.SIPCode
	}
	if a.Result != nil {
		v.Disp = a.Result.Disposition
	}
	if a.BotConnectedAt != nil && a.EndedAt != nil {
		talk := a.EndedAt.Sub(*a.BotConnectedAt).Seconds()
		v.TalkSec = &talk
	}
	return v
}

func ViewCall(a *attempt.Attempt, now time.Time) CallView {
	v := CallView{
		CallID: a.ID.Call(), CampaignID: a.Campaign, ContactID: a.Contact, BotID: a.Bot,
		ToNumber: a.To.E164(), AttemptView: ViewAttempt(a),
	}
	if res := a.Result; res != nil {
		v.Result = &resultView{
			Disposition: res.Disposition, SubDisposition: res.SubDisposition, Summary: res.Summary,
			Variables: res.Variables, DoNotCall: res.DoNotCall, TranscriptURL: res.TranscriptURL,
			RecordingURL: res.RecordingURL, Unknown: res.Unknown, ReceivedAt: res.ReceivedAt,
		}
	}
	if w := a.Waits; w != nil {
		why := campaign.ExplainDialout(w, now)
		v.Scheduled, v.Explain = &scheduledView{w.NotBefore, w.ExpiresAt, w.Priority}, &why
	}
	return v
}

var errNoCall = engine.NotFound("call_not_found", "")

// visibleCall finds the call of the path; a call that the key may not see counts as not found.
func (s *API) visibleCall(r *wire.Request) (attempt.Attempt, error) {
	id := engine.CallID(r.Param("call_id"))
	if _, ok := id.Attempt(); !ok {
		return attempt.Attempt{}, errNoCall
	}
	a, err := s.Calls.Call(r.Ctx(), id)
	if err != nil {
		return attempt.Attempt{}, err
	}
	if a.Campaign != "" && !r.MayUse(a.Campaign) {
		return attempt.Attempt{}, errNoCall
	}
	return a, nil
}

// Show shows state and outcome (SEMANTICS §10).
func (s *API) Show(r *wire.Request) error {
	a, err := s.visibleCall(r)
	if err != nil {
		return err
	}
	v := ViewCall(&a, s.Now())
	held := &attempt.Hold{Attempt: a.ID}
	if !a.Live() || a.Waits != nil {
		if held, err = s.Calls.Hold(r.Ctx(), a.To); err != nil {
			return err
		}
	}
	if held != nil && held.Attempt == a.ID {
		v.Hold = &holdView{Until: held.Until, Why: held.Why()}
	}
	return r.Reply(nethttp.StatusOK, v)
}

// HangUp ends a live call; an unanswered one is cancelled.
func (s *API) HangUp(r *wire.Request) error {
	a, err := s.visibleCall(r)
	if err != nil {
		return err
	}
	if err := s.Calls.HangUp(r.Ctx(), a.ID.Call(), r.Who()); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, resultReply{Status: "ok", CallID: a.ID.Call()})
}

type resultReply struct {
	Status string        `json:"status"`
	CallID engine.CallID `json:"call_id"`
}

// digitsCap is how many keys one request may send.
const digitsCap = 32

// SendDigits sends keys to the callee of a live call, for a bot that must navigate a menu.
func (s *API) SendDigits(r *wire.Request) error {
	id, err := s.callAccess(r)
	if err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	keys := f.Text("digits", form.Required, digitsCap)
	if strings.Trim(keys, "0123456789*#ABCD") != "" {
		f.Fail("digits", "invalid_format", "must be keys: 0-9, *, #, A-D")
	}
	f.Done()
	if err := f.Errs.Err(); err != nil {
		return err
	}
	if err := s.Calls.SendDigits(r.Ctx(), id, keys); err != nil {
		return err
	}
	return r.Reply(nethttp.StatusOK, resultReply{Status: "ok", CallID: id})
}

// storedReply names fields that the API does not know. A bot posts only once, when the conversation
// is over: refusing the request would lose everything else.
type storedReply struct {
	resultReply
	Unknown []string `json:"unknown_fields,omitempty"` // stored
	Dropped []string `json:"dropped_fields,omitempty"` // too large or too many to store
}

// TakeResult accepts what a bot or a post-call analysis reports of a conversation (INTERFACES §3):
// an idempotent upsert, accepted late.
func (s *API) TakeResult(r *wire.Request) error {
	id, err := s.callAccess(r)
	if err != nil {
		return err
	}
	f, err := r.Body()
	if err != nil {
		return err
	}
	reply, err := s.storeResult(r.Ctx(), id, f)
	switch {
	case err != nil:
		return err
	case reply.Status == keptStatus:
		return r.Reply(nethttp.StatusAccepted, reply)
	}
	return r.Reply(nethttp.StatusOK, reply)
}

// keptStatus is the status of a result that is stored once the database is back.
const keptStatus = "kept"

// ReadResult reads a result, and which of its fields the API does not know.
func ReadResult(f form.Form, now time.Time) (res attempt.Result, rest form.Leftovers, err error) {
	res = attempt.Result{
		Disposition:    f.Text("disposition", form.Optional, 255),
		SubDisposition: f.Text("sub_disposition", form.Optional, 255),
		Summary:        f.Text("summary", form.Optional, 16<<10),
		Variables:      f.Variables("variables", true),
		DoNotCall:      f.Flag("do_not_call", false),
		TranscriptURL:  f.Link("transcript_url"),
		RecordingURL:   f.Link("recording_url"),
		ReceivedAt:     now,
	}
	if cb, ok := f.Object("callback"); ok {
		res.Callback = &attempt.Callback{
			Requested: cb.Flag("requested", false), At: cb.When("at"), Reason: cb.Text("reason", form.Optional, 500),
		}
		rest.Take(cb)
	}
	rest.Take(f)
	res.Unknown = rest.Kept
	return res, rest, f.Errs.Err()
}

func (s *API) storeResult(ctx context.Context, id engine.CallID, f form.Form) (reply storedReply, err error) {
	res, rest, err := ReadResult(f, s.Now())
	if err != nil {
		return reply, err
	}
	later, err := s.Calls.SubmitResult(ctx, campaign.SubmitResult{Call: id, Result: res})
	if err != nil {
		return reply, err
	}
	reply = storedReply{resultReply: resultReply{Status: "ok", CallID: id}, Unknown: rest.Names, Dropped: rest.Dropped}
	if later {
		reply.Status = keptStatus
	}
	return reply, nil
}

// refusedReply answers a result on a socket that is not stored.
type refusedReply struct {
	resultReply
	Code   string              `json:"code"`
	Detail string              `json:"detail"`
	Errors []engine.FieldError `json:"errors,omitempty"`
}

// ResultOnSocket is TakeResult for the bot that holds the call's socket. It returns the answer as JSON.
func (s *API) ResultOnSocket(ctx context.Context, id engine.CallID, body []byte) []byte {
	var answer any
	reply, err := s.readResult(ctx, id, body)
	answer = reply
	if err != nil {
		e := wire.AsError(err)
		if e.Kind == engine.KindInternal {
			s.Log.Error().Err(err).Str("call_id", string(id)).Msg("a result on a socket failed")
		}
		answer = refusedReply{resultReply{Status: "refused", CallID: id}, e.Code, e.Detail, e.Fields}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		s.Log.Error().Err(err).Str("call_id", string(id)).Msg("a result's answer cannot be written")
	}
	return text
}

func (s *API) readResult(ctx context.Context, id engine.CallID, body []byte) (storedReply, error) {
	f, err := wire.ObjectOf(body)
	if err != nil {
		return storedReply{}, err
	}
	return s.storeResult(ctx, id, f)
}

// callAccess admits an API key with the route's scope, or the call's own token, and returns the call's ID.
func (s *API) callAccess(r *wire.Request) (engine.CallID, error) {
	id := engine.CallID(r.Param("call_id"))
	if given := r.HTTP.Request.Header.PeekAll("X-Api-Key"); len(given) > 0 {
		if err := s.gate.AuthenticateKey(r, given); err != nil {
			return "", err
		}
		_, err := s.visibleCall(r)
		return id, err
	}
	token, ok := access.Bearer(r)
	if !ok {
		return "", wire.ErrUnauthorized
	}
	if _, ok := id.Attempt(); ok && s.ResultToken != nil {
		if subtle.ConstantTimeCompare([]byte(s.ResultToken(id)), []byte(token)) == 1 {
			return id, nil // the bot of this call, without looking up its owner
		}
	}
	// A token made with an earlier secret: its hash is stored with the call.
	a, err := s.visibleCall(r)
	var e *engine.Error
	if err != nil && (!errors.As(err, &e) || e.Kind != engine.KindNotFound) {
		return "", err
	}
	sum := sha256.Sum256([]byte(token))
	given := hex.EncodeToString(sum[:])
	// An unknown call and a wrong token look the same to a client that has neither.
	if subtle.ConstantTimeCompare([]byte(a.ResultToken), []byte(given)) != 1 || err != nil {
		return "", wire.ErrUnauthorized
	}
	return id, nil
}
