package training

import (
	"math"
	"slices"

	"dialler/media/amd"
)

// pass is one run over sequences, forwards and backwards. Row t·n+i is step t of sequence i;
// sequences are sorted, the longest first, and at step t the first active[t] of them have not
// ended.
type pass struct {
	n, steps int
	active   []int
	x        matrix // steps·n × Inputs
	class    []int  // of each sequence
	kind     []int  // of each sequence: the auxiliary target; 0 means none
	spoken   []text // of each sequence: what is said; empty means unknown
	long     []int  // steps of each sequence
	weight   matrix // steps × n: the weight of a step

	f, df                            matrix // features
	layers                           []passLayer
	logits, dlogits, sounds, dsounds matrix
	gradient                         *weights
	mul                              *product
	align                            ctc
	lost, counted                    float64 // of the loss: its sum, and the sum of the weights
	misheard, said                   float64 // of the sounds: the sum of the loss, and their number
}

// passLayer is a layer in a pass. gx becomes the gates, and late what the reset is applied to; of
// the state h, the part selected by keep is handed on.
type passLayer struct {
	gx, late, h, keep, on matrix
	dg, dl, don           matrix
	dh, dnext             matrix
}

func newPass(s amd.Shape, n, steps int) *pass {
	rows := n * steps
	p := &pass{n: n, x: newMatrix(rows, amd.Inputs), f: newMatrix(rows, s.Features), df: newMatrix(rows, s.Features)}
	most := 0
	for _, u := range s.Units {
		l := passLayer{
			gx: newMatrix(rows, 3*u), late: newMatrix(rows, 3*u), h: newMatrix(rows+n, u), keep: newMatrix(rows,
				u), on: newMatrix(rows, u),
			dg: newMatrix(rows, 3*u), dl: newMatrix(rows, 3*u), don: newMatrix(rows, u), dh: newMatrix(n, u),
			dnext: newMatrix(n, u),
		}
		for i := range l.keep.v {
			l.keep.v[i] = 1
		}
		p.layers = append(p.layers, l)
		most = max(most, u)
	}
	p.logits, p.dlogits = newMatrix(rows, netOut), newMatrix(rows, netOut)
	p.sounds, p.dsounds = newMatrix(rows, soundOut), newMatrix(rows, soundOut)
	p.class, p.kind, p.spoken, p.long, p.active = make([]int, n), make([]int, n), make([]text, n), make([]int,
		n), make([]int, steps)
	p.weight = newMatrix(steps, n)
	p.gradient, p.mul = newWeights(s), newProduct(max(amd.Inputs, s.Features, most), 3*most)
	return p
}

// load fills a pass with sequences, the longest first, each changed to another voice and another
// line.
func (p *pass) load(of []*example, warps []*warp, n *norm) {
	p.steps = of[0].n
	p.quiet()
	clear(p.active)
	for i, e := range of {
		p.class[i], p.kind[i], p.spoken[i], p.long[i] = e.class, e.kind, e.said, e.n
		for t := range e.n {
			p.active[t] = i + 1
			x := p.x.row(t*p.n + i)
			for k, q := range e.t.steps[t*amd.Inputs:][:amd.Inputs] {
				x[k] = unpacked[q]
			}
			warps[i].apply(x, t)
			n.apply(x)
			p.weight.row(t)[i] = e.count[t]
			for k := range p.layers {
				warps[i].leaveOut(p.layers[k].keep.row(t*p.n + i))
			}
		}
	}
}

// learnsSounds says whether the text of any sequence is known.
func (p *pass) learnsSounds() bool {
	return slices.ContainsFunc(p.spoken, func(t text) bool { return len(t.sounds) > 0 })
}

// forward runs the net over the first steps.
func (p *pass) forward(w *weights, k *packed) {
	rows := p.steps * p.n
	x, f := p.x.part(0, rows), p.f.part(0, rows)
	spread(f, w.inBias)
	p.mul.times(f, x, &k.in)
	for i, v := range f.v {
		f.v[i] = max(0, v)
	}
	given := f
	for i := range p.layers {
		p.remember(&p.layers[i], &w.layers[i], &k.layers[i], given)
		given = p.layers[i].on.part(0, rows)
	}
	logits := p.logits.part(0, rows)
	spread(logits, w.outBias)
	p.mul.times(logits, given, &k.out)
	if p.learnsSounds() {
		sounds := p.sounds.part(0, rows)
		spread(sounds, w.soundBias)
		p.mul.times(sounds, p.layers[0].on.part(0, rows), &k.sounds)
	}
}

