// Package botlink is the caller's side of a voice bot's WebSocket in the format of Twilio Media
// Streams: the dialler is the platform, it dials the bot's ws:// or wss:// address and speaks JSON
// text frames, one socket per call.
//
// # What it does
//
// To the bot: connected, start, media, dtmf, mark, stop. From the bot: media (any size, faster than
// real time), mark, clear; and two of our own additions to the format: verdict, the bot is not
// talking to a person, and result, which is answered by a frame of the same name. Audio is raw 8 kHz
// μ-law in both directions; WriteFrame takes what the callee says, ReadFrame returns what the callee
// is to hear. docs/bots.md has every field.
//
// # What it must not know
//
// RTP, SDP, codecs other than μ-law, answer classification, attempts, and what happens when a bot
// is lost. It has no clock of its own for audio: time passes with the calls of ReadFrame and
// WriteFrame, 20 ms each.
//
// # Invariants
//
//   - The first two messages on a socket are connected and start, once each; a
//     socket that only asks whether the bot is there (Client.Ask, where the bot's probe
//     is a session) has none, and one that is opened ahead of its call
//     (Client.OpenAhead) has none before a call takes it. Only pings are sent on it
//     meanwhile.
//   - sequenceNumber counts from 1 at start without gaps; chunk counts media
//     frames from 1; timestamp is media time in milliseconds since start.
//   - A mark is echoed once, when everything queued before it was played or
//     cleared, and marks come back in the order in which they were sent.
//   - WriteFrame, WriteDigit, ReadFrame and Stop never block. A write that the
//     kernel does not take is kept, up to Config.QueueCap bytes; a bot that is
//     further behind is closed and counted (Stats.SlowBots).
//   - The playout buffer holds at most Config.PlayoutCap of audio. When it is
//     full, the newest audio is dropped, so that playback stays coherent
//     and the order of marks holds; dropped bytes are counted.
//   - Malformed, unknown and oversized frames are counted and ignored.
//   - After Stop no callback is made, whichever side closes first.
//   - One goroutine per socket dials; then a new one with a small stack
//     reads. Nothing else waits for the bot.
//
// # Choosing an endpoint
//
// Endpoints are tried in order, each with its share of the remaining time. One that cannot be
// reached, or answers 429 or 5xx, is tried again after the others with a short pause, until the
// deadline; one that refuses for good (any other status) is not. The deadline bounds all tries
// together and covers the write of start.
package botlink
