package sim

import (
	"fmt"
	"time"

	"dialler/engine"
	"dialler/engine/cadence"
	"dialler/engine/calendar"
	"dialler/engine/callee"
	"dialler/engine/campaign"
	"dialler/engine/frequency"
	"dialler/engine/redial"
	win "dialler/engine/window"
)

// dice draws the parts of an installation one by one.
type dice struct {
	c callee.Chance
	k uint64
}

func (d *dice) u() float64 {
	d.k++
	return d.c.At(d.k)
}

func (d *dice) in(low, high int) int { return low + int(d.u()*float64(high-low+1)) }

func (d *dice) chance(p float64) bool { return d.u() < p }

// maybe draws from a range with probability p, otherwise 0.
func (d *dice) maybe(p float64, low, high int) int {
	if !d.chance(p) {
		return 0
	}
	return d.in(low, high)
}

func (d *dice) span(low, high time.Duration) time.Duration {
	return low + time.Duration(d.u()*float64(high-low))
}

func pick[T any](d *dice, list ...T) T { return list[d.in(0, len(list)-1)] }

// DrawInstallation draws an installation from a seed: one or two campaigns with random settings,
// and its faults.
func DrawInstallation(seed uint64) Installation {
	d := &dice{c: callee.ChanceOf(callee.Mix(seed^0x5eed), 1)}
	in := Installation{
		Start:  time.Date(2030, 1+time.Month(d.in(0, 11)), d.in(1, 28), d.in(6, 22), d.in(0, 59), 0, 0, time.UTC),
		Length: d.span(6*time.Hour, 4*24*time.Hour),
		Seats:  d.in(1, 30), Commit: time.Duration(d.in(1, 40)) * time.Millisecond,
	}
	p := callee.Standard()
	p.Answer = callee.Always(pick(d, 0.05, 0.3, 0.6, 0.95))
	p.RingMean, p.RingSD = d.span(2*time.Second, 18*time.Second), d.span(time.Second, 8*time.Second)
	p.TalkMean = d.span(12*time.Second, 2*time.Minute)
	p.Machines, p.Short, p.Hold = pick(d, 0, 0.2, 0.8), pick(d, 0, 0.3, 0.9), d.span(time.Second, 20*time.Second)
	in.People = p
	if d.chance(0.3) {
		in.Prefixes = []string{"+49151", "+1212", "+442"}
	}
	for i := range d.in(1, 2) {
		in.Trunks = append(in.Trunks, drawTrunk(d, i))
	}
	for i := range d.in(1, 4) {
		s := engine.NumberSettings{Number: engine.PhoneNumber(fmt.Sprintf("+4930123450%02d", i)), State: "active"}
		s.ConcurrentCap = d.maybe(0.4, 1, 10)
		s.HourCap = d.maybe(0.2, 20, 200)
		s.DayCap = d.maybe(0.1, 50, 500)
		s.RestSec = d.maybe(0.1, 1, 20)
		in.Numbers = append(in.Numbers, s)
	}
	in.Bot = drawBot(d)
	campaigns := 1
	if d.chance(0.4) {
		campaigns = 2
	}
	for i := range campaigns {
		in.Campaigns = append(in.Campaigns, drawCampaign(d, &in, i))
	}
	for range d.maybe(0.7, 1, 6) {
		in.Faults = append(in.Faults, drawFault(d, &in))
	}
	for _, what := range []frequency.What{frequency.Attempts, frequency.Conversations, frequency.Abandons} {
		if n := d.maybe(0.1, 1, 4); n > 0 {
			in.CalleeLimits = append(in.CalleeLimits, frequency.Limit{What: what, Most: n,
				Period: pick(d, 10*time.Minute, time.Hour, 24*time.Hour)})
		}
	}
	if d.chance(0.5) {
		in.Timed = pick(d, 0.1, 0.5, 1)
	}
	if d.chance(0.4) {
		in.Several = pick(d, 0.2, 1)
	}
	drawCadences(d, &in)
	drawCalendars(d, &in)
	for i := range in.Campaigns {
		in.Campaigns[i].Settings.BestHour = d.chance(0.5)
	}
	drawCallsBack(d, &in)
	return in
}

// drawCallsBack has some people call us, and says what they get.
func drawCallsBack(d *dice, in *Installation) {
	if d.chance(0.5) {
		return
	}
	in.CallsBack = pick(d, 0.05, 0.3, 0.9)
	for i := range in.Campaigns {
		in.Campaigns[i].Settings.CallbackPolicy = pick(d, "bot", "bot", "message", "reject", "")
	}
	for i := range in.Numbers {
		in.Numbers[i].CallbackPolicy, in.Numbers[i].CallbackBot = pick(d, "bot", "bot", "message", "reject", ""), botID
	}
	for range d.maybe(0.5, 1, 5) {
		in.Faults = append(in.Faults, Fault{Kind: FaultCallInCrash, Value: d.in(0, 1000),
			At: d.span(time.Minute, 2*time.Hour)})
	}
}

