package persistence

import (
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
)

type attemptRow = attempt.Attempt

// attemptColumns is the one mapping of an attempt; its legs have their own.
var attemptColumns = []column[attemptRow]{
	identifier("id", func(a *attemptRow) *string { return (*string)(&a.ID) }),
	immutable(text("campaign_id", func(a *attemptRow) *string { return (*string)(&a.Campaign) })),
	immutable(identifier("contact_id", func(a *attemptRow) *string { return (*string)(&a.Contact) })),
	immutable(integer("run", func(a *attemptRow) *int { return &a.Run })),
	immutable(integer("pass", func(a *attemptRow) *int { return &a.Pass })),
	integer("number", func(a *attemptRow) *int { return &a.Number }),
	immutable(text("bot_id", func(a *attemptRow) *string { return (*string)(&a.Bot) })),
	immutable(text("to_number", func(a *attemptRow) *string { return (*string)(&a.To) })),
	immutable(text("from_number", func(a *attemptRow) *string { return (*string)(&a.From) })),
	text("trunk", func(a *attemptRow) *string { return (*string)(&a.Trunk) }),
	immutable(object("variables", func(a *attemptRow) *map[string]string { return &a.Variables }, filled)),
	immutable(boolean("callback", func(a *attemptRow) *bool { return &a.Callback })),
	immutable(moment("callback_at", func(a *attemptRow) **time.Time { return &a.CallbackAt })),
	immutable(text("key_id", func(a *attemptRow) *string { return (*string)(&a.Key) })),
	bigint("epoch", func(a *attemptRow) *int64 { return &a.Epoch }),
	immutable(integer("incarnation", func(a *attemptRow) *engine.Incarnation { return &a.Node })),
	instant("send_by", func(a *attemptRow) *time.Time { return &a.SendBy }),
	text("result_token", func(a *attemptRow) *string { return &a.ResultToken }),
	text("state", func(a *attemptRow) *attempt.State { return &a.State }),
	derived("live", typeBool, func(w *array, a *attemptRow) { w.bool(a.Live()) }),
	derived("progress", typeInt8, func(w *array, a *attemptRow) { w.int8(progress(a)) }),
	boolean("consumed", func(a *attemptRow) *bool { return &a.Consumed }),
	// A result may come after the end; the row of the end, when it is repeated
	// after that, does not take it away again.
	merged(text("outcome", func(a *attemptRow) *string { return (*string)(&a.Outcome) }),
		"CASE WHEN t.result IS NOT NULL AND excluded.result IS NULL AND NOT t.live THEN t.outcome ELSE excluded.outcome END"),
	text("cause", func(a *attemptRow) *string { return (*string)(&a.Cause) }),
	text("hung_up_by", func(a *attemptRow) *string { return (*string)(&a.HungUpBy) }),
	integer("sip_code", func(a *attemptRow) *int { return &a.SIPCode }),
	merged(text("sip_reason", func(a *attemptRow) *string { return &a.SIPReason }), unlessErased("sip_reason", "excluded.sip_reason")),
	integer("q850", func(a *attemptRow) *int { return &a.Q850 }),
	text("attestation", func(a *attemptRow) *string { return &a.Attestation }),
	text("friendly", func(a *attemptRow) *string { return &a.Friendly }),
	bigint("retry_after", func(a *attemptRow) *time.Duration { return &a.RetryAfter }),
	text("verdict", func(a *attemptRow) *string { return (*string)(&a.Verdict) }),
	text("revised_from", func(a *attemptRow) *string { return (*string)(&a.RevisedFrom) }),
	float("confidence", func(a *attemptRow) *float64 { return &a.Confidence }),
	bigint("amd_took", func(a *attemptRow) *time.Duration { return &a.AMDTook }),
	object("features", func(a *attemptRow) *map[string]float64 { return &a.Features }, filled),
	integer("media_seq", func(a *attemptRow) *int { return &a.MediaSeq }),
	text("session_id", func(a *attemptRow) *string { return (*string)(&a.Session) }),
	moment("reserved_at", func(a *attemptRow) **time.Time { return &a.ReservedAt }),
	moment("invite_at", func(a *attemptRow) **time.Time { return &a.InviteAt }),
	moment("trying_at", func(a *attemptRow) **time.Time { return &a.TryingAt }),
	moment("ringing_at", func(a *attemptRow) **time.Time { return &a.RingingAt }),
	moment("answered_at", func(a *attemptRow) **time.Time { return &a.AnsweredAt }),
	moment("verdict_at", func(a *attemptRow) **time.Time { return &a.VerdictAt }),
	moment("greeting_end_at", func(a *attemptRow) **time.Time { return &a.GreetingEndAt }),
	moment("revisable_until", func(a *attemptRow) **time.Time { return &a.RevisableUntil }),
	moment("voicemail_left_at", func(a *attemptRow) **time.Time { return &a.VoicemailLeftAt }),
	moment("served_at", func(a *attemptRow) **time.Time { return &a.ServedAt }),
	moment("bot_connected_at", func(a *attemptRow) **time.Time { return &a.BotConnectedAt }),
	moment("bot_first_audio_at", func(a *attemptRow) **time.Time { return &a.BotFirstAudioAt }),
	moment("ended_at", func(a *attemptRow) **time.Time { return &a.EndedAt }),
	// Of an ended attempt it is final: what is noted of its recording later is
	// not taken away by a row that comes late.
	merged(object("quality", func(a *attemptRow) **engine.MediaQuality { return &a.Quality }, present),
		"CASE WHEN t.live OR t.quality IS NULL THEN coalesce(excluded.quality, t.quality) ELSE t.quality END"),
	object("ending", func(a *attemptRow) **attempt.Ending { return &a.Ending }, present),
	boolean("bot_up", func(a *attemptRow) *bool { return &a.BotUp }),
	boolean("seated", func(a *attemptRow) *bool { return &a.Seated }),
	merged(object("result", func(a *attemptRow) **attempt.Result { return &a.Result }, present),
		unlessErased("result", "coalesce(excluded.result, t.result)")),
	merged(object("transfer", func(a *attemptRow) **attempt.Transfer { return &a.Transfer }, present), unlessErased("transfer", "excluded.transfer")),
}

