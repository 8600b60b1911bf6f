package training

import (
	"math"
	"math/rand/v2"

	"dialler/media/amd"
)

const (
	netGates = 3 * amd.Memory
	// netOut is the columns of the last layer: of them amd.Classes are used.
	netOut = 16
)

// weights of a net, or what is to be added to them: matrices a row per input,
// so that steps of many recordings are multiplied with them at once.
type weights struct {
	in, gate, again, out matrix
	biases               matrix // rows: in, gates, late, out
	all                  []float32
}

func newWeights() *weights {
	sizes := [][2]int{{amd.Inputs, amd.Hidden}, {amd.Hidden, netGates}, {amd.Memory, netGates}, {amd.Memory, netOut}, {4, netGates}}
	total := 0
	for _, s := range sizes {
		total += s[0] * s[1]
	}
	w := &weights{all: make([]float32, total)}
	at := 0
	for i, m := range []*matrix{&w.in, &w.gate, &w.again, &w.out, &w.biases} {
		n := sizes[i][0] * sizes[i][1]
		*m = matrix{sizes[i][0], sizes[i][1], sizes[i][1], w.all[at : at+n]}
		at += n
	}
	return w
}

func (w *weights) inBias() []float32   { return w.biases.row(0)[:amd.Hidden] }
func (w *weights) gateBias() []float32 { return w.biases.row(1) }
func (w *weights) late() []float32     { return w.biases.row(2)[:amd.Memory] }
func (w *weights) outBias() []float32  { return w.biases.row(3)[:netOut] }

func randomWeights(seed uint64) *weights {
	r := rand.New(rand.NewPCG(seed, 17)) //nolint:gosec // reproducible, no secret
	w := newWeights()
	fill := func(m matrix, scale float64) {
		size := scale / math.Sqrt(float64(m.rows))
		for i := range m.v {
			m.v[i] = float32(size * r.NormFloat64())
		}
	}
	fill(w.in, 1.4)
	fill(w.gate, 1)
	fill(w.again, 0.7)
	fill(w.out, 0.5)
	for i := range amd.Memory {
		w.gateBias()[i] = 1 // it remembers at first
	}
	return w
}

// net gives the weights as the classifier reads them.
func (w *weights) net() *amd.Net {
	n := new(amd.Net)
	for i := range amd.Hidden {
		for k := range amd.Inputs {
			n.In[i][k] = w.in.row(k)[i]
		}
	}
	copy(n.InBias[:], w.inBias())
	for i := range netGates {
		for k := range amd.Hidden {
			n.Gate[i][k] = w.gate.row(k)[i]
		}
		for k := range amd.Memory {
			n.Again[i][k] = w.again.row(k)[i]
		}
	}
	copy(n.Bias[:], w.gateBias())
	copy(n.Late[:], w.late())
	for i := range amd.Classes {
		for k := range amd.Memory {
			n.Out[i][k] = w.out.row(k)[i]
		}
	}
	copy(n.OutBias[:], w.outBias())
	return n
}

// weightsOf are those of a net that is learned on with, its inputs brought to the
// size of a norm.
func weightsOf(n *amd.Net, size *norm, seed uint64) *weights {
	w := randomWeights(seed) // what a net does not keep is learned anew
	for i := range amd.Hidden {
		bias := n.InBias[i]
		for k := range amd.Inputs {
			bias += float32(n.In[i][k] * size.mean[k])
			w.in.row(k)[i] = n.In[i][k] / size.scale[k]
		}
		w.inBias()[i] = bias
	}
	for i := range netGates {
		for k := range amd.Hidden {
			w.gate.row(k)[i] = n.Gate[i][k]
		}
		for k := range amd.Memory {
			w.again.row(k)[i] = n.Again[i][k]
		}
	}
	copy(w.gateBias(), n.Bias[:])
	copy(w.late(), n.Late[:])
	for i := range amd.Classes {
		for k := range amd.Memory {
			w.out.row(k)[i] = n.Out[i][k]
		}
	}
	copy(w.outBias(), n.OutBias[:])
	return w
}

// packed are weights as sequences are multiplied with them, forwards and back.
type packed struct{ in, gate, again, out, gateT, againT, outT panels }

