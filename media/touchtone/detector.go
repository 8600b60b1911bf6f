package touchtone

import "math"

// FrameSamples is the length of a frame for Feed: 20 ms of 8 kHz audio.
const FrameSamples = 160

const (
	rate = 8000
	// hop is the distance of the windows, which are twice as long: a tone of 40 ms fills at least
	// two of them, wherever it begins.
	hop    = 80
	window = 2 * hop

	// within is how far a tone may be from its frequency: Q.24 wants 1.5 % accepted and 3.5 %
	// refused.
	within     = 0.019
	heldWithin = 0.03 // in a window that they do not fill
	// shareMin is the part of the power that the two tones must have together. Speech that has a
	// tone of each group has others too. heldMin is enough for a window that they do not fill.
	shareMin = 0.93
	heldMin  = 0.68
	// runMin is how many windows in a row must show a key: a tone of 40 ms fills three by three
	// quarters at least, one of 20 ms does not.
	runMin = 3
	// A tone must have quietest, −29 dBm0; full scale is +3.17 dBm0. Q.24 wants −24 accepted.
	quietest = 32124 * 0.02462
	// The upper tone may be this much stronger or weaker than the lower one, as powers: 6 and 9 dB,
	// where Q.24 wants 4 and 8 accepted.
	twistUp, twistDown = 3.98, 0.126
	// releaseAfter is how many windows without the key end it: a break of 20 ms, a lost packet, does
	// not, a pause of 40 ms does.
	releaseAfter = 4
)

// keys by row and column.
const keys = "123A456B789C*0#D"

// tone is one of the eight frequencies.
type tone struct {
	hz    float64
	coeff float32 // 2·cos ω
	cos   float64
	sin   float64
}

var (
	rows = tones(697, 770, 852, 941)
	cols = tones(1209, 1336, 1477, 1633)
	hann [window]float32
	// A sine of amplitude 1 gives the windowed energy sineEnergy, and at its own frequency a sum of
	// sineSum.
	sineEnergy, sineSum float64
)

func tones(hz ...float64) (list [4]tone) {
	for i, f := range hz {
		sin, cos := math.Sincos(2 * math.Pi * f / rate)
		list[i] = tone{f, float32(2 * cos), cos, sin}
	}
	return list
}

func init() {
	for i := range hann {
		w := 0.5 - 0.5*math.Cos(2*math.Pi*(float64(i)+0.5)/window)
		hann[i] = float32(w)
		sineEnergy += w * w / 2
		sineSum += w / 2
	}
}

// line is the strongest tone of a group in a window.
type line struct {
	at    int     // which; its frequency is that of the group's table
	power float64 // of its sum
	phase float64 // at the end of the window
}

// view is what a window shows. There is none where energy is 0.
type view struct {
	row, col line
	energy   float64
}

// key is the one that a window shows, 0: none.
func (v *view) key() byte {
	if v.energy == 0 || share(v.row.power+v.col.power, v.energy) < heldMin {
		return 0
	}
	return keys[4*v.row.at+v.col.at]
}

// Detector finds the keys of one call. It is not safe for concurrent use.
type Detector struct {
	past [hop]float32
	last view
	run  int  // windows in a row that show the key of the last one
	sure bool // and two of them have proven it
	key  byte // sounding, 0: none
	idle int  // windows since it was heard
}

// Feed hears 20 ms; ok is true when a key begins in them. Another key may begin in the next frame.
func (d *Detector) Feed(frame *[FrameSamples]int16) (key byte, ok bool) {
	var x [hop + FrameSamples]float32
	copy(x[:], d.past[:])
	for i, v := range frame {
		x[hop+i] = float32(v)
	}
	copy(d.past[:], x[FrameSamples:])
	for at := 0; at+window <= len(x); at += hop {
		if k, begins := d.hear((*[window]float32)(x[at:])); begins {
			key, ok = k, true
		}
	}
	return key, ok
}

// Pause hears that nothing was sent for a while.
func (d *Detector) Pause() { *d = Detector{} }

