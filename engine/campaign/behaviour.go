package campaign

import "time"

// Behaviour is how the callees of a campaign's latest attempts behaved: of
// BehaviourCap attempts at most.
type Behaviour struct {
	Dials    int
	Answered int
	Machines int     // of the answered
	Ring     float64 // s, mean time from the INVITE to the answer
	RingSD   float64
	Talks    int     // of persons
	Short    int     // of the talks shorter than ShortTalk
	Talk     float64 // s, mean
}

const (
	// BehaviourCap bounds how many attempts a Behaviour is made of.
	BehaviourCap = 5000
	// ShortTalk is what counts as short in Behaviour.
	ShortTalk = 8 * time.Second
)
