package routing

import (
	"context"
	"errors"
	"io"

	"github.com/rs/zerolog"

	"dialler/actors/cluster/link"
	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/engine/ownership"
)

// Tree is what this node does itself; package actors implements it.
type Tree interface {
	Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error)
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	DetailIfUp(ctx context.Context, id engine.CampaignID) (d campaign.Detail, up bool, err error)
	Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error)
	AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error)
	AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error)
	Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error)
	UndoImport(ctx context.Context, cmd campaign.UndoImport) (campaign.ImportUndo, error)
	Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error)
	Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error)
	ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error
	ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error
	Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error)
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)

	// Has says whether the actor of an attempt is here.
	Has(id engine.AttemptID) bool
	Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error)
	Live(ctx context.Context, a attempt.Attempt) attempt.Attempt
	SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error
	HangUp(ctx context.Context, id engine.CallID, who engine.Who) error
	CancelDialout(ctx context.Context, cmd campaign.CancelDialout) error
	SendDigits(ctx context.Context, id engine.CallID, digits string) error
	Transfer(ctx context.Context, id engine.CallID, to string) error
}

// Nodes is the cluster as this node sees it; package cluster implements it.
type Nodes interface {
	// Owner returns who acts for an identity; if no node does, one claims it.
	Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// Owned gives the claim by which this node acts for an identity.
	Owned(id ownership.Identity) (w ownership.Owner, ok bool)
	// Acting returns who acts for an identity, if any node does; nothing is claimed.
	Acting(ctx context.Context, id ownership.Identity) (w ownership.Owner, ok bool, err error)
	// OwnersOf returns who acts for each of the identities, with one query; nothing is claimed. The
	// answers are cached for Owner and Acting for a while.
	OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error)
	// Ask has the owner carry out a method.
	Ask(ctx context.Context, id ownership.Identity, method string, body []byte) ([]byte, error)
	// AskNode has a node carry out a method, even one that has lost its lease.
	AskNode(ctx context.Context, to engine.Incarnation, method string, body []byte) ([]byte, error)
	// Was says whether this process is or was an incarnation, Live whether an incarnation has its
	// lease.
	Was(id engine.Incarnation) bool
	Live(ctx context.Context, id engine.Incarnation) (bool, error)
	// Handle registers the handler of a method.
	Handle(method string, h Handler)
}

// Handler carries out a request of another node for an identity that this node
// owns.
type Handler = func(ctx context.Context, from engine.Incarnation, owned ownership.Owner, body []byte) ([]byte, error)

// Attempts finds the campaign of a call.
type Attempts interface {
	Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error)
}

// Router provides a tree's methods for every campaign of the cluster.
type Router struct {
	// Carrier chooses the node for a call outside campaigns over a trunk ("" means any); nil or a
	// result of 0 means this one. It is set before the first request.
	Carrier func(trunk engine.TrunkID) engine.Incarnation

	tree     Tree
	nodes    Nodes
	attempts Attempts
	calls    Calls
	uploads  uploads
	log      zerolog.Logger
}

// New routes requests from and to this node. It must be called before other nodes learn of this
// node's claims.
func New(tree Tree, nodes Nodes, attempts Attempts, calls Calls, log zerolog.Logger) *Router {
	r := &Router{tree: tree, nodes: nodes, attempts: attempts, calls: calls, log: log}
	serve(r, "act", tree.Act)
	serve(r, "detail", tree.Detail)
	serve(r, "detail_if_up", r.detailIfUp)
	serve(r, "preflight", tree.Preflight)
	serve(r, "add_contacts", tree.AddContacts)
	serve(r, "add_batch", tree.AddBatch)
	serve(r, "undo_import", tree.UndoImport)
	serve(r, "trigger", tree.Trigger)
	serve(r, "exclude", tree.Exclude)
	serve(r, "act_on_contact", r.actOnContactHere)
	serve(r, "exclusions_imported", r.exclusionsImportedHere)
	serve(r, "lift", tree.Lift)
	serve(r, placeDialout, tree.Dialout)
	serve(r, "call", tree.Call)
	serve(r, "live", r.liveHere)
	serve(r, "submit_result", r.submitHere)
	serve(r, "control", r.controlHere)
	serve(r, "upload", r.take)
	serve(r, atNode, r.dialoutAsked)
	return r
}

// serve registers a method that other nodes can call here.
func serve[C, R any](r *Router, method string, here func(context.Context, C) (R, error)) {
	r.nodes.Handle(method, func(ctx context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte,
		error) {
		var cmd C
		if err := link.Decode(body, &cmd); err != nil {
			return nil, engine.Invalid("request_unreadable", "")
		}
		reply, err := here(ctx, cmd)
		if err != nil {
			return nil, replaced(err)
		}
		return link.Encode(&reply), nil
	})
}

