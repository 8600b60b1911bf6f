package process

import (
	"github.com/prometheus/client_golang/prometheus"

	callactor "dialler/actors/call"
)

// newCommitHistogram: its buckets are narrow enough to give a percentile within
// a tenth, from half a millisecond to ten seconds.
func newCommitHistogram() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "dialler_commit_seconds", Help: "Duration of the group commits.", Buckets: prometheus.ExponentialBuckets(0.0005, 1.1, 105),
	})
}

// newDelayHistogram is of the time from a call's admission to its INVITE.
func newDelayHistogram() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "dialler_post_dial_delay_seconds", Help: "From the admission of a call until its first INVITE left.",
		Buckets: []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10},
	})
}

// newStageHistogram is of what comes after the answer. The 2 s rule is a boundary.
func newStageHistogram() *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "dialler_answer_stage_seconds",
		Help:    "From the answer until: the verdict of classification, the bot's path stood, the bot was first heard; and from the moment of the 2 s rule until the information message began.",
		Buckets: []float64{.05, .1, .2, .3, .5, .75, 1, 1.25, 1.5, 1.8, 2, 2.5, 3, 4, 5, 6, 8},
	}, []string{"stage"})
	for _, s := range callactor.Stages {
		h.WithLabelValues(string(s))
	}
	return h
}

// newOpinionHistogram is of the quality of audio, 1 to 4.5.
func newOpinionHistogram() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "dialler_call_mos", Help: "Estimated opinion score of what was heard of the callee, of calls with audio.",
		Buckets: []float64{1.5, 2, 2.5, 3, 3.3, 3.6, 4, 4.2, 4.5},
	})
}

func counter(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, f)
}

func gauge(name, help string, f func() float64) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, f)
}

