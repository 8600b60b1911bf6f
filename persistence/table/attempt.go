package table

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/persistence/column"
)

type AttemptRow = attempt.Attempt

// AttemptColumns is the only mapping of an attempt; its legs have their own.
var AttemptColumns = []column.Of[AttemptRow]{
	column.Identifier("id", func(a *AttemptRow) *string { return (*string)(&a.ID) }),
	column.Immutable(column.Text("campaign_id", func(a *AttemptRow) *string { return (*string)(&a.Campaign) })),
	column.Immutable(column.Identifier("contact_id", func(a *AttemptRow) *string { return (*string)(&a.Contact) })),
	column.Immutable(column.Integer("run", func(a *AttemptRow) *int { return &a.Run })),
	column.Immutable(column.Integer("pass", func(a *AttemptRow) *int { return &a.Pass })),
	column.Integer("number", func(a *AttemptRow) *int { return &a.Number }),
	column.Immutable(column.Text("bot_id", func(a *AttemptRow) *string { return (*string)(&a.Bot) })),
	column.Immutable(column.Text("to_number", func(a *AttemptRow) *string { return (*string)(&a.To) })),
	column.Immutable(column.Text("from_number", func(a *AttemptRow) *string { return (*string)(&a.From) })),
	column.Text("trunk", func(a *AttemptRow) *string { return (*string)(&a.Trunk) }),
	column.Immutable(column.Object("variables", func(a *AttemptRow) *map[string]string { return &a.Variables },
		column.Filled)),
	column.Immutable(column.Boolean("callback", func(a *AttemptRow) *bool { return &a.Callback })),
	column.Immutable(column.Moment("callback_at", func(a *AttemptRow) **time.Time { return &a.CallbackAt })),
	column.Immutable(column.Boolean("inbound", func(a *AttemptRow) *bool { return &a.Inbound })),
	column.Immutable(column.Identifier("returns", func(a *AttemptRow) *string { return (*string)(&a.Returns) })),
	column.Immutable(column.Text("key_id", func(a *AttemptRow) *string { return (*string)(&a.Key) })),
	column.Bigint("epoch", func(a *AttemptRow) *int64 { return &a.Epoch }),
	column.Immutable(column.Integer("incarnation", func(a *AttemptRow) *engine.Incarnation { return &a.Node })),
	column.Instant("send_by", func(a *AttemptRow) *time.Time { return &a.SendBy }),
	column.Text("result_token", func(a *AttemptRow) *string { return &a.ResultToken }),
	column.Text("state", func(a *AttemptRow) *attempt.State { return &a.State }),
	column.Derived("live", column.TypeBool, func(w *column.Array, a *AttemptRow) { w.Bool(a.Live()) }),
	column.Derived("progress", column.TypeInt8, func(w *column.Array, a *AttemptRow) { w.Int8(progress(a)) }),
	column.Boolean("consumed", func(a *AttemptRow) *bool { return &a.Consumed }),
	// A result may come after the end; a late repeat of the end's row must not remove it.
	column.Merged(column.Text("outcome", func(a *AttemptRow) *string { return (*string)(&a.Outcome) }),
		"CASE WHEN t.result IS NOT NULL AND excluded.result IS NULL AND NOT t.live THEN t.outcome "+
			"ELSE excluded.outcome END"),
	column.Text("cause", func(a *AttemptRow) *string { return (*string)(&a.Cause) }),
	column.Text("hung_up_by", func(a *AttemptRow) *string { return (*string)(&a.HungUpBy) }),
	column.Integer("sip_code", func(a *AttemptRow) *int { return &a.SIPCode }),
	column.Merged(column.Text("sip_reason", func(a *AttemptRow) *string { return &a.SIPReason }),
		unlessErased("sip_reason", "excluded.sip_reason")),
	column.Integer("q850", func(a *AttemptRow) *int { return &a.Q850 }),
	column.Text("attestation", func(a *AttemptRow) *string { return &a.Attestation }),
	column.Text("friendly", func(a *AttemptRow) *string { return &a.Friendly }),
	column.Bigint("retry_after", func(a *AttemptRow) *time.Duration { return &a.RetryAfter }),
	column.Text("verdict", func(a *AttemptRow) *string { return (*string)(&a.Verdict) }),
	column.Text("revised_from", func(a *AttemptRow) *string { return (*string)(&a.RevisedFrom) }),
	column.Float("confidence", func(a *AttemptRow) *float64 { return &a.Confidence }),
	column.Bigint("amd_took", func(a *AttemptRow) *time.Duration { return &a.AMDTook }),
	column.Object("features", func(a *AttemptRow) *map[string]float64 { return &a.Features }, column.Filled),
	column.Integer("media_seq", func(a *AttemptRow) *int { return &a.MediaSeq }),
	column.Integer("variables_left_out", func(a *AttemptRow) *int { return &a.VariablesLeftOut }),
	column.Text("session_id", func(a *AttemptRow) *string { return (*string)(&a.Session) }),
	column.Moment("reserved_at", func(a *AttemptRow) **time.Time { return &a.ReservedAt }),
	column.Moment("invite_at", func(a *AttemptRow) **time.Time { return &a.InviteAt }),
	column.Moment("trying_at", func(a *AttemptRow) **time.Time { return &a.TryingAt }),
	column.Moment("ringing_at", func(a *AttemptRow) **time.Time { return &a.RingingAt }),
	column.Moment("answered_at", func(a *AttemptRow) **time.Time { return &a.AnsweredAt }),
	column.Moment("verdict_at", func(a *AttemptRow) **time.Time { return &a.VerdictAt }),
	column.Moment("greeting_end_at", func(a *AttemptRow) **time.Time { return &a.GreetingEndAt }),
	column.Moment("revisable_until", func(a *AttemptRow) **time.Time { return &a.RevisableUntil }),
	column.Moment("voicemail_left_at", func(a *AttemptRow) **time.Time { return &a.VoicemailLeftAt }),
	column.Moment("served_at", func(a *AttemptRow) **time.Time { return &a.ServedAt }),
	column.Moment("bot_connected_at", func(a *AttemptRow) **time.Time { return &a.BotConnectedAt }),
	column.Moment("bot_first_audio_at", func(a *AttemptRow) **time.Time { return &a.BotFirstAudioAt }),
	column.Moment("ended_at", func(a *AttemptRow) **time.Time { return &a.EndedAt }),
	// For an ended attempt it is final: later notes about its recording must survive a late row.
	column.Merged(column.Object("quality", func(a *AttemptRow) **engine.MediaQuality { return &a.Quality },
		column.Present),
		"CASE WHEN t.live OR t.quality IS NULL THEN coalesce(excluded.quality, t.quality) ELSE t.quality END"),
	column.Object("ending", func(a *AttemptRow) **attempt.Ending { return &a.Ending }, column.Present),
	column.Boolean("bot_up", func(a *AttemptRow) *bool { return &a.BotUp }),
	column.Boolean("seated", func(a *AttemptRow) *bool { return &a.Seated }),
	column.Merged(column.Object("result", func(a *AttemptRow) **attempt.Result { return &a.Result }, column.Present),
		unlessErased("result", "coalesce(excluded.result, t.result)")),
	column.Merged(column.Object("transfer", func(a *AttemptRow) **attempt.Transfer { return &a.Transfer },
		column.Present), unlessErased("transfer", "excluded.transfer")),
}

