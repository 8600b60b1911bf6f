package botlink

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// talker is a bot that says utterances in real time, in chunks of a size, each up to a jitter late.
type talker struct {
	chunk, jitter, phase int // bytes, ms, ms of the ticks
	rng                  *rand.Rand
}

const (
	spoken = 3 * 8000 // bytes of an utterance
	paused = 1500     // ms between two
)

// utterance is what an utterance became: its frames joined, and the delay of each byte.
type utterance struct {
	sound  []byte
	broken int // ticks of silence between its first and last frame, and parts of frames before the last
	delay  int // ms from the first byte's arrival to its being played
	held   int // ticks for which nothing was played
}

// talk plays n utterances.
func (k *talker) talk(n int) (out []utterance) {
	p, buf, now := playout{cap: 1 << 20}, make([]byte, FrameBytes), 0
	said := byte(0)
	for range n {
		began, h, rest := now, utterance{delay: -1}, bytes.Repeat([]byte{0}, spoken)
		said++
		for i := range rest {
			rest[i] = said + byte(i%200)
		}
		gap := 0 // ticks of silence since the last frame
		at := began
		for ; len(rest) > 0 || now < at+paused; now++ {
			// A chunk leaves once its last byte was spoken, and arrives behind those before it.
			for size := min(k.chunk, len(rest)); size > 0 && now >= at; size = min(k.chunk, len(rest)) {
				p.push(rest[:size])
				rest = rest[size:]
				done := spoken - len(rest)
				at = max(at, began+done/8+k.rng.IntN(k.jitter+1))
			}
			if now%20 != k.phase {
				continue
			}
			take, hold := p.ready()
			switch {
			case take:
				got := p.pop(buf)
				if h.delay < 0 {
					h.delay = now - began
				} else if h.broken += gap; len(h.sound)%FrameBytes != 0 {
					h.broken++
				}
				h.sound, gap = append(h.sound, buf[:got]...), 0
			case hold:
				h.held++
			default:
				gap++
			}
		}
		out = append(out, h)
	}
	return out
}

// TestABotsUtteranceIsPlayedUnbroken plays the audio of bots with every size of chunk and up to 60 ms
// of jitter: between the first and the last byte of an utterance there is nothing else.
func TestABotsUtteranceIsPlayedUnbroken(t *testing.T) {
	for _, chunk := range []int{100, 160, 264, 800} {
		for _, jitter := range []int{0, 15, 30, 60} {
			for seed := range uint64(10) {
				k := talker{chunk, jitter, int(seed * 7 % 20), rand.New(rand.NewPCG(seed, 1))}
				for i, h := range k.talk(4) {
					if h.broken > 0 || len(h.sound) != spoken {
						t.Fatalf("chunks of %d bytes, %d ms of jitter, seed %d, utterance %d: broken at %d places, %d bytes",
							chunk, jitter, seed, i, h.broken, len(h.sound))
					}
				}
			}
		}
	}
}

// TestABotOnTimeIsNotDelayed checks that only the first frame waits for a second, or for a tick.
func TestABotOnTimeIsNotDelayed(t *testing.T) {
	for phase := range 20 {
		k := talker{160, 0, phase, rand.New(rand.NewPCG(1, 1))}
		for i, h := range k.talk(5) {
			if h.delay > 40 || h.held > holdCap {
				t.Fatalf("utterance %d is played %d ms late, held for %d ticks", i, h.delay, h.held)
			}
		}
		k.chunk = spoken // all of it ahead of time
		for i, h := range k.talk(3) {
			if h.delay >= 20 || h.held > holdCap {
				t.Fatalf("utterance %d is played %d ms late, held for %d ticks", i, h.delay, h.held)
			}
		}
	}
}

// TestTheReserveFollowsTheBot checks that a bot whose audio came too late begins later, so that it
// does not run out again, and without delay once it is on time.
func TestTheReserveFollowsTheBot(t *testing.T) {
	k := talker{160, 60, 0, rand.New(rand.NewPCG(3, 1))}
	late := k.talk(6)
	if first := late[0].held - holdCap; first <= 0 {
		t.Fatal("it never ran out")
	}
	for i, h := range late[2:] {
		if h.held > holdCap+1 { // the end of each utterance waits for more
			t.Errorf("utterance %d ran out again: %d ticks", i+2, h.held)
		}
	}
	p := playout{cap: 1 << 20, reserve: reserveCap}
	frame := make([]byte, 5*FrameBytes)
	for range reserveCap {
		p.push(frame)
		for range 3 { // more comes while two frames are left
			p.ready()
			p.pop(frame[:FrameBytes])
		}
		p.push(frame)
		for i := 0; !p.idle() && i < 100; i++ {
			if take, _ := p.ready(); take {
				p.pop(frame[:FrameBytes])
			}
		}
	}
	if p.push(frame[:FrameBytes]); p.reserve > 1 {
		t.Fatalf("a reserve of %d frames for a bot that is always ahead", p.reserve)
	}
}

func TestWhatIsClearedIsOver(t *testing.T) {
	p := playout{cap: 10000}
	p.push(make([]byte, 480))
	if take, _ := p.ready(); !take {
		t.Fatal("it does not begin")
	}
	p.pop(make([]byte, FrameBytes))
	p.clear()
	if take, hold := p.ready(); take || hold || !p.idle() {
		t.Fatal("it waits for more")
	}
}
