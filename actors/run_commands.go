package actors

import (
	"cmp"
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// Requests to a run; each is answered with an answer.
type (
	act struct{ cmd campaign.Act }
	// actReady brings what an action had to ask the database for.
	actReady struct {
		cmd     campaign.Act
		replyTo *actor.PID
		facts   campaign.PreflightFacts
		bots    []engine.Bot
		err     error
		config  *fetchedConfig // of a Start with a Config URL, once it was fetched
	}
	detail  struct{}
	addRows struct {
		cmd   campaign.AddContacts
		batch *campaign.AddBatch // whose contacts are cmd's; nil for a plain list
	}
	rowsAdded struct {
		report  campaign.AddReport
		batch   *campaign.BatchReply
		epoch   int64 // of the run that added them
		cmd     campaign.AddContacts
		look    look
		again   []contact.Contact // excluded ones that were added again
		lifting bool              // exclusions are not sticky
		event   journal.Event
		replyTo *actor.PID
		err     error
	}
	submitResult struct {
		Contact engine.ContactID
		Store   call.StoreResult
	}
	tellContact struct {
		Contact engine.ContactID
		Attempt engine.AttemptID
		Digits  string // "": hang up
	}
	resetDone struct {
		of       campaign.Effect
		removed  bool
		counters campaign.Counters
		ledgers  ledgers // of the run that a cancelled restart shows again
		err      error
	}
	refreshBots struct{ bots []engine.Bot }
	opPersisted struct{ op int }
)

// answer is the reply to a request.
type answer struct {
	Value any
	Err   error
}

func reply(d *deps, to *actor.PID, value any, err error) {
	if to != nil {
		d.root.Send(to, &answer{value, err})
	}
}

func (r *run) known(sender *actor.PID) bool {
	err := r.missing()
	if err != nil {
		reply(r.d, sender, nil, err)
	}
	return err == nil
}

// missing says why the run has no campaign to act for, nil when it has one.
func (r *run) missing() error {
	if r.m.C.ID != "" {
		return nil
	}
	return cmp.Or(r.absent, error(errCampaignNotFound))
}

var errPreparing = engine.TemporaryConflict("contacts_being_prepared", "the contacts are being prepared for the run; try again in a moment", time.Second)

var errCampaignNotFound = engine.NotFound("campaign_not_found", "no campaign has this identifier")

// --- lifecycle ---------------------------------------------------------------

// act: Start and Resume need a preflight, whose facts come from the database.
func (r *run) act(m *act, sender *actor.PID) {
	if !r.known(sender) {
		return
	}
	switch m.cmd.Action {
	case campaign.ActionStart, campaign.ActionResume:
	default:
		r.actReady(&actReady{cmd: m.cmd, replyTo: sender})
		return
	}
	d, self, id, n, pool := r.d, r.self, r.id, r.m.C.Run, r.m.C.Settings.Numbers
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		m := &actReady{cmd: m.cmd, replyTo: sender}
		m.facts, m.bots, m.err = d.preflightFacts(ctx, id, n, pool)
		d.root.Send(self, m)
	}()
}

var actionKind = map[campaign.Action]campaign.Kind{
	campaign.ActionStart: campaign.Start, campaign.ActionPause: campaign.Pause, campaign.ActionResume: campaign.Resume,
	campaign.ActionStop: campaign.Stop, campaign.ActionRestart: campaign.Restart,
	campaign.ActionCancelRestart: campaign.CancelRestart, campaign.ActionDelete: campaign.Delete,
	campaign.ActionEdit: campaign.Edit,
}

