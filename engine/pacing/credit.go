package pacing

// million is the unit of shares: parts per million, so that a cap of 3 % is
// 30 000 and no share is ever rounded.
const million = 1_000_000

// capLimitPPM limits a configured cap to a value far above anything that a regulator allows, and
// far from the pole of B at 100 %.
const capLimitPPM = 500_000

// Counts are a ledger's counts: live answers (served and abandoned), the abandoned among them, and
// machines.
type Counts struct {
	Live      int `json:"live"`      // L
	Abandoned int `json:"abandoned"` // A, capacity_loss included
	Machines  int `json:"machines"`
	// CapacityLoss is how many of Abandoned had that cause.
	CapacityLoss int `json:"capacity_loss"`
}

// Add adds the counts of another period.
func (c *Counts) Add(o Counts) {
	c.Live += o.Live
	c.Abandoned += o.Abandoned
	c.Machines += o.Machines
	c.CapacityLoss += o.CapacityLoss
}

// Rate is the abandon rate A / L; ok is false before the first live answer.
func (c Counts) Rate() (rate float64, ok bool) {
	if c.Live == 0 {
		return 0, false
	}
	return float64(c.Abandoned) / float64(c.Live), true
}

// Within says whether A_eff ≤ c·L holds.
func (c Counts) Within(capPPM, phiPPM int) bool { return c.surplus(capPPM, phiPPM) >= 0 }

// surplus is c·L − A_eff, in millionths.
func (c Counts) surplus(capPPM, phiPPM int) int64 {
	return int64(clampPPM(capPPM, capLimitPPM))*int64(c.Live) -
		million*int64(c.Abandoned) - int64(clampPPM(phiPPM, million))*int64(c.Machines)
}

// Credit is ⌊B⌋: how many more calls may be abandoned at once without A_eff >
// c·L, at least 0.
func (c Counts) Credit(capPPM, phiPPM int) int {
	s := c.surplus(capPPM, phiPPM)
	if s <= 0 {
		return 0
	}
	return int(s / int64(million-clampPPM(capPPM, capLimitPPM)))
}

// AnswersToCredit is how many live answers without an abandon earn one more credit, 0 if none
// would, because the cap is 0.
func (c Counts) AnswersToCredit(capPPM, phiPPM int) int {
	ppm := int64(clampPPM(capPPM, capLimitPPM))
	if ppm == 0 {
		return 0
	}
	need := int64(c.Credit(capPPM, phiPPM)+1)*(million-ppm) - c.surplus(capPPM, phiPPM)
	return int((need + ppm - 1) / ppm)
}

func clampPPM(ppm, limit int) int { return min(max(ppm, 0), limit) }
