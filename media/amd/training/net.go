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

// pass is one run over a batch of sequences, forwards and back. Row t·n+i is
// step t of sequence i; sequences are sorted, the longest first, and at step t
// the first active[t] of them are still on.
type pass struct {
	n, steps int
	active   []int
	x        matrix // steps·n × Inputs
	class    []int  // of each sequence
	weight   matrix // steps × n: what a step counts

	f, gx, h, late, logits matrix // forwards; gx becomes the gates, late what the reset is applied to
	df, dg, dl, dlogits    matrix
	dh, dnext              matrix
	gradient               *weights
	turned                 *weights // transposed copies
	gateT, againT, outT    matrix
}

func newPass(n, steps int) *pass {
	p := &pass{n: n}
	rows := n * steps
	p.x, p.f, p.gx, p.h = newMatrix(rows, amd.Inputs), newMatrix(rows, amd.Hidden), newMatrix(rows, netGates), newMatrix(rows+n, amd.Memory)
	p.late, p.logits = newMatrix(rows, netGates), newMatrix(rows, netOut)
	p.df, p.dg, p.dl, p.dlogits = newMatrix(rows, amd.Hidden), newMatrix(rows, netGates), newMatrix(rows, netGates), newMatrix(rows, netOut)
	p.dh, p.dnext = newMatrix(n, amd.Memory), newMatrix(n, amd.Memory)
	p.class, p.active = make([]int, n), make([]int, steps)
	p.weight = newMatrix(steps, n)
	p.gradient = newWeights()
	p.gateT, p.againT, p.outT = newMatrix(netGates, amd.Hidden), newMatrix(netGates, amd.Memory), newMatrix(netOut, amd.Memory)
	return p
}

func transpose(to, from matrix) {
	for i := range from.rows {
		for j, v := range from.row(i) {
			to.v[j*to.ld+i] = v
		}
	}
}

// forward runs the net over the first steps.
func (p *pass) forward(w *weights) {
	const m = amd.Memory
	clear(p.h.v[:p.n*m])
	rows := p.steps * p.n
	x, f, gx := p.x.part(0, rows), p.f.part(0, rows), p.gx.part(0, rows)
	spread(f, w.inBias())
	multiply(f, x, w.in, false)
	for i, v := range f.v {
		f.v[i] = max(0, v)
	}
	spread(gx, w.gateBias())
	multiply(gx, f, w.gate, false)
	for t := range p.steps {
		on := p.active[t]
		h, next := p.h.part(t*p.n, on), p.h.part((t+1)*p.n, on)
		late := p.late.part(t*p.n, on)
		clear(late.v)
		multiply(late, h, w.again, false)
		for i := range on {
			g, l, before, after := p.gx.row(t*p.n+i), late.row(i), h.row(i), next.row(i)
			for k := range m {
				z := logistic(g[k] + l[k])
				r := logistic(g[m+k] + l[m+k])
				l[2*m+k] += w.late()[k]
				c := tangent(g[2*m+k] + float32(r*l[2*m+k]))
				g[k], g[m+k], g[2*m+k] = z, r, c
				after[k] = c + float32(z*(before[k]-c))
			}
		}
	}
	logits := p.logits.part(0, rows)
	spread(logits, w.outBias())
	multiply(logits, p.h.part(p.n, rows), w.out, false)
}

func spread(to matrix, bias []float32) {
	for i := range to.rows {
		copy(to.row(i), bias)
	}
}

// smoothing is what is taken from the right class for the others: who answered
// is never quite sure.
const smoothing = 0.04

