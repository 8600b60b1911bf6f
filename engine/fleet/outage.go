package fleet

import (
	"fmt"
	"time"
)

// Outage says since when a bot takes no calls, and why.
type Outage struct {
	Since  time.Time
	Reason string
}

// String is the outage in a sentence, for the console.
func (o *Outage) String() string {
	return fmt.Sprintf("the bot has taken no calls since %s UTC (%s); nothing is dialled until it does, live calls go on",
		o.Since.UTC().Format("2006-01-02 15:04:05"), o.Reason)
}
