// Package conceal makes up lost audio of a call from the audio received before (after an idea in
// ITU-T G.711 appendix I). It works on frames of 20 ms and knows nothing of packets.
package conceal
