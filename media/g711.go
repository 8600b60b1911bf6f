package media

import (
	"slices"
	"strings"

	"dialler/engine"
	"dialler/media/g711"
)

// G.711 (ITU-T G.711). Tables are computed once; everything on the media
// path is a lookup.

const (
	ulawSilence = 0xFF
	alawSilence = 0xD5
)

var (
	ulawToPCM  [256]int16
	alawToPCM  [256]int16
	ulawToAlaw [256]byte
	alawToUlaw [256]byte
)

func init() {
	for i := range 256 {
		ulawToPCM[i] = g711.FromUlaw(byte(i))
		alawToPCM[i] = g711.FromAlaw(byte(i))
	}
	for i := range 256 {
		ulawToAlaw[i] = g711.ToAlaw(ulawToPCM[i])
		alawToUlaw[i] = g711.ToUlaw(alawToPCM[i])
	}
}

// codec is how a call's audio is coded.
type codec uint8

const (
	codecNone codec = iota
	codecUlaw
	codecAlaw
	codecG722
	codecKinds = iota
)

func (c codec) String() string {
	switch c {
	case codecUlaw:
		return "PCMU"
	case codecAlaw:
		return "PCMA"
	case codecG722:
		return "G722"
	case codecNone:
	}
	return ""
}

// payloadType is the static RTP payload type (RFC 3551 §6).
func (c codec) payloadType() uint8 {
	switch c {
	case codecAlaw:
		return 8
	case codecG722:
		return 9
	case codecUlaw, codecNone:
	}
	return 0
}

// codecsOf are the codecs of a trunk's profile in its order, those that we have
// and each once; none known: PCMU, PCMA.
func codecsOf(p engine.MediaProfile) []codec {
	var list []codec
	for _, name := range p.Codecs {
		for c := codecUlaw; c < codecKinds; c++ {
			if strings.EqualFold(name, c.String()) && !slices.Contains(list, c) {
				list = append(list, c)
			}
		}
	}
	if len(list) == 0 {
		return []codec{codecUlaw, codecAlaw}
	}
	return list
}

func transcode(b []byte, table *[256]byte) {
	for i, v := range b {
		b[i] = table[v]
	}
}