// drawCalendars gives some campaigns calendars, and some installations one of a country, which somebody
// may edit.
func drawCalendars(d *dice, in *Installation) {
	if d.chance(0.5) {
		return
	}
	draw := func() (list []calendar.Named) {
		for i := range d.in(1, 3) {
			n := calendar.Named{ID: engine.CalendarID(fmt.Sprint("calendar-", i)), Name: fmt.Sprint("c", i)}
			n.Hours = win.Calendar{Zone: pick(d, "", "", "America/New_York"), Hours: map[win.Day][]win.Span{}}
			for _, day := range []win.Day{win.Mon, win.Tue, win.Wed, win.Thu, win.Fri, win.Sat} {
				from := win.TimeOfDay(d.in(0, 13) * 60)
				n.Hours.Hours[day] = []win.Span{{From: from, To: from + 4*60}, {From: from + 5*60, To: (from + 16*60) % (24 * 60)}}
			}
			if d.chance(0.3) {
				n.Hours.Hours = nil
			}
			if d.chance(0.5) {
				n.Hours.Exceptions = []win.Exception{{Date: win.DateOf(start).Add(d.in(0, 2)),
					Hours: []win.Span{{From: 12 * 60, To: win.TimeOfDay(d.in(13, 24) * 60)}}}}
			}
			if i == 2 {
				n.Hours.Countries = []string{pick(d, "DE", "US")}
			}
			n.Sets = pick(d, nil, []string{"DE"})
			n.Complete()
			list = append(list, n)
		}
		return list
	}
	in.Calendars = draw()
	for i := range in.Campaigns {
		s := &in.Campaigns[i].Settings
		for j := range in.Calendars {
			if d.chance(0.4) && len(in.Calendars[j].Hours.Countries) == 0 {
				s.Calendars = append(s.Calendars, in.Calendars[j].ID)
			}
		}
		if d.chance(0.2) {
			in.Campaigns[i].Acts = append(in.Campaigns[i].Acts, PlannedAct{At: time.Duration(d.in(1, 600)) * time.Minute,
				Calendars: draw()})
		}
	}
}

// drawCadences gives some campaigns a cadence.
func drawCadences(d *dice, in *Installation) {
	for i := range in.Campaigns {
		if d.chance(0.5) {
			continue
		}
		text := pick(d, "busy: 5m, 15m, 1h · no_answer: 30m, another part of the day, next day · machine: next day",
			"no_answer: 1m, 1h, at most 2 · congestion: 2m · connected: 10m, at most 1", "busy: 1m · no_answer: 2m",
			"at most 1 a day")
		if d.chance(0.5) {
			text += fmt.Sprintf(" · rejected: 1h · at most %d a day · next number after %d", d.in(1, 3), d.in(1, 3))
		}
		c, wrong := cadence.Parse("rules", text)
		if wrong != nil { // its last rule is there already
			continue
		}
		s := &in.Campaigns[i].Settings
		s.Cadence = engine.CadenceID(fmt.Sprint("cadence-", i))
		in.Cadences = append(in.Cadences, cadence.Named{ID: s.Cadence, Name: text, Cadence: c, Version: 1})
	}
}

func drawTrunk(d *dice, i int) TrunkPlan {
	t := TrunkPlan{Settings: engine.TrunkSettings{ID: engine.TrunkID(fmt.Sprint("trunk-", i+1)), Active: true,
		CPSCap: d.in(1, 30), ChannelCap: d.in(3, 100), Priority: d.in(0, 1), Weight: d.in(1, 3)}}
	t.CarrierCPS = d.maybe(0.2, 1, t.Settings.CPSCap)
	if d.chance(0.3) {
		t.Refuses = d.u() * 0.3
	}
	return t
}

func drawBot(d *dice) callee.Bot {
	some := func(p, most float64) float64 {
		if d.chance(p) {
			return d.u() * most
		}
		return 0
	}
	return callee.Bot{
		Connect: d.span(20*time.Millisecond, 900*time.Millisecond), Late: some(0.3, 0.05), Fails: some(0.3, 0.05),
		EndsCall:     d.u(),
		ResultInCall: d.u() * 0.5, ResultLate: some(0.5, 0.3), ResultNever: some(0.5, 0.4), ResultTwice: some(0.5, 0.3),
		Callback: some(0.6, 0.5), DoNotCall: some(0.3, 0.1), Dispositions: []string{"done", "again", " Again", "no", ""},
		VerdictWrong: some(0.5, 0.2), VerdictNever: some(0.5, 0.2), HangsUpEarly: some(0.5, 0.2),
		LastsTooLong:  some(0.3, 0.05),
		CrossedCancel: some(0.5, 0.2), NoMedia: some(0.1, 0.05), Revised: some(0.5, 0.2), OptsOut: some(0.5, 0.5),
	}
}

