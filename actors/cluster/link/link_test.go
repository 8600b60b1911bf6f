package link

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

// Whatever the network loses, duplicates and delays, however often it is cut, and even if one side
// restarts: what one incarnation tells another arrives once and in order, and a question reported
// as not sent was never heard.
func TestEachMessageArrivesOnceAndInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		lose, twice := rapid.IntRange(0, 60).Draw(rt, "lost"), rapid.IntRange(0, 50).Draw(rt, "twice")
		delay := time.Duration(rapid.IntRange(1, 2000).Draw(rt, "delay")) * time.Millisecond
		steps := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 120).Draw(rt, "steps")
		var wrong []string
		bubble(t, func(t *testing.T) {
			n := newNetwork(seed)
			defer n.close()
			a, life := n.join(1, 0), engine.Incarnation(2)
			lives := map[engine.Incarnation]*heard{}
			back := &heard{}
			a.On("n", back.take)
			begin := func() *Links {
				b := n.join(life, 0)
				lives[life] = &heard{}
				b.On("n", lives[life].take)
				return b
			}
			b := begin()
			told, toldBack := map[engine.Incarnation][]int{}, map[engine.Incarnation][]int{}
			type question struct {
				asking
				n  int
				to engine.Incarnation
			}
			var asked []*question
			n.set(lose, twice, delay, false)
			for i, s := range steps {
				switch s {
				case 0, 1, 2:
					a.To(life).Tell("n", 10*time.Millisecond, true, say(i))
					told[life] = append(told[life], i)
				case 3:
					b.To(1).Tell("n", 0, true, say(i))
					toldBack[life] = append(toldBack[life], i)
				case 4, 5:
					q := &question{n: i, to: life}
					asked = append(asked, q)
					a.To(life).Ask(Question{Name: "n", Within: 3 * time.Second, Leave: time.Second,
						Say: say(i), Then: q.then})
				case 6:
					n.set(lose, twice, delay, true)
				case 7:
					n.set(lose, twice, delay, false)
				case 8:
					time.Sleep(time.Duration(i%40) * 100 * time.Millisecond)
				case 9:
					if i%3 != 0 {
						continue
					}
					n.mu.Lock()
					delete(n.nodes, life)
					n.mu.Unlock()
					b.Close()
					a.Gone(life)
					delete(told, life) // it need not have received everything it was told
					life++
					b = begin()
				}
			}
			n.set(0, 0, time.Millisecond, false)
			pause(5 * time.Minute)
			for id, h := range lives {
				var only []int
				for _, v := range h.list() {
					if !slices.ContainsFunc(asked, func(q *question) bool { return q.n == v }) {
						only = append(only, v)
					}
				}
				if want, alive := told[id]; (alive || id == life) && !slices.Equal(only, want) {
					wrong = append(wrong, fmt.Sprintf("%d was told %v and heard %v", id, want, only))
				}
				if all := h.list(); !slices.IsSorted(all) || len(slices.Compact(all)) != len(h.list()) {
					wrong = append(wrong, fmt.Sprintf("%d heard %v", id, h.list()))
				}
			}
			for id := range lives { // an ended incarnation may have received only the beginning
				got, want := back.of(id), toldBack[id]
				if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) || id == life && len(got) < len(want) {
					wrong = append(wrong, fmt.Sprintf("%d told %v and was heard to say %v", id, want, got))
				}
			}
			for _, q := range asked {
				heard := slices.Contains(lives[q.to].list(), q.n)
				switch {
				case q.times != 1:
					wrong = append(wrong, fmt.Sprintf("question %d ended %d times", q.n, q.times))
				case q.err == nil && q.got != q.n+1:
					wrong = append(wrong, fmt.Sprintf("question %d was answered %d", q.n, q.got))
				case errors.Is(q.err, ErrNotSent) && heard:
					wrong = append(wrong, fmt.Sprintf("question %d did not leave, and was heard", q.n))
				}
			}
		})
		if len(wrong) > 0 {
			rt.Fatal(wrong)
		}
	})
}

func TestACutOfThirteenSecondsLosesNothingAndBringsNoOldQuestion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		var h heard
		b.On("n", h.take)
		l := a.To(2)
		var first, during asking
		l.Ask(Question{Name: "n", Within: time.Second, Say: say(1), Then: first.then})
		pause(time.Second)
		n.set(0, 0, 0, true)
		began := time.Now()
		l.Tell("n", 0, true, say(2))
		pause(2 * time.Second)
		l.Ask(Question{Name: "n", Within: 5 * time.Second, Leave: time.Second, Say: say(3), Then: during.then})
		pause(11 * time.Second)
		n.set(0, 0, 0, false)
		pause(time.Second)
		l.Tell("n", 0, true, say(4))
		pause(time.Second)
		if got := h.list(); !slices.Equal(got, []int{1, 2, 4}) {
			t.Errorf("heard %v", got)
		}
		if first.got != 2 || !errors.Is(during.err, ErrNotSent) || during.at.Sub(began) != 3*time.Second {
			t.Errorf("before %d, %v; meanwhile %v after %s", first.got, first.err, during.err, during.at.Sub(began))
		}
	})
}

