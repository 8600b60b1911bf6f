package actors

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/numberpool"
	core "dialler/engine/run"
	"dialler/engine/trunk"
)

// This file is the tree's front: blocking calls with a deadline, for the HTTP
// front end and for the process itself.

// ask sends a request and waits for its answer until ctx ends.
func ask[T any](ctx context.Context, d *deps, to *actor.PID, msg any) (T, error) {
	var zero T
	if err := d.roomFor(to, msg); err != nil {
		return zero, err
	}
	wait := 10 * time.Second
	if dl, ok := ctx.Deadline(); ok {
		wait = time.Until(dl)
	}
	f := d.root.RequestFuture(to, msg, max(wait, time.Millisecond))
	release := d.database.bound(f)
	res, err := f.Result()
	release()
	if res == nil && (err == nil || d.dbDown.Load()) { // given up, or the time ran out meanwhile
		return zero, errLeftWhileAway
	}
	if err != nil {
		return zero, engine.Unavailable("timeout",
			"the dialler did not answer in time; whether the command was carried out is not known, try again with the same Idempotency-Key", time.Second)
	}
	a, ok := res.(*answer)
	if !ok {
		return zero, errors.New("actors: unexpected answer")
	}
	if a.Err != nil {
		return zero, a.Err
	}
	v, _ := a.Value.(T)
	return v, nil
}

func (t *Tree) askRun(id engine.CampaignID, msg any) any {
	return &forCampaign{Campaign: id, Msg: msg}
}

// Act carries out a lifecycle command.
func (t *Tree) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.Detail{}, err
	}
	return ask[campaign.Detail](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.Act{Command: cmd}))
}

// Detail is the campaign as it stands, with its live figures.
func (t *Tree) Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error) {
	if err := t.d.database.err(); err != nil { // nobody can be brought up now
		d, up, askErr := t.DetailIfUp(ctx, id)
		if askErr != nil || up {
			return d, askErr
		}
		return d, err
	}
	return ask[campaign.Detail](ctx, t.d, t.d.campaigns, t.askRun(id, &core.Detail{}))
}

// DetailIfUp is Detail for a campaign whose actors are up, and up is false for
// any other: nothing has happened to it since this process began, so its row
// and tables say it all.
func (t *Tree) DetailIfUp(ctx context.Context, id engine.CampaignID) (d campaign.Detail, up bool, err error) {
	v, err := ask[any](ctx, t.d, t.d.campaigns, &ifUp{Campaign: id, Msg: &core.Detail{}})
	d, up = v.(campaign.Detail)
	return d, up, err
}

// AddContacts adds contacts to a draft that never ran or a running campaign.
func (t *Tree) AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.AddReport{}, err
	}
	return ask[campaign.AddReport](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.AddRows{Command: cmd}))
}

// AddBatch is AddContacts for a list of which each item is judged by itself; the
// reply is stored with the contacts when the command carries an Idempotency.
func (t *Tree) AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.BatchReply{}, err
	}
	return ask[campaign.BatchReply](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign,
		&core.AddRows{Command: cmd.AddContacts, Batch: &cmd}))
}

// Trigger adds one contact and dials or queues it.
func (t *Tree) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.TriggerReply{}, err
	}
	return ask[campaign.TriggerReply](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.Trigger{Command: cmd}))
}

// Exclude suppresses contacts of a campaign.
func (t *Tree) Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.ExcludeReply{}, err
	}
	return ask[campaign.ExcludeReply](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.Exclude{Command: cmd}))
}

// ExclusionsImported tells the history of a campaign that a file of numbers was
// excluded.
func (t *Tree) ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error {
	if err := t.d.database.err(); err != nil {
		return err
	}
	_, err := ask[any](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.ExclusionsImported{Command: cmd}))
	return err
}

// Lift takes an exclusion of a campaign back.
func (t *Tree) Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.LiftReply{}, err
	}
	return ask[campaign.LiftReply](ctx, t.d, t.d.campaigns, t.askRun(cmd.Campaign, &core.Lift{Command: cmd}))
}

// Dialout places one call outside campaigns.
func (t *Tree) Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error) {
	if err := t.d.database.err(); err != nil {
		return campaign.DialoutReply{}, err
	}
	return ask[campaign.DialoutReply](ctx, t.d, t.d.dialout, &placeDialout{cmd: cmd})
}

// Call gives a call as it stands: as its owner knows it while it lives, as it
// is stored afterwards.
func (t *Tree) Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	if aid, ok := id.Attempt(); ok {
		if of, ok := t.d.owners.of(aid); ok {
			if a, err := t.askOwner(ctx, aid, of); err == nil {
				return a, nil
			}
		}
	}
	a, err := t.stored(ctx, id)
	if err != nil {
		return a, err
	}
	return t.Live(ctx, a), nil
}

// Has says whether the actor of an attempt lives here.
func (t *Tree) Has(id engine.AttemptID) bool { return t.d.owners.owned(id) }

