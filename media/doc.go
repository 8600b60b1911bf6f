// Package media carries the audio of calls. It starts no negotiation itself: it writes SDP offers,
// reads SDP answers, receives and sends RTP, and connects each answered call to its bot.
//
//	RTP in → reorder → {classification, DTMF} → bot
//	bot → bounded playout buffer → 20 ms pacer → RTP out
//
// # What it must not know
//
// SIP, campaigns, contacts, phone numbers, seats, pacing, the database; what a verdict or a lost
// bot means for the call. It uses only engine's terms.
//
// # Who owns what
//
// Engine owns the calls, by attempt. A call owns its events, its bot's link and its detector; the
// owner of the attempt may die and re-attach, and then receives all events from the first. Sockets,
// readers and pacers are shared by all calls. Package botlink owns the bot's socket, package amd
// the verdict.
//
// Packages that know nothing of calls are below this one: codec, conceal, jitter and touchtone handle
// audio, sdp and srtp the descriptions and their keys, demux the owners of packets, datagram the batches
// of system calls.
//
// # Invariants
//
//   - No command blocks, and no sink is called under a lock.
//   - Events of a call are delivered one at a time, Seq 1, 2, 3 without gaps.
//   - Nothing is classified, recorded or sent to a bot before the SDP answer of the
//     200 OK. Early media from the address of a provisional response's SDP is
//     searched for the tones of a number out of service (early.go), nothing else;
//     any other matches no call and is dropped.
//   - No packet allocates. Per call there is no goroutine here; an attached bot
//     has one.
//   - Audio of one call never reaches another one; see package demux.
//   - μ-law reaches the bot unchanged, except for 4 ms after a loss; A-law goes
//     through one table, G.722 through the lower band of its codec.
//   - The audio for the bot and the classifier has no holes: in a pause, after
//     60 ms without audio, the bot hears silence, 20 ms at a time. After a loss
//     up to 60 ms are made of the last pitch period, fading; the rest is silence.
//   - The classifier hears the audio as its timestamps say, not as it arrives:
//     audio that is up to 400 ms late changes no verdict. After that it hears
//     silence, up to the present. So do the bot and the recording in the middle
//     of a word; silence in the place of audio that came after all is left out
//     of the next pause, so that the bot's time keeps to the clock.
//   - Audio of the bot that runs out within an utterance is waited for, 80 ms at
//     most: no packet leaves, and the timestamps go on where they were.
//
// # Decision: shared sockets
//
// One socket per call costs half as much CPU time again as a few shared ones with batched system
// calls. So a pool of sockets (default 32) carries all calls; package demux finds the owner of a
// packet by its source, and drops packets that may belong to more than one call. A call that may
// latch is opened on a socket on which no other call is unheard, and the pool grows with their
// number (pool.go). A call is opened on the socket with the fewest calls without a source, then the
// fewest calls.
//
// # Decision: silence is sent once the callee was heard
//
// While there is nothing to play, silence is sent, so that a carrier with an RTP timeout keeps the
// call and a NAT keeps its binding. Until the callee's first audio there is a packet at each of the
// first two ticks (so that the far side can latch) and one every 5 s after them; timestamps
// continue, and the marker bit says where sound begins. Likewise the bot gets its first frame with
// the callee's first audio; later gaps are filled. A call without any audio then costs next to
// nothing.
//
// # SRTP
//
// A trunk's profile may require SRTP: then the offer is RTP/SAVP with keys for this call alone, and
// whatever is not encrypted and authentic is dropped and counted, including RTCP. Where SRTP is
// optional the offer is RTP/AVP with keys, and so is every call whose answer has keys too. Packets
// find their call before decryption: addresses and SSRC are in clear. Keys are never logged; see
// docs/adr/0016 and 0061.
//
// # IPv4 and IPv6
//
// Each address has a pool of sockets (pool.go), and a call is offered the family of the trunk being
// tried. An answer that names the other family cannot be used.
//
// # Keys
//
// Keys come as telephone-event (RFC 4733). Where the answer does not have it, and the trunk does not
// use INFO, the callee's audio is searched for their tones (package touchtone), until a key comes in
// another way. A key goes to the bot, the owner of the call and a joined leg once, however it came.
//
// # Recording
//
// A recorded call passes its frames to package recording: the callee's as the classifier and the
// bot hear them, the bot's as they leave at a tick. It never waits for a disk.
//
// # Changes of a call
//
// Reoffer answers an offer that the far side makes during the call: hold, another address or port,
// other codecs; reoffer.go writes the answer (RFC 3264 §6) and moves the audio at once.
//
// # RTCP
//
// Reports are received on the odd port and, by RFC 5761, on the RTP port; they count as signs of
// life. They are sent about every 5 s, with BYE at the end, to the far side's odd port or, when its
// SDP says rtcp-mux, with the RTP. Behind a NAT they may come from any port of the host that is
// heard, and ours go there. Audio ends, and BYE is sent, when SIP's BYE leaves (HungUp), however
// long its answer takes. The counts of both sides make the quality of the attempt
// (mos.go). MediaSilent is emitted once when neither RTP nor RTCP came for Config.RTPTimeout or, while
// the call is on hold, for Config.HoldTimeout; never while the far side only listens (recvonly).
package media
