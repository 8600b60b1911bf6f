package amd

// signals classifies the tones of a call: fax, special information tones, call progress, the beep
// of a machine, a melody.
type signals struct {
	tones    tracker
	progress bool
	beep     bool
	melody   bool
	fax      bool
	calling  bool // the fax was recognised by its calling tone alone
	sit      bool
	rings    int // frames of call progress tones
	notes    int // consecutive tones that passed directly into another
	loud     uint64
	peak     float64    // of the speech, in dBFS
	pure     [4]float64 // frequencies of long, pure tones
	pures    int
}

const (
	pairMin   = 11 // frames of a dual tone
	noteGap   = 16 // frames of silence that end a melody or a beep
	repeatGap = 40 // frames within which a busy tone repeats
	ringMin   = 36 // frames: no beep at these frequencies is as long as a ring
	beepMax   = 85 // frames: slightly over 1.5 s
	beepBelow = 25 // at most this many dB below the speech
)

// progressHz matches the single tones of ringback and busy outside North America (ITU-T E.180
// supplement 2): 425 Hz in most of the world, 400, 440 and 450 Hz in some countries.
func progressHz(hz float64) bool {
	return near(hz, 425, 12) || near(hz, 400, 8) || near(hz, 442, 12)
}

// quiet returns how many of the frames before the last skip ones were silent.
func (s *signals) quiet(skip int) int {
	for n := skip; n < 64; n++ {
		if s.loud>>n&1 != 0 {
			return n - skip
		}
	}
	return 64 - skip
}

// feed processes a frame. sounds says that it stands out from the noise, spoken that speech was
// heard before.
func (s *signals) feed(frame int, tonal, pair, double, sounds bool, hz, share, level float64, spoken, heard bool) {
	s.loud <<= 1
	if sounds {
		s.loud |= 1
	}
	if pair {
		s.rings++
	}
	if s.tones.feed(frame, tonal || pair, pair, double, hz, share, level, s.quiet(2), spoken, heard) {
		s.ended()
	}
	now := &s.tones.now
	switch {
	case s.tones.sit():
		s.sit = true
	case now.frames >= 20 && !now.pair && near(now.hz, 2100, 40): // CED or ANSam (ITU-T T.30, V.8), 400 ms of it
		s.fax, s.calling = true, false
	case now.pair && now.frames >= pairMin && now.wobble < 3:
		s.progress = true
	case now.frames >= 80 && !now.spoken && progressHz(now.hz):
		s.progress = true
	case now.frames >= 15 && now.spoken && now.before >= 2 && s.beepLike(now) && !near(now.hz, 950, 62) &&
		!progressHz(now.hz):
		s.heardBeep(now)
	}
	for i := range min(s.tones.n, len(s.tones.last)) {
		if t := &s.tones.last[i]; !t.settled {
			s.settle(t, i, frame)
		}
	}
}

// ended counts the pure tones of different frequencies: more than two are music, with or without a
// voice.
func (s *signals) ended() {
	t := &s.tones.last[0]
	if t.frames < 9 || !t.note() || t.pair || t.spoken && (t.before < 1 || t.solid < 12) || s.sit || s.fax || s.progress ||
		s.pures == len(s.pure) {
		return
	}
	for _, hz := range s.pure[:s.pures] {
		if near(hz, t.hz, 0.03*hz) {
			return
		}
	}
	s.pure[s.pures] = t.hz
	s.pures++
	if s.pures == len(s.pure) || s.pures == len(s.pure)-1 && !near(t.hz, 1790, 75) {
		s.melody = true
	}
}

func (s *signals) heardBeep(t *segment) {
	s.beep, t.settled = true, true
}

func (s *signals) beepLike(t *segment) bool {
	if t.spoken && t.level < s.peak-beepBelow || t.pair || t.hz < 340 || t.hz > 2060 || t.frames > beepMax || s.fax ||
		s.sit {
		return false
	}
	// A voice glides, a beep does not.
	solid := t.solid
	if solid == 0 { // it sounds still
		solid = t.frames
	}
	if t.double {
		return t.hz > 420 && solid >= 5 && t.wobble < 2.5 && t.share > 0.92 && t.glide < 1.2 && (t.before >= 3 || solid >= 6)
	}
	if solid >= 8 {
		return t.wobble < 3 && t.share > 0.86 && t.glide < 2.5
	}
	return t.wobble < 2.5 && t.share > 0.93 && t.glide < 1.2 && t.edge < 3 && t.before >= 3 && solid > 3
}

// settle classifies a tone that has ended, once what follows is known. i is how many tones ended
// after it.
func (s *signals) settle(t *segment, i, frame int) {
	after := frame - t.start - t.frames
	next := &s.tones.now
	if i > 0 {
		next = &s.tones.last[i-1]
	}
	if next.frames > 0 && t.goesOn(next) {
		return
	}
	if next.frames >= toneMin && next.start-t.start-t.frames < noteGap {
		// It passed directly into another tone: SIT or a melody.
		t.settled = true
		if !t.note() || !next.note() {
			return
		}
		if s.notes++; s.notes >= 3 && !s.sit && !s.fax {
			s.melody = true
		}
		return
	}
	if t.pair || near(t.hz, 2100, 40) {
		t.settled = true
		return
	}
	if now := &s.tones.now; now.frames > 0 && near(now.hz, t.hz, 8) {
		return // it will repeat; the cadence is not known yet
	}
	if progressHz(t.hz) && t.frames >= 9 {
		for k := range min(s.tones.n, len(s.tones.last)) {
			o := &s.tones.last[k]
			if k != i && o.cadent() && t.cadent() && near(o.hz, t.hz, 8) &&
				near(float64(o.frames), float64(t.frames), 0.2*float64(t.frames)+2) {
				s.progress, t.settled, o.settled = true, true, true
				return
			}
		}
		if !t.spoken && t.frames >= ringMin && after >= noteGap {
			s.progress, t.settled = true, true
			return
		}
		if after < repeatGap {
			return
		}
	}
	if after < noteGap && !(t.spoken && after >= 3) {
		return
	}
	t.settled = true
	if s.notes > 0 && t.before < noteGap {
		return // the last note of a melody
	}
	s.notes = 0
	// CNG is 1100 Hz for half a second ± 15 % (ITU-T T.30); beeps of that frequency rarely have
	// exactly that length.
	if !t.spoken && near(t.hz, 1100, 38) && t.frames >= 23 && t.frames <= 28 {
		s.fax, s.calling = true, true
		return
	}
	// It stands alone, or is purer in noise than anything else.
	pure := t.solid >= 12 || t.solid >= 6 && t.glide < 1 && t.share > 0.97 && t.wobble < 2
	alone := s.quiet(0) >= min(after, 3) && (t.before >= 2 || !t.heard)
	if !s.beepLike(t) || !alone && !pure {
		return
	}
	s.heardBeep(t)
}

// pending says that a tone is sounding or has ended, and will be classified soon.
func (s *signals) pending(frame int) bool {
	if s.tones.sounding() >= toneMin {
		return true
	}
	return s.tones.n > 0 && !s.tones.last[0].settled && frame-s.tones.last[0].start < 200
}