// unlessErased keeps what is left of an erased person's call from a row that
// was on its way when the person was erased.
func unlessErased(column, otherwise string) string {
	return "CASE WHEN starts_with(t.to_number, '" + engine.ErasedPrefix + "') THEN t." + column + " ELSE " + otherwise + " END"
}

// progress grows with every event of the legs and the media path, so that a
// row that was on its way for too long cannot turn an attempt back.
func progress(a *attemptRow) int64 {
	n := int64(a.MediaSeq)
	for i := range a.Legs {
		n += int64(a.Legs[i].Seq)
	}
	for i := range a.Peers {
		n += int64(a.Peers[i].Seq)
	}
	return n
}

// attemptNewer is the condition under which a stored attempt is replaced: it
// never goes back, and an ended one stays ended.
const attemptNewer = "(t.live OR NOT excluded.live) AND excluded.progress >= t.progress"

// legRow is one leg with the attempt that it belongs to.
type legRow struct {
	attempt string
	n       int
	leg     *attempt.Leg
	far     farLeg
}

// farLeg is what a far leg has besides.
type farLeg struct {
	kind  attempt.PeerKind
	state attempt.PeerState
	uri   string
}

var legColumns = []column[legRow]{
	identifier("attempt_id", func(l *legRow) *string { return &l.attempt }),
	integer("n", func(l *legRow) *int { return &l.n }),
	text("trunk", func(l *legRow) *string { return (*string)(&l.leg.Trunk) }),
	moment("sent_at", func(l *legRow) **time.Time { return &l.leg.SentAt }),
	moment("trying_at", func(l *legRow) **time.Time { return &l.leg.TryingAt }),
	moment("ended_at", func(l *legRow) **time.Time { return &l.leg.EndedAt }),
	integer("sip_code", func(l *legRow) *int { return &l.leg.SIPCode }),
	text("sip_reason", func(l *legRow) *string { return &l.leg.SIPReason }),
	integer("q850", func(l *legRow) *int { return &l.leg.Q850 }),
	object("dialog", func(l *legRow) **engine.DialogState { return &l.leg.Dialog }, present),
	integer("seq", func(l *legRow) *int { return &l.leg.Seq }),
	text("kind", func(l *legRow) *attempt.PeerKind { return &l.far.kind }),
	text("state", func(l *legRow) *attempt.PeerState { return &l.far.state }),
	text("uri", func(l *legRow) *string { return &l.far.uri }),
}

// legNewer: a leg's row is written again only when it moved on.
const legNewer = "excluded.seq >= t.seq AND (t.ended_at IS NULL OR excluded.ended_at IS NOT NULL)" +
	" AND (t.seq, t.sent_at, t.ended_at, t.sip_code, t.q850, t.state, t.dialog IS NULL)" +
	" IS DISTINCT FROM (excluded.seq, excluded.sent_at, excluded.ended_at, excluded.sip_code, excluded.q850, excluded.state, excluded.dialog IS NULL)"
