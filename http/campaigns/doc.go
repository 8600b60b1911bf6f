// Package campaigns serves campaigns: their settings, the commands of operators, and what
// is asked of one: runs, charts, capacity, history, simulations. Which command is allowed
// when is decided behind its ports.
//
// It must not know: contacts.
package campaigns
