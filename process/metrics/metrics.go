package metrics

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"dialler/actors"
	callactor "dialler/actors/call"
	"dialler/actors/host"
	"dialler/engine"
	"dialler/http"
	"dialler/media"
	"dialler/media/recording"
	"dialler/sipstack"
)

// Histograms are filled by events.
type Histograms struct {
	Commits prometheus.Histogram // seconds
	Delays  prometheus.Histogram // seconds from a call's admission to its INVITE
	// Opinions and FarOpinions are of what we and the callees heard, 1 to 4.5, by trunk.
	Opinions, FarOpinions *prometheus.HistogramVec
	Stages                *prometheus.HistogramVec // seconds from the answer, by stage; the 2 s rule is a boundary

	mu     sync.Mutex
	trunks map[engine.TrunkID]struct{} // with opinions of their own
}

// opinions is a histogram of opinion scores.
func opinions(name, help string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help,
		Buckets: []float64{1.5, 2, 2.5, 3, 3.3, 3.6, 4, 4.2, 4.5}}, []string{"trunk"})
}

func NewHistograms() *Histograms {
	h := &Histograms{
		// Fine enough for percentiles within a tenth, from half a millisecond to ten seconds.
		Commits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dialler_commit_seconds", Help: "Duration of the group commits.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 1.1, 105),
		}),
		Delays: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dialler_post_dial_delay_seconds", Help: "From the admission of a call until its first INVITE left.",
			Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10},
		}),
		Opinions: opinions("dialler_call_mos", "Estimated opinion score of the callee's audio, for calls with audio."),
		FarOpinions: opinions("dialler_call_far_mos", "Estimated opinion score of what the callee heard, for calls whose "+
			"far side reported it by RTCP."),
		trunks: map[engine.TrunkID]struct{}{},
		Stages: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "dialler_answer_stage_seconds",
			Help: "From the answer until: the verdict of classification, the bot's path was up, the bot was first heard; " +
				"and from the moment of the 2 s rule until the information message began.",
			Buckets: []float64{.05, .1, .2, .3, .5, .75, 1, 1.25, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 8},
		}, []string{"stage"}),
	}
	for _, s := range callactor.Stages {
		h.Stages.WithLabelValues(string(s))
	}
	return h
}

// Heard records the quality of a call's audio; a call without audio has none.
func (h *Histograms) Heard(id engine.TrunkID, q *engine.MediaQuality) {
	if q.MOS > 0 {
		h.Opinions.WithLabelValues(h.label(id)).Observe(q.MOS)
	}
	if q.FarMOS > 0 {
		h.FarOpinions.WithLabelValues(h.label(id)).Observe(q.FarMOS)
	}
}

// label bounds the values of the label trunk: those beyond share one.
func (h *Histograms) label(id engine.TrunkID) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.trunks[id]; !ok {
		if len(h.trunks) >= trunksShown {
			return "others"
		}
		h.trunks[id] = struct{}{}
	}
	return string(id)
}

func Counter(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f)
}

func Gauge(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
}

// Sources are the parts with metrics.
type Sources struct {
	Tree       *actors.Tree
	SIP        *sipstack.Stack
	Media      *media.Engine
	Recorder   *recording.Recorder
	Clock      host.Clock
	Checks     func(context.Context) []http.Check // of /readyz
	Histograms *Histograms
	// Others are collectors of optional parts.
	Others []prometheus.Collector
}