// registerMetrics puts the figures of the tree and the adapters at /metrics.
// They count one life of the process; label sets are closed.
func registerMetrics(reg prometheus.Registerer, p *Process) error {
	t := p.tree.Stats()
	if err := registerSpoolMetrics(reg, p); err != nil {
		return err
	}
	if p.several != nil {
		for _, c := range append(p.several.metrics(p.keepers.Stats()), p.capacity.metrics()...) {
			if err := reg.Register(c); err != nil {
				return err
			}
		}
	}
	if p.ladders != nil {
		if err := reg.Register(counter("dialler_sip_ladders_dropped_total",
			"SIP ladders of failed calls that were not stored because the database was too slow or away.",
			func() float64 { return float64(p.ladders.dropped.Load()) })); err != nil {
			return err
		}
	}
	for _, c := range append(p.eligibility.collectors(), []prometheus.Collector{
		p.commits, p.delays, p.opinions, p.stages, newStandingMetrics(p), p.hooks, p.hooks.tries, p.hooks.took,
		newCampaignMetrics(p.tree.Figures),
		counter("dialler_attempts_total", "Attempts begun.", func() float64 { return float64(t.Calls.Attempts.Load()) }),
		counter("dialler_attempts_ended_total", "Attempts ended, recovered ones among them.", func() float64 { return float64(t.Calls.Ended.Load()) }),
		newOutcomeMetrics(t.Calls.Outcome),
		counter("dialler_attempts_recovered_total", "Attempts of an earlier process life that were closed.", func() float64 { return float64(t.Calls.Recovered.Load()) }),
		counter("dialler_legs_sent_total", "SIP legs whose INVITE left.", func() float64 { return float64(t.Calls.LegsSent.Load()) }),
		counter("dialler_answers_total", "Calls answered.", func() float64 { return float64(t.Calls.Answered.Load()) }),
		counter("dialler_served_total", "Live answers that a bot served.", func() float64 { return float64(t.Calls.Served.Load()) }),
		counter("dialler_abandoned_total", "Live answers that no bot served in time.", func() float64 { return float64(t.Calls.Abandoned.Load()) }),
		counter("dialler_results_total", "Results of conversations stored.", func() float64 { return float64(t.Calls.Results.Load()) }),
		counter("dialler_illegal_events_total", "Events that a state machine refused.", func() float64 { return float64(t.Calls.Illegal.Load()) }),
		counter("dialler_actor_restarts_total", "Actors restarted after a panic.", func() float64 { return float64(t.Actors.Restarts.Load()) }),
		counter("dialler_commands_overloaded_total", "Commands refused with overloaded because too many messages waited for a campaign or for dialout.", func() float64 { return float64(t.Actors.Overloads.Load()) }),
		gauge("dialler_mailbox_messages", "Messages that wait for the campaign, or dialout, that has most to do.", func() float64 { return float64(p.tree.Waiting()) }),
		gauge("dialler_actors_failing", "Actors that panicked again and again and wait before they are restarted.", func() float64 { return float64(t.Actors.Failing.Load()) }),
		counter("dialler_commits_total", "Group commits.", func() float64 { return float64(t.Writers.Commits.Load()) }),
		counter("dialler_commit_writes_total", "Writes made durable by group commits.", func() float64 { return float64(t.Writers.Writes.Load()) }),
		counter("dialler_commit_failures_total", "Group commits that failed and were repeated.", func() float64 { return float64(t.Writers.Failures.Load()) }),
		gauge("dialler_database_up", "1 while the database takes commits, 0 while it is away and no new call is placed.", func() float64 {
			if p.tree.Database().Up {
				return 1
			}
			return 0
		}),
		counter("dialler_database_outages_total", "How often the database went away.", func() float64 { return float64(p.tree.Database().Outages) }),
		gauge("dialler_commit_writes_waiting", "Writes in memory that are not yet in the database or the spool.", func() float64 { return float64(t.Writers.Waiting.Load()) }),
		gauge("dialler_live_calls", "Attempts that have not ended.", func() float64 { return float64(p.tree.LiveCalls()) }),
		gauge("dialler_seats_held", "Seats granted to campaigns and dialout.", func() float64 { return float64(t.Fleet.SeatsHeld.Load()) }),
		gauge("dialler_trunk_channels_held", "Trunk channels leased to legs.", func() float64 { return float64(t.Trunks.Leases.Load()) }),
		gauge("dialler_number_slots_held", "Outbound numbers leased to attempts.", func() float64 { return float64(t.Numbers.Leases.Load()) }),
		gauge("dialler_numbers_quarantined", "Outbound numbers that are quarantined, by strikes or by an operator.", func() float64 { return float64(t.Numbers.Quarantined.Load()) }),
		gauge("dialler_sip_legs_live", "SIP legs without a final event.", func() float64 { return float64(p.sip.Stats().LiveLegs) }),
		gauge("dialler_sip_legs_known", "SIP legs with state, ended ones that still answer retransmissions included.", func() float64 { return float64(p.sip.Stats().KnownLegs) }),
		gauge("dialler_media_paths", "Open media paths.", func() float64 { return float64(p.media.Stats().Calls) }),
		counter("dialler_sip_strangers_total", "SIP requests and connections from addresses of no trunk; dropped.", func() float64 { return float64(p.sip.Stats().Strangers) }),
		counter("dialler_sip_floods_total", "SIP requests outside of calls beyond the rate of one address; dropped.", func() float64 { return float64(p.sip.Stats().Floods) }),
		counter("dialler_sip_retransmissions_total", "SIP requests repeated by a timer.", func() float64 { return float64(p.sip.Stats().Retransmissions) }),
		counter("dialler_rtp_packets_received_total", "RTP packets received.", func() float64 { return float64(p.media.Stats().PacketsReceived) }),
		counter("dialler_rtp_packets_sent_total", "RTP packets sent.", func() float64 { return float64(p.media.Stats().PacketsSent) }),
		counter("dialler_rtp_packets_lost_total", "RTP packets that did not come.", func() float64 { return float64(p.media.Stats().PacketsLost) }),
		newDropMetrics(p.media.Stats),
		counter("dialler_rtp_latched_total", "Calls heard from elsewhere than their SDP says (media.symmetric of the trunk).", func() float64 { return float64(p.media.Stats().Latched) }),
		counter("dialler_rtp_calls_crowded_total", "Calls opened on an RTP port beside one that was not heard yet, for want of ports: behind a NAT one of the two may stay silent.", func() float64 { return float64(p.media.Stats().Crowded) }),
		gauge("dialler_rtp_ports", "RTP ports that are open.", func() float64 { return float64(p.media.Stats().Sockets) }),
		counter("dialler_rtp_ports_replaced_total", "RTP and RTCP ports that broke and were bound again.", func() float64 { return float64(p.media.Stats().PortsReplaced) }),
		counter("dialler_srtp_packets_dropped_total", "SRTP and SRTCP packets that were not genuine, or came before.", func() float64 {
			s := p.media.Stats()
			return float64(s.SRTPForged + s.SRTPReplayed)
		}),
		gauge("dialler_recordings_bytes", "Size of the recordings that are kept.", func() float64 { return float64(p.recorder.Stats().Bytes) }),
		gauge("dialler_recordings_live", "Recordings that are being written.", func() float64 { return float64(p.recorder.Stats().Live) }),
		counter("dialler_recordings_total", "Recordings whose file is whole.", func() float64 { return float64(p.recorder.Stats().Files) }),
		counter("dialler_recording_frames_dropped_total", "Steps of 20 ms that a slow or full disk did not take.", func() float64 { return float64(p.recorder.Stats().FramesDropped) }),
		counter("dialler_recording_write_errors_total", "Writes of recordings that failed.", func() float64 { return float64(p.recorder.Stats().WriteErrors) }),
		gauge("dialler_bots_down", "Active bots none of whose endpoints takes calls; nothing is dialled with them.", func() float64 { return float64(t.Fleet.BotsDown.Load()) }),
		gauge("dialler_bot_endpoints_down", "Endpoints of active bots that take no calls.", func() float64 { return float64(t.Fleet.EndpointsDown.Load()) }),
		gauge("dialler_trunks_down", "Active trunks that do not take calls as they should: no answer to OPTIONS, failures in a row, or held; one that is tried again is among them until a call succeeds.", func() float64 { return float64(t.Trunks.Down.Load()) }),
		gauge("dialler_bot_sockets", "Bot sockets that stand.", func() float64 { return float64(p.media.Stats().Bots) }),
	}...) {
		if err := reg.Register(c); err != nil {
			return err
		}
	}
	return nil
}
