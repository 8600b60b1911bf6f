package campaign

import (
	"iter"
	"time"

	"dialler/engine/pacing"
)

// Position is how a run of a campaign stood at a moment: what it has done, and what it
// has ahead.
type Position struct {
	At      time.Time
	Created time.Time // of the campaign
	// Started is when the latest run that was started was; zero when none ever was.
	Started time.Time
	Begun   bool // it is this run, which goes on
	// Answers are the campaign's live answers of the last thirty days, in all its runs,
	// in pieces of AnswersPiece, those of the run apart.
	Answers []PastAnswers
	Learnt  *pacing.State // what pacing had learnt; nil when that is not known
	Ahead   []Ahead       // contacts that were not final, by when they are due
	// What the run had come to: dials, conversations, abandoned calls.
	Dials, Connected, Abandoned int
}

// PastAnswers are live answers that became known up to a time.
type PastAnswers struct {
	At time.Time
	pacing.Counts
}

// AnswersPiece is over how long answers are counted together.
const AnswersPiece = 15 * time.Minute

// Ahead are contacts that have used as many attempts and are due at the same time.
type Ahead struct {
	Used  int
	Due   time.Duration // after Position.At; 0: now
	Count int
}

// Contacts is how many contacts are ahead, Used how many attempts they have used.
func (s *Position) Contacts() (contacts, used int) {
	for _, a := range s.Ahead {
		contacts += a.Count
		used += a.Count * a.Used
	}
	return contacts, used
}

// First gives the first contacts that are ahead, so many at most, one after the other.
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

// Place has the row of a campaign stand there now.
func (s *Position) Place(row *Campaign, now time.Time) {
	if s.Started.IsZero() {
		return
	}
	row.CreatedAt, row.EverRun, row.StartedAt = s.Created, true, &s.Started
	if s.Begun {
		row.State, row.RunningSince = Running, &now
	}
}