func drawCampaign(d *dice, in *Installation, i int) CampaignPlan {
	s := campaign.Defaults()
	s.Name, s.Bot, s.Concurrency = fmt.Sprint("drawn ", i+1), "bot", d.in(1, 25)
	for k := range in.Numbers {
		if k == 0 || d.chance(0.6) {
			s.Numbers = append(s.Numbers, in.Numbers[k].Number)
		}
	}
	s.Window = drawWindow(d, in)
	s.SingleDay = d.chance(0.35)
	s.AlwaysOn = !s.SingleDay && d.chance(0.15)
	s.MaxAttempts, s.RetryDelaySec = d.in(1, 5), pick(d, 1, 30, 300, 1800, 7200)
	s.RetryOnSystem = []engine.Outcome{}
	for _, o := range redial.ListableOutcomes() {
		if d.chance(0.5) {
			s.RetryOnSystem = append(s.RetryOnSystem, o)
		}
	}
	if d.chance(0.5) {
		s.RetryOnCustom = []string{"AGAIN"}
	}
	s.StopRedialsAfterSec = d.maybe(0.3, 1, 60)
	if s.RedialOnlyUnderSec = d.maybe(0.3, 1, 60); s.StopRedialsAfterSec > 0 {
		s.RedialOnlyUnderSec = min(s.RedialOnlyUnderSec, s.StopRedialsAfterSec)
	}
	s.RingTimeoutSec, s.CallLimitSec, s.ResultTimeoutSec = d.in(15, 40), pick(d, 30, 120, 900), pick(d, 5, 60, 900)
	s.AMD = pick(d, engine.AMDOff, engine.AMDSequential, engine.AMDParallel)
	s.AbandonCapPPM = pick(d, 0, 10_000, 30_000, 30_000, 50_000)
	s.PacingMode = pick(d, campaign.PacingStrict, campaign.PacingStrict, campaign.PacingStrict, campaign.PacingHybrid,
		campaign.PacingProgressive)
	s.Weight = d.in(1, 3)
	s.MaxLines = d.maybe(0.2, 1, 30)
	s.CallbackDetection, s.StickyExclusion = d.chance(0.6), d.chance(0.5)
	s.LocalMatch, s.StopEndsCalls, s.StickyNumber = d.chance(0.2), d.chance(0.5), d.chance(0.3)
	s.AMDReviseSec = pick(d, 0, 5, 20)
	if d.chance(0.1) {
		s.EligibilityURL = "https://hook"
	}
	if d.chance(0.2) {
		s.Voicemail = "message"
	}

	plan := CampaignPlan{Settings: s, Contacts: int(5 * d.span(1, 60)), First: i * pick(d, 0, 10, 100_000)}
	at := d.span(time.Second, 10*time.Minute)
	plan.Acts = append(plan.Acts, PlannedAct{At: at, Action: campaign.ActionStart})
	soon := func() time.Duration { return at + time.Duration(d.u()*d.u()*float64(3*time.Hour)) }
	for range d.in(0, 2) {
		from := soon()
		plan.Acts = append(plan.Acts, PlannedAct{At: from, Action: campaign.ActionPause},
			PlannedAct{At: from + d.span(time.Second, 20*time.Minute), Action: campaign.ActionResume})
	}
	for range d.in(0, 10) {
		out := PlannedAct{At: soon(), Exclude: 1 + plan.First + d.in(0, plan.Contacts+5)}
		plan.Acts = append(plan.Acts, out)
		if d.chance(0.3) {
			plan.Acts = append(plan.Acts, PlannedAct{At: out.At + d.span(time.Second, 10*time.Minute), Lift: out.Exclude})
		}
	}
	for range d.in(0, 10) {
		plan.Acts = append(plan.Acts, PlannedAct{At: soon(), Trigger: 1 + plan.First + d.in(0, plan.Contacts+20),
			Keyed: d.chance(0.5)})
	}
	for range d.maybe(0.5, 1, 10) {
		plan.Acts = append(plan.Acts, PlannedAct{At: soon(), Trigger: 1 + plan.First + d.in(0, plan.Contacts+20),
			NotBefore: time.Duration(d.maybe(0.6, 1, 7200)) * time.Second,
			Expires:   time.Duration(d.maybe(0.6, 1, 7200)) * time.Second})
	}
	drawOperators(d, &plan, soon)
	if d.chance(0.2) {
		plan.Acts = append(plan.Acts, PlannedAct{At: soon(), Segment: d.in(1, segments)})
	}
	if d.chance(0.3) {
		plan.Acts = append(plan.Acts, PlannedAct{At: soon(), Add: d.in(1, 50)})
	}
	if d.chance(0.3) {
		stop := soon()
		plan.Acts = append(plan.Acts, PlannedAct{At: stop, Action: campaign.ActionStop})
		if d.chance(0.6) {
			again := stop + d.span(10*time.Minute, 2*time.Hour)
			plan.Acts = append(plan.Acts, PlannedAct{At: again, Action: campaign.ActionRestart, Unreached: d.chance(0.3)},
				PlannedAct{At: again + time.Minute, Action: pick(d, campaign.ActionStart, campaign.ActionCancelRestart)})
		}
	}
	if s.AlwaysOn {
		plan.Acts = append(plan.Acts, PlannedAct{At: d.span(4*time.Hour, 6*time.Hour), Action: campaign.ActionStop})
	}
	return plan
}