// liveWait bounds how long the owner of a live attempt is waited for; its row
// is good enough after that.
const liveWait = 500 * time.Millisecond

// Live brings the stored row of an attempt that has not ended up to date.
func (t *Tree) Live(ctx context.Context, a attempt.Attempt) attempt.Attempt {
	if a.State == attempt.Ended {
		return a
	}
	now, err := t.askOwner(ctx, a.ID, owner{campaign: a.Campaign, contact: a.Contact})
	if err != nil {
		// It has ended meanwhile, or its owner is busy.
		if again, err := t.stored(ctx, a.ID.Call()); err == nil {
			return again
		}
		return a
	}
	return now
}

// askOwner asks the actor to which an attempt belongs how it stands.
func (t *Tree) askOwner(ctx context.Context, id engine.AttemptID, of owner) (attempt.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, liveWait)
	defer cancel()
	msg := &call.Show{Contact: of.contact, Attempt: id}
	if of.campaign == "" {
		return ask[attempt.Attempt](ctx, t.d, t.d.dialout, msg)
	}
	return ask[attempt.Attempt](ctx, t.d, t.d.campaigns, t.askRun(of.campaign, msg))
}

// stored gives a call as its row has it.
func (t *Tree) stored(ctx context.Context, id engine.CallID) (attempt.Attempt, error) {
	aid, ok := id.Attempt()
	if !ok {
		return attempt.Attempt{}, call.ErrCallNotFound
	}
	a, ok, err := t.d.store.Attempt(ctx, aid)
	if err != nil {
		return attempt.Attempt{}, journal.Unavailable(err)
	}
	if !ok {
		return attempt.Attempt{}, call.ErrCallNotFound
	}
	return a, nil
}

// SubmitResult stores the result of a conversation, whenever it comes.
func (t *Tree) SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error {
	if err := t.d.database.err(); err != nil {
		return err
	}
	id, _ := cmd.Call.Attempt()
	of, ok := t.d.owners.of(id)
	if !ok {
		a, err := t.stored(ctx, cmd.Call)
		if err != nil {
			return err
		}
		of = owner{campaign: a.Campaign, contact: a.Contact}
	}
	s := call.StoreResult{Call: cmd.Call, Result: cmd.Result}
	if of.campaign == "" {
		_, err := ask[any](ctx, t.d, t.d.dialout, &s)
		return err
	}
	_, err := ask[any](ctx, t.d, t.d.campaigns, t.askRun(of.campaign, &core.SubmitResult{Contact: of.contact,
		Result: call.StoreResult{Call: cmd.Call, Result: cmd.Result}}))
	return err
}

// HangUp ends a live call.
func (t *Tree) HangUp(ctx context.Context, id engine.CallID) error { return t.tell(ctx, id, "") }

// SendDigits sends keys (0-9, *, #, A-D) to the callee of an answered call.
func (t *Tree) SendDigits(ctx context.Context, id engine.CallID, digits string) error {
	return t.tell(ctx, id, digits)
}

func (t *Tree) tell(ctx context.Context, id engine.CallID, digits string) error {
	aid, _ := id.Attempt()
	of, live := t.d.owners.of(aid)
	if !live {
		a, err := t.stored(ctx, id)
		if err != nil {
			return err
		}
		if a.State == attempt.Ended {
			return call.ErrCallEnded
		}
		of = owner{campaign: a.Campaign, contact: a.Contact}
	}
	if of.campaign == "" {
		_, err := ask[any](ctx, t.d, t.d.dialout, &call.Keys{Attempt: aid, Digits: digits})
		return err
	}
	_, err := ask[any](ctx, t.d, t.d.campaigns, t.askRun(of.campaign, &core.Keys{Contact: of.contact,
		Keys: call.Keys{Attempt: aid, Digits: digits}}))
	return err
}

// BotsChanged makes the tree read the configured bots anew.
func (t *Tree) BotsChanged(ctx context.Context) error {
	bots, err := t.d.store.Bots(ctx)
	if err != nil {
		return journal.Unavailable(err)
	}
	t.d.botsChanged(bots)
	return nil
}

func (d *deps) botsChanged(bots []engine.Bot) {
	d.root.Send(d.fleet, &core.BotsChanged{Bots: bots})
	d.root.Send(d.dialout, &core.BotsChanged{Bots: bots})
	d.root.Send(d.campaigns, &everyRun{&core.BotsChanged{Bots: bots}})
}

// TrunksChanged makes the tree read the configured trunks anew. put names those
// that were edited: it ends a hold of theirs.
func (t *Tree) TrunksChanged(ctx context.Context, put ...engine.TrunkID) error {
	trunks, err := t.d.store.Trunks(ctx)
	if err != nil {
		return journal.Unavailable(err)
	}
	t.d.root.Send(t.d.trunks, &trunksConfigured{trunks: trunks, put: put})
	return nil
}

