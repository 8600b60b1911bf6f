package calls

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// Bots are the bots that end calls.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
}

// Calls is the attempts as bots and API callers see them.
type Calls interface {
	// Dialout places one call; the rules of Trigger for Idempotency and Deadline.
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)
	// Calls gives calls without their legs, newest first, at most q.Limit, and the
	// cursor that leads on to older ones, "" at the end; of a query that is Narrow
	// there may be older ones behind fewer, too. NotFound "cursor_not_found".
	Calls(ctx context.Context, q attempt.Query) (list []attempt.Attempt, next engine.AttemptID, err error)
	// Call: NotFound "call_not_found" when there is none.
	Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error)
	// Hold gives the hold of a number, nil when it is free.
	Hold(ctx context.Context, n engine.PhoneNumber) (*attempt.Hold, error)
	// Ladder gives the SIP messages of a call, oldest first; none when they are
	// not kept (any more).
	Ladder(ctx context.Context, id engine.CallID) ([]engine.SIPMessage, error)
	// SubmitResult upserts; the call exists. later: the database is away, or who acts for the call; the result is kept
	// on disk, and stored when that is over.
	SubmitResult(ctx context.Context, cmd campaign.SubmitResult) (later bool, err error)
	// HangUp ends a live call; NotFound when it is unknown or has ended.
	HangUp(ctx context.Context, id engine.CallID) error
	// SendDigits sends keys to the callee; NotFound as HangUp, Conflict
	// "call_not_answered" before the answer.
	SendDigits(ctx context.Context, id engine.CallID, digits string) error
	// Transfer hands a live call over to a number or SIP address; Forbidden,
	// Conflict or Invalid when that is not allowed, or not now.
	Transfer(ctx context.Context, id engine.CallID, to string) error
}

// Recordings are the audio of calls.
type Recordings interface {
	// OpenRecording opens an attempt's recording, which the caller closes, and
	// says whose it is, with an error too when that is known. NotFound
	// "recording_not_found" or "recording_deleted", Conflict
	// "recording_in_progress".
	OpenRecording(ctx context.Context, id engine.AttemptID) (io.ReadSeekCloser, engine.CampaignID, error)
	// DeleteRecording deletes an attempt's recording, which exists.
	DeleteRecording(ctx context.Context, id engine.AttemptID, who engine.Who) error
}