func (r *run) actReady(m *actReady) {
	if m.err != nil {
		reply(r.d, m.replyTo, nil, unavailable(m.err))
		return
	}
	ev := campaign.Event{Kind: actionKind[m.cmd.Action], At: r.now, Who: m.cmd.Who, Draining: r.draining(),
		Settings: m.cmd.Settings, Version: m.cmd.Version, Unreached: m.cmd.Unreached}
	if r.owed != nil {
		reply(r.d, m.replyTo, nil, errPreparing)
		return
	}
	if ev.Kind == campaign.Start || ev.Kind == campaign.Resume {
		r.setBot(m.bots)
		m.facts.BotKnown = r.bot.ID != ""
		if err := campaign.Preflight(&r.m.C, m.facts, r.now); err != nil && campaign.Preflighted(r.m.C.State, ev.Kind) {
			reply(r.d, m.replyTo, nil, err)
			return
		}
		if ev.Kind == campaign.Start {
			ev.WindowEndsAt = campaign.SingleDayEnd(&r.m.C, r.now)
		}
	}
	if url := r.m.C.Settings.ConfigURL; ev.Kind == campaign.Start && url != "" && r.m.C.State == campaign.Draft {
		if m.config == nil || m.config.document.URL != url { // edited while it was fetched
			r.fetchConfig(m)
			return
		}
		ev = campaign.Configure(ev, r.m.C, m.config.document, m.config.err, m.facts)
	}
	if err := r.applyCampaign(ev); err != nil {
		reply(r.d, m.replyTo, nil, err)
		return
	}
	if r.storing {
		r.storingFor = append(r.storingFor, m.replyTo) // answered by resetDone
		return
	}
	if r.sweeping != nil {
		r.sweeping.waiting = append(r.sweeping.waiting, m.replyTo)
		return
	}
	// The answer follows what was recorded: the writer keeps the order.
	r.afterWrites(func() { reply(r.d, m.replyTo, r.detail(), nil) })
}

// applyCampaign takes an event through the campaign's machine and carries out
// its effects.
func (r *run) applyCampaign(ev campaign.Event) error {
	effects, err := r.m.Apply(ev, nil)
	if err != nil {
		return err
	}
	if ev.Kind == campaign.Start || ev.Kind == campaign.Restart {
		r.beginLedger()
	}
	var w journal.Write
	var stored campaign.Effect
	for _, e := range effects {
		switch e := e.(type) {
		case campaign.CloseWaiting:
			w.Bulk = r.closeWaiting(e.As)
			r.settleTriggers(string(engine.ConstraintPaused))
		case campaign.Record:
			who := e.Who
			row := r.m.C
			w.CampaignRow = &row
			w.Events = append(w.Events, journal.Event{At: r.now, Type: journal.Type("campaign." + e.Action), Version: 1,
				Data: journal.Data{Who: &who, Reason: e.Reason, Changes: e.Changes}})
		case campaign.Retune:
			w.Retune = &journal.Retune{MaxAttempts: e.MaxAttempts, Sweep: r.sweep()}
		case campaign.Pump:
			r.lookAgain()
		case campaign.CancelRinging:
			r.broadcast(&call.End{})
		case campaign.HangUpCalls:
			r.broadcast(&call.End{HangUp: true})
		case campaign.ResetContacts, campaign.RestoreContacts, campaign.Remove:
			stored = e
		}
	}
	r.makeRules()
	r.broadcast(r.rules)
	r.tellPool()
	r.windowUntil = time.Time{} // the window may be another
	if w.CampaignRow != nil {
		r.sequence(&w)
		w.CampaignRow.Seq = r.m.C.Seq
		r.d.root.Send(r.d.writerFor(string(r.id)), &persist{Write: w, ReplyTo: r.self})
	}
	if stored != nil {
		r.storeAction(stored)
	}
	if w.Bulk != nil {
		r.endContacts(w.Bulk.To)
		r.follow(&w.Bulk.Sweep)
	}
	if w.Retune != nil {
		r.follow(&w.Retune.Sweep)
	}
	r.startTicking()
	return nil
}

func (r *run) broadcast(msg any) {
	for _, l := range r.lines {
		r.send(l, msg)
	}
}

// afterWrites runs f, in this actor, once everything written so far is
// durable.
func (r *run) afterWrites(f func()) {
	if r.barriers == nil {
		r.barriers = map[int64]func(){}
		r.barrierSeq = r.now.UnixNano() // never one of an earlier life of this run
	}
	r.barrierSeq++
	r.barriers[r.barrierSeq] = f
	r.d.root.Send(r.d.writerFor(string(r.id)), &barrier{ReplyTo: r.self, N: r.barrierSeq})
}

// --- contacts in -------------------------------------------------------------

