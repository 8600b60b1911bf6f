package carrier

import (
	"math/rand/v2"
	"sync"
	"time"

	"dialler/bench/draw"
	"dialler/bench/voice"
)

// clipVariants is how many different voices there are of each kind. Clips are made on first use and
// shared by all calls.
const clipVariants = 24

type clipKey struct {
	kind    Kind
	variant int
	codec   voice.Codec
}

// clips are the encoded signals that callees play.
type clips struct {
	seed uint64
	mu   sync.Mutex
	made map[clipKey]func() []byte
}

func (c *clips) get(key clipKey, make func(r *rand.Rand) []int16) []byte {
	c.mu.Lock()
	once := c.made[key]
	if once == nil {
		once = sync.OnceValue(func() []byte {
			pcm := make(draw.Rand(c.seed, "clip "+string(key.kind), key.variant))
			return key.codec.Encode(nil, pcm)
		})
		if c.made == nil {
			c.made = map[clipKey]func() []byte{}
		}
		c.made[key] = once
	}
	c.mu.Unlock()
	return once()
}

// of gives what a kind of callee says, in a voice drawn from r.
func (c *clips) of(kind Kind, r *rand.Rand, codec voice.Codec) []byte {
	key := clipKey{kind, r.IntN(clipVariants), codec}
	return c.get(key, func(r *rand.Rand) []int16 {
		switch kind {
		case Human:
			return voice.Hello(r)
		case Machine:
			return voice.Greeting(r)
		case Fax:
			return voice.FaxAnswer(r)
		case SIT:
			return voice.SIT(r)
		case Quiet, Refuse, NoAnswer, Silent:
		}
		return voice.Quiet(r)
	})
}

// recording returns a file's audio in whole frames, the last one padded with silence; nil if it can
// no longer be read.
func (c *clips) recording(path string, codec voice.Codec) []byte {
	return c.get(clipKey{"recording " + Kind(path), 0, codec}, func(*rand.Rand) []int16 {
		pcm, err := voice.ReadWAV(path)
		if err != nil {
			return nil
		}
		return append(pcm, make([]int16, (voice.FrameSamples-len(pcm)%voice.FrameSamples)%voice.FrameSamples)...)
	})
}

// chatterLength is how long the callee speaks before the clip repeats.
const chatterLength = 6 * time.Second

func (c *clips) chatter(r *rand.Rand, codec voice.Codec) []byte {
	return c.get(clipKey{"chatter", r.IntN(clipVariants), codec},
		func(r *rand.Rand) []int16 { return voice.Utterance(r, chatterLength) })
}

// early gives what is heard before the answer.
func (c *clips) early(what string, r *rand.Rand, codec voice.Codec) []byte {
	switch what {
	case "":
		return c.ringback(codec)
	case EarlySIT:
		return c.of(SIT, r, codec)
	}
	return c.recording(what, codec)
}

func (c *clips) ringback(codec voice.Codec) []byte {
	return c.get(clipKey{"ringback", 0, codec}, func(*rand.Rand) []int16 { return voice.Ringback() })
}
