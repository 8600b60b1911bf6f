package replay

import (
	"bytes"
	"fmt"
	"os"
	"sort"
	"time"

	"dialler/engine/flight"
	"dialler/engine/run"
)

func (r *Recorder) Cost() {
	os.WriteFile("/tmp/tape.flight", r.tape.bytes.Bytes(), 0o600)
	type c struct {
		n, raw   int
		enc, dig time.Duration
		eff      int
	}
	buf := make([]byte, 1<<20)
	by := map[string]*c{}
	p, _ := flight.Play(bytes.NewReader(r.tape.bytes.Bytes()))
	w := run.Codec().Writer(time.Now())
	for {
		s, err := p.Next()
		if err != nil {
			break
		}
		k := fmt.Sprintf("%T", s.Input.Event)
		x := by[k]
		if x == nil {
			x = &c{}
			by[k] = x
		}
		t0 := time.Now()
		b, _ := w.Variant(buf[:0], s.Input.Event)
		t1 := time.Now()
		flight.Digest(s.Effects)
		x.dig += time.Since(t1)
		x.enc += t1.Sub(t0)
		x.n++
		x.raw += len(b)
		x.eff += len(s.Effects)
		for _, e := range s.Effects {
			k := fmt.Sprintf("  %T", e)
			if by[k] == nil {
				by[k] = &c{}
			}
			t := time.Now()
			flight.Digest([]run.Effect{e})
			by[k].dig += time.Since(t)
			by[k].n++
		}
	}
	var names []string
	for k := range by {
		names = append(names, k)
	}
	sort.Slice(names, func(i, j int) bool { return by[names[i]].enc+by[names[i]].dig > by[names[j]].enc+by[names[j]].dig })
	for _, k := range names {
		x := by[k]
		fmt.Printf("%-28s n %6d raw %8d enc %v (%v each) dig %v (%v each) effects %d\n", k, x.n, x.raw, x.enc, x.enc/time.Duration(x.n), x.dig, x.dig/time.Duration(x.n), x.eff)
	}
}
