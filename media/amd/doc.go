// Package amd classifies who answered a call, from what is heard since the
// 200 OK: a person, a machine, a fax, the special information tones of a
// number that does not exist, or nobody.
//
// # What it must not know
//
// The clock (media time is the number of frames that it was fed), the network,
// codecs, calls, and what is done with a verdict.
//
// # How it decides
//
// Every 20 ms frame is heard (ear): a high-pass against hum, the level over a
// tracked noise floor, a spectrum, pitch and periodicity. Then two layers:
//
//   - Tones (tracker, signals). A frame of which the power lies in one line of
//     the spectrum, or in two, is a tone, found without a list of frequencies
//     and followed from frame to frame. What holds its frequency and its level
//     as no voice does is 2100 Hz of a fax (ITU-T T.30, V.8), its calling tone
//     of 1100 Hz, three rising special information tones (ITU-T E.180 and
//     Bellcore's frequencies), ringback or busy by frequency and cadence, the
//     beep of a machine, or a melody.
//   - Speech (words, Net). Every 40 ms of a call on which speech is heard a
//     small recurrent net is given the spectrum on a mel scale, relative to the
//     loudest frame so far, and the timing of the speech: it was trained on the
//     words of greetings, in many voices and languages. It says how likely a
//     person, a machine or call screening is so far, and a Rule decides whether
//     that suffices already. What music is known by is a Vector of timing,
//     melody, loudness and colour (voice), and boosted trees.
//
// The model is trained by package training, from recordings that it names, and
// embedded. Until Config.Timeout without anything that sounds like speech it
// is silence; whatever is left at the end is unknown.
//
// # Invariants
//
//   - Feed decides once, at the latest after Config.TalkTimeout of media. It
//     listens on for tones and for who speaks when afterwards: Tones, Revised.
//     No net is asked then, so that it costs a tenth.
//   - Feed allocates nothing before the decision.
//   - The rule is not symmetric. A person taken for a machine is hung up on; a
//     machine taken for a person costs some seconds of a bot. Whatever is
//     doubtful is unknown, which goes to the bot.
//
// The race detector is kept out of the sums over spectra and weights
// (go:norace), of which it would make tests ten times slower: a Detector that two
// goroutines feed at once is seen by everything around them.
//
// What it cannot do stands in docs/amd.md.
package amd
