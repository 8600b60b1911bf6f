// Package media is the callees' side of a model carrier's audio: RTP ports (RFC 3550), the stream
// of each call, and the descriptions (RFC 4566, RFC 3264) in which both sides announce where they
// listen. It counts what it hears and sends.
//
// It knows no calls and no ledger: its caller tells a Stream what to say, and when. It shares no
// code with the dialler's media, whose judge it is.
package media
