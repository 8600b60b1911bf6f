package routing

import (
	"context"

	"dialler/engine"
	"dialler/engine/campaign"
)

const placeDialout = "place_dialout"

// undone are the errors that mean that another node certainly did not carry out a request, for a
// reason of its own.
var undone = map[string]bool{"owner_unreachable": true, "node_fenced": true, "node_overloaded": true,
	"node_not_found": true,
	"node_draining":  true, "method_unknown": true, "node_version": true}

// Dialout places a call outside campaigns on the node that Carrier chooses; its actor lives there
// too. If that node certainly did not take it, this one does. One for later is stored by this node, and
// placed by any.
func (r *Router) Dialout(ctx context.Context, cmd campaign.Dialout) (out campaign.DialoutReply, err error) {
	node := engine.Incarnation(0)
	if r.Carrier != nil && cmd.Times.NotBefore == nil {
		node = r.Carrier(cmd.Trunk)
	}
	if node == 0 || r.nodes.Was(node) {
		return r.tree.Dialout(ctx, cmd)
	}
	if out, err = askNode[campaign.DialoutReply](ctx, r, node, placeDialout, &cmd); undone[engine.ErrorCode(err)] {
		return r.tree.Dialout(ctx, cmd)
	}
	return out, err
}
