package trunk

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dialler/engine"
)

// line is a carrier and the senders of INVITEs that use a trunk's grants: time passes between a
// grant, its INVITE and the report of it.
type line struct {
	tr      *Trunk
	now     time.Time
	legs    int
	granted map[engine.LegID]grant
	told    map[engine.LegID]time.Time // when the trunk is told that they left
	sent    []time.Time
}

type grant struct {
	from, by time.Time
	remote   bool
}

func newLine(cps int) *line {
	return &line{tr: fresh(cps, 1<<30), now: start, granted: map[engine.LegID]grant{}, told: map[engine.LegID]time.Time{}}
}

// ask returns a leg if one is granted, otherwise when to ask again.
func (l *line) ask(remote bool) (id engine.LegID, ok bool, retry time.Time) {
	l.legs++
	id = leg(l.legs)
	g := grant{by: l.now.Add(time.Hour), remote: remote}
	if remote {
		g.by = l.now.Add(unused)
		ok, _, retry = l.tr.Admit(l.now, id, time.Hour, unused)
	} else {
		ok, _, retry = l.tr.Acquire(l.now, id, time.Hour)
	}
	if ok {
		g.from = l.tr.From(id)
		l.granted[id] = g
	}
	return id, ok, retry
}

// send sends an INVITE if it may leave, and reports it to the trunk later.
func (l *line) send(id engine.LegID, heard time.Duration) (early bool) {
	g := l.granted[id]
	if l.now.Before(g.from) {
		return true
	}
	delete(l.granted, id)
	if l.now.Before(g.by) {
		l.sent = append(l.sent, l.now)
	}
	l.told[id] = l.now.Add(heard)
	return false
}

func (l *line) advance(d time.Duration) {
	end := l.now.Add(d)
	for {
		var first engine.LegID
		for id, at := range l.told {
			if !at.After(end) && (first == "" || at.Before(l.told[first]) || at.Equal(l.told[first]) && id < first) {
				first = id
			}
		}
		if first == "" {
			break
		}
		l.tr.Sent(l.told[first], first)
		delete(l.told, first)
	}
	l.now = end
}

// most is the maximum number of INVITEs within any second.
func (l *line) most() (most int) {
	slices.SortFunc(l.sent, time.Time.Compare)
	first := 0
	for i := range l.sent {
		for l.sent[i].Sub(l.sent[first]) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// However long each INVITE takes from its grant to the wire, and however late the trunk is told, if
// at all, and whichever node keeps the count from some moment on: no more INVITEs leave within any
// second than the cap.
func TestInNoSecondDoMoreInvitesLeaveThanTheCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cps := rapid.IntRange(1, 12).Draw(t, "cps")
		l := newLine(cps)
		ms := func(most int) time.Duration {
			return time.Duration(rapid.IntRange(0, most).Draw(t, "ms")) * time.Millisecond
		}
		for range rapid.IntRange(50, 400).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0, 1, 2, 3:
				l.ask(rapid.Bool().Draw(t, "remote"))
			case 4, 5, 6:
				ids := make([]engine.LegID, 0, len(l.granted))
				for id := range l.granted {
					ids = append(ids, id)
				}
				slices.Sort(ids)
				if rapid.Bool().Draw(t, "all") { // the cause of the delay is over
					for _, id := range ids {
						l.send(id, ms(50))
					}
				} else if len(ids) > 0 {
					l.send(rapid.SampledFrom(ids).Draw(t, "leg"), ms(3000))
				}
			case 7:
				for id, g := range l.granted { // it is never used, and never reported
					if g.remote {
						delete(l.granted, id)
						break
					}
				}
			case 8:
				l.advance(ms(2500))
				continue
			case 9:
				if rapid.IntRange(0, 9).Draw(t, "another keeper") > 0 {
					break
				}
				// It waits until every grant has been used or has expired.
				l.advance(unused - 60*time.Millisecond)
				for id := range maps.Clone(l.granted) {
					l.send(id, 0)
				}
				l.advance(60 * time.Millisecond)
				l.granted, l.told = map[engine.LegID]grant{}, map[engine.LegID]time.Time{}
				l.tr.Recount(l.now)
			}
			l.advance(ms(150))
		}
		if n := l.most(); n > cps {
			t.Fatalf("%d INVITEs left within a second, the cap is %d", n, cps)
		}
	})
}