// TrunkStatuses tells how the trunks stand, those that were deleted while legs
// of theirs were under way among them.
func (t *Tree) TrunkStatuses(ctx context.Context) (map[engine.TrunkID]trunk.Status, error) {
	pids, err := ask[map[engine.TrunkID]*actor.PID](ctx, t.d, t.d.trunks, &trunkActors{})
	if err != nil {
		return nil, err
	}
	all := make(map[engine.TrunkID]trunk.Status, len(pids))
	for id, pid := range pids {
		s, err := ask[trunk.Status](ctx, t.d, pid, &trunkStatus{})
		if err != nil {
			return nil, err
		}
		all[id] = s
	}
	return all, nil
}

// TrunkHealth takes what the telephony adapter says of a trunk.
func (t *Tree) TrunkHealth(h engine.TrunkHealth) { t.d.root.Send(t.d.trunks, &h) }

// Drain stops new dials: live calls go on.
func (t *Tree) Drain() { t.d.draining.Store(true) }

// LiveCalls counts the attempts that have not ended.
func (t *Tree) LiveCalls() int64 {
	s := &t.d.stats
	return s.Attempts.Load() + s.Recovered.Load() - s.Ended.Load() - s.Released.Load()
}

// NumberChanged tells a number's owner of edited caps.
func (t *Tree) NumberChanged(n engine.NumberSettings) {
	t.d.destinations.add(n.Number)
	t.d.root.Send(t.d.numbers, &numbersConfigured{list: []engine.NumberSettings{n}})
}

// NumberStatuses tells how the outbound numbers stand, those that are configured
// and those that were used.
func (t *Tree) NumberStatuses(ctx context.Context) (map[engine.PhoneNumber]numberpool.Status, error) {
	pids, err := ask[map[engine.PhoneNumber]*actor.PID](ctx, t.d, t.d.numbers, &numberActors{})
	if err != nil {
		return nil, err
	}
	all := make(map[engine.PhoneNumber]numberpool.Status, len(pids))
	for no, pid := range pids {
		s, err := ask[numberpool.Status](ctx, t.d, pid, &numberStatus{})
		if err != nil {
			return nil, err
		}
		all[no] = s
	}
	return all, nil
}

// staleAfter is when a tree that has not answered is called dead.
const staleAfter = 30 * time.Second

// Alive is nil while the tree answers.
func (t *Tree) Alive() error {
	ctx, cancel := context.WithTimeout(t.d.ctx, staleAfter)
	defer cancel()
	_, err := ask[any](ctx, t.d, t.d.campaigns, &areYouThere{})
	return err
}

// Crash makes an actor of the tree panic on its next message, to prove that no
// call is hung up by it. Target is "run", "contact", "campaign", "contacts",
// "pool" or "slot/<number>" of a campaign, the name of an actor at the top
// ("campaigns", "dialout", "fleet", "trunks", "numbers", "writer-0"), or a child of
// one: "trunks/trunk-<id>", "numbers/number-<number>".
func (t *Tree) Crash(target string, id engine.CampaignID, c engine.ContactID) {
	d := t.d
	below := d.campaigns.Id + "/campaign-" + string(id)
	slot, isSlot := strings.CutPrefix(target, "slot/")
	switch {
	case target == "run":
		d.root.Send(d.campaigns, &forCampaign{Campaign: id, Msg: &crash{}})
	case target == "campaign":
		d.root.Send(d.campaigns, &forCampaign{Campaign: id, Msg: &crashChild{}})
	case target == "contacts":
		d.root.Send(d.campaigns, &forCampaign{Campaign: id, Msg: &crashChild{"contacts"}})
	case target == "pool":
		d.root.Send(d.campaigns, &forCampaign{Campaign: id, Msg: &crashChild{"numbers"}})
	case isSlot:
		d.root.Send(actor.NewPID(d.system.Address(), below+"/numbers/slot-"+slot), &crash{})
	case target == "contact":
		d.root.Send(actor.NewPID(d.system.Address(), below+"/contacts/contact-"+string(c)), &crash{})
	default:
		d.root.Send(actor.NewPID(d.system.Address(), target), &crash{})
	}
}

// crashChild makes the supervisor of a campaign panic, or a child of its own.
type crashChild struct{ child string }

// CrashOnRelease makes the owners of a trunk or number panic whenever a lease is
// given back to them.
func (t *Tree) CrashOnRelease(targets ...string) {
	for _, target := range targets {
		t.d.root.Send(actor.NewPID(t.d.system.Address(), target), &crash{onRelease: true})
	}
}

// CrashOnResult makes every writer panic on the message that brings its next
// result, at a place of its handling: 1 is before anything of it is done.
func (t *Tree) CrashOnResult(place int) {
	for _, pid := range t.d.writers {
		t.d.root.Send(pid, &crash{onResult: place})
	}
}

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

// stashed is a message that waits, with its sender.
type stashed struct {
	msg    any
	sender *actor.PID
}
