package campaign

import (
	"iter"
	"time"

	"dialler/engine/pacing"
)

// Position is the state of a campaign's run at a moment: what it has done, and what lies ahead.
type Position struct {
	At      time.Time
	Created time.Time // of the campaign
	// Started is when the latest started run began; zero if there is none.
	Started time.Time
	Begun   bool // that is this run, which continues
	// Answers are the campaign's live answers of the last thirty days, over all its runs, in pieces
	// of AnswersPiece; those of this run are separate.
	Answers []PastAnswers
	Learnt  *pacing.State // what pacing had learnt; nil if unknown
	Ahead   []Ahead       // contacts that were not final, by due time
	// The run's dials, conversations and abandoned calls so far.
	Dials, Connected, Abandoned int
}

// PastAnswers are live answers that became known up to At.
type PastAnswers struct {
	At time.Time
	pacing.Counts
}

// AnswersPiece is the period over which answers are counted together.
const AnswersPiece = 15 * time.Minute

// Ahead are contacts that have used the same number of attempts and are due at the same time.
type Ahead struct {
	Used  int
	Due   time.Duration // after Position.At; 0 means now
	Count int
}

// Contacts returns how many contacts are ahead, and how many attempts they have used.
func (s *Position) Contacts() (contacts, used int) {
	for _, a := range s.Ahead {
		contacts += a.Count
		used += a.Count * a.Used
	}
	return contacts, used
}

// First iterates over the first contacts ahead, at most the given number.
func (s *Position) First(most int) iter.Seq[Ahead] {
	return func(yield func(Ahead) bool) {
		for _, a := range s.Ahead {
			for range a.Count {
				if most--; most < 0 || !yield(a) {
					return
				}
			}
		}
	}
}

// Place puts the row of a campaign into this position, as of now.
func (s *Position) Place(row *Campaign, now time.Time) {
	if s.Started.IsZero() {
		return
	}
	row.CreatedAt, row.EverRun, row.StartedAt = s.Created, true, &s.Started
	if s.Begun {
		row.State, row.RunningSince = Running, &now
	}
}
