// Package ladder keeps what crossed the wire for one leg: each message in a few
// bytes, with what it held that explains it. It must not know what a message
// means for the leg.
package ladder
