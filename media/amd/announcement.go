package amd

const (
	// unobtainableMin is how many frames a number unobtainable tone sounds without a pause (ITU-T E.180
	// supplement 2: without end in the United Kingdom): 4 s.
	unobtainableMin = 200
	// In other countries it sounds for 2.5 s and pauses for half a second. No ringing tone is as long with
	// a pause as short.
	unobtainableOn  = 115
	unobtainableOff = 40
	// troubleMin is the length of the second tone of North America's SIT that says that there is no line,
	// 380 ms; it is 276 ms for a number out of service (Telcordia SR-2275).
	troubleMin = 17
)

// Announcement hears in the audio before the answer whether the network says that a number cannot be
// reached: special information tones, or the number unobtainable tone. It is a Detector without an ear
// for voices, and not safe for concurrent use.
type Announcement struct {
	ear     ear
	tones   tracker
	hearing bool
}

// Feed processes the next FrameSamples samples; it says whether such tones are sounding.
func (a *Announcement) Feed(frame []int16) bool {
	if !a.hearing {
		a.hearing = true
		a.ear.reset()
	}
	e := &a.ear
	e.hearTones(frame)
	tonal := e.share >= toneShare && e.hz > 312 && (e.level > e.floor+3 || e.level > steadyTone)
	a.tones.feed(e.frames, tonal, false, e.double, e.hz, e.share, e.level, 0, false, false)
	return a.tones.sit() && !a.tones.trouble() || a.tones.unobtainable() && !progressPair(&e.past)
}

// trouble says that the SIT that sounds is one of North America's for a network without a free line:
// its second tone is long. The frequencies tell them from the rest of the world's, all of one length.
func (t *tracker) trouble() bool {
	second, first := &t.last[0], &t.last[1]
	return second.frames >= troubleMin && !near(first.hz, 950, 17) && !near(second.hz, 1400, 14)
}

// unobtainable says that a number unobtainable tone is sounding.
func (t *tracker) unobtainable() bool {
	now, before := &t.now, &t.last[0]
	switch {
	case !progressHz(now.hz) || now.frames < unobtainableOn:
		return false
	case now.frames >= unobtainableMin:
		return true
	}
	return t.n > 0 && before.frames >= unobtainableOn && near(before.hz, now.hz, 8) &&
		now.start-before.start-before.frames <= unobtainableOff
}
