package telephony

import (
	"context"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/fleet"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
)

// Calls place the call that tests a trunk.
type Calls interface {
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)
}

// Bots stores configured bots.
type Bots interface {
	Bots(ctx context.Context) ([]engine.Bot, error)
	// PutBot creates or replaces by id, CreatedAt aside. With keepSecret the
	// stored AuthToken stays. It gives the bot as stored.
	PutBot(ctx context.Context, bot engine.Bot, keepSecret bool, who engine.Who) (stored engine.Bot, created bool,
		err error)
	// DeleteBot: NotFound "bot_not_found"; Conflict "bot_in_use" while campaigns
	// that run or are paused use it, unless force: they fail then.
	DeleteBot(ctx context.Context, id engine.BotID, force bool, who engine.Who) error
	// BotStatuses tells how bots stand; one that it does not know was made this
	// moment.
	BotStatuses(ctx context.Context) (map[engine.BotID]BotStatus, error)
}

// BotStatus is how a bot stands: whether its endpoints take calls, the best of
// them first, and the seats that are granted now.
type BotStatus struct {
	Health    fleet.EndpointHealth
	Held      int
	Endpoints []fleet.EndpointStatus
}

// Trunks stores carrier connections.
type Trunks interface {
	Trunks(ctx context.Context) ([]engine.TrunkSettings, error)
	// PutTrunk creates or replaces by id; with keepSecret the stored Password stays.
	PutTrunk(ctx context.Context, t engine.TrunkSettings, keepSecret bool, who engine.Who) (created bool, err error)
	// DeleteTrunk: NotFound "trunk_not_found".
	DeleteTrunk(ctx context.Context, id engine.TrunkID, who engine.Who) error
	// TrunkStatuses tells how trunks stand; one that it does not know was made
	// this moment.
	TrunkStatuses(ctx context.Context) (map[engine.TrunkID]TrunkStatus, error)
}

// TrunkStatus is how a trunk stands: what its owner grants, and what the
// telephony adapter found when it last asked the carrier.
type TrunkStatus struct {
	// Its Reason is that of the last answer to OPTIONS or REGISTER where calls have
	// shown nothing worse.
	trunk.Status
	CheckedAt       *time.Time // when the carrier last answered or failed to; nil before the first time
	RegisteredUntil *time.Time // nil unless the trunk is registered
}

// Numbers stores outbound numbers.
type Numbers interface {
	Numbers(ctx context.Context) ([]engine.NumberSettings, error)
	// NumberStatuses tells how numbers stand; one that it does not know was not
	// used.
	NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error)
	PutNumber(ctx context.Context, number engine.NumberSettings, who engine.Who) (created bool, err error)
}
