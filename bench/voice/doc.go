// Package voice synthesises the sounds on the model world's lines: a human's short hello, a
// machine's greeting with its beep, a fax's answer tone, ringback, special information tones, and a
// bot's sentences.
//
// The signals are speech-like, not speech: a glottal pulse train through moving formants under a
// syllable envelope, with fricative noise and line noise. They have the features that answer
// classification uses (durations, pauses, periodicity, tones) without any recording of a person.
//
// All signals are 8 kHz, 16-bit linear, and repeatable: equal generators give equal samples. G.711
// is encoded and measured here too, written from ITU-T G.711 and sharing nothing with the media
// adapter that it helps to judge.
package voice
