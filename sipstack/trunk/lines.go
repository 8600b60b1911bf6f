package trunk

import (
	"strconv"
	"strings"

	"dialler/sipstack/message"
)

// asksForAnonymity says whether a Privacy value asks to hide the caller ID from everybody (RFC 3325
// §9.3): then From must not reveal it either. With "user" and "header" the carrier's privacy
// service rewrites From (RFC 3323 §4.2).
func asksForAnonymity(privacy string) bool {
	for _, v := range strings.Split(privacy, ";") {
		if strings.EqualFold(strings.TrimSpace(v), "id") {
			return true
		}
	}
	return false
}

// defaultSessionSec is our Session-Expires (RFC 4028) in seconds, unless configured.
const defaultSessionSec = 1800

// setExtensions prepares the header lines that all INVITEs of a trunk share.
func (t *Trunk) setExtensions() {
	var tags []string
	required := ""
	switch t.Conf.ReliableProvisionals {
	case reliableOff:
	case reliableRequired:
		required = "Require: 100rel\r\n"
		fallthrough
	default:
		tags = append(tags, "100rel")
		t.Reliable = true
	}
	if t.Conf.SessionSec >= 0 {
		tags = append(tags, "timer")
		t.SessionSec = uint32(min(t.Conf.SessionSec, message.MaxSessionSec))
		if t.SessionSec == 0 {
			t.SessionSec = defaultSessionSec
		}
		t.SessionSec = max(t.SessionSec, message.MinSessionSec)
	}
	if len(tags) > 0 {
		t.Supported = "Supported: " + strings.Join(tags, ", ") + "\r\n"
	}
	t.Supported += required
	t.Extensions = t.Supported
	if t.SessionSec > 0 {
		t.Extensions += "Session-Expires: " + strconv.Itoa(int(t.SessionSec)) + "\r\n"
	}
}

// SupportedInDialog lists the extensions for requests inside a dialog.
func (t *Trunk) SupportedInDialog() string {
	if t.SessionSec == 0 {
		return ""
	}
	return "Supported: timer\r\n"
}
