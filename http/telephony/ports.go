package telephony

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	"dialler/engine/setup"
	"dialler/engine/trunk"
)

// Calls places the call that tests a trunk.
type Calls interface {
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)
}

// Bots stores configured bots.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
	// PutBot creates or replaces by id, except for CreatedAt. With keepSecret the stored AuthToken
	// stays. It returns the bot as stored.
	PutBot(ctx context.Context, bot engine.Bot, keepSecret bool, who engine.Who) (stored engine.Bot, created bool,
		err error)
	// DeleteBot returns NotFound "bot_not_found"; Conflict "bot_in_use" if running or paused
	// campaigns use it. With force those campaigns fail instead.
	DeleteBot(ctx context.Context, id engine.BotID, force bool, who engine.Who) error
	// BotStatuses returns the status of bots; a bot that is missing was created just now.
	BotStatuses(ctx context.Context) (map[engine.BotID]BotStatus, error)
}

// BotStatus is the status of a bot: whether its endpoints take calls, the best of them first, and
// the seats granted now.
type BotStatus struct {
	Health    fleet.EndpointHealth
	Held      int
	Endpoints []fleet.EndpointStatus
}

// Messages are the messages that callers hear.
type Messages interface {
	// Voicemails lists them, newest first.
	Voicemails(ctx context.Context) ([]engine.Voicemail, error)
}

// Trunks stores carrier connections.
type Trunks interface {
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	// PutTrunk creates or replaces by id; with keepSecret the stored Password stays.
	PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (created bool, err error)
	// DeleteTrunk: NotFound "trunk_not_found".
	DeleteTrunk(ctx context.Context, id engine.TrunkID, who engine.Who) error
	// TrunkStatuses returns the status of trunks; a trunk that is missing was created just now.
	TrunkStatuses(ctx context.Context) (map[engine.TrunkID]TrunkStatus, error)
}

// TrunkStatus is the status of a trunk: what its owner grants, and the telephony adapter's latest
// check of the carrier.
type TrunkStatus struct {
	// Its Reason is that of the last answer to OPTIONS or REGISTER, unless calls have shown worse.
	trunk.Status
	CheckedAt       *time.Time // when the carrier last answered or failed to; nil before the first check
	RegisteredUntil *time.Time // nil unless the trunk is registered
	Elsewhere       *RTPElsewhere
}

// RTPElsewhere says how many of the last answered calls of a trunk sent RTP from elsewhere than their
// SDP says, and how many of these were not heard for that.
type RTPElsewhere struct {
	Calls   int `json:"calls"`
	Of      int `json:"of"`
	Unheard int `json:"unheard"`
}

// SetUp is what an installation knows of its own beginning.
type SetUp interface {
	// SetUpNotes says whether calls have been placed (a bot served one, or a campaign was started),
	// and whether the set-up is hidden.
	SetUpNotes(ctx context.Context) (called, hidden bool, err error)
	HideSetUp(ctx context.Context, hidden bool) error
	// ModelPeers are the model carrier and bot beside this dialler; nil if there are none.
	ModelPeers() *setup.Model
}

// Numbers stores outbound numbers.
type Numbers interface {
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	// NumberStatuses returns the status of numbers; a number that is missing has not been used.
	NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error)
	PutNumber(ctx context.Context, number engine.NumberSettings, who engine.Who) (created bool, err error)
}
