package ladder

import (
	"fmt"

	"dialler/engine"
	"dialler/engine/disposition"
)

// Explain explains a message in a sentence. before are the earlier messages of the same leg.
func Explain(m engine.SIPMessage, before []engine.SIPMessage) string {
	if m.Code == 0 {
		return request(m, before)
	}
	if m.Method != "INVITE" {
		return reply(m)
	}
	return invited(m, before)
}

func request(m engine.SIPMessage, before []engine.SIPMessage) string {
	who, other := "The carrier", "us"
	if m.Sent {
		who, other = "We", "the carrier"
	}
	again := ""
	if m.Repeats > 0 {
		again = fmt.Sprintf(" It was repeated %d times for lack of an answer.", m.Repeats)
	}
	switch m.Method {
	case "INVITE":
		switch {
		case !m.Sent:
			return "The carrier offers another session: hold, another codec, or a refreshed session timer."
		case has(before, func(b engine.SIPMessage) bool { return b.Code >= 200 && b.Code < 300 && b.Method == "INVITE" }):
			return "We refresh the session." + again
		case has(before, func(b engine.SIPMessage) bool { return b.Code == 401 || b.Code == 407 }):
			return "We ask again, with our credentials." + again
		case has(before, func(b engine.SIPMessage) bool { return b.Code == 422 }):
			return "We ask again, with the longer session interval." + again
		case has(before, func(b engine.SIPMessage) bool { return b.Code >= 300 && b.Code < 400 }):
			return "We follow the redirection." + again
		}
		return "We ask the carrier to ring the number." + again
	case "ACK":
		return "We acknowledge the final answer."
	case "CANCEL":
		return who + " cancelled the call before it was answered." + again
	case "BYE":
		return who + " hung up." + again
	case "PRACK":
		return "We acknowledge the provisional answer, which was sent reliably."
	case "UPDATE":
		return who + " changed or refreshed the session without an INVITE."
	case "INFO":
		return who + " sent information in the call: a pressed key, for example."
	case "REFER":
		return who + " asked " + other + " to transfer the call."
	case "NOTIFY":
		return who + " reported how the transfer is going."
	case "OPTIONS":
		return who + " asked whether the call is still up."
	}
	return who + " sent " + m.Method + "."
}

func reply(m engine.SIPMessage) string {
	who := "The carrier"
	if m.Sent {
		who = "We"
	}
	switch {
	case m.Code < 200:
		return who + " will answer later."
	case m.Code < 300:
		return who + " agreed."
	case m.Code == 481:
		return who + " no longer knew the call."
	case m.Code == 487 || m.Code == 491:
		return who + " had another request under way."
	}
	return fmt.Sprintf("%s refused the %s.", who, m.Method)
}

func invited(m engine.SIPMessage, before []engine.SIPMessage) string {
	if m.Sent {
		if m.Code < 300 {
			return "We agreed to the session that was offered."
		}
		return "We cannot take the session that was offered; the call stays as it was."
	}
	switch {
	case m.Code == 100:
		return "The carrier has the request."
	case m.Code == 180:
		return "The phone rings."
	case m.Code == 183:
		return "The call makes progress; the carrier may be playing tones or an announcement."
	case m.Code == 181:
		return "The call is being forwarded."
	case m.Code == 182:
		return "The call waits in a queue."
	case m.Code < 200:
		return "The call makes progress."
	case m.Code < 300:
		if has(before, func(b engine.SIPMessage) bool { return b.Code >= 200 && b.Code < 300 && b.Method == "INVITE" }) {
			return "Confirmed again: a change of the session, a second answer, or one repeated for lack of an ACK."
		}
		return "The call was answered."
	case m.Code == 401, m.Code == 407:
		if has(before, func(b engine.SIPMessage) bool { return b.Code == 401 || b.Code == 407 }) {
			return "The carrier refused our credentials: check the trunk's username and password, and its realm."
		}
		return "The carrier asks who we are (digest authentication)."
	case m.Code == 422:
		return "The carrier wants a longer session interval."
	case m.Code == 487:
		return "The call ended because it was cancelled."
	}
	r := disposition.Classify(disposition.Input{Code: m.Code, Reason: m.Reason,
		AfterRinging: has(before, func(b engine.SIPMessage) bool {
			return !b.Sent && b.Code >= 180 && b.Code < 190
		})})
	friendly := r.Friendly
	if friendly == "" {
		friendly = "Refused"
	}
	return fmt.Sprintf("%s (outcome %s). %s", friendly, r.Outcome, advice(r.Fault))
}

// advice says where to look.
func advice(f disposition.Fault) string {
	switch f {
	case disposition.FaultCallee:
		return "That is the called party's doing; the trunk works."
	case disposition.FaultNumber:
		return "The number cannot be called: is it in the form that the carrier wants (the trunk's number_format)?"
	case disposition.FaultCallerID:
		return "The carrier objects to our number: may this trunk show it (From, caller_id_header)?"
	case disposition.FaultTrunk:
		return "Look at the trunk: host, credentials, and whether the carrier knows our address."
	case disposition.FaultNetwork:
		return "The network behind the carrier failed; another trunk, or a later try, may work."
	case disposition.FaultMedia:
		return "The carrier cannot agree on audio: look at the trunk's codecs and srtp."
	case disposition.FaultUs:
		return "The reason is on our side."
	}
	return ""
}

func has(ms []engine.SIPMessage, f func(engine.SIPMessage) bool) bool {
	for _, m := range ms {
		if f(m) {
			return true
		}
	}
	return false
}