// remember runs a layer over its input.
func (p *pass) remember(l *passLayer, w *layerWeights, k *packedLayer, given matrix) {
	rows := p.steps * p.n
	clear(l.h.v[:p.n*l.h.ld])
	gx := l.gx.part(0, rows)
	spread(gx, w.bias)
	p.mul.times(gx, given, &k.gate)
	for t := range p.steps {
		on := p.active[t]
		h, next := l.h.part(t*p.n, on), l.h.part((t+1)*p.n, on)
		late := l.late.part(t*p.n, on)
		clear(late.v)
		p.mul.times(late, h, &k.again)
		for i := range on {
			gates(gx.row(t*p.n+i), late.row(i), h.row(i), next.row(i), w.late)
		}
	}
	scale(l.on.part(0, rows).v, l.h.part(p.n, rows).v, l.keep.v)
}

// scale is what of, number by number, is by a factor.
//
//go:norace
func scale(to, of, by []float32) {
	of, by = of[:len(to)], by[:len(to)]
	for i := range to {
		to[i] = of[i] * by[i]
	}
}

// gates computes the gates from their inputs, and the next state from the previous one; late
// becomes what the reset is applied to.
func gates(gate, late, before, after, bias []float32) {
	m := len(after)
	if vectors {
		_, _, _, _, _ = gate[3*m-1], late[3*m-1], before[m-1], after[m-1], bias[m-1]
		gatesOf(&gate[0], &late[0], &before[0], &after[0], &bias[0], m)
		return
	}
	plainGates(gate, late, before, after, bias)
}

func plainGates(gate, late, before, after, bias []float32) {
	m := len(after)
	for k := range m {
		z := logistic(gate[k] + late[k])
		r := logistic(gate[m+k] + late[m+k])
		late[2*m+k] += bias[k]
		c := tangent(gate[2*m+k] + float32(r*late[2*m+k]))
		gate[k], gate[m+k], gate[2*m+k] = z, r, c
		after[k] = c + float32(z*(before[k]-c))
	}
}

// slopes is the backward pass through gates.
func slopes(gate, late, before, after, dgate, dlate, dbefore []float32) {
	m := len(after)
	if vectors {
		_, _, _, _ = gate[3*m-1], late[3*m-1], before[m-1], after[m-1]
		_, _, _ = dgate[3*m-1], dlate[3*m-1], dbefore[m-1]
		slopesOf(&gate[0], &late[0], &before[0], &after[0], &dgate[0], &dlate[0], &dbefore[0], m)
		return
	}
	plainSlopes(gate, late, before, after, dgate, dlate, dbefore)
}

func plainSlopes(gate, late, before, after, dgate, dlate, dbefore []float32) {
	m := len(after)
	for k := range m {
		z, r, c, d := gate[k], gate[m+k], gate[2*m+k], after[k]
		dz := float32(float32(float32(d*(before[k]-c))*z) * (1 - z))
		dc := float32(float32(d*(1-z)) * (1 - float32(c*c)))
		dr := float32(float32(float32(dc*late[2*m+k])*r) * (1 - r))
		dgate[k], dgate[m+k], dgate[2*m+k] = dz, dr, dc
		dlate[k], dlate[m+k], dlate[2*m+k] = dz, dr, dc*r
		dbefore[k] = d * z
	}
}

func spread(to matrix, bias []float32) {
	for i := range to.rows {
		copy(to.row(i), bias)
	}
}

// smoothing is the probability moved from the right class to the others: who answered is never
// quite certain.
const smoothing = 0.04

// beside is the weight of the auxiliary target, the kinds of greetings: learning them helps the net
// to distinguish the classes.
const beside = 0.3

// hearing is the weight of the sounds, each recording weighted by the square root of their number:
// what a net learns of them generalises to unknown voices.
const hearing = 1.0

// loss computes the cross entropy with its slopes in dlogits, and the loss of the sounds with
// slopes in dsounds.
func (p *pass) loss() {
	p.lost, p.counted, p.misheard, p.said = 0, 0, 0, 0
	for t := range p.steps {
		for i := range p.active[t] {
			l, d := p.logits.row(t*p.n+i), p.dlogits.row(t*p.n+i)
			weight := p.weight.row(t)[i]
			p.lost += entropy(l[:amd.Classes], d, weight, p.class[i])
			p.counted += float64(weight)
			if p.kind[i] > 0 {
				entropy(l[amd.Classes:], d[amd.Classes:], beside*weight, p.kind[i]-1)
			}
		}
	}
	for i := range p.spoken {
		if len(p.spoken[i].sounds) > 0 {
			p.hear(i)
		}
	}
}

// hear adds the loss of the text of a sequence.
func (p *pass) hear(i int) {
	of, q := &p.spoken[i], p.probabilities(i)
	loss, ok := p.align.loss(q, soundHalves*p.long[i], of)
	if !ok {
		return
	}
	p.misheard += loss
	p.said += of.expected
	weight := hearing / math.Sqrt(math.Max(10, of.expected))
	for t := range p.long[i] {
		d := p.dsounds.row(t*p.n + i)
		for k, v := range q[soundHalves*t*soundCols:][:soundOut] {
			d[k] = float32(weight * v)
		}
	}
}

