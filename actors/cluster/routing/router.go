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

// Tree is what this node does itself; package actors has it.
type Tree interface {
	Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error)
	Detail(ctx context.Context, id engine.CampaignID) (campaign.Detail, error)
	DetailIfUp(ctx context.Context, id engine.CampaignID) (d campaign.Detail, up bool, err error)
	Preflight(ctx context.Context, id engine.CampaignID) (campaign.Readiness, error)
	AddContacts(ctx context.Context, cmd campaign.AddContacts) (campaign.AddReport, error)
	AddBatch(ctx context.Context, cmd campaign.AddBatch) (campaign.BatchReply, error)
	Import(ctx context.Context, cmd campaign.ImportContacts, file io.Reader) (campaign.Import, error)
	Trigger(ctx context.Context, cmd campaign.Trigger) (campaign.TriggerReply, error)
	Exclude(ctx context.Context, cmd campaign.Exclude) (campaign.ExcludeReply, error)
	ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error
	ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error
	Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error)
	Dialout(ctx context.Context, cmd campaign.Dialout) (campaign.DialoutReply, error)

	// Has says whether the actor of an attempt lives here.
	Has(id engine.AttemptID) bool
	Call(ctx context.Context, id engine.CallID) (attempt.Attempt, error)
	Live(ctx context.Context, a attempt.Attempt) attempt.Attempt
	SubmitResult(ctx context.Context, cmd campaign.SubmitResult) error
	HangUp(ctx context.Context, id engine.CallID) error
	SendDigits(ctx context.Context, id engine.CallID, digits string) error
	Transfer(ctx context.Context, id engine.CallID, to string) error
}

// Nodes are the cluster as this node sees it; package cluster has it.
type Nodes interface {
	// Owner tells who acts for an identity; when nobody does, somebody claims it.
	Owner(ctx context.Context, id ownership.Identity) (ownership.Owner, error)
	// Owned gives the claim by which this node acts for an identity.
	Owned(id ownership.Identity) (w ownership.Owner, ok bool)
	// Acting tells who acts for an identity, if anybody does; nobody claims it.
	Acting(ctx context.Context, id ownership.Identity) (w ownership.Owner, ok bool, err error)
	// OwnersOf tells who acts for each of the identities, by one question; nobody
	// claims any. Owner and Acting know it for a while then.
	OwnersOf(ctx context.Context, kind ownership.Kind, ids []string) ([]ownership.Owner, error)
	// Ask has the owner carry out a method.
	Ask(ctx context.Context, id ownership.Identity, method string, body []byte) ([]byte, error)
	// AskNode has a node, also one that has lost its lease, carry out a method.
	AskNode(ctx context.Context, to engine.Incarnation, method string, body []byte) ([]byte, error)
	// Was says whether this process is or was an incarnation, Live whether one has
	// its lease.
	Was(id engine.Incarnation) bool
	Live(ctx context.Context, id engine.Incarnation) (bool, error)
	// Handle says who carries out a method here.
	Handle(method string, h Handler)
}

// Handler carries out a request of another node for an identity that this node
// owns.
type Handler = func(ctx context.Context, from engine.Incarnation, owned ownership.Owner, body []byte) ([]byte, error)

// Attempts finds the campaign of a call.
type Attempts interface {
	Attempt(ctx context.Context, id engine.AttemptID) (a attempt.Attempt, ok bool, err error)
}

// Router has a tree's methods, for every campaign of the cluster.
type Router struct {
	// Carrier chooses the node for a call outside campaigns over a trunk ("": any),
	// 0 and nil: this one. It is set before the first request.
	Carrier func(trunk engine.TrunkID) engine.Incarnation

	tree     Tree
	nodes    Nodes
	attempts Attempts
	calls    Calls
	uploads  uploads
	log      zerolog.Logger
}

// New carries requests from and to this node. It must be called before others
// know of the node's claims.
func New(tree Tree, nodes Nodes, attempts Attempts, calls Calls, log zerolog.Logger) *Router {
	r := &Router{tree: tree, nodes: nodes, attempts: attempts, calls: calls, log: log}
	serve(r, "act", tree.Act)
	serve(r, "detail", tree.Detail)
	serve(r, "detail_if_up", r.detailIfUp)
	serve(r, "preflight", tree.Preflight)
	serve(r, "add_contacts", tree.AddContacts)
	serve(r, "add_batch", tree.AddBatch)
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

// serve has a method carried out here for other nodes.
func serve[C, R any](r *Router, method string, here func(context.Context, C) (R, error)) {
	r.nodes.Handle(method, func(ctx context.Context, _ engine.Incarnation, _ ownership.Owner, body []byte) ([]byte, error) {
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

// replaced tells an owner who is none any more from one that refuses: the database
// has refused the write, which is the next owner's.
func replaced(err error) error {
	if errors.Is(err, journal.ErrStaleEpoch) {
		return ownership.ErrNotOwner
	}
	return err
}

// carry has a command carried out by the owner of the campaign.
func carry[C, R any](ctx context.Context, r *Router, id engine.CampaignID, method string, cmd C, here func(context.Context, C) (R, error)) (out R, err error) {
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

// none is the reply of what has none.
type none struct{}

// Act carries out a lifecycle command.
func (r *Router) Act(ctx context.Context, cmd campaign.Act) (campaign.Detail, error) {
	return carry(ctx, r, cmd.Campaign, "act", cmd, r.tree.Act)
}

// Detail is the campaign as it stands, with its live figures.
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

// ActingFor says for which of the campaigns some node acts. What is asked of them
// next asks the database no more.
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

// Preflight says what a start would find.
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

// ActOnContact has an operator's word on one contact carried out.
func (r *Router) ActOnContact(ctx context.Context, cmd campaign.ActOnContact) error {
	_, err := carry(ctx, r, cmd.Campaign, "act_on_contact", cmd, r.actOnContactHere)
	return err
}

func (r *Router) actOnContactHere(ctx context.Context, cmd campaign.ActOnContact) (none, error) {
	return none{}, r.tree.ActOnContact(ctx, cmd)
}

// ExclusionsImported tells the history of a campaign that a file of numbers was
// excluded.
func (r *Router) ExclusionsImported(ctx context.Context, cmd campaign.ExclusionsImported) error {
	_, err := carry(ctx, r, cmd.Campaign, "exclusions_imported", cmd, r.exclusionsImportedHere)
	return err
}

func (r *Router) exclusionsImportedHere(ctx context.Context, cmd campaign.ExclusionsImported) (none, error) {
	return none{}, r.tree.ExclusionsImported(ctx, cmd)
}

// Lift takes an exclusion of a campaign back.
func (r *Router) Lift(ctx context.Context, cmd campaign.Lift) (campaign.LiftReply, error) {
	return carry(ctx, r, cmd.Campaign, "lift", cmd, r.tree.Lift)
}

// Has says whether the actor of an attempt lives on this node.
func (r *Router) Has(id engine.AttemptID) bool { return r.tree.Has(id) }