func newPacked() *packed {
	return &packed{
		in: newPanels(amd.Inputs, amd.Hidden), gate: newPanels(amd.Hidden, netGates), again: newPanels(amd.Memory, netGates), out: newPanels(amd.Memory, netOut),
		gateT: newPanels(netGates, amd.Hidden), againT: newPanels(netGates, amd.Memory), outT: newPanels(netOut, amd.Memory),
	}
}

func (p *packed) of(w *weights) {
	p.in.of(w.in)
	p.gate.of(w.gate)
	p.again.of(w.again)
	p.out.of(w.out)
	p.gateT.of(transposed(w.gate))
	p.againT.of(transposed(w.again))
	p.outT.of(transposed(w.out))
}

//go:norace
func transposed(m matrix) matrix {
	t := newMatrix(m.cols, m.rows)
	for i := range m.rows {
		for j, v := range m.row(i) {
			t.v[j*t.ld+i] = v
		}
	}
	return t
}

// pass is one run over sequences, forwards and back. Row t·n+i is
// step t of sequence i; sequences are sorted, the longest first, and at step t
// the first active[t] of them are still on.
type pass struct {
	n, steps int
	active   []int
	x        matrix // steps·n × Inputs
	class    []int  // of each sequence
	kind     []int  // of each sequence: what is learned beside, 0 is nothing
	weight   matrix // steps × n: what a step counts

	f, gx, h, late, logits matrix // forwards; gx becomes the gates, late what the reset is applied to
	df, dg, dl, dlogits    matrix
	dh, dnext              matrix
	gradient               *weights
	mul                    *product
	lost, counted          float64 // of loss: the sum, and the weights in it
}

func newPass(n, steps int) *pass {
	p := &pass{n: n}
	rows := n * steps
	p.x, p.f, p.gx, p.h = newMatrix(rows, amd.Inputs), newMatrix(rows, amd.Hidden), newMatrix(rows, netGates), newMatrix(rows+n, amd.Memory)
	p.late, p.logits = newMatrix(rows, netGates), newMatrix(rows, netOut)
	p.df, p.dg, p.dl, p.dlogits = newMatrix(rows, amd.Hidden), newMatrix(rows, netGates), newMatrix(rows, netGates), newMatrix(rows, netOut)
	p.dh, p.dnext = newMatrix(n, amd.Memory), newMatrix(n, amd.Memory)
	p.class, p.kind, p.active = make([]int, n), make([]int, n), make([]int, steps)
	p.weight = newMatrix(steps, n)
	p.gradient, p.mul = newWeights(), newProduct(max(amd.Inputs, amd.Hidden, amd.Memory), netGates)
	return p
}

// forward runs the net over the first steps.
func (p *pass) forward(w *weights, k *packed) {
	const m = amd.Memory
	clear(p.h.v[:p.n*m])
	rows := p.steps * p.n
	x, f, gx := p.x.part(0, rows), p.f.part(0, rows), p.gx.part(0, rows)
	spread(f, w.inBias())
	p.mul.times(f, x, &k.in)
	for i, v := range f.v {
		f.v[i] = max(0, v)
	}
	spread(gx, w.gateBias())
	p.mul.times(gx, f, &k.gate)
	for t := range p.steps {
		on := p.active[t]
		h, next := p.h.part(t*p.n, on), p.h.part((t+1)*p.n, on)
		late := p.late.part(t*p.n, on)
		clear(late.v)
		p.mul.times(late, h, &k.again)
		for i := range on {
			gates(gx.row(t*p.n+i), late.row(i), h.row(i), next.row(i), w.late())
		}
	}
	logits := p.logits.part(0, rows)
	spread(logits, w.outBias())
	p.mul.times(logits, p.h.part(p.n, rows), &k.out)
}

// gates turns what the gates are given into the gates, and what was remembered
// into what is remembered next; late becomes what the reset is applied to.
func gates(gate, late, before, after, bias []float32) {
	const m = amd.Memory
	if vectors {
		_, _, _, _, _ = gate[3*m-1], late[3*m-1], before[m-1], after[m-1], bias[m-1]
		gatesOf(&gate[0], &late[0], &before[0], &after[0], &bias[0], m)
		return
	}
	plainGates(gate, late, before, after, bias)
}

