package ownership

import (
	"fmt"
	"time"

	"dialler/engine"
)

// Presence is one process that uses a database.
type Presence struct {
	Life    string // unique to this process
	Name    string // of the node; "" until the process has identified itself
	Host    string
	PID     int
	Since   time.Time
	Cluster bool // it is a node of a cluster, of which there may be several
	// TakesOver says that it was told to replace a process that is alone.
	TakesOver bool
	Silent    time.Duration // time since it was last heard
}

// ShareableWith says whether two processes may serve one database: only as nodes
// of a cluster.
func (p *Presence) ShareableWith(q *Presence) bool { return p.Cluster && q.Cluster }

// Admission is what a process does that was not admitted to a database because others use it.
type Admission string

const (
	AskAgain Admission = "ask_again" // in a moment: the other may be just ending
	EndOwn   Admission = "end_own"   // the other is an earlier session of its own, which is ended
	Replace  Admission = "replace"   // the other loses its place, and ends its calls
	GiveUp   Admission = "give_up"   // another process serves the database
)

const (
	// endingFor is how long the end of a process may take to become known: its machine tells the
	// database at once.
	endingFor = 500 * time.Millisecond
	// A process reports every second. One that was not heard for silentFor may have lost its
	// machine or its network, which the database notices within unnoticedFor.
	silentFor    = 3 * time.Second
	unnoticedFor = 12 * time.Second
)

// Admit decides for me, which has waited; others are the processes that prevented its admission.
func Admit(me *Presence, others []Presence, waited time.Duration) Admission {
	silent := true
	for i := range others {
		if others[i].Life == me.Life {
			return EndOwn
		}
		silent = silent && (others[i].ShareableWith(me) || others[i].Silent >= silentFor)
	}
	// A process that has not identified itself could not be waited for.
	if me.TakesOver && len(others) == 1 && !others[0].Cluster && others[0].Life != "" {
		return Replace
	}
	if waited < endingFor || silent && waited < unnoticedFor {
		return AskAgain
	}
	return GiveUp
}

// FencedWithin is when a replaced process has ended its calls: a second until it asks, three for
// the answer, and as long again for a busy machine.
const FencedWithin = 8 * time.Second

// InUse is the refusal, which names the process that uses the database.
func InUse(database string, me *Presence, others []Presence) *engine.Error {
	by, instead := "another dialler, which is just starting", ""
	for i := range others {
		if o := &others[i]; o.Name != "" && !o.ShareableWith(me) {
			by = fmt.Sprintf("dialler %q (host %s, pid %d, since %s)", o.Name, o.Host, o.PID, o.Since.UTC().Format(time.RFC3339))
			if !o.Cluster {
				instead = ", or take its place with --take-over"
			}
			break
		}
	}
	return engine.Conflict("database_in_use", database+" is in use by "+by+
		"; stop that one, or start all of them with --cluster"+instead)
}
