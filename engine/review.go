package engine

import (
	"hash/fnv"
	"time"
)

// Voicemail is a message that is left on answering machines. It is immutable.
type Voicemail struct {
	ID        VoicemailID
	Name      string
	Duration  time.Duration
	CreatedAt time.Time
	CreatedBy string
}

// AMDReview is a verdict that a person is asked to check.
type AMDReview struct {
	Attempt     AttemptID
	Campaign    CampaignID
	Trunk       TrunkID
	Country     string // of the number, ISO 3166
	Verdict     Verdict
	RevisedFrom Verdict
	Confidence  float64
	Took        time.Duration
	AnsweredAt  time.Time
	// Audio says whether the call's recording still exists.
	Audio      bool
	Label      Verdict // a person's judgement; "" until there is one
	LabelledBy string
	LabelledAt *time.Time
}

// AMDReviewQuery chooses reviews; empty fields choose all.
type AMDReviewQuery struct {
	Campaign CampaignID
	Trunk    TrunkID
	Country  string
	Verdict  Verdict
	Labelled *bool
}

// AMDConfusion counts how often a verdict was given for a label that people assigned.
type AMDConfusion struct {
	Trunk   TrunkID
	Country string
	Label   Verdict
	Verdict Verdict
	Count   int
}

// Verdicts lists every verdict.
var Verdicts = []Verdict{VerdictHuman, VerdictMachine, VerdictFax, VerdictSIT, VerdictSilence, VerdictUnknown,
	VerdictScreener}

// AMDDice gives an attempt's fixed random draw: a sample of n millionths takes the attempts whose
// draw is below n. The same attempt always gets the same draw.
func AMDDice(a AttemptID) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a)) // cannot fail
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return int(x % 1_000_000)
}