// loss gives the cross entropy, and its slopes in dlogits.
func (p *pass) loss() float64 {
	sum := 0.0
	for t := range p.steps {
		for i := range p.active[t] {
			l, d := p.logits.row(t*p.n+i), p.dlogits.row(t*p.n+i)
			weight := p.weight.row(t)[i]
			top := max(l[0], l[1], l[2])
			var e [amd.Classes]float32
			var total float32
			for k := range e {
				e[k] = exponential(l[k] - top)
				total += e[k]
			}
			for k := range e {
				want := float32(smoothing / amd.Classes)
				if k == p.class[i] {
					want += 1 - smoothing
				}
				q := e[k] / total
				d[k] = weight * (q - want)
				sum -= float64(weight*want) * math.Log(float64(q)+1e-9)
			}
		}
	}
	return sum
}

// backward adds up the gradient.
func (p *pass) backward(w *weights) {
	const m = amd.Memory
	transpose(p.gateT, w.gate)
	transpose(p.againT, w.again)
	transpose(p.outT, w.out)
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
		multiply(dh, p.dlogits.part(t*p.n, on), p.outT, false)
		dnext := p.dnext.part(0, on)
		for i := range on {
			at := t*p.n + i
			gate, late, before := p.gx.row(at), p.late.row(at), p.h.row(at)
			dgate, dlate, dafter, dbefore := p.dg.row(at), p.dl.row(at), dh.row(i), dnext.row(i)
			for k := range m {
				z, r, c, d := gate[k], gate[m+k], gate[2*m+k], dafter[k]
				dz := float32(d*(before[k]-c)) * z * (1 - z)
				dc := float32(d*(1-z)) * (1 - float32(c*c))
				dr := float32(dc*late[2*m+k]) * r * (1 - r)
				dgate[k], dgate[m+k], dgate[2*m+k] = dz, dr, dc
				dlate[k], dlate[m+k], dlate[2*m+k] = dz, dr, dc*r
				dbefore[k] = d * z
			}
		}
		multiply(dnext, p.dl.part(t*p.n, on), p.againT, false)
		copy(dh.v, dnext.v)
	}
	h := p.h.part(0, rows)
	multiply(g.again, h, dl, true)
	multiply(g.out, p.h.part(p.n, rows), p.dlogits.part(0, rows), true)
	f, df := p.f.part(0, rows), p.df.part(0, rows)
	multiply(g.gate, f, dg, true)
	clear(df.v)
	multiply(df, dg, p.gateT, false)
	for i, v := range f.v {
		if v <= 0 {
			df.v[i] = 0
		}
	}
	multiply(g.in, p.x.part(0, rows), df, true)
	for i := range rows {
		for k, v := range df.row(i) {
			g.inBias()[k] += v
		}
		for k, v := range dg.row(i) {
			g.gateBias()[k] += v
		}
		for k, v := range dl.row(i)[2*m:] {
			g.late()[k] += v
		}
		for k, v := range p.dlogits.row(i) {
			g.outBias()[k] += v
		}
	}
}

// quiet clears what steps leave that are not on in every sequence.
func (p *pass) quiet() {
	rows := p.steps * p.n
	clear(p.x.v[:rows*p.x.ld])
	clear(p.h.v)
	clear(p.dlogits.v)
}

// exponential is e to the x, of operations that are the same on any machine.
func exponential(x float32) float32 {
	x = min(80, max(-80, x))
	n := float32(math.Floor(float64(float32(x*1.44269504) + 0.5)))
	x -= float32(n * 0.693359375)
	x -= float32(n * -2.12194440e-4)
	y := float32(1.9875691500e-4*x) + 1.3981999507e-3
	y = float32(y*x) + 8.3334519073e-3
	y = float32(y*x) + 4.1665795894e-2
	y = float32(y*x) + 1.6666665459e-1
	y = float32(y*x) + 5.0000001201e-1
	y = float32(float32(y*x)*x) + x + 1
	return y * math.Float32frombits(uint32(127+int32(n))<<23) //nolint:gosec // between 12 and 242
}

func logistic(x float32) float32 { return 1 / (1 + exponential(-x)) }

func tangent(x float32) float32 { return float32(2*logistic(2*x)) - 1 }
