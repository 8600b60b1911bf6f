// Package telephony serves the resources for calls: bots, trunks, outbound numbers. Package engine
// validates their settings.
package telephony
