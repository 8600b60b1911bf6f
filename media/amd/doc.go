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
// Frame by frame: a high-pass against hum; the level over a tracked noise
// floor (the minimum of the last seconds) is voice activity; a frame whose
// energy lies at one frequency is a tone, found without a list of frequencies
// and followed from frame to frame; pairs of call progress tones are known by
// Goertzel filters. Then, in this order:
//
//   - 2100 Hz for 400 ms is a fax (ITU-T T.30, V.8); 1100 Hz for half a second
//     before any speech as well, with less confidence.
//   - Three rising tones near 950, 1400 and 1800 Hz are the special information
//     tones (ITU-T E.180), with the frequencies of both E.180 and Bellcore.
//   - One steady tone of 120 ms or more that ends, and is neither, is the beep
//     of a machine.
//   - Little speech and then a pause is a person.
//   - Speech that goes on without such a pause is a machine.
//   - Nothing at all until Config.Timeout is silence; whatever is left is
//     unknown.
//
// # Invariants
//
//   - Feed decides once, at the latest after Config.TalkTimeout of media (one
//     and a half times Config.Timeout while a tone sounds).
//   - Feed allocates nothing before the decision.
//   - The rules are not symmetric. A person taken for a machine is hung up on;
//     a machine taken for a person costs some seconds of a bot. Whatever is
//     doubtful is unknown, which goes to the bot.
//
// Timing cannot tell a shop that answers with a long sentence from a short
// recorded greeting; the interface leaves room for a classifier that listens
// to more than that.
package amd
