// Package link is the only channel between the nodes of a cluster: it carries calls and their
// events, counts, requests and reports.
//
// It must not know the content of messages (names and bytes), where a node is, or who owns what.
//
// # Order and loss
//
// Each pair of node incarnations has one link. It numbers its messages, keeps them until the other
// side has processed them, resends what got lost, and drops duplicates. All that it requires of the
// transport is that some frames arrive. A message arrives in order and once, or not at all because
// one of the two nodes is gone. Receivers process messages in that order; an acknowledgement means
// that they have done so.
//
// # Questions
//
// A question has a deadline. After it the question is not sent, or sent again, so that a link that
// recovers does not deliver questions that nobody waits for. A link that has not heard the other
// side recently first asks whether it is there: a question that was not sent (ErrNotSent) has
// certainly not been carried out.
//
// # Versions
//
// Every frame begins with the versions that its sender speaks. Two nodes speak the latest version
// in common, and a description uses Wire.Version to tell which fields exist; with none in common
// they exchange nothing (ErrVersion). Values that are encoded with their field names (Value) need
// no version.
//
// # Bounds
//
// Up to QueueCap bytes may wait for a node, not counting messages that must be sent; 1024 items and
// about 512 KiB are in flight. A frame has at most FrameCap bytes.
//
// # Clocks
//
// The boot-time clocks of two machines are unrelated. Every frame carries the sender's reading and
// the last one that it received, so that each side knows bounds of the difference. A deadline is
// converted with the bound that makes it earlier, never later; event times with the middle.
package link