func plainGates(gate, late, before, after, bias []float32) {
	const m = amd.Memory
	for k := range m {
		z := logistic(gate[k] + late[k])
		r := logistic(gate[m+k] + late[m+k])
		late[2*m+k] += bias[k]
		c := tangent(gate[2*m+k] + float32(r*late[2*m+k]))
		gate[k], gate[m+k], gate[2*m+k] = z, r, c
		after[k] = c + float32(z*(before[k]-c))
	}
}

// slopes is the way back through gates.
func slopes(gate, late, before, after, dgate, dlate, dbefore []float32) {
	const m = amd.Memory
	if vectors {
		_, _, _, _ = gate[3*m-1], late[3*m-1], before[m-1], after[m-1]
		_, _, _ = dgate[3*m-1], dlate[3*m-1], dbefore[m-1]
		slopesOf(&gate[0], &late[0], &before[0], &after[0], &dgate[0], &dlate[0], &dbefore[0], m)
		return
	}
	plainSlopes(gate, late, before, after, dgate, dlate, dbefore)
}

func plainSlopes(gate, late, before, after, dgate, dlate, dbefore []float32) {
	const m = amd.Memory
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

// smoothing is what is taken from the right class for the others: who answered
// is never quite sure.
const smoothing = 0.04

// beside is what the kinds of greetings count that are learned beside the
// classes: what a net learns of them helps it to tell the classes apart.
const beside = 0.3

// loss gives the cross entropy, and its slopes in dlogits.
func (p *pass) loss() {
	p.lost, p.counted = 0, 0
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
}

// entropy gives that of logits when want is the right one, and its slopes.
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
	dl, dg := p.dl.part(0, rows), p.dg.part(0, rows)
	clear(dl.v)
	clear(dg.v)
	clear(p.dh.v)
	for t := p.steps - 1; t >= 0; t-- {
		on := p.active[t]
		dh := p.dh.part(0, on)
		p.mul.times(dh, p.dlogits.part(t*p.n, on), &k.outT)
		dnext := p.dnext.part(0, on)
		for i := range on {
			at := t*p.n + i
			slopes(p.gx.row(at), p.late.row(at), p.h.row(at), dh.row(i), p.dg.row(at), p.dl.row(at), dnext.row(i))
		}
		p.mul.times(dnext, p.dl.part(t*p.n, on), &k.againT)
		copy(dh.v, dnext.v)
	}
	p.mul.across(g.again, p.h.part(0, rows), dl)
	p.mul.across(g.out, p.h.part(p.n, rows), p.dlogits.part(0, rows))
	f, df := p.f.part(0, rows), p.df.part(0, rows)
	p.mul.across(g.gate, f, dg)
	clear(df.v)
	p.mul.times(df, dg, &k.gateT)
	for i, v := range f.v {
		if v <= 0 {
			df.v[i] = 0
		}
	}
	p.mul.across(g.in, p.x.part(0, rows), df)
	for i := range rows {
		add(g.inBias(), df.row(i))
		add(g.gateBias(), dg.row(i))
		add(g.late(), dl.row(i)[2*amd.Memory:])
		add(g.outBias(), p.dlogits.row(i))
	}
}

//go:norace
func add(to, of []float32) {
	to = to[:len(of)]
	for k, v := range of {
		to[k] += v
	}
}

// quiet clears what steps leave that are not on in every sequence.
func (p *pass) quiet() {
	rows := p.steps * p.n
	clear(p.x.v[:rows*p.x.ld])
	clear(p.h.v[:rows*p.h.ld+p.n*p.h.ld])
	clear(p.dlogits.v[:rows*p.dlogits.ld])
	clear(p.weight.v)
}

// exponential is what the classifier has, for both to say the same.
func exponential(x float32) float32 { return amd.Exponential(x) }

func logistic(x float32) float32 { return 1 / (1 + exponential(-x)) }

func tangent(x float32) float32 { return float32(2*logistic(2*x)) - 1 }
