// Package campaigns serves campaigns: their settings, operators' commands, and what belongs to one:
// runs, charts, capacity, history, simulations. Which command is allowed when is decided behind its
// ports.
//
// It must not know contacts.
package campaigns