// Register exposes the metrics of the tree and the adapters at /metrics. They count since the
// process started; label sets are closed.
func Register(reg prometheus.Registerer, p Sources) error {
	t := p.Tree.Stats()
	for _, c := range append(p.Others, []prometheus.Collector{
		p.Histograms.Commits, p.Histograms.Delays, p.Histograms.Opinions, p.Histograms.FarOpinions, p.Histograms.Stages,
		newStandingMetrics(p),
		newCampaignMetrics(p.Tree.Figures),
		Counter("dialler_attempts_total", "Attempts begun.", func() float64 { return float64(t.Calls.Attempts.Load()) }),
		Counter("dialler_attempts_ended_total",
			"Attempts ended, including recovered ones.",
			func() float64 { return float64(t.Calls.Ended.Load()) }),
		newOutcomeMetrics(t.Calls.Outcome),
		newDialoutMetrics(&t.Dialouts),
		Counter("dialler_inbound_offered_total",
			"Calls that trunks brought and that were looked at.",
			func() float64 { return float64(t.Dialouts.CallsIn.Load()) }),
		Counter("dialler_inbound_served_total",
			"Calls that came in and had their bot, or heard their message.",
			func() float64 { return float64(t.Calls.CallersServed.Load()) }),
		Counter("dialler_inbound_turned_away_total",
			"Calls that came in and were refused, given up by their callers, or ended without a bot.",
			func() float64 { return float64(t.Dialouts.CallsInTurnedAway.Load() + t.Calls.CallersTurnedAway.Load()) }),
		Counter("dialler_inbound_strange_total",
			"Calls that trunks brought to numbers that are not ours: refused without asking the database.",
			func() float64 { return float64(t.Dialouts.CallsInStrange.Load()) }),
		Counter("dialler_inbound_unasked_total",
			"Calls refused with 503 because their trunk brought more than may be looked up.",
			func() float64 { return float64(t.Dialouts.CallsInUnasked.Load()) }),
		Counter("dialler_inbound_with_bot_total",
			"Calls that came in and had a bot.",
			func() float64 { return float64(t.Calls.CallersWithBot.Load()) }),
		Counter("dialler_inbound_seconds_to_bot_total",
			"Seconds from the INVITE to the bot, of the calls that had one.",
			func() float64 { return float64(t.Calls.CallersToBotMS.Load()) / 1000 }),
		Counter("dialler_attempts_recovered_total",
			"Attempts left open by an earlier process that were closed.",
			func() float64 { return float64(t.Calls.Recovered.Load()) }),
		Counter("dialler_legs_sent_total",
			"SIP legs whose INVITE left.",
			func() float64 { return float64(t.Calls.LegsSent.Load()) }),
		Counter("dialler_answers_total", "Calls answered.", func() float64 { return float64(t.Calls.Answered.Load()) }),
		Counter("dialler_served_total",
			"Live answers that a bot served.",
			func() float64 { return float64(t.Calls.Served.Load()) }),
		Counter("dialler_abandoned_total",
			"Live answers that no bot served in time.",
			func() float64 { return float64(t.Calls.Abandoned.Load()) }),
		Counter("dialler_results_total",
			"Results of conversations stored.",
			func() float64 { return float64(t.Calls.Results.Load()) }),
		Counter("dialler_illegal_events_total",
			"Events that a state machine refused.",
			func() float64 { return float64(t.Calls.Illegal.Load()) }),
		Counter("dialler_actor_restarts_total",
			"Actors restarted after a panic.",
			func() float64 { return float64(t.Actors.Restarts.Load()) }),
		Counter("dialler_commands_overloaded_total",
			"Commands refused with overloaded because too many messages waited for a campaign or for dialout.",
			func() float64 { return float64(t.Actors.Overloads.Load()) }),
		Gauge("dialler_mailbox_messages",
			"Messages waiting for the busiest campaign, or dialout.",
			func() float64 { return float64(p.Tree.Waiting()) }),
		Gauge("dialler_actors_failing",
			"Actors that keep panicking and wait to be restarted.",
			func() float64 { return float64(t.Actors.Failing.Load()) }),
		Counter("dialler_commits_total", "Group commits.", func() float64 { return float64(t.Writers.Commits.Load()) }),
		Counter("dialler_commit_writes_total",
			"Writes made durable by group commits.",
			func() float64 { return float64(t.Writers.Writes.Load()) }),
		Counter("dialler_commit_failures_total",
			"Group commits that failed and were repeated.",
			func() float64 { return float64(t.Writers.Failures.Load()) }),
		Gauge("dialler_database_up",
			"1 while the database takes commits, 0 while it is unavailable and no new call is placed.",
			func() float64 {
				if p.Tree.Database().Up {
					return 1
				}
				return 0
			}),
		Counter("dialler_database_outages_total",
			"How often the database became unavailable.",
			func() float64 { return float64(p.Tree.Database().Outages) }),
		Gauge("dialler_commit_writes_waiting",
			"Writes in memory that are not yet in the database or the spool.",
			func() float64 { return float64(t.Writers.Waiting.Load()) }),
		Gauge("dialler_live_calls", "Attempts that have not ended.", func() float64 { return float64(p.Tree.LiveCalls()) }),
		Gauge("dialler_seats_held",
			"Seats granted to campaigns and dialout.",
			func() float64 { return float64(t.Fleet.SeatsHeld.Load()) }),
		Gauge("dialler_trunk_channels_held",
			"Trunk channels leased to legs.",
			func() float64 { return float64(t.Trunks.Leases.Load()) }),
		Gauge("dialler_number_slots_held",
			"Outbound numbers leased to attempts.",
			func() float64 { return float64(t.Numbers.Leases.Load()) }),
		Gauge("dialler_numbers_quarantined",
			"Outbound numbers that are quarantined, by strikes or by an operator.",
			func() float64 { return float64(t.Numbers.Quarantined.Load()) }),
		Gauge("dialler_sip_legs_live",
			"SIP legs without a final event.",
			func() float64 { return float64(p.SIP.Stats().LiveLegs) }),
		Gauge("dialler_sip_legs_recovered",
			"Live SIP legs that another process placed, or an earlier one: they are being ended here.",
			func() float64 { return float64(p.SIP.Stats().RecoveredLegs) }),
		Gauge("dialler_sip_legs_known",
			"SIP legs with state, ended ones that still answer retransmissions included.",
			func() float64 { return float64(p.SIP.Stats().KnownLegs) }),
		Gauge("dialler_media_paths", "Open media paths.", func() float64 { return float64(p.Media.Stats().Calls) }),
		Counter("dialler_sip_strangers_total",
			"SIP requests and connections from addresses of no trunk; dropped.",
			func() float64 { return float64(p.SIP.Stats().Strangers) }),
		Counter("dialler_sip_floods_total",
			"SIP requests outside of calls beyond the rate of one address; dropped.",
			func() float64 { return float64(p.SIP.Stats().Floods) }),
		Counter("dialler_sip_retransmissions_total",
			"SIP requests repeated by a timer.",
			func() float64 { return float64(p.SIP.Stats().Retransmissions) }),
		Counter("dialler_rtp_packets_received_total",
			"RTP packets received.",
			func() float64 { return float64(p.Media.Stats().PacketsReceived) }),
		Counter("dialler_rtp_packets_sent_total",
			"RTP packets sent.",
			func() float64 { return float64(p.Media.Stats().PacketsSent) }),
		Counter("dialler_rtp_packets_lost_total",
			"RTP packets that did not arrive.",
			func() float64 { return float64(p.Media.Stats().PacketsLost) }),
		newDropMetrics(p.Media.Stats),
		Counter("dialler_rtp_latched_total",
			"Calls whose audio comes from elsewhere than their SDP says (media.symmetric of the trunk).",
			func() float64 { return float64(p.Media.Stats().Latched) }),
		Counter("dialler_rtp_calls_crowded_total",
			"Calls opened on an RTP port beside one that was not heard yet, for want of ports: behind a NAT one of the "+
				"two may stay silent.",
			func() float64 { return float64(p.Media.Stats().Crowded) }),
		Gauge("dialler_rtp_ports", "RTP ports that are open.", func() float64 { return float64(p.Media.Stats().Sockets) }),
		Counter("dialler_rtp_ports_replaced_total",
			"RTP and RTCP ports that broke and were bound again.",
			func() float64 { return float64(p.Media.Stats().PortsReplaced) }),
		Counter("dialler_srtp_packets_dropped_total",
			"SRTP and SRTCP packets that were not authentic, or were replayed.",
			func() float64 {
				s := p.Media.Stats()
				return float64(s.SRTPForged + s.SRTPReplayed)
			}),
		Gauge("dialler_recordings_bytes",
			"Size of the recordings that are kept.",
			func() float64 { return float64(p.Recorder.Stats().Bytes) }),
		Gauge("dialler_recordings_live",
			"Recordings that are being written.",
			func() float64 { return float64(p.Recorder.Stats().Live) }),
		Counter("dialler_recordings_total",
			"Recordings whose file is complete.",
			func() float64 { return float64(p.Recorder.Stats().Files) }),
		Counter("dialler_recording_frames_dropped_total",
			"Steps of 20 ms that a slow or full disk did not take.",
			func() float64 { return float64(p.Recorder.Stats().FramesDropped) }),
		Counter("dialler_recording_write_errors_total",
			"Writes of recordings that failed.",
			func() float64 { return float64(p.Recorder.Stats().WriteErrors) }),
		Gauge("dialler_bots_down",
			"Active bots none of whose endpoints takes calls; nothing is dialled with them.",
			func() float64 { return float64(t.Fleet.BotsDown.Load()) }),
		Gauge("dialler_bot_endpoints_down",
			"Endpoints of active bots that take no calls.",
			func() float64 { return float64(t.Fleet.EndpointsDown.Load()) }),
		Gauge("dialler_trunks_down",
			"Active trunks that do not take calls as they should: no more answers to OPTIONS, failures in a row, or held; "+
				"one that is tried again is among them until a call succeeds, one that is unproven is not.",
			func() float64 { return float64(t.Trunks.Down.Load()) }),
		Gauge("dialler_bot_sockets", "Open bot sockets.", func() float64 { return float64(p.Media.Stats().Bots) }),
	}...) {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}
