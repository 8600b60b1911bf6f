// Package telephony serves what calls are made with: bots, trunks, outbound numbers.
// What their settings may be is for package engine to say.
package telephony