func TestWhatIsToldAfterAllElseWasWithdrawnArrives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		var h heard
		b.On("n", h.take)
		n.set(0, 0, 0, true)
		var q asking
		a.To(2).Ask(Question{Name: "n", Within: time.Second, Say: say(1), Then: q.then})
		pause(3 * time.Second)
		a.To(2).Tell("n", time.Millisecond, true, say(2))
		pause(5 * time.Minute)
		n.set(0, 0, 0, false)
		pause(time.Minute)
		if got := h.list(); !slices.Equal(got, []int{2}) || !errors.Is(q.err, ErrNotSent) {
			t.Errorf("heard %v, the question: %v", got, q.err)
		}
	})
}

func TestAQuestionThatLeftAndIsNotAnsweredMayHaveBeenCarriedOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		b.On("deaf", func(s *Said) { s.Skip() })
		var silent, unknown asking
		a.To(2).Ask(Question{Name: "deaf", Within: time.Second, Say: say(1), Then: silent.then})
		a.To(2).Ask(Question{Name: "sing", Within: time.Second, Say: say(1), Then: unknown.then})
		pause(time.Minute)
		if !errors.Is(silent.err, ErrSilent) || engine.ErrorCode(unknown.err) != "method_unknown" {
			t.Errorf("%v, %v", silent.err, unknown.err)
		}
	})
}

func TestWhoIsAskedForAnEarlierLifeSaysThatItIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a := n.join(1, 0)
		again := n.join(3, 0)
		n.nodes[2] = again // same address as the incarnation before
		var h heard
		again.On("n", h.take)
		var q asking
		began := time.Now()
		a.To(2).Ask(Question{Name: "n", Within: time.Minute, Say: say(1), Then: q.then})
		pause(time.Minute)
		if !errors.Is(q.err, ErrOver) || q.at.Sub(began) > time.Second || len(h.list()) != 0 {
			t.Errorf("%v after %s, heard %v", q.err, q.at.Sub(began), h.list())
		}
	})
}

// A later release that no longer speaks this version is refused, and refuses this one; a release
// that still speaks it is understood.
func TestNodesSpeakTheLatestVersionInCommonOrNotAtAll(t *testing.T) {
	for _, c := range []struct {
		speaks, since uint64
		refused       bool
	}{{Version, Oldest, false}, {Oldest, Oldest, false}, {Version + 3, Oldest, false}, {Version + 3, Version + 1, true}} {
		bubble(t, func(t *testing.T) {
			n := newNetwork(1)
			defer n.close()
			a, b := n.join(1, 0), n.join(2, 0)
			n.edit = func(sent []byte) []byte {
				f, err := decodeFrame(sent)
				if err != nil {
					return sent
				}
				if f.from == 2 {
					f.speaks, f.since = c.speaks, c.since
				}
				return f.encode()
			}
			var h heard
			b.On("n", h.take)
			var q asking
			l := a.To(2)
			l.Ask(Question{Name: "n", Within: time.Minute, Say: say(1), Then: q.then})
			l.Tell("n", 0, true, say(2))
			pause(time.Minute)
			l.Ready()
			pause(time.Second)
			refused := errors.Is(q.err, ErrVersion)
			if refused != c.refused || l.Ready() == c.refused || (len(h.list()) == 0) != c.refused {
				t.Errorf("%d to %d: %v, heard %v", c.since, c.speaks, q.err, h.list())
			}
			if l.Speaks(Version) != (!c.refused && c.speaks >= Version) {
				t.Errorf("%d to %d: speaks the latest: %v", c.since, c.speaks, l.Speaks(Version))
			}
			if a.Waiting(2) != 0 {
				t.Errorf("%d bytes wait", a.Waiting(2))
			}
		})
	}
}

