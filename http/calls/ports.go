package calls

import (
	"context"
	"io"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
)

// Bots are bots that end calls.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
}

// Calls is the attempts as bots and API callers see them.
type Calls interface {
	// Dialout places one call, or stores it for later; Idempotency and Deadline follow the rules of Trigger.
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)
	// Calls returns calls without their legs, newest first, at most q.Limit, and the cursor for
	// older ones, "" at the end. For a query that is Narrow there may be older calls even if fewer
	// were returned. NotFound "cursor_not_found".
	Calls(ctx context.Context, q attempt.Query) (list []attempt.Attempt, next engine.AttemptID, err error)
	// Call returns NotFound "call_not_found" for an unknown call.
	Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error)
	// Hold returns the hold on a number, nil when it is free.
	Hold(ctx context.Context, n engine.PhoneNumber) (*attempt.Hold, error)
	// Ladder returns the SIP messages of a call, oldest first; none if they are not kept, or no
	// longer.
	Ladder(ctx context.Context, id engine.CallID) ([]engine.SIPMessage, error)
	// SubmitResult upserts the result of an existing call. later means that the database or the
	// call's owner is unavailable; the result is kept on disk and stored once it is back.
	SubmitResult(ctx context.Context, cmd campaign.SubmitResult) (later bool, err error)
	// HangUp ends a live call, or a dialout that waits for its time; NotFound when it is unknown or has ended.
	HangUp(ctx context.Context, id engine.CallID, who engine.Who) error
	// CancelDialout ends a dialout that waits for its time; Conflict "dialout_placed" when it does not wait
	// any more.
	CancelDialout(ctx context.Context, cmd campaign.CancelDialout) error
	// SendDigits sends keys to the callee; NotFound as for HangUp, Conflict "call_not_answered"
	// before the answer.
	SendDigits(ctx context.Context, id engine.CallID, digits string) error
	// Transfer hands a live call over to a number or SIP address; Forbidden,
	// Conflict or Invalid when that is not allowed, or not now.
	Transfer(ctx context.Context, id engine.CallID, to string) error
}

// Recordings are the audio of calls.
type Recordings interface {
	// OpenRecording opens an attempt's recording, which the caller closes, and returns its
	// campaign, with an error too if it is known. NotFound "recording_not_found" or
	// "recording_deleted", Conflict "recording_in_progress".
	OpenRecording(ctx context.Context, id engine.AttemptID) (io.ReadSeekCloser, engine.CampaignID, error)
	// DeleteRecording deletes an existing recording of an attempt.
	DeleteRecording(ctx context.Context, id engine.AttemptID, who engine.Who) error
}
