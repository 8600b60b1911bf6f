// Package message reads and writes the text of SIP messages on top of sipgo's parser: header
// values, URIs, SDP in bodies, what a response says of a call, and the lines of our own requests.
// All of it is pure functions: it must not know legs, trunks, sockets or time.
package message
