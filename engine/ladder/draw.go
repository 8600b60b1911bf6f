package ladder

import (
	"fmt"
	"strings"
	"time"

	"dialler/engine"
)

// width is the space between the two columns of a drawing, in characters.
const width = 46

// Draw returns the ladder as text: milliseconds since the first message, an arrow for each message,
// ours to the right; a heading names the far side whenever it changes.
func Draw(messages []engine.SIPMessage) string {
	if len(messages) == 0 {
		return "No SIP message is kept of this call.\n"
	}
	var b strings.Builder
	start, leg, peer := messages[0].At, engine.LegID(""), ""
	for _, m := range messages {
		if m.Leg != leg || (m.Peer != peer && m.Peer != "") {
			if m.Leg != leg {
				fmt.Fprintf(&b, "leg %s\n", m.Leg)
			}
			leg, peer = m.Leg, m.Peer
			fmt.Fprintf(&b, "%9s  %-*s %s\n", "ms", width, "dialler", peer)
		}
		fmt.Fprintf(&b, "%9.1f  %s\n", float64(m.At.Sub(start))/float64(time.Millisecond), arrow(m))
	}
	return b.String()
}

func arrow(m engine.SIPMessage) string {
	text := Title(m)
	if m.Note != "" {
		text += " (" + m.Note + ")"
	}
	if m.Repeats > 0 {
		text += fmt.Sprintf(" ×%d", m.Repeats+1)
	}
	line := strings.Repeat("─", max(2, width-3-len([]rune(text))))
	if m.Sent {
		return text + " " + line + "▶"
	}
	return "◀" + line + " " + text
}

// Title is a short title of the message: "INVITE", "180 Ringing", "200 OK to BYE".
func Title(m engine.SIPMessage) string {
	switch {
	case m.Code == 0:
		return m.Method
	case m.Method == "INVITE":
		return strings.TrimSpace(fmt.Sprintf("%d %s", m.Code, m.Reason))
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s to %s", m.Code, m.Reason, m.Method))
}