func (r *run) addRows(m *addRows, sender *actor.PID) {
	if !r.known(sender) {
		return
	}
	cmd := m.cmd
	if err := r.applyCampaign(campaign.Event{Kind: campaign.AddRows, At: r.now, Who: cmd.Who}); err != nil {
		reply(r.d, sender, nil, engine.Conflict("contacts_locked", "contacts can be added to a draft that never ran and to a running campaign; this one is "+string(r.m.C.State)))
		return
	}
	ins := journal.ContactInsert{Campaign: r.id, Epoch: r.m.C.Epoch, Run: r.m.C.Run, Source: cmd.Source,
		Max: r.m.C.Settings.MaxAttempts, At: r.now, DueClass: contact.DueFirst}
	became := make([]campaign.BatchResult, len(cmd.Contacts))
	for i, c := range cmd.Contacts {
		if r.excluded.Refuses(c.Number, c.Variables, r.m.C.Settings.StickyExclusion) {
			became[i].Status = campaign.RowExcluded
			continue
		}
		ins.Contacts = append(ins.Contacts, journal.IdentifiedContact{ID: newContactID(r.now), NewContact: c})
	}
	sticky := r.m.C.Settings.StickyExclusion
	if !sticky {
		// Before they are there: the look-ahead must not take them for excluded.
		r.liftAll(cmd.Contacts)
		r.readmission.running++
	}
	who := cmd.Who
	r.m.C.Seq++
	after := contact.Fresh(ins.Max)
	ins.Event = journal.Event{Campaign: r.id, Seq: r.m.C.Seq, Run: r.m.C.Run, At: r.now, Type: journal.ContactsAdded, Version: 1,
		Data: journal.Data{Who: &who, After: &after}}
	d, self := r.d, r.self
	r.adding++
	batch, l := m.batch, r.beginLook()
	go func() {
		list := &addition{d: d, ins: ins, became: became, batch: batch}
		rep, err := list.store()
		ctx, cancel := context.WithTimeout(d.ctx, 2*d.cfg.CommitTimeout)
		defer cancel()
		ev := ins.Event
		ev.Data.Count = rep.Added
		m := &rowsAdded{look: l, report: rep, batch: list.reply, cmd: cmd, epoch: ins.Epoch, lifting: !sticky, event: ev, replyTo: sender, err: err}
		if err == nil && !sticky && rep.Duplicates > 0 {
			numbers := make([]engine.PhoneNumber, len(cmd.Contacts))
			for i := range cmd.Contacts {
				numbers[i] = cmd.Contacts[i].Number
			}
			m.again, m.err = d.store.ExcludedContacts(ctx, ins.Campaign, numbers)
			m.report.Readmitted = len(m.again)
		}
		d.root.Send(self, m)
	}()
}

func (r *run) rowsAdded(m *rowsAdded) {
	r.adding--
	defer r.drained()
	defer r.endLook(m.look)
	if m.lifting && r.readmission.running > 0 {
		r.readmitRows(m.look, m.again, m.cmd.Contacts)
		r.readmitted()
	}
	if m.err != nil {
		reply(r.d, m.replyTo, nil, unavailable(m.err))
		return
	}
	// A run that was loaded since then has counted them in the tables.
	if m.report.Added > 0 && m.epoch == r.m.C.Epoch {
		r.tally.Apply(&m.event)
	}
	if m.report.Added > 0 && r.over() {
		r.closeAgain() // the run ended meanwhile
	}
	m.report.Total = r.tally.C.Total
	r.lookAgain()
	if m.batch != nil {
		reply(r.d, m.replyTo, *m.batch, nil)
		return
	}
	reply(r.d, m.replyTo, m.report, nil)
}

// result: the contact it belongs to stores it.
func (r *run) result(m *submitResult, sender *actor.PID) {
	s := m.Store
	s.Request = request(sender)
	r.touch(m.Contact, &s)
}

// --- views -------------------------------------------------------------------

// draining: calls still live, or not everybody who waited is put away yet.
func (r *run) draining() bool { return r.engagedLines() > 0 || r.sweeping != nil }

func (r *run) detail() campaign.Detail {
	d := campaign.Detail{Campaign: r.m.C, Counters: r.tally.Counters()}
	switch r.m.C.State {
	case campaign.Completed, campaign.Failed:
		d.Draining = r.draining()
	case campaign.Running, campaign.Paused, campaign.Draft:
	}
	d.Live = r.liveView()
	return d
}

// --- time --------------------------------------------------------------------

func (r *run) startTicking() {
	if r.ticked || !r.needsTick() {
		return
	}
	r.ticked = true
	r.d.after(r.d.cfg.Tick, r.self, &runTick{})
}