// unlessErased protects what is left of an erased person's call from a row that was in flight when
// the person was erased.
func unlessErased(column, otherwise string) string {
	return "CASE WHEN starts_with(t.to_number, '" + engine.ErasedPrefix + "') THEN t." + column + " ELSE " +
		otherwise + " END"
}

// progress grows with every event of the legs and the media path, so that a delayed row cannot set
// an attempt back.
func progress(a *AttemptRow) int64 {
	n := int64(a.MediaSeq)
	for i := range a.Legs {
		n += int64(a.Legs[i].Seq)
	}
	for i := range a.Peers {
		n += int64(a.Peers[i].Seq)
	}
	return n
}

// AttemptNewer is the condition for replacing a stored attempt: it never goes back, and an ended
// one stays ended.
const AttemptNewer = "(t.live OR NOT excluded.live) AND excluded.progress >= t.progress"

// LegRow is one leg with its attempt.
type LegRow struct {
	Attempt string
	N       int
	Leg     *attempt.Leg
	Far     FarLeg
}

// FarLeg holds the additional fields of a far leg.
type FarLeg struct {
	Kind  attempt.PeerKind
	State attempt.PeerState
	URI   string
}

var LegColumns = []column.Of[LegRow]{
	column.Identifier("attempt_id", func(l *LegRow) *string { return &l.Attempt }),
	column.Integer("n", func(l *LegRow) *int { return &l.N }),
	column.Text("trunk", func(l *LegRow) *string { return (*string)(&l.Leg.Trunk) }),
	column.Moment("sent_at", func(l *LegRow) **time.Time { return &l.Leg.SentAt }),
	column.Moment("trying_at", func(l *LegRow) **time.Time { return &l.Leg.TryingAt }),
	column.Moment("ended_at", func(l *LegRow) **time.Time { return &l.Leg.EndedAt }),
	column.Integer("sip_code", func(l *LegRow) *int { return &l.Leg.SIPCode }),
	column.Text("sip_reason", func(l *LegRow) *string { return &l.Leg.SIPReason }),
	column.Integer("q850", func(l *LegRow) *int { return &l.Leg.Q850 }),
	column.Object("dialog", func(l *LegRow) **engine.DialogState { return &l.Leg.Dialog }, column.Present),
	column.Integer("seq", func(l *LegRow) *int { return &l.Leg.Seq }),
	column.Text("proof", func(l *LegRow) *engine.Proof { return &l.Leg.Proof }),
	column.Text("kind", func(l *LegRow) *attempt.PeerKind { return &l.Far.Kind }),
	column.Text("state", func(l *LegRow) *attempt.PeerState { return &l.Far.State }),
	column.Text("uri", func(l *LegRow) *string { return &l.Far.URI }),
}

// LegNewer is the condition for rewriting a leg's row: only when the leg has advanced.
const LegNewer = "excluded.seq >= t.seq AND (t.ended_at IS NULL OR excluded.ended_at IS NOT NULL)" +
	" AND (t.proof = '' OR excluded.proof <> '')" +
	" AND (t.seq, t.sent_at, t.ended_at, t.sip_code, t.q850, t.state, t.proof, t.dialog IS NULL)" +
	" IS DISTINCT FROM (excluded.seq, excluded.sent_at, excluded.ended_at, excluded.sip_code, excluded.q850, " +
	"excluded.state, excluded.proof, excluded.dialog IS NULL)"
