package codec

import (
	"slices"
	"strings"

	"dialler/engine"
	"dialler/media/g711"
)

// G.711 (ITU-T G.711). The tables are computed once; on the media path everything is a lookup.

// FrameBytes is 20 ms of G.711.
const FrameBytes = 160

const (
	UlawSilence = 0xFF
	AlawSilence = 0xD5
)

var (
	UlawToPCM  [256]int16
	AlawToPCM  [256]int16
	UlawToAlaw [256]byte
	AlawToUlaw [256]byte
)

func init() {
	for i := range 256 {
		UlawToPCM[i] = g711.FromUlaw(byte(i))
		AlawToPCM[i] = g711.FromAlaw(byte(i))
	}
	for i := range 256 {
		UlawToAlaw[i] = g711.ToAlaw(UlawToPCM[i])
		AlawToUlaw[i] = g711.ToUlaw(AlawToPCM[i])
	}
}

// Codec is how a call's audio is coded.
type Codec uint8

const (
	None Codec = iota
	Ulaw
	Alaw
	G722
	kinds = iota
)

func (c Codec) String() string {
	switch c {
	case Ulaw:
		return "PCMU"
	case Alaw:
		return "PCMA"
	case G722:
		return "G722"
	case None:
	}
	return ""
}

// PayloadType is the static RTP payload type (RFC 3551 §6).
func (c Codec) PayloadType() uint8 {
	switch c {
	case Alaw:
		return 8
	case G722:
		return 9
	case Ulaw, None:
	}
	return 0
}

// Of returns the known codecs of a trunk's profile in its order, each once; if none is known, PCMU
// and PCMA.
func Of(p engine.MediaProfile) []Codec {
	var list []Codec
	for _, name := range p.Codecs {
		for c := Ulaw; c < kinds; c++ {
			if strings.EqualFold(name, c.String()) && !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	if len(list) == 0 {
		return []Codec{Ulaw, Alaw}
	}
	return list
}

func Transcode(b []byte, table *[256]byte) {
	for i, v := range b {
		b[i] = table[v]
	}
}