// probabilities returns the probabilities of the sounds in each frame of a sequence.
func (p *pass) probabilities(i int) []float64 {
	q := p.align.room(soundHalves * p.long[i])
	for t := range p.long[i] {
		row := p.sounds.row(t*p.n + i)
		for half := range soundHalves {
			softmax(q[(soundHalves*t+half)*soundCols:][:soundCols], row[half*soundCols:][:soundCols])
		}
	}
	return q
}

// entropy returns the cross entropy of logits when want is the right class, and its slopes.
func entropy(logits, slopes []float32, weight float32, want int) float64 {
	top := logits[0]
	for _, l := range logits[1:] {
		top = max(top, l)
	}
	var e [netOut]float32
	var total float32
	for k, l := range logits {
		e[k] = exponential(l - top)
		total += e[k]
	}
	sum, other := 0.0, float32(smoothing)/float32(len(logits))
	for k := range logits {
		share := other
		if k == want {
			share += 1 - smoothing
		}
		q := e[k] / total
		slopes[k] = weight * (q - share)
		sum -= float64(weight*share) * math.Log(float64(q)+1e-9)
	}
	return sum
}

// backward adds up the gradient.
func (p *pass) backward(k *packed) {
	g := p.gradient
	clear(g.all)
	rows := p.steps * p.n
	top := &p.layers[len(p.layers)-1]
	don := top.don.part(0, rows)
	clear(don.v)
	p.mul.times(don, p.dlogits.part(0, rows), &k.outT)
	p.mul.across(g.out, top.on.part(0, rows), p.dlogits.part(0, rows))
	hears := p.learnsSounds()
	for i := len(p.layers) - 1; i >= 0; i-- {
		l := &p.layers[i]
		if i == 0 && hears {
			p.mul.times(l.don.part(0, rows), p.dsounds.part(0, rows), &k.soundsT)
			p.mul.across(g.sounds, l.on.part(0, rows), p.dsounds.part(0, rows))
		}
		given, dgiven := p.f, p.df
		if i > 0 {
			given, dgiven = p.layers[i-1].on, p.layers[i-1].don
		}
		p.recall(l, &g.layers[i], &k.layers[i], given.part(0, rows))
		clear(dgiven.v[:rows*dgiven.ld])
		p.mul.times(dgiven.part(0, rows), l.dg.part(0, rows), &k.layers[i].gateT)
	}
	f, df := p.f.part(0, rows), p.df.part(0, rows)
	for i, v := range f.v {
		if v <= 0 {
			df.v[i] = 0
		}
	}
	p.mul.across(g.in, p.x.part(0, rows), df)
	for i := range rows {
		add(g.inBias, df.row(i))
		add(g.outBias, p.dlogits.row(i))
		if hears {
			add(g.soundBias, p.dsounds.row(i))
		}
	}
}

// recall is the backward pass through a layer.
func (p *pass) recall(l *passLayer, g *layerWeights, k *packedLayer, given matrix) {
	rows := p.steps * p.n
	dl, dg, don := l.dl.part(0, rows), l.dg.part(0, rows), l.don.part(0, rows)
	clear(dl.v)
	clear(dg.v)
	clear(l.dh.v)
	scale(don.v, don.v, l.keep.v)
	for t := p.steps - 1; t >= 0; t-- {
		on := p.active[t]
		dh, dnext := l.dh.part(0, on), l.dnext.part(0, on)
		for i := range on {
			at := t*p.n + i
			add(dh.row(i), don.row(at))
			slopes(l.gx.row(at), l.late.row(at), l.h.row(at), dh.row(i), dg.row(at), dl.row(at), dnext.row(i))
		}
		p.mul.times(dnext, l.dl.part(t*p.n, on), &k.againT)
		copy(dh.v, dnext.v)
	}
	p.mul.across(g.again, l.h.part(0, rows), dl)
	p.mul.across(g.gate, given, dg)
	for i := range rows {
		add(g.bias, dg.row(i))
		add(g.late, dl.row(i)[2*len(g.late):])
	}
}

//go:norace
func add(to, of []float32) {
	to = to[:len(of)]
	for k, v := range of {
		to[k] += v
	}
}

// quiet clears the remains of steps that not every sequence has.
func (p *pass) quiet() {
	rows := p.steps * p.n
	clear(p.x.v[:rows*p.x.ld])
	for i := range p.layers {
		h := &p.layers[i].h
		clear(h.v[:(rows+p.n)*h.ld])
	}
	clear(p.dlogits.v[:rows*p.dlogits.ld])
	clear(p.dsounds.v[:rows*p.dsounds.ld])
	clear(p.weight.v)
	clear(p.spoken)
}
