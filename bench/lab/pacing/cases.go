package pacing

// kase is one scenario file of this folder with its target: the minimum share of the clairvoyant
// connects, in per cent, as the mean over the seeds. 0 requires nothing but the cap.
type kase struct {
	file           string
	hybrid, strict float64
	// The results of the first prototype of the algorithm, 0 when not measured.
	before, beforeStrict float64
	cuts                 bool // workers are withdrawn without notice
	none                 bool // cap 0: like progressive, and nobody is abandoned
}

// benchmark are the scenarios with a target.
var benchmark = []kase{
	{file: "b1", hybrid: 73, strict: 73, before: 75.3, beforeStrict: 75.3},
	{file: "b2", hybrid: 88, strict: 86, before: 90.0, beforeStrict: 88.8},
	{file: "b3", hybrid: 95, strict: 92, before: 96.9, beforeStrict: 94.0},
	{file: "b4", hybrid: 97, strict: 84, before: 98.8, beforeStrict: 86.2},
	{file: "b5", hybrid: 84, strict: 66, before: 86.1, beforeStrict: 68.2},
	{file: "b6", hybrid: 95, strict: 94, before: 96.9, beforeStrict: 96.8},
	{file: "b7", hybrid: 88, strict: 83, before: 90.7, beforeStrict: 85.2},
	{file: "b8", hybrid: 91, strict: 90, before: 93.2, beforeStrict: 92.2},
	{file: "b9", hybrid: 85, strict: 83, before: 87.4, beforeStrict: 85.9, cuts: true},
	{file: "cap1-n10", hybrid: 67, strict: 66, before: 69.5, beforeStrict: 68.1},
	{file: "cap1-n50", hybrid: 84, strict: 79, before: 86.0, beforeStrict: 81.6},
	{file: "cap1-n200", hybrid: 92, strict: 85, before: 94.3, beforeStrict: 86.9},
	{file: "cap0-n10", none: true},
	{file: "cap0-n50", none: true},
	{file: "cap0-n200", none: true},
}

// The mean over b1 to b9 must reach that of the prototype.
const (
	meanHybrid = 90.6
	meanStrict = 85.8
	meanOf     = 9 // the first ones of benchmark
)

// general are scenarios of other kinds, for which only the cap is required.
var general = []kase{
	{file: "g-n1"}, {file: "g-n2"}, {file: "g-n5"}, {file: "g-n10-p1"}, {file: "g-p05"}, {file: "g-long-ring"},
	{file: "g-machines"}, {file: "g-drift"}, {file: "g-bursts"}, {file: "g-outages"}, {file: "g-talk-jumps"},
	{file: "g-fleet-jumps", cuts: true},
	{file: "g-short-talk"}, {file: "g-long-talk"}, {file: "g-brief"}, {file: "g-n1000-p2"},
}
