package bot

import (
	"encoding/base64"
	"math/rand/v2"
	"sync"
	"time"

	"dialler/bench/draw"
	"dialler/bench/voice"
)

// The bot has a few long sentences and says the beginning of one.
const (
	voiceCount   = 8
	voiceLength  = 12 * time.Second
	burstSamples = voice.Rate / 2
)

// voices are μ-law sentences, already in base64: in 20 ms frames, and in the half seconds of
// Conversation.Burst.
type voices struct {
	seed uint64
	made [voiceCount]sync.Once
	fine [voiceCount][]string
	fat  [voiceCount][]string
}

// sentence returns the payloads of a sentence of about the given length, and the duration of each.
func (v *voices) sentence(r *rand.Rand, length time.Duration, burst bool) (payloads []string, each time.Duration) {
	i := r.IntN(voiceCount)
	v.made[i].Do(func() {
		pcm := voice.Utterance(draw.Rand(v.seed, "sentence", i), voiceLength)
		mu := voice.PCMU.Encode(nil, pcm)
		v.fine[i] = cut(mu, voice.FrameSamples)
		v.fat[i] = cut(mu, burstSamples)
	})
	payloads, each = v.fine[i], 20*time.Millisecond
	if burst {
		payloads, each = v.fat[i], 500*time.Millisecond
	}
	return payloads[:max(1, min(len(payloads), int(length/each)))], each
}

func cut(mu []byte, size int) []string {
	var out []string
	for at := 0; at+size <= len(mu); at += size {
		out = append(out, base64.StdEncoding.EncodeToString(mu[at:at+size]))
	}
	return out
}
