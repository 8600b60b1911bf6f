package http

import (
	"bytes"

	"dialler/http/contacts"
	"dialler/http/form"
	"dialler/http/wire"

	nethttp "net/http"
	"strings"

	"github.com/fasthttp/router"

	"dialler/engine"
	"dialler/engine/campaign"
)

// route is one row of the table below.
type route struct {
	method string
	path   string // template; also the label of figures and log lines
	access wire.Access
	handle wire.Handler
	// streams: the handler reads the body itself, as it comes in.
	streams bool

	metrics *routeMetrics
	intake  intake
}

// noRoute labels what no template matched.
const noRoute = "none"

// table is every route of the API and who may use it: the one place to look
// for both. The contract test holds it against openapi.yaml.
func (s *Server) table() []*route {
	const v1 = "/api/v1"
	routes := []*route{
		// For external systems (spec: Endpoints).
		{method: "POST", path: v1 + "/sip/dialout", access: wire.Access{Scope: wire.ScopeDialout, Role: wire.RoleAdmin}, handle: s.calls.Dial},
		{method: "POST", path: v1 + "/campaigns/trigger", access: wire.Access{Scope: wire.ScopeTrigger}, handle: s.contacts.Trigger},
		{method: "POST", path: v1 + "/contacts/exclude", access: wire.Access{Scope: wire.ScopeExclude}, handle: s.exclusions.Exclude},

		// For bots and post-call analyses. The result's own token and the
		// bot's account are checked by the handlers.
		{method: "GET", path: v1 + "/calls", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.calls.List},
		{method: "GET", path: v1 + "/calls/{call_id}", access: wire.Access{Scope: wire.ScopeRead, AlsoScope: wire.ScopeDialout, Role: wire.RoleViewer}, handle: s.calls.Show},
		{method: "POST", path: v1 + "/calls/{call_id}/hang-up", access: wire.Access{Scope: wire.ScopeDialout, Role: wire.RoleOperator}, handle: s.calls.HangUp},
		{method: "GET", path: v1 + "/calls/{call_id}/ladder", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.calls.ShowLadder},
		{method: "POST", path: v1 + "/calls/{call_id}/transfer", access: wire.Access{Open: true}, handle: s.calls.Transfer},
		{method: "GET", path: v1 + "/calls/{call_id}/transfer", access: wire.Access{Open: true}, handle: s.calls.ShowTransfer},
		{method: "POST", path: v1 + "/calls/{call_id}/digits", access: wire.Access{Open: true}, handle: s.calls.SendDigits},
		{method: "POST", path: v1 + "/calls/{call_id}/result", access: wire.Access{Open: true}, handle: s.calls.TakeResult},
		{method: "POST", path: "/2010-04-01/Accounts/{account}/Calls/{call}.json", access: wire.Access{Open: true}, handle: s.calls.TwilioUpdate},

		// For the console.
		{method: "POST", path: v1 + "/auth/token", access: wire.Access{Open: true}, handle: s.gate.Login},
		{method: "POST", path: v1 + "/session", access: wire.Access{Open: true}, handle: s.gate.OpenSession},
		{method: "GET", path: v1 + "/session", access: wire.Access{Role: wire.RoleViewer, Session: true}, handle: s.gate.Session},
		{method: "DELETE", path: v1 + "/session", access: wire.Access{Role: wire.RoleViewer, Session: true}, handle: s.gate.CloseSession},

		{method: "GET", path: v1 + "/api-keys", access: wire.Access{Role: wire.RoleAdmin}, handle: s.gate.ListKeys},
		{method: "POST", path: v1 + "/api-keys", access: wire.Access{Role: wire.RoleAdmin}, handle: s.gate.CreateKey},
		{method: "PATCH", path: v1 + "/api-keys/{key_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.gate.ChangeKey},

		{method: "GET", path: v1 + "/users", access: wire.Access{Role: wire.RoleAdmin}, handle: s.gate.ListUsers},
		{method: "POST", path: v1 + "/users", access: wire.Access{Role: wire.RoleAdmin}, handle: s.gate.CreateUser},
		{method: "PATCH", path: v1 + "/users/{user_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.gate.ChangeUser},
		{method: "PUT", path: v1 + "/password", access: wire.Access{Role: wire.RoleViewer}, handle: s.gate.ChangePassword},

		{method: "GET", path: v1 + "/campaigns", access: wire.Access{Role: wire.RoleViewer}, handle: s.campaigns.List},
		{method: "POST", path: v1 + "/campaigns", access: wire.Access{Role: wire.RoleOperator}, handle: s.campaigns.Create},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.campaigns.Show},
		{method: "PATCH", path: v1 + "/campaigns/{campaign_id}", access: wire.Access{Role: wire.RoleOperator}, handle: s.campaigns.Edit},
		{method: "DELETE", path: v1 + "/campaigns/{campaign_id}", access: wire.Access{Role: wire.RoleOperator}, handle: s.campaigns.Delete},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/preflight", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.campaigns.ShowPreflight},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/simulate", access: wire.Access{Role: wire.RoleViewer}, handle: s.campaigns.Simulate},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/live", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.feeds.WatchCampaign},
		{method: "GET", path: v1 + "/live", access: wire.Access{Role: wire.RoleViewer}, handle: s.feeds.WatchCampaigns},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/contacts", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.contacts.List},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.contacts.Show},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}/exclude", access: wire.Access{Role: wire.RoleOperator}, handle: s.contacts.Act(campaign.ExcludeContact)},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}/call-back", access: wire.Access{Role: wire.RoleOperator}, handle: s.contacts.Act(campaign.CallBack)},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}/retry-now", access: wire.Access{Role: wire.RoleOperator}, handle: s.contacts.Act(campaign.RetryNow)},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/attempts.csv", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.reports.SendReport},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts", access: wire.Access{Role: wire.RoleOperator}, handle: s.contacts.Add},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}" + contacts.BatchSuffix, access: wire.Access{Scope: wire.ScopeTrigger, Role: wire.RoleOperator}, handle: s.contacts.AddBatch},

		{method: "GET", path: v1 + "/campaigns/{campaign_id}/runs", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.campaigns.ListRuns},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/series", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.campaigns.ShowSeries},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/breakdown", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.campaigns.ShowBreakdown},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/capacity", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.campaigns.ShowCapacity},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/runs/{run}/evidence", access: wire.Access{Role: wire.RoleAdmin}, handle: s.reports.SendEvidence},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/clone", access: wire.Access{Role: wire.RoleOperator}, handle: s.campaigns.Clone},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/activity", access: wire.Access{Role: wire.RoleViewer}, handle: s.campaigns.ShowActivity},
		{method: "GET", path: v1 + "/activity", access: wire.Access{Role: wire.RoleViewer}, handle: s.campaigns.ShowConfigActivity},

		{method: "GET", path: v1 + "/campaigns/{campaign_id}/exclusions", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.exclusions.List},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/exclusions.csv", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer}, handle: s.exclusions.SendFile},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/exclusions", access: wire.Access{Role: wire.RoleOperator}, handle: s.exclusions.Add},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/exclusions/lift", access: wire.Access{Role: wire.RoleOperator}, handle: s.exclusions.Lift},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/exclusions/imports", access: wire.Access{Role: wire.RoleOperator}, handle: s.exclusions.Import, streams: true},

		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports", access: wire.Access{Role: wire.RoleViewer}, handle: s.contacts.ListImports},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/imports", access: wire.Access{Role: wire.RoleOperator}, handle: s.contacts.Import, streams: true},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}", access: wire.Access{Role: wire.RoleViewer}, handle: s.contacts.ShowImport},
		{method: "DELETE", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}", access: wire.Access{Role: wire.RoleOperator}, handle: s.contacts.CancelImport},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}/live", access: wire.Access{Role: wire.RoleViewer}, handle: s.contacts.WatchImport},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}/rejected", access: wire.Access{Role: wire.RoleViewer}, handle: s.contacts.ListRejected},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}/rejected.csv", access: wire.Access{Role: wire.RoleViewer}, handle: s.contacts.SendRejected},

		{method: "GET", path: v1 + "/recordings/{attempt_id}", access: wire.Access{Scope: wire.ScopeRead, Role: wire.RoleAdmin}, handle: s.calls.SendRecording},
		{method: "DELETE", path: v1 + "/recordings/{attempt_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.calls.DeleteRecording},

		{method: "GET", path: v1 + "/amd/reviews", access: wire.Access{Role: wire.RoleViewer}, handle: s.amd.ListReviews},
		{method: "GET", path: v1 + "/amd/reviews/{attempt_id}", access: wire.Access{Role: wire.RoleViewer}, handle: s.amd.ShowReview},
		{method: "PUT", path: v1 + "/amd/reviews/{attempt_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.amd.LabelReview},
		{method: "GET", path: v1 + "/amd/reviews/{attempt_id}/audio", access: wire.Access{Role: wire.RoleAdmin}, handle: s.amd.ReviewAudio},
		{method: "GET", path: v1 + "/amd/confusion", access: wire.Access{Role: wire.RoleViewer}, handle: s.amd.Confusion},
		{method: "GET", path: v1 + "/amd/export.zip", access: wire.Access{Role: wire.RoleAdmin}, handle: s.amd.ExportReviews},
		{method: "GET", path: v1 + "/voicemails", access: wire.Access{Role: wire.RoleViewer}, handle: s.amd.ListVoicemails},
		{method: "POST", path: v1 + "/voicemails", access: wire.Access{Role: wire.RoleOperator}, handle: s.amd.AddVoicemail, streams: true},
		{method: "GET", path: v1 + "/voicemails/{voicemail_id}/audio", access: wire.Access{Role: wire.RoleViewer}, handle: s.amd.VoicemailAudio},
		{method: "DELETE", path: v1 + "/voicemails/{voicemail_id}", access: wire.Access{Role: wire.RoleOperator}, handle: s.amd.DeleteVoicemail},

		{method: "GET", path: v1 + "/suppressions", access: wire.Access{Role: wire.RoleViewer}, handle: s.exclusions.ListSuppressions},
		{method: "POST", path: v1 + "/suppressions", access: wire.Access{Scope: wire.ScopeExclude, Role: wire.RoleOperator}, handle: s.exclusions.Suppress},
		{method: "POST", path: v1 + "/suppressions/imports", access: wire.Access{Role: wire.RoleOperator}, handle: s.exclusions.ImportSuppressions, streams: true},
		{method: "DELETE", path: v1 + "/suppressions/{number}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.exclusions.LiftSuppression},

		{method: "DELETE", path: v1 + "/persons/{number}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.exclusions.ErasePerson},

		{method: "GET", path: v1 + "/bots", access: wire.Access{Role: wire.RoleViewer}, handle: s.lines.ListBots},
		{method: "PUT", path: v1 + "/bots/{bot_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.lines.PutBot},
		{method: "DELETE", path: v1 + "/bots/{bot_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.lines.DeleteBot},
		{method: "GET", path: v1 + "/trunks", access: wire.Access{Role: wire.RoleViewer}, handle: s.lines.ListTrunks},
		{method: "GET", path: v1 + "/trunks/{trunk_id}", access: wire.Access{Role: wire.RoleViewer}, handle: s.lines.ShowTrunk},
		{method: "DELETE", path: v1 + "/trunks/{trunk_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.lines.DeleteTrunk},
		{method: "PUT", path: v1 + "/trunks/{trunk_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.lines.PutTrunk},
		{method: "POST", path: v1 + "/trunks/{trunk_id}/test", access: wire.Access{Role: wire.RoleAdmin}, handle: s.lines.TestTrunk},
		{method: "GET", path: v1 + "/numbers", access: wire.Access{Role: wire.RoleViewer}, handle: s.lines.ListNumbers},
		{method: "PUT", path: v1 + "/numbers/{number}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.lines.PutNumber},

		{method: "GET", path: v1 + "/webhooks", access: wire.Access{Role: wire.RoleOperator}, handle: s.webhooks.List},
		{method: "POST", path: v1 + "/webhooks", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.Create},
		{method: "GET", path: v1 + "/webhooks/{webhook_id}", access: wire.Access{Role: wire.RoleOperator}, handle: s.webhooks.Show},
		{method: "PATCH", path: v1 + "/webhooks/{webhook_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.Change},
		{method: "DELETE", path: v1 + "/webhooks/{webhook_id}", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.Delete},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/rotate-secret", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.RotateSecret},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/test", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.Test},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/replay", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.ReplayFailed},
		{method: "GET", path: v1 + "/webhooks/{webhook_id}/deliveries", access: wire.Access{Role: wire.RoleOperator}, handle: s.webhooks.ListDeliveries},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", access: wire.Access{Role: wire.RoleAdmin}, handle: s.webhooks.ReplayDelivery},

		{method: "GET", path: v1 + "/health", access: wire.Access{Role: wire.RoleViewer}, handle: s.showHealth},

		// For machines that watch, and for readers.
		{method: "GET", path: "/healthz", access: wire.Access{Open: true}, handle: s.healthz},
		{method: "GET", path: "/readyz", access: wire.Access{Open: true}, handle: s.readyz},
		{method: "GET", path: "/metrics", access: wire.Access{Open: true}, handle: exposition(s.Registry)},
		{method: "GET", path: "/api/openapi.yaml", access: wire.Access{Open: true}, handle: s.openapiYAML},
		{method: "GET", path: "/api/openapi.json", access: wire.Access{Open: true}, handle: s.openapiJSON},
		{method: "GET", path: "/api/docs", access: wire.Access{Open: true}, handle: s.docs},
	}
	for _, a := range actions {
		routes = append(routes, &route{method: "POST", path: v1 + "/campaigns/{campaign_id}/" + a.name,
			access: wire.Access{Role: wire.RoleOperator}, handle: s.campaigns.Act(a.action)})
	}
	return routes
}

// isContactsPath says whether a request goes to a route for long lists,
// before it is routed.
func isContactsPath(uri []byte) bool {
	if i := bytes.IndexByte(uri, '?'); i >= 0 {
		uri = uri[:i]
	}
	return bytes.HasPrefix(uri, []byte("/api/v1/campaigns/")) && (bytes.HasSuffix(uri, []byte("/contacts")) || contacts.IsBatchPath(uri))
}

func (s *Server) route() {
	s.routes = s.table()
	s.unrouted = &route{method: "other", path: noRoute, access: wire.Access{Open: true}}
	s.unrouted.metrics = s.metrics.forRoute(s.unrouted)

	s.router = router.New()
	// A client that mistypes a path must hear of it: a redirect of a POST
	// would be dropped or repeated by many of them.
	s.router.RedirectTrailingSlash = false
	s.router.RedirectFixedPath = false
	s.router.HandleOPTIONS = false
	for _, rt := range s.routes {
		rt.intake = intakeOf(rt)
		rt.metrics = s.metrics.forRoute(rt)
		s.router.Handle(rt.method, rt.path, s.serve(rt))
	}
	for _, rt := range s.pages() {
		rt.metrics = s.metrics.forRoute(rt)
		s.router.Handle(rt.method, rt.path, s.serve(rt))
	}
	s.router.NotFound = s.serve(s.with(s.unrouted, s.nowhere))
	s.router.MethodNotAllowed = s.serve(s.with(s.unrouted, methodNotAllowed))
}

func (s *Server) with(rt *route, h wire.Handler) *route {
	c := *rt
	c.handle = h
	return &c
}

func methodNotAllowed(r *wire.Request) error {
	// The router always lists OPTIONS, which no route of ours answers.
	allow := strings.Split(string(r.HTTP.Response.Header.Peek("Allow")), ", ")
	kept := allow[:0]
	for _, m := range allow {
		if m != nethttp.MethodOptions {
			kept = append(kept, m)
		}
	}
	r.HTTP.Response.Header.Set("Allow", strings.Join(kept, ", "))
	return &engine.Error{Kind: wire.KindMethod, Code: "method_not_allowed",
		Detail: "This route does not answer " + form.ClipName(string(r.HTTP.Method())) + "; see Allow."}
}

// actions are the lifecycle commands that have a route of their own.
var actions = []struct {
	name   string
	action campaign.Action
}{
	{"start", campaign.ActionStart},
	{"pause", campaign.ActionPause},
	{"resume", campaign.ActionResume},
	{"stop", campaign.ActionStop},
	{"restart", campaign.ActionRestart},
	{"cancel-restart", campaign.ActionCancelRestart},
}
