package pacing

import "math"

// points is the number of moments, spread over the ring timeout, for which the workers wanted are
// computed.
const points = 14

// forecast is how many workers will be wanted some time ahead: for the calls that hold one now and
// are not over by then, and for the lines that will have been answered. At each moment that is a
// sum of independent probabilities, treated as normal, plus doubt about the answer hazard.
type forecast struct {
	ahead [points]int     // half-seconds
	occ   []float64       // [age][point] a line of that age wants a worker then
	ans   []float64       // [age][point] it answers within the point's span
	ever  []float64       // [age] it answers at all
	work  []float64       // scratch of tabulate
	pa    []float64       // [age] a line answers within a second …
	pe    []float64       // … or ends in any way
	calls [points]moments // running calls
	rings [points]moments // ringing lines
	pend  [points]float64 // answers of ringing lines within the point's span

	lineTime float64 // s that a new line rings
	answer   float64 // probability that it answers
	lines    int     // ages
	notice   int     // age by which a jump in the answers would be noticed
}

// moments are mean and variance of a number of workers.
type moments struct{ mean, variance float64 }

func newForecast(seconds int) forecast {
	n := seconds
	return forecast{lines: n, occ: make([]float64, n*points), ans: make([]float64, n*points), ever: make([]float64, n),
		work: make([]float64, 2*(n+1)), pa: make([]float64, n), pe: make([]float64, n)}
}

// tabulate computes the prospects of lines of every age. wait is how long, in half-seconds, an
// answered call may wait for a worker: it counts against the workers that are free at its end.
func (f *forecast) tabulate(l *lines, t *talk, wait int) {
	n := l.seconds
	f.lineTime, f.answer = 0, 0
	ringing := 1.0
	for a := range n {
		pa, pe := l.next(a)
		f.pa[a], f.pe[a] = pa, pe
		f.answer += ringing * pa
		f.lineTime += ringing * (1 - pe/2)
		ringing *= 1 - pe
	}
	clear(f.ans)
	for a := range n {
		ringing, f.ever[a] = 1, 0
		row := f.ans[a*points : (a+1)*points]
		for u := a; u < n; u++ {
			p := ringing * f.pa[u]
			row[(u-a)*points/n] += p
			f.ever[a] += p
			ringing *= 1 - f.pe[u]
		}
	}
	come := 0.0
	ringing = 1
	for f.notice = 0; f.notice < n && come < noticedShare*f.answer; f.notice++ {
		come += ringing * f.pa[f.notice]
		ringing *= 1 - f.pe[f.notice]
	}
	for j := range f.ahead {
		f.ahead[j] = int((float64(j)+0.5)*2*float64(n)/points + 0.5)
	}
	// From the oldest age down: within a second a line answers (on average in the middle of it),
	// ends, or becomes a second older.
	older, cur := f.work[:n+1], f.work[n+1:]
	clear(older)
	for a := n - 1; a >= 0; a-- {
		pa, stay := f.pa[a], 1-f.pe[a]
		cur[0] = 0
		for h := 1; h <= n; h++ {
			cur[h] = pa*t.survival[2*h-1+wait] + stay*older[h-1]
		}
		row := f.occ[a*points : (a+1)*points]
		for j, h := range f.ahead {
			row[j] = (cur[h/2] + cur[(h+1)/2]) / 2
		}
		cur, older = older, cur
	}
}

// countCalls counts the running calls.
func (f *forecast) countCalls(t *talk, now int64, wait int) {
	f.calls = [points]moments{}
	left := t.known - t.old
	f.addCalls(t, talkBins-1, float64(t.old), wait)
	for b := now; left > 0 && b >= t.first; b-- {
		if n := int(*t.at(b)); n > 0 {
			left -= n
			f.addCalls(t, int(now-b), float64(n), wait)
		}
	}
}

// addCalls adds n calls of an age in half-seconds; negative n removes them.
func (f *forecast) addCalls(t *talk, age int, n float64, wait int) {
	if n == 0 {
		return
	}
	age = min(max(age, 0), talkBins-1)
	for j := range f.calls {
		p := t.stays(age, f.ahead[j]+wait)
		f.calls[j].mean += n * p
		f.calls[j].variance += n * p * (1 - p)
	}
}

// countLines counts the ringing lines; strangers are lines unknown to the model, treated as new
// ones.
func (f *forecast) countLines(l *lines, now int64, strangers int) {
	f.rings, f.pend = [points]moments{}, [points]float64{}
	for b := l.oldest(now); b <= now; b++ {
		if n := *l.at(b); n > 0 {
			f.addLines(l.age(now, b), float64(n))
		}
	}
	if strangers > 0 {
		f.addLines(0, float64(strangers))
	}
}

func (f *forecast) addLines(age int, n float64) {
	occ, ans := f.occ[age*points:(age+1)*points], f.ans[age*points:(age+1)*points]
	for j, p := range occ {
		f.rings[j].mean += n * p
		f.rings[j].variance += n * p * (1 - p)
		f.pend[j] += n * ans[j]
	}
}

// wanted returns mean and standard deviation of the workers wanted at a point if k more lines are
// dialled now.
func (f *forecast) wanted(j int, k, doubt float64) (mean, sd float64) {
	o := f.occ[j]
	rings := f.rings[j].mean + k*o
	v := f.calls[j].variance + f.rings[j].variance + k*o*(1-o) + rings*rings*doubt
	return f.calls[j].mean + rings, math.Sqrt(max(v, 1e-12))
}

// lost is how many answers will find no worker when k more lines are dialled.
func (f *forecast) lost(k, workers, doubt float64) float64 {
	var sum float64
	for j := range points {
		mean, sd := f.wanted(j, k, doubt)
		sum += (f.pend[j] + k*f.ans[j]) * tail((workers-0.5-mean)/sd)
	}
	return sum
}

// risk is the cost of one more line after k: how many more answers find no worker, its own
// included, for each answer that it brings. Its own answer would be only half of the truth: the
// worker that it takes is missing for later ones.
func (f *forecast) risk(k int, workers, doubt float64) float64 {
	return (f.lost(float64(k+1), workers, doubt) - f.lost(float64(k), workers, doubt)) / max(f.answer, 1e-9)
}

// peak is the most workers that may be wanted, z standard deviations above the
// mean.
func (f *forecast) peak(k int, z, doubt float64) float64 {
	var top float64
	for j := range points {
		mean, sd := f.wanted(j, float64(k), doubt)
		top = max(top, mean+z*sd)
	}
	return top
}

// stressed is how many of the ringing lines would answer if the answer probability of those younger
// than an age were multiplied by times.
func (f *forecast) stressed(l *lines, now int64, strangers int, times float64, younger int) float64 {
	var sum float64
	for b := l.oldest(now); b <= now; b++ {
		if n := *l.at(b); n > 0 {
			a := l.age(now, b)
			p := f.ever[a]
			if a < younger {
				p = min(1, times*p)
			}
			sum += float64(n) * p
		}
	}
	return sum + float64(max(strangers, 0))*min(1, times*f.ever[0])
}

// tail is P(X > x) of a standard normal X.
func tail(x float64) float64 {
	switch {
	case x > 7:
		return 0
	case x < -7:
		return 1
	}
	return 0.5 * math.Erfc(x*(math.Sqrt2/2))
}

func (f *forecast) Parts() []any {
	return []any{&f.ahead, &f.occ, &f.ans, &f.ever, &f.work, &f.pa, &f.pe, &f.calls, &f.rings, &f.pend, &f.lineTime,
		&f.answer, &f.lines, &f.notice}
}

func (m *moments) Parts() []any { return []any{&m.mean, &m.variance} }
