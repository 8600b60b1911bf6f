// Package ladder explains the SIP messages of a call to people: as a drawing with an arrow per
// message, and as a sentence per message.
//
// What it must not know: how messages are sent, stored or shown. The meaning of a final response
// for the attempt comes from engine/disposition.
package ladder
