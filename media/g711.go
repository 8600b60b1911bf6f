package media

import (
	"slices"
	"strings"

	"dialler/engine"
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
		ulawToPCM[i] = decodeUlaw(byte(i))
		alawToPCM[i] = decodeAlaw(byte(i))
	}
	for i := range 256 {
		ulawToAlaw[i] = encodeAlaw(ulawToPCM[i])
		alawToUlaw[i] = encodeUlaw(alawToPCM[i])
	}
}

func decodeUlaw(u byte) int16 {
	u = ^u
	v := (int(u&0x0F)<<3+0x84)<<(u>>4&7) - 0x84
	if u&0x80 != 0 {
		v = -v
	}
	return int16(v) //nolint:gosec // at most 32124
}

func decodeAlaw(a byte) int16 {
	a ^= 0x55
	v := int(a&0x0F)<<4 + 8
	if seg := a >> 4 & 7; seg > 0 {
		v = (v + 0x100) << (seg - 1)
	}
	if a&0x80 == 0 {
		v = -v
	}
	return int16(v)
}

func encodeUlaw(s int16) byte {
	const bias, clip = 0x84, 32635
	v, sign := int(s), byte(0)
	if v < 0 {
		v, sign = -v, 0x80
	}
	v = min(v, clip) + bias
	seg := byte(7)
	for mask := 0x4000; v&mask == 0 && seg > 0; mask >>= 1 {
		seg--
	}
	return ^(sign | seg<<4 | byte(v>>(seg+3)&0x0F))
}

func encodeAlaw(s int16) byte {
	v, sign := int(s), byte(0x80)
	if v < 0 {
		v, sign = -v-1, 0
	}
	v = min(v, 32767)
	seg := byte(7)
	for mask := 0x4000; v&mask == 0 && seg > 0; mask >>= 1 {
		seg--
	}
	var a byte
	if seg == 0 {
		a = byte(v >> 4) //nolint:gosec // below 16
	} else {
		a = seg<<4 | byte(v>>(seg+3)&0x0F)
	}
	return (a | sign) ^ 0x55
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
