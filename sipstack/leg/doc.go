// Package leg makes outbound calls on trunks: the INVITE and its client
// transaction, the dialog, what both sides agree on and change later, and the
// legs of an earlier process life. Table holds all legs under their LegID.
//
// What it must not know: campaigns, contacts, pacing, which trunk to choose,
// what a response code means for an attempt, the contents of an SDP offer, and
// how a message reaches the wire. The invariants stand in package sipstack's
// documentation.
//
// Files of the leg itself may use each other; the rest stands alone:
// parties.go, dialog.go and endpoint.go are what is written, clienttx.go, answers.go,
// refer.go and sessiontimer.go what runs inside a dialog; none of them knows a leg.
// No file of a leg knows the table.
package leg