// needsTick: a campaign that has ended is looked after while a call lives or a
// result is owed.
func (r *run) needsTick() bool {
	return r.m.C.State == campaign.Running || r.m.C.State == campaign.Paused || len(r.lines) > 0 ||
		r.tally != nil && r.tally.C.States[contact.Connected] > 0
}

// putAway lets go of the room that the contacts of a campaign took: one that has
// ended may stay in memory for long, and maps keep the room that they once had.
func (r *run) putAway() {
	if r.queue.Len() == 0 {
		r.queue.Clear()
	}
	if len(r.lines) == 0 {
		r.lines, r.byNumber = map[engine.ContactID]*line{}, map[engine.PhoneNumber]*line{}
	}
	if len(r.loads) == 0 {
		r.loads = map[engine.ContactID][]any{}
	}
	if !r.refilling {
		r.touched = map[engine.ContactID]struct{}{}
	}
}

// tick looks at what happens without a message: windows, days, results that do
// not come, seats to renew.
func (r *run) tick() {
	r.ticked = false
	r.startTicking()
	r.publish()
	if !r.ready || r.tally == nil {
		return
	}
	if !r.ticked {
		r.putAway()
	}
	if r.pace.model != nil {
		r.pace.model.Tick(r.now)
		r.keepPacing()
	}
	r.watchClock()
	c := &r.m.C
	if c.WindowEndsAt != nil && !r.now.Before(*c.WindowEndsAt) && !r.gated() && (c.State == campaign.Running || c.State == campaign.Paused) {
		_ = r.applyCampaign(campaign.Event{Kind: campaign.WindowEnded, At: r.now})
	}
	r.missBot()
	r.roll()
	if r.now.Sub(r.lastReconcile) >= r.d.cfg.Reconcile {
		r.lastReconcile = r.now
		r.listOpen()
	}
	if r.now.Sub(r.lastOverdue) >= 2*time.Second {
		r.lastOverdue = r.now
		if r.asked > 0 {
			since := r.fewerSince
			r.wantSeats(r.asked) // renews the allotment
			r.fewerSince = since
		}
		if r.tally.C.States[contact.Connected] > 0 {
			r.findOverdue()
		}
	}
}

func (r *run) findOverdue() {
	d, self, id, now, l := r.d, r.self, r.id, r.now, r.beginLook()
	go func() {
		ctx, cancel := context.WithTimeout(d.ctx, d.cfg.CommitTimeout)
		defer cancel()
		rows, err := d.store.ResultsOverdue(ctx, id, now, 256)
		if err != nil {
			rows = nil // asked again in a moment
		}
		d.root.Send(self, &overdue{l, rows})
	}()
}

func (r *run) overdue(m *overdue) {
	defer r.endLook(m.look)
	for i := range m.rows {
		r.touchFound(m.look, m.rows[i], &call.ResultTimeout{})
	}
}

// --- rules -------------------------------------------------------------------

func (r *run) setBot(bots []engine.Bot) {
	r.bot = engine.Bot{}
	for _, b := range bots {
		if b.ID == r.m.C.Settings.Bot {
			r.bot = b
		}
	}
}

func (r *run) refreshBots(m *refreshBots) {
	r.setBot(m.bots)
	r.makeRules()
	r.broadcast(r.rules)
	r.missBot()
}

// missBot: a campaign whose bot was deleted fails; no waiting cures it. Not
// while rows of an import are being switched on: the next tick looks again.
func (r *run) missBot() {
	if r.bot.ID == "" && !r.gated() && (r.m.C.State == campaign.Running || r.m.C.State == campaign.Paused) {
		_ = r.applyCampaign(campaign.Event{Kind: campaign.Broke, At: r.now, Failure: campaign.FailureBotDeleted})
	}
}

// makeRules works the settings out for contacts.
func (r *run) makeRules() {
	rules := call.RulesOf(r.m.C)
	rules.Bot = r.bot
	r.rules = &rules
	r.rules.Attempt.OptOut = r.d.cfg.OptOutDigit
}

// unavailable makes an adapter's failure an answer that says to try again.
func unavailable(err error) error {
	var e *engine.Error
	if asEngine(err, &e) {
		return e
	}
	return engine.Unavailable("database_unavailable", "the database does not answer; try again", time.Second)
}
