package promise

import (
	"math"
	"time"
)

// kind is a kind of limited resource.
type kind string

const (
	channels kind = "calls of trunk"   // by trunk
	calls    kind = "calls from"       // by our number
	seats    kind = "conversations"    // of the bot
	granted  kind = "conversations of" // by campaign, to which the fleet grants seats
)

// seatedFor is how long a line that holds a seat may ring.
const seatedFor = time.Minute

// room is a limit on how much of something may be in use at once.
type room struct {
	most   int
	before int // … the limit before cut: lines dialled then may still be answered
	cut    time.Time
	in     map[string]bool
}

// rooms are all limits, by kind and owner; each use has a name of its own.
type rooms map[kind]map[string]*room

func (r rooms) of(k kind, of string) *room {
	if r[k] == nil {
		r[k] = map[string]*room{}
	}
	x := r[k][of]
	if x == nil {
		x = &room{most: math.MaxInt, in: map[string]bool{}}
		r[k][of] = x
	}
	return x
}

// limit sets the limit from now on.
func (r rooms) limit(at time.Time, k kind, of string, most int) {
	x := r.of(k, of)
	if most < x.most && x.most < math.MaxInt {
		if at.Sub(x.cut) > seatedFor {
			x.before = 0
		}
		x.before, x.cut = max(x.before, x.most), at
	}
	x.most = most
}

// enter adds a use, and returns the number of uses and whether that is too many.
func (r rooms) enter(at time.Time, k kind, of, what string) (n, most int, over bool) {
	x := r.of(k, of)
	x.in[what] = true
	n = len(x.in)
	seated := (k == seats || k == granted) && at.Sub(x.cut) <= seatedFor
	return n, x.most, n > x.most && !(seated && n <= x.before)
}

// leave removes a use, which is in at most one room of the kind.
func (r rooms) leave(k kind, what string) {
	for _, x := range r[k] {
		delete(x.in, what)
	}
}

// empty forgets all uses and grants.
func (r rooms) empty() {
	for k, of := range r {
		for _, x := range of {
			clear(x.in)
			if x.before = 0; k == granted {
				x.most = 0
			}
		}
	}
}

// channelsAndCalls checks that a trunk never has more calls than channels, and that none of our
// numbers has more than its concurrent cap.
func (j *Judge) channelsAndCalls(f Arrived) {
	id, _, _ := f.Leg.Attempt()
	n, most, over := j.rooms.enter(j.at, channels, string(f.Trunk), string(f.Leg))
	j.Peak.Channels = max(j.Peak.Channels, n)
	if over {
		j.broke(j.campaignOf(id), "%s has %d calls, its cap is %d", f.Trunk, n, most)
	}
	if n, most, over = j.rooms.enter(j.at, calls, string(f.From), string(f.Leg)); over {
		j.broke(j.campaignOf(id), "%s has %d calls, it may have %d", f.From, n, most)
	}
}

// conversation checks that the bot never has more conversations than seats, and a campaign never
// more than it is granted, nor more than its concurrency. A ringing line keeps the seat that it was
// placed with.
func (j *Judge) conversation(f BotOn) {
	n, most, over := j.rooms.enter(j.at, seats, "", f.Conversation)
	j.Peak.Seats = max(j.Peak.Seats, n)
	if over {
		j.broke(f.Campaign, "the bot has %d conversations, it has %d seats", n, most)
	}
	if n, most, over = j.rooms.enter(j.at, granted, string(f.Campaign), f.Conversation); over {
		j.broke(f.Campaign, "%d calls have a bot, %d seats are granted", n, most)
	}
	c, d := j.campaigns[f.Campaign], j.attempts[f.Attempt]
	if c == nil || d == nil || c.row.Settings.Concurrency == 0 || !d.at.After(c.edited) {
		return
	}
	if most := c.row.Settings.Concurrency; n > most {
		j.broke(f.Campaign, "%d calls have a bot, concurrency %d", n, most)
	}
}
