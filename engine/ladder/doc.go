// Package ladder tells people what the SIP messages of a call mean: as a
// drawing with an arrow a message, and as a sentence a message.
//
// What it must not know: how messages are sent, kept or shown. What a final
// response means for the attempt comes from engine/disposition.
package ladder
