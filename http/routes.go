package http

import (
	"bytes"

	"dialler/http/form"

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
	access access
	handle handler
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
		{method: "POST", path: v1 + "/sip/dialout", access: access{scope: scopeDialout, role: roleAdmin}, handle: s.dialout},
		{method: "POST", path: v1 + "/campaigns/trigger", access: access{scope: scopeTrigger}, handle: s.trigger},
		{method: "POST", path: v1 + "/contacts/exclude", access: access{scope: scopeExclude}, handle: s.exclude},

		// For bots and post-call analyses. The result's own token and the
		// bot's account are checked by the handlers.
		{method: "GET", path: v1 + "/calls", access: access{scope: scopeRead, role: roleViewer}, handle: s.listCalls},
		{method: "GET", path: v1 + "/calls/{call_id}", access: access{scope: scopeRead, alsoScope: scopeDialout, role: roleViewer}, handle: s.call},
		{method: "POST", path: v1 + "/calls/{call_id}/hang-up", access: access{scope: scopeDialout, role: roleOperator}, handle: s.hangUp},
		{method: "GET", path: v1 + "/calls/{call_id}/ladder", access: access{scope: scopeRead, role: roleViewer}, handle: s.ladder},
		{method: "POST", path: v1 + "/calls/{call_id}/transfer", access: access{open: true}, handle: s.transfer},
		{method: "GET", path: v1 + "/calls/{call_id}/transfer", access: access{open: true}, handle: s.showTransfer},
		{method: "POST", path: v1 + "/calls/{call_id}/digits", access: access{open: true}, handle: s.digits},
		{method: "POST", path: v1 + "/calls/{call_id}/result", access: access{open: true}, handle: s.result},
		{method: "POST", path: "/2010-04-01/Accounts/{account}/Calls/{call}.json", access: access{open: true}, handle: s.twilioUpdate},

		// For the console.
		{method: "POST", path: v1 + "/auth/token", access: access{open: true}, handle: s.login},
		{method: "POST", path: v1 + "/session", access: access{open: true}, handle: s.openSession},
		{method: "GET", path: v1 + "/session", access: access{role: roleViewer, session: true}, handle: s.session},
		{method: "DELETE", path: v1 + "/session", access: access{role: roleViewer, session: true}, handle: s.closeSession},

		{method: "GET", path: v1 + "/api-keys", access: access{role: roleAdmin}, handle: s.listKeys},
		{method: "POST", path: v1 + "/api-keys", access: access{role: roleAdmin}, handle: s.createKey},
		{method: "PATCH", path: v1 + "/api-keys/{key_id}", access: access{role: roleAdmin}, handle: s.changeKey},

		{method: "GET", path: v1 + "/users", access: access{role: roleAdmin}, handle: s.listUsers},
		{method: "POST", path: v1 + "/users", access: access{role: roleAdmin}, handle: s.createUser},
		{method: "PATCH", path: v1 + "/users/{user_id}", access: access{role: roleAdmin}, handle: s.changeUser},
		{method: "PUT", path: v1 + "/password", access: access{role: roleViewer}, handle: s.changePassword},

		{method: "GET", path: v1 + "/campaigns", access: access{role: roleViewer}, handle: s.listCampaigns},
		{method: "POST", path: v1 + "/campaigns", access: access{role: roleOperator}, handle: s.createCampaign},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}", access: access{scope: scopeRead, role: roleViewer}, handle: s.campaign},
		{method: "PATCH", path: v1 + "/campaigns/{campaign_id}", access: access{role: roleOperator}, handle: s.editCampaign},
		{method: "DELETE", path: v1 + "/campaigns/{campaign_id}", access: access{role: roleOperator}, handle: s.deleteCampaign},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/preflight", access: access{scope: scopeRead, role: roleViewer}, handle: s.preflight},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/simulate", access: access{role: roleViewer}, handle: s.simulate},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/live", access: access{scope: scopeRead, role: roleViewer}, handle: s.watchCampaign},
		{method: "GET", path: v1 + "/live", access: access{role: roleViewer}, handle: s.watchCampaigns},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/contacts", access: access{scope: scopeRead, role: roleViewer}, handle: s.listContacts},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}", access: access{scope: scopeRead, role: roleViewer}, handle: s.getContact},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}/exclude", access: access{role: roleOperator}, handle: s.actOnContact(campaign.ExcludeContact)},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}/call-back", access: access{role: roleOperator}, handle: s.actOnContact(campaign.CallBack)},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts/{contact_id}/retry-now", access: access{role: roleOperator}, handle: s.actOnContact(campaign.RetryNow)},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/attempts.csv", access: access{scope: scopeRead, role: roleViewer}, handle: s.report},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/contacts", access: access{role: roleOperator}, handle: s.addContacts},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}" + batchSuffix, access: access{scope: scopeTrigger, role: roleOperator}, handle: s.addBatch},

		{method: "GET", path: v1 + "/campaigns/{campaign_id}/runs", access: access{scope: scopeRead, role: roleViewer}, handle: s.listRuns},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/series", access: access{scope: scopeRead, role: roleViewer}, handle: s.series},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/breakdown", access: access{scope: scopeRead, role: roleViewer}, handle: s.breakdown},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/capacity", access: access{scope: scopeRead, role: roleViewer}, handle: s.capacity},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/runs/{run}/evidence", access: access{role: roleAdmin}, handle: s.evidence},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/clone", access: access{role: roleOperator}, handle: s.cloneCampaign},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/activity", access: access{role: roleViewer}, handle: s.activity},
		{method: "GET", path: v1 + "/activity", access: access{role: roleViewer}, handle: s.configActivity},

		{method: "GET", path: v1 + "/campaigns/{campaign_id}/exclusions", access: access{scope: scopeRead, role: roleViewer}, handle: s.listExclusions},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/exclusions.csv", access: access{scope: scopeRead, role: roleViewer}, handle: s.exclusionsFile},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/exclusions", access: access{role: roleOperator}, handle: s.addExclusion},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/exclusions/lift", access: access{role: roleOperator}, handle: s.liftExclusion},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/exclusions/imports", access: access{role: roleOperator}, handle: s.importExclusions, streams: true},

		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports", access: access{role: roleViewer}, handle: s.listImports},
		{method: "POST", path: v1 + "/campaigns/{campaign_id}/imports", access: access{role: roleOperator}, handle: s.importContacts, streams: true},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}", access: access{role: roleViewer}, handle: s.oneImport},
		{method: "DELETE", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}", access: access{role: roleOperator}, handle: s.cancelImport},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}/live", access: access{role: roleViewer}, handle: s.watchImport},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}/rejected", access: access{role: roleViewer}, handle: s.rejectedRows},
		{method: "GET", path: v1 + "/campaigns/{campaign_id}/imports/{import_id}/rejected.csv", access: access{role: roleViewer}, handle: s.rejectedFile},

		{method: "GET", path: v1 + "/recordings/{attempt_id}", access: access{scope: scopeRead, role: roleAdmin}, handle: s.recording},
		{method: "DELETE", path: v1 + "/recordings/{attempt_id}", access: access{role: roleAdmin}, handle: s.deleteRecording},

		{method: "GET", path: v1 + "/amd/reviews", access: access{role: roleViewer}, handle: s.listReviews},
		{method: "GET", path: v1 + "/amd/reviews/{attempt_id}", access: access{role: roleViewer}, handle: s.showReview},
		{method: "PUT", path: v1 + "/amd/reviews/{attempt_id}", access: access{role: roleAdmin}, handle: s.labelReview},
		{method: "GET", path: v1 + "/amd/reviews/{attempt_id}/audio", access: access{role: roleAdmin}, handle: s.reviewAudio},
		{method: "GET", path: v1 + "/amd/confusion", access: access{role: roleViewer}, handle: s.confusion},
		{method: "GET", path: v1 + "/amd/export.zip", access: access{role: roleAdmin}, handle: s.exportReviews},
		{method: "GET", path: v1 + "/voicemails", access: access{role: roleViewer}, handle: s.listVoicemails},
		{method: "POST", path: v1 + "/voicemails", access: access{role: roleOperator}, handle: s.addVoicemail, streams: true},
		{method: "GET", path: v1 + "/voicemails/{voicemail_id}/audio", access: access{role: roleViewer}, handle: s.voicemailAudio},
		{method: "DELETE", path: v1 + "/voicemails/{voicemail_id}", access: access{role: roleOperator}, handle: s.deleteVoicemail},

		{method: "GET", path: v1 + "/suppressions", access: access{role: roleViewer}, handle: s.listSuppressions},
		{method: "POST", path: v1 + "/suppressions", access: access{scope: scopeExclude, role: roleOperator}, handle: s.suppress},
		{method: "POST", path: v1 + "/suppressions/imports", access: access{role: roleOperator}, handle: s.importSuppressions, streams: true},
		{method: "DELETE", path: v1 + "/suppressions/{number}", access: access{role: roleAdmin}, handle: s.liftSuppression},

		{method: "DELETE", path: v1 + "/persons/{number}", access: access{role: roleAdmin}, handle: s.erasePerson},

		{method: "GET", path: v1 + "/bots", access: access{role: roleViewer}, handle: s.listBots},
		{method: "PUT", path: v1 + "/bots/{bot_id}", access: access{role: roleAdmin}, handle: s.putBot},
		{method: "DELETE", path: v1 + "/bots/{bot_id}", access: access{role: roleAdmin}, handle: s.deleteBot},
		{method: "GET", path: v1 + "/trunks", access: access{role: roleViewer}, handle: s.listTrunks},
		{method: "GET", path: v1 + "/trunks/{trunk_id}", access: access{role: roleViewer}, handle: s.showTrunk},
		{method: "DELETE", path: v1 + "/trunks/{trunk_id}", access: access{role: roleAdmin}, handle: s.deleteTrunk},
		{method: "PUT", path: v1 + "/trunks/{trunk_id}", access: access{role: roleAdmin}, handle: s.putTrunk},
		{method: "POST", path: v1 + "/trunks/{trunk_id}/test", access: access{role: roleAdmin}, handle: s.testTrunk},
		{method: "GET", path: v1 + "/numbers", access: access{role: roleViewer}, handle: s.listNumbers},
		{method: "PUT", path: v1 + "/numbers/{number}", access: access{role: roleAdmin}, handle: s.putNumber},

		{method: "GET", path: v1 + "/webhooks", access: access{role: roleOperator}, handle: s.listWebhooks},
		{method: "POST", path: v1 + "/webhooks", access: access{role: roleAdmin}, handle: s.createWebhook},
		{method: "GET", path: v1 + "/webhooks/{webhook_id}", access: access{role: roleOperator}, handle: s.showWebhook},
		{method: "PATCH", path: v1 + "/webhooks/{webhook_id}", access: access{role: roleAdmin}, handle: s.changeWebhook},
		{method: "DELETE", path: v1 + "/webhooks/{webhook_id}", access: access{role: roleAdmin}, handle: s.deleteWebhook},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/rotate-secret", access: access{role: roleAdmin}, handle: s.rotateWebhookSecret},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/test", access: access{role: roleAdmin}, handle: s.testWebhook},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/replay", access: access{role: roleAdmin}, handle: s.replayFailed},
		{method: "GET", path: v1 + "/webhooks/{webhook_id}/deliveries", access: access{role: roleOperator}, handle: s.listDeliveries},
		{method: "POST", path: v1 + "/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", access: access{role: roleAdmin}, handle: s.replayDelivery},

		{method: "GET", path: v1 + "/health", access: access{role: roleViewer}, handle: s.showHealth},

		// For machines that watch, and for readers.
		{method: "GET", path: "/healthz", access: access{open: true}, handle: s.healthz},
		{method: "GET", path: "/readyz", access: access{open: true}, handle: s.readyz},
		{method: "GET", path: "/metrics", access: access{open: true}, handle: exposition(s.Registry)},
		{method: "GET", path: "/api/openapi.yaml", access: access{open: true}, handle: s.openapiYAML},
		{method: "GET", path: "/api/openapi.json", access: access{open: true}, handle: s.openapiJSON},
		{method: "GET", path: "/api/docs", access: access{open: true}, handle: s.docs},
	}
	for _, a := range actions {
		routes = append(routes, &route{method: "POST", path: v1 + "/campaigns/{campaign_id}/" + a.name,
			access: access{role: roleOperator}, handle: s.act(a.action)})
	}
	return routes
}

// isContactsPath says whether a request goes to a route for long lists,
// before it is routed.
func isContactsPath(uri []byte) bool {
	if i := bytes.IndexByte(uri, '?'); i >= 0 {
		uri = uri[:i]
	}
	return bytes.HasPrefix(uri, []byte("/api/v1/campaigns/")) && (bytes.HasSuffix(uri, []byte("/contacts")) || isBatchPath(uri))
}

func (s *Server) route() {
	s.routes = s.table()
	s.unrouted = &route{method: "other", path: noRoute, access: access{open: true}}
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

func (s *Server) with(rt *route, h handler) *route {
	c := *rt
	c.handle = h
	return &c
}

func methodNotAllowed(r *request) error {
	// The router always lists OPTIONS, which no route of ours answers.
	allow := strings.Split(string(r.rc.Response.Header.Peek("Allow")), ", ")
	kept := allow[:0]
	for _, m := range allow {
		if m != nethttp.MethodOptions {
			kept = append(kept, m)
		}
	}
	r.rc.Response.Header.Set("Allow", strings.Join(kept, ", "))
	return &engine.Error{Kind: kindMethod, Code: "method_not_allowed",
		Detail: "This route does not answer " + form.ClipName(string(r.rc.Method())) + "; see Allow."}
}
