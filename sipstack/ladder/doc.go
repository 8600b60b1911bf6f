// Package ladder keeps what crossed the wire for one leg: each message in a few bytes, with the
// contents that explain it. It must not know what a message means for the leg.
package ladder
