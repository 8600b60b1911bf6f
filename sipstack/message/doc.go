// Package message reads and writes the text of SIP messages above sipgo's
// parser: header values, URIs, SDP in bodies, what a response says of a call,
// and the lines of our own requests. It is made of functions of their
// arguments: it must not know legs, trunks, sockets or time.
package message
