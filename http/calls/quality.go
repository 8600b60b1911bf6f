package calls

import (
	"math"
	"time"

	"dialler/engine"
)

// qualityView is the measured audio quality of a call, in both directions; the callee's side is as
// the callee reported it (RTCP).
type qualityView struct {
	Codec    string   `json:"codec"`
	SRTP     string   `json:"srtp,omitempty"`
	Received uint64   `json:"packets_received"`
	Sent     uint64   `json:"packets_sent"`
	Lost     uint64   `json:"packets_lost"`
	Late     uint64   `json:"packets_late"`
	JitterMS float64  `json:"jitter_ms"`
	MOS      *float64 `json:"mos,omitempty"`
	FarLost  *uint64  `json:"far_packets_lost,omitempty"`
	FarJitMS *float64 `json:"far_jitter_ms,omitempty"`
	FarMOS   *float64 `json:"far_mos,omitempty"`
	RTTMS    *float64 `json:"round_trip_ms,omitempty"`
	From     string   `json:"heard_from,omitempty"`
	// Dropped is absent when there is nothing in it.
	Dropped *droppedView `json:"packets_dropped,omitempty"`
}

// droppedView counts packets that may have been the callee's, by why they were not heard.
type droppedView struct {
	Elsewhere uint64 `json:"elsewhere"`
	Ambiguous uint64 `json:"ambiguous"`
}

// viewQuality returns nil for a call without audio.
func viewQuality(q *engine.MediaQuality) *qualityView {
	if q == nil || q.Codec == "" {
		return nil
	}
	ms := func(d time.Duration) float64 { return math.Round(float64(d)/float64(100*time.Microsecond)) / 10 }
	v := &qualityView{Codec: q.Codec, SRTP: q.SRTP, Received: q.PacketsReceived, Sent: q.PacketsSent, Lost: q.PacketsLost,
		Late: q.PacketsLate, JitterMS: ms(q.Jitter), From: q.HeardFrom}
	if q.DroppedElsewhere > 0 || q.DroppedAmbiguous > 0 {
		v.Dropped = &droppedView{q.DroppedElsewhere, q.DroppedAmbiguous}
	}
	if q.MOS > 0 {
		v.MOS = &q.MOS
	}
	if q.FarReports > 0 {
		jitter := ms(q.FarJitter)
		v.FarLost, v.FarJitMS, v.FarMOS = &q.FarLost, &jitter, &q.FarMOS
	}
	if q.RoundTrip > 0 {
		rtt := ms(q.RoundTrip)
		v.RTTMS = &rtt
	}
	return v
}