// Up to half a second between a grant and its INVITE costs no rate.
func TestWhatAnInviteWaitsForCostsNoRate(t *testing.T) {
	f := func(cps int, takes, heard time.Duration, remote bool) {
		t.Helper()
		l := newLine(cps)
		ready := map[engine.LegID]time.Time{}
		retry := start
		for l.now.Before(start.Add(20 * time.Second)) {
			for !retry.After(l.now) {
				id, ok, at := l.ask(remote)
				if retry = at; ok {
					ready[id], retry = l.now.Add(takes), l.now
				}
			}
			for id, at := range ready {
				if !at.After(l.now) && !l.send(id, heard) {
					delete(ready, id)
				}
			}
			l.advance(time.Millisecond)
		}
		if n, least := len(l.sent), 19*cps*96/100; n < least || l.most() > cps {
			t.Errorf("cap %d, %v to the wire, heard after %v: %d INVITEs in 20 s, %d within a second", cps, takes, heard, n,
				l.most())
		}
	}
	for _, remote := range []bool{false, true} {
		f(1, 20*time.Millisecond, 5*time.Millisecond, remote)
		f(6, 50*time.Millisecond, 15*time.Millisecond, remote)
		f(10, 450*time.Millisecond, 15*time.Millisecond, remote)
		f(100, 30*time.Millisecond, 10*time.Millisecond, remote)
	}
}

// Delayed legs leave together once, and are soon spaced again.
func TestLegsThatWereHeldUpAreApartAgain(t *testing.T) {
	const cps = 10
	l := newLine(cps)
	wait := map[engine.LegID]time.Time{}
	retry, stalled := start, start.Add(2*time.Second)
	for l.now.Before(start.Add(12 * time.Second)) {
		for !retry.After(l.now) {
			id, ok, at := l.ask(false)
			if retry = at; ok {
				wait[id], retry = l.now.Add(10*time.Millisecond), l.now
			}
		}
		for id, at := range wait {
			if !at.After(l.now) && !stalled.After(l.now) && !l.send(id, time.Millisecond) {
				delete(wait, id)
			}
		}
		l.advance(time.Millisecond)
	}
	most := func(from time.Time) (n int) { // within 100 ms
		first := 0
		for i := range l.sent {
			for l.sent[i].Sub(l.sent[first]) >= 100*time.Millisecond {
				first++
			}
			if l.sent[first].After(from) {
				n = max(n, i-first+1)
			}
		}
		return n
	}
	if n := l.most(); n != cps {
		t.Errorf("%d INVITEs within a second, the cap is %d", n, cps)
	}
	if n := most(start.Add(8 * time.Second)); n > 2 {
		t.Errorf("%d INVITEs within 100 ms six seconds after they were held up", n)
	}
}

// A missing report of an INVITE is not waited for longer than it may have left.
func TestATokenOfAnotherNodeComesBackWithoutAWord(t *testing.T) {
	l := newLine(1)
	if _, ok, _ := l.ask(true); !ok {
		t.Fatal("the first is refused")
	}
	l.advance(unused + time.Second - lead - time.Millisecond)
	if _, ok, _ := l.ask(true); ok {
		t.Error("granted although the first may have left a moment ago")
	}
	l.advance(time.Millisecond)
	id, ok, _ := l.ask(true)
	if from := l.tr.From(id); !ok || from.Sub(start) != unused+time.Second {
		t.Errorf("granted %v, from %v on", ok, from.Sub(start))
	}
}