// drawOperators draws what operators do during the campaign.
func drawOperators(d *dice, plan *CampaignPlan, soon func() time.Duration) {
	somebody := func() int { return 1 + plan.First + d.in(0, plan.Contacts+5) }
	add := func(p float64, most int, act func() PlannedAct) {
		for range d.maybe(p, 1, most) {
			a := act()
			a.At = soon()
			plan.Acts = append(plan.Acts, a)
		}
	}
	add(0.2, 2, func() PlannedAct { return PlannedAct{Lift: somebody()} })
	add(0.3, 3, func() PlannedAct { return PlannedAct{Erase: somebody()} })
	add(0.3, 5, func() PlannedAct { return PlannedAct{Suppress: somebody()} })
	add(0.3, 5, func() PlannedAct { return PlannedAct{CallNow: somebody()} })
	add(0.3, 5, func() PlannedAct { return PlannedAct{CallBack: somebody()} })
	add(0.3, 2, func() PlannedAct { return PlannedAct{Import: d.in(1, 60)} })
	if d.chance(0.4) {
		from := soon()
		edit := &CampaignEdit{MaxAttempts: d.in(0, 5), RetryDelaySec: pick(d, 0, 10, 600), Concurrency: d.in(0, 25)}
		plan.Acts = append(plan.Acts, PlannedAct{At: from, Action: campaign.ActionPause},
			PlannedAct{At: from + d.span(time.Second, time.Minute), Edit: edit},
			PlannedAct{At: from + d.span(time.Minute, 10*time.Minute), Action: campaign.ActionResume})
	}
}

// drawWindow draws a window that opens within the world's time, often about now.
func drawWindow(d *dice, in *Installation) win.Window {
	w := win.Window{Zone: pick(d, "Europe/Berlin", "America/New_York", "UTC", "Asia/Kolkata"), ContactZone: d.chance(0.15)}
	loc, err := time.LoadLocation(w.Zone)
	if err != nil {
		loc = time.UTC
	}
	local := in.Start.In(loc)
	if !d.chance(0.2) { // else all day
		from := (local.Hour()*60 + local.Minute() + d.in(-180, 60) + 1440) % 1440
		w.Start = win.TimeOfDay(from)
		w.End = win.TimeOfDay((from + d.in(30, 600)) % 1440)
	}
	if d.chance(0.2) {
		w.Days = []win.Day{win.Mon, win.Tue, win.Wed, win.Thu, win.Fri}
	}
	return w
}

func drawFault(d *dice, in *Installation) Fault {
	f := Fault{At: time.Duration(d.u() * d.u() * float64(4*time.Hour)), Length: d.span(time.Second, 5*time.Minute)}
	f.Kind = pick(d, FaultTrunkDown, FaultTrunkRefuses, FaultSeats, FaultDatabase, FaultCrash, FaultCrash, FaultClock,
		FaultSlowCommit,
		FaultRunCrash, FaultContactCrash, FaultContactCrash, FaultHandOver)
	f.Campaign = d.in(0, len(in.Campaigns)-1)
	f.Trunk = d.in(0, len(in.Trunks)-1)
	switch f.Kind {
	case FaultSeats:
		f.Value = d.in(0, in.Seats)
	case FaultClock:
		f.Value = pick(d, -3600, -20, 3, 60, 3600)
	case FaultSlowCommit:
		f.Value = d.in(100, 12_000)
	case FaultCrash:
		f.Length = d.span(100*time.Millisecond, 90*time.Second)
	case FaultContactCrash:
		f.Value = d.in(0, 1000)
	case FaultHandOver:
		f.Length = d.span(100*time.Millisecond, 10*time.Second)
	case FaultTrunkDown, FaultTrunkRefuses, FaultDatabase, FaultRunCrash, FaultCallInCrash:
	}
	return f
}
