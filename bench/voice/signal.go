package voice

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	speechLevel = 9000 // peak; about -11 dBFS, usual on a telephone line
	lineNoise   = 12   // rms; about -68 dBFS
	toneLevel   = 7000
)

// Hello is a person answering: 0.2–0.5 s of silence, a word of 0.6–1.2 s, and silence up to a whole
// second. Afterwards the person listens: play Quiet.
func Hello(r *rand.Rand) []int16 {
	lead := between(r, 200*time.Millisecond, 500*time.Millisecond)
	word := between(r, 600*time.Millisecond, 1200*time.Millisecond)
	out := make([]int16, (lead+word+Rate)/Rate*Rate)
	speech(r, out[lead:lead+word], pitch(r))
	noise(r, out)
	return out
}

// Greetings end with a beep and half a second of silence.
const (
	beepLength = 400 * time.Millisecond
	afterBeep  = 500 * time.Millisecond

	// BeepFromEnd is how long before the end of a Greeting its beep begins.
	BeepFromEnd = beepLength + afterBeep
)

// Greeting is an answering machine: 4–8 s of sentences with breaths under a
// quarter of a second, a short pause, and a 1000 Hz beep of 0.4 s that begins
// BeepFromEnd before the end.
func Greeting(r *rand.Rand) []int16 {
	lead := between(r, 300*time.Millisecond, 700*time.Millisecond)
	talk := between(r, 4*time.Second, 8*time.Second)
	gap := between(r, 300*time.Millisecond, 800*time.Millisecond)
	beep := samples(beepLength)
	out := make([]int16, lead+talk+gap+beep+samples(afterBeep))
	p := pitch(r)
	for at, end := lead, lead+talk; at < end; {
		sentence := min(end-at, between(r, 900*time.Millisecond, 2500*time.Millisecond))
		speech(r, out[at:at+sentence], p)
		at += sentence + between(r, 80*time.Millisecond, 240*time.Millisecond)
	}
	at := lead + talk + gap
	tone(out[at:at+beep], toneLevel, 1000)
	noise(r, out)
	return out
}

// Utterance is a sentence of about the given length.
func Utterance(r *rand.Rand, length time.Duration) []int16 {
	out := make([]int16, max(FrameSamples, samples(length)/FrameSamples*FrameSamples))
	speech(r, out, pitch(r))
	return out
}

// FaxAnswer is a called fax machine: 0.2 s of silence, CED (2100 Hz, 3 s;
// ITU-T T.30 §4.1.2), 75 ms pause, and a second of V.21 flags (1650 and
// 1850 Hz at 300 bit/s).
func FaxAnswer(r *rand.Rand) []int16 {
	lead, ced, pause := samples(200*time.Millisecond), 3*Rate, samples(75*time.Millisecond)
	out := make([]int16, lead+ced+pause+Rate)
	tone(out[lead:lead+ced], toneLevel, 2100)
	flags := out[lead+ced+pause:]
	phase := 0.0
	for i := range flags {
		bit := i * 300 / Rate % 8
		hz := 1650.0 // mark
		if bit == 0 || bit == 7 {
			hz = 1850 // the zeros of 01111110
		}
		phase += 2 * math.Pi * hz / Rate
		flags[i] = clip16(toneLevel * math.Sin(phase))
	}
	noise(r, out)
	return out
}

// SIT is the three special information tones (ITU-T E.180 §9) of an
// intercepted number, followed by a spoken notice.
func SIT(r *rand.Rand) []int16 {
	out := make([]int16, 5*Rate)
	at := samples(100 * time.Millisecond)
	for _, t := range []struct {
		hz float64
		ms int
	}{{985.2, 380}, {1428.5, 276}, {1776.7, 380}} {
		n := Rate * t.ms / 1000
		tone(out[at:at+n], toneLevel, t.hz)
		at += n
	}
	at += samples(300 * time.Millisecond)
	speech(r, out[at:at+3*Rate], pitch(r))
	noise(r, out)
	return out
}

// Keys are the tones of pressed keys (ITU-T Q.23), 0-9, *, # and A-D: 100 ms each, with a pause as long
// before it.
func Keys(pressed string) []int16 {
	const layout = "123A456B789C*0#D"
	low, high := [4]float64{697, 770, 852, 941}, [4]float64{1209, 1336, 1477, 1633}
	n := samples(100 * time.Millisecond)
	out := make([]int16, 2*n*len(pressed))
	for i := range len(pressed) {
		key := out[(2*i+1)*n : (2*i+2)*n]
		if at := strings.IndexByte(layout, pressed[i]); at >= 0 {
			tone(key, toneLevel, low[at/4])
			tone(key, toneLevel, high[at%4])
		}
	}
	return out
}

// Ringback is one period of the European tone: 425 Hz, 1 s on, 4 s off.
func Ringback() []int16 {
	out := make([]int16, 5*Rate)
	tone(out[:Rate], toneLevel/2, 425)
	return out
}

// Quiet is two seconds of line noise, to be played over and over.
func Quiet(r *rand.Rand) []int16 {
	out := make([]int16, 2*Rate)
	noise(r, out)
	return out
}

func pitch(r *rand.Rand) float64 { return 95 + 125*r.Float64() }

func tone(out []int16, level, hz float64) {
	for i := range out {
		out[i] = clip16(float64(out[i]) + level*math.Sin(2*math.Pi*hz*float64(i)/Rate))
	}
	fade(out)
}
