package attempt

// Effects without data of their own, boxed once, so that emitting one does not allocate.
var (
	effectDetachBot   Effect = DetachBot{}
	effectPlayMessage Effect = PlayMessage{}
	effectCountLive   Effect = CountLive{}
	effectCloseMedia  Effect = CloseMedia{}
	effectOver        Effect = Over{}

	recordReserved  Effect = Record{What: WhatReserved}
	recordLeg       Effect = Record{What: WhatLeg}
	recordRinging   Effect = Record{What: WhatRinging}
	recordAnswered  Effect = Record{What: WhatAnswered}
	recordConnected Effect = Record{What: WhatConnected}
	recordRevised   Effect = Record{What: WhatRevised}
	recordAbandoned Effect = Record{What: WhatAbandoned}
	recordOptedOut  Effect = Record{What: WhatOptedOut}
	recordResult    Effect = Record{What: WhatResult}

	lineDialling  Effect = Line{Phase: PhaseDialling}
	lineRinging   Effect = Line{Phase: PhaseRinging}
	lineListening Effect = Line{Phase: PhaseListening}
	lineWaiting   Effect = Line{Phase: PhaseWaiting}
	lineServed    Effect = Line{Phase: PhaseServed}
	lineTentative Effect = Line{Phase: PhaseServed, Tentative: true}
	lineReleased  Effect = Line{Phase: PhaseReleased}
	lineOver      Effect = Line{Phase: PhaseOver}
)

// line is the boxed effect of a phase.
func line(p Phase) Effect {
	switch p {
	case PhaseDialling:
		return lineDialling
	case PhaseRinging:
		return lineRinging
	case PhaseListening:
		return lineListening
	case PhaseWaiting:
		return lineWaiting
	case PhaseServed:
		return lineServed
	case PhaseReleased:
		return lineReleased
	case PhaseOver:
		return lineOver
	case PhaseAbandoned: // carries its cause
	}
	return Line{Phase: p}
}