func TestWhatWaitsForANodeIsBoundedAndDroppedOnceItIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a := n.join(1, 1000)
		l := a.To(2) // nobody
		told := 0
		for !l.Tell("n", 0, false, say(told)) {
			told++
		}
		var q asking
		l.Ask(Question{Name: "n", Within: time.Second, Say: say(1), Then: q.then})
		if w := a.Waiting(2); w < 1000 || w > 1100 || !errors.Is(q.err, ErrNotSent) {
			t.Errorf("%d bytes wait, a question: %v", w, q.err)
		}
		if l.Tell("n", 0, true, say(1)); a.Waiting(2) < 1000 {
			t.Error("what must be told was dropped")
		}
		a.Gone(2)
		pause(time.Minute)
		if w := a.Waiting(2); w != 0 {
			t.Errorf("%d bytes wait for who is gone", w)
		}
	})
}

func TestWhatIsTooLargeHoldsNothingUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		var h heard
		b.On("n", h.take)
		large := func(w *Wire) { b := make([]byte, FrameCap); w.Octets(&b) }
		var q asking
		if l := a.To(2); !l.Tell("n", 0, true, large) {
			t.Error("it was taken")
		}
		a.To(2).Ask(Question{Name: "n", Within: time.Second, Say: large, Then: q.then})
		a.To(2).Tell("n", 0, true, say(1))
		pause(time.Second)
		if got := h.list(); !slices.Equal(got, []int{1}) || !errors.Is(q.err, ErrTooLarge) {
			t.Errorf("heard %v, the question: %v", got, q.err)
		}
	})
}

func TestAConnectionThatBrokeIsDoubtedBeforeAnythingIsSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		var h heard
		b.On("n", h.take)
		var before, after asking
		a.To(2).Ask(Question{Name: "n", Within: time.Second, Say: say(1), Then: before.then})
		pause(100 * time.Millisecond)
		n.set(0, 0, 0, true) // it died
		a.Broken(func(id engine.Incarnation) bool { return id == 2 })
		a.To(2).Ask(Question{Name: "n", Within: 10 * time.Second, Leave: time.Second, Say: say(2), Then: after.then})
		pause(time.Minute)
		if before.err != nil || !errors.Is(after.err, ErrNotSent) {
			t.Errorf("%v, %v", before.err, after.err)
		}
	})
}

// A process that restarted at the address of the one that was asked says that it is another one:
// what had been sent may have been carried out anyway.
func TestAQuestionThatLeftForALifeThatIsOverMayHaveBeenCarriedOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		var h heard
		b.On("deaf", func(s *Said) { s.Skip(); h.take(s) })
		var left, waits asking
		a.To(2).Ask(Question{Name: "deaf", Within: time.Minute, Say: say(1), Then: left.then})
		pause(time.Second)
		n.nodes[2] = n.join(3, 0)
		a.Broken(func(id engine.Incarnation) bool { return id == 2 })
		a.To(2).Ask(Question{Name: "deaf", Within: time.Minute, Say: say(2), Then: waits.then})
		pause(2 * time.Minute)
		if !errors.Is(left.err, ErrSilent) || !errors.Is(waits.err, ErrOver) {
			t.Errorf("what left: %v, what did not: %v", left.err, waits.err)
		}
	})
}

func TestAQuestionThatMustBeAskedWaitsThoughTheLinkIsFull(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 1000), n.join(2, 0)
		b.On("n", func(s *Said) { s.Skip(); s.Answer(nil, 0, nil) })
		n.set(0, 0, 0, true)
		l := a.To(2)
		for !l.Tell("n", 0, false, say(1)) {
		}
		var q asking
		l.Ask(Question{Name: "n", Within: time.Minute, Must: true, Say: say(1), Then: q.then})
		pause(time.Second)
		n.set(0, 0, 0, false)
		pause(30 * time.Second)
		if q.err != nil || q.at.IsZero() {
			t.Errorf("%v", q.err)
		}
	})
}

func TestAQuestionThatEndedWithTheLeaseIsNotCarriedOutLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		var h heard
		b.On("n", h.take)
		n.set(0, 0, 0, true)
		gone := errors.New("gone")
		var q asking
		a.To(2).Use(1)
		a.To(2).Ask(Question{Name: "n", Gone: gone, Say: say(1), Then: q.then})
		pause(time.Second)
		a.Gone(2)
		n.set(0, 0, 0, false)
		pause(time.Minute)
		if !errors.Is(q.err, gone) || len(h.list()) != 0 {
			t.Errorf("%v, heard %v", q.err, h.list())
		}
	})
}

func TestTwoThatGreetEachOtherDoSoOncePerBeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := newNetwork(1)
		defer n.close()
		a, b := n.join(1, 0), n.join(2, 0)
		frames := 0
		n.edit = func(sent []byte) []byte { frames++; return sent }
		a.To(2).Ready()
		b.To(1).Ready()
		pause(30 * time.Second)
		if frames > 30*2*6 {
			t.Errorf("%d frames in 30 s, and nothing is said", frames)
		}
	})
}