// hear hears a window.
func (d *Detector) hear(x *[window]float32) (key byte, begins bool) {
	v := look(x)
	key = v.key()
	switch {
	case key == 0:
		d.run, d.sure = 0, false
	case key == d.last.key():
		held, sure := proves(&d.last, &v)
		if !held {
			d.run, d.sure = 0, false
		}
		d.run++
		d.sure = d.sure || sure
	default:
		d.run, d.sure = 1, false
	}
	d.last = v
	if key != 0 && key == d.key {
		d.idle = 0
		return 0, false
	}
	if d.idle++; d.idle >= releaseAfter {
		d.key = 0
	}
	if !d.sure || d.run < runMin {
		return 0, false
	}
	d.key, d.idle = key, 0
	return key, true
}

// look finds the strongest tone of each group.
//
//go:norace
func look(x *[window]float32) (v view) {
	var loud float32
	for _, s := range x {
		loud += s * s
	}
	if loud < quietest*quietest/2*window {
		return view{}
	}
	var y [window]float32
	var energy float32
	for i, s := range x {
		w := s * hann[i]
		y[i] = w
		energy += w * w
	}
	v.row = strongest(&y, &rows)
	// The weaker tone has an eighth at least; a tone beside its frequency loses up to half.
	if share(v.row.power, float64(energy)) < shareMin*twistDown/2 {
		return view{}
	}
	v.col = strongest(&y, &cols)
	v.energy = float64(energy)
	return v
}

// share is the part of a window's energy that a sine with that power has.
func share(power, energy float64) float64 { return power * sineEnergy / (sineSum * sineSum * energy) }

// strongest gives the tone with the most power, by Goertzel's algorithm.
//
//go:norace
func strongest(y *[window]float32, group *[4]tone) line {
	c0, c1, c2, c3 := group[0].coeff, group[1].coeff, group[2].coeff, group[3].coeff
	var a0, a1, a2, a3, b0, b1, b2, b3 float32
	for _, v := range y {
		a0, b0 = (v-b0)+c0*a0, a0
		a1, b1 = (v-b1)+c1*a1, a1
		a2, b2 = (v-b2)+c2*a2, a2
		a3, b3 = (v-b3)+c3*a3, a3
	}
	a, b := [4]float32{a0, a1, a2, a3}, [4]float32{b0, b1, b2, b3}
	best, at := float32(-1), 0
	for i := range group {
		if p := a[i]*a[i] + b[i]*b[i] - group[i].coeff*a[i]*b[i]; p > best {
			best, at = p, i
		}
	}
	t, s1, s2 := &group[at], float64(a[at]), float64(b[at])
	return line{at: at, power: float64(best), phase: math.Atan2(s2*t.sin, s1-s2*t.cos)}
}

// proves says what two windows in a row show that show the same key: held that their tones hold about
// the frequencies, sure that they are that key's.
func proves(before, now *view) (held, sure bool) {
	row, col := &rows[now.row.at], &cols[now.col.at]
	rowOff, colOff := off(&before.row, &now.row, row.hz), off(&before.col, &now.col, col.hz)
	beside := max(math.Abs(rowOff)/row.hz, math.Abs(colOff)/col.hz)
	if beside > heldWithin {
		return false, false
	}
	rowGain, colGain := gain(rowOff), gain(colOff)
	return true, beside <= within && pure(before, rowGain, colGain) && pure(now, rowGain, colGain)
}

// off measures how far a tone is from hz, in Hz, by how far its phase moved from one window to the
// next.
func off(before, now *line, hz float64) float64 {
	turns := (now.phase-before.phase)/(2*math.Pi) - hz*hop/rate
	return (turns - math.Round(turns)) * rate / hop
}

// gain is the part of its power that the window leaves of a tone that is off by so many Hz.
func gain(off float64) float64 {
	x := off * window / rate // in bins
	if math.Abs(x) < 1e-3 {
		return 1
	}
	g := math.Sin(math.Pi*x) / (math.Pi * x * (1 - x*x))
	return g * g
}

// pure says whether a window has little else than its two tones, loud enough and in proportion.
func pure(v *view, rowGain, colGain float64) bool {
	row, col := v.row.power/rowGain, v.col.power/colGain
	const least = quietest * quietest
	return min(row, col) >= least*sineSum*sineSum && col <= twistUp*row && col >= twistDown*row &&
		share(row+col, v.energy) >= shareMin
}