func of(id engine.CampaignID) ownership.Identity {
	return ownership.Identity{Kind: ownership.Campaign, ID: string(id)}
}

// replaced distinguishes a former owner from one that refuses: the database refuses its writes,
// because they are the next owner's.
func replaced(err error) error {
	if errors.Is(err, journal.ErrStaleEpoch) {
		return ownership.ErrNotOwner
	}
	return err
}

// carry has a command carried out by the owner of the campaign.
func carry[C, R any](ctx context.Context, r *Router, id engine.CampaignID, method string, cmd C,
	here func(context.Context, C) (R, error)) (out R, err error) {
	if _, mine := r.nodes.Owned(of(id)); mine {
		out, err = here(ctx, cmd)
		if err = replaced(err); !errors.Is(err, ownership.ErrNotOwner) {
			return out, err
		}
	}
	answer, err := r.nodes.Ask(ctx, of(id), method, link.Encode(&cmd))
	if err != nil {
		return out, err
	}
	return out, link.Decode(answer, &out)
}

// askNode has a node carry out a method.
func askNode[R, C any](
	ctx context.Context,
	r *Router,
	to engine.Incarnation,
	method string,
	cmd *C,
) (out R, err error) {
	answer, err := r.nodes.AskNode(ctx, to, method, link.Encode(cmd))
	if err != nil {
		return out, err
	}
	return out, link.Decode(answer, &out)
}

// none is the reply of a method without one.
type none struct{}

// Act carries out a lifecycle command.
func (r *Router) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	return carry(ctx, r, cmd.Campaign, "act", cmd, r.tree.Act)
}

// Detail returns the campaign's current state with its live figures.
func (r *Router) Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error) {
	return carry(ctx, r, id, "detail", id, r.tree.Detail)
}

type detailIfUp struct {
	Detail campaign.Detail
	Up     bool
}

func (r *Router) detailIfUp(ctx context.Context, id engine.CampaignID) (detailIfUp, error) {
	d, up, err := r.tree.DetailIfUp(ctx, id)
	return detailIfUp{d, up}, err
}

// DetailIfUp is Detail for a campaign that some node acts for; up is false for
// any other.
func (r *Router) DetailIfUp(ctx context.Context, id engine.CampaignID) (campaign.Detail, bool, error) {
	if _, ok, err := r.nodes.Acting(ctx, of(id)); err != nil || !ok {
		return campaign.Detail{}, false, err
	}
	d, err := carry(ctx, r, id, "detail_if_up", id, r.detailIfUp)
	return d.Detail, d.Up, err
}

// ActingFor says for which of the campaigns some node acts. The next requests for them need no
// database query.
func (r *Router) ActingFor(ctx context.Context, ids []engine.CampaignID) (map[engine.CampaignID]bool, error) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	owners, err := r.nodes.OwnersOf(ctx, ownership.Campaign, names)
	if err != nil {
		return nil, err
	}
	out := make(map[engine.CampaignID]bool, len(ids))
	for i, id := range ids {
		out[id] = owners[i].Live
	}
	return out, nil
}

// Preflight reports what a start would find.
func (r *Router) Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error) {
	return carry(ctx, r, id, "preflight", id, r.tree.Preflight)
}

// Trigger adds one contact and dials or queues it.
func (r *Router) Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error) {
	return carry(ctx, r, cmd.Campaign, "trigger", cmd, r.tree.Trigger)
}

// Exclude suppresses contacts of a campaign.
func (r *Router) Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error) {
	return carry(ctx, r, cmd.Campaign, "exclude", cmd, r.tree.Exclude)
}

// ActOnContact carries out an operator's command on one contact.
func (r *Router) ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error {
	_, err := carry(ctx, r, cmd.Campaign, "act_on_contact", cmd, r.actOnContactHere)
	return err
}

func (r *Router) actOnContactHere(ctx context.Context, cmd campaign.ActOnContact) (none, error) {
	return none{}, r.tree.ActOnContact(ctx, cmd)
}

// ExclusionsImported records in a campaign's history that a file of numbers was excluded.
func (r *Router) ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error {
	_, err := carry(ctx, r, cmd.Campaign, "exclusions_imported", cmd, r.exclusionsImportedHere)
	return err
}

func (r *Router) exclusionsImportedHere(ctx context.Context, cmd campaign.ExclusionsImported) (none, error) {
	return none{}, r.tree.ExclusionsImported(ctx, cmd)
}

// Lift lifts an exclusion of a campaign.
func (r *Router) Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error) {
	return carry(ctx, r, cmd.Campaign, "lift", cmd, r.tree.Lift)
}

// Has says whether the actor of an attempt is on this node.
func (r *Router) Has(id engine.AttemptID) bool { return r.tree.Has(id) }
