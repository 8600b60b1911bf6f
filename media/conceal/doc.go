// Package conceal makes up what was lost of a call's audio from what was heard last
// (ITU-T G.711 appendix I tells the idea). It knows frames of 20 ms and no packets.
package conceal
