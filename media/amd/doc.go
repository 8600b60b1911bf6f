// Package amd classifies who answered a call, from the audio since the 200 OK: a person, a machine,
// a fax, the special information tones of a number that does not exist, or nobody.
//
// # What it must not know
//
// The clock (media time is the number of frames fed), the network, codecs, calls, and what is done
// with a verdict.
//
// # How it decides
//
// Every 20 ms frame is analysed (ear): a high-pass filter against hum, the level above a tracked
// noise floor, a spectrum, pitch and periodicity. Then there are two layers:
//
//   - Tones (tracker, signals). A frame whose power lies in one line of
//     the spectrum, or in two, is a tone, found without a list of frequencies
//     and tracked from frame to frame. A tone that holds its frequency and level
//     as no voice does is the 2100 Hz of a fax (ITU-T T.30, V.8), its calling tone
//     of 1100 Hz, three rising special information tones (ITU-T E.180 and
//     Bellcore's frequencies), ringback or busy by frequency and cadence, the
//     beep of a machine, or a melody.
//   - Speech (words, Net). Every 40 ms of a call with speech, a
//     small recurrent net gets the spectrum on a mel scale, relative to the
//     loudest frame so far, and the timing of the speech: it was trained on the
//     words of greetings, in many voices and languages. It estimates how likely a
//     person, a machine or call screening is so far, and a Rule decides whether
//     that is sufficient. Music is recognised from a Vector of timing,
//     melody, loudness and timbre (voice), by boosted trees.
//
// The model is trained by package training, on recordings that it names, and embedded. A call
// without anything like speech until Config.Timeout is silence; anything else undecided at the end
// is unknown.
//
// # Invariants
//
//   - Feed decides once, at the latest after Config.TalkTimeout of media. It
//     then keeps listening for tones and for who speaks when: Tones, Revised.
//     The net does not run then, so it costs a tenth.
//   - Feed allocates nothing before the decision.
//   - The rule is not symmetric. A person taken for a machine is hung up on; a
//     machine taken for a person costs some seconds of a bot. Anything
//     doubtful is unknown, which goes to the bot.
//
// The race detector is disabled for the sums over spectra and weights (go:norace), because it would
// make tests ten times slower: two goroutines that feed a Detector at once are still detected in
// the surrounding code.
//
// For its limits see docs/amd.md.
package amd
