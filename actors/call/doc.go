// Package call carries out the decisions of engine/call. The actor of a contact and that of a call
// outside campaigns have a Shell each; a Process is what all calls of the process share.
package call
