package http

import (
	"bytes"
	nethttp "net/http"
	"strings"

	"github.com/fasthttp/router"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/http/contacts"
	"dialler/http/form"
	"dialler/http/wire"
)

// route is one row of the table below.
type route struct {
	method string
	path   string // template; also the label in metrics and log lines
	access wire.Access
	handle wire.Handler
	// streams says that the handler reads the body itself, as it comes in.
	streams bool

	metrics *routeMetrics
	intake  intake
}

// noRoute labels requests that matched no template.
const noRoute = "none"

// table lists every route of the API and who may use it: the only place for both. The contract test
// checks it against openapi.yaml.
func (s *Server) table() []*route {
	const v1 = "/api/v1"
	const one = v1 + "/campaigns/{campaign_id}"
	on := func(method, path string, who wire.Access, handle wire.Handler) *route {
		return &route{method: method, path: path, access: who, handle: handle}
	}
	uploads := func(path string, who wire.Access, handle wire.Handler) *route {
		return &route{method: "POST", path: path, access: who, handle: handle, streams: true}
	}
	var (
		everybody = wire.Access{Open: true}
		readers   = wire.Access{Scope: wire.ScopeRead, Role: wire.RoleViewer} // and keys that may read
		viewers   = wire.Access{Role: wire.RoleViewer}
		operators = wire.Access{Role: wire.RoleOperator}
		admins    = wire.Access{Role: wire.RoleAdmin}
		browsers  = wire.Access{Role: wire.RoleViewer, Session: true}
	)
	routes := []*route{
		// For external systems (spec: Endpoints).
		on("POST", v1+"/sip/dialout", wire.Access{Scope: wire.ScopeDialout, Role: wire.RoleAdmin}, s.calls.Dial),
		on("POST", v1+"/campaigns/trigger", wire.Access{Scope: wire.ScopeTrigger}, s.contacts.Trigger),
		on("POST", v1+"/contacts/exclude", wire.Access{Scope: wire.ScopeExclude}, s.exclusions.Exclude),

		// For bots and post-call analyses. The result's own token and the
		// bot's account are checked by the handlers.
		on("GET", v1+"/calls", readers, s.calls.List),
		on("GET", v1+"/calls/{call_id}", wire.Access{Scope: wire.ScopeRead, AlsoScope: wire.ScopeDialout,
			Role: wire.RoleViewer}, s.calls.Show),
		on("DELETE", v1+"/calls/{call_id}", wire.Access{Scope: wire.ScopeDialout, Role: wire.RoleOperator}, s.calls.Cancel),
		on("POST", v1+"/calls/{call_id}/hang-up", wire.Access{Scope: wire.ScopeDialout, Role: wire.RoleOperator},
			s.calls.HangUp),
		on("GET", v1+"/calls/{call_id}/ladder", readers, s.calls.ShowLadder),
		on("POST", v1+"/calls/{call_id}/transfer", everybody, s.calls.Transfer),
		on("GET", v1+"/calls/{call_id}/transfer", everybody, s.calls.ShowTransfer),
		on("POST", v1+"/calls/{call_id}/digits", everybody, s.calls.SendDigits),
		on("POST", v1+"/calls/{call_id}/result", everybody, s.calls.TakeResult),
		on("POST", "/2010-04-01/Accounts/{account}/Calls/{call}.json", everybody, s.calls.TwilioUpdate),

		// For the console.
		on("POST", v1+"/auth/token", everybody, s.gate.Login),
		on("POST", v1+"/session", everybody, s.gate.OpenSession),
		on("GET", v1+"/session", browsers, s.gate.Session),
		on("DELETE", v1+"/session", browsers, s.gate.CloseSession),

		on("GET", v1+"/api-keys", admins, s.gate.ListKeys),
		on("POST", v1+"/api-keys", admins, s.gate.CreateKey),
		on("PATCH", v1+"/api-keys/{key_id}", admins, s.gate.ChangeKey),
		on("DELETE", v1+"/api-keys/{key_id}", admins, s.gate.DeleteKey),

		on("GET", v1+"/users", admins, s.gate.ListUsers),
		on("POST", v1+"/users", admins, s.gate.CreateUser),
		on("PATCH", v1+"/users/{user_id}", admins, s.gate.ChangeUser),
		on("PUT", v1+"/password", viewers, s.gate.ChangePassword),

		on("GET", v1+"/campaigns", viewers, s.campaigns.List),
		on("POST", v1+"/campaigns", operators, s.campaigns.Create),
		on("GET", one, readers, s.campaigns.Show),
		on("PATCH", one, operators, s.campaigns.Edit),
		on("DELETE", one, operators, s.campaigns.Delete),
		on("GET", one+"/preflight", readers, s.campaigns.ShowPreflight),
		on("POST", one+"/simulate", viewers, s.campaigns.Simulate),
		on("GET", one+"/windows", viewers, s.campaigns.CampaignWindows),
		on("GET", one+"/live", readers, s.feeds.WatchCampaign),
		on("GET", v1+"/live", viewers, s.feeds.WatchCampaigns),
		on("GET", one+"/contacts", readers, s.contacts.List),
		on("GET", one+"/contacts/{contact_id}", readers, s.contacts.Show),
		on("POST", one+"/contacts/{contact_id}/exclude", operators, s.contacts.Act(campaign.ExcludeContact)),
		on("POST", one+"/contacts/{contact_id}/call-back", operators, s.contacts.Act(campaign.CallBack)),
		on("POST", one+"/contacts/{contact_id}/retry-now", operators, s.contacts.Act(campaign.RetryNow)),
		on("GET", one+"/attempts.csv", readers, s.reports.SendReport),
		on("POST", one+"/contacts", operators, s.contacts.Add),
		on("POST", one+contacts.BatchSuffix, wire.Access{Scope: wire.ScopeTrigger, Role: wire.RoleOperator},
			s.contacts.AddBatch),

		on("GET", one+"/runs", readers, s.campaigns.ListRuns),
		on("GET", one+"/series", readers, s.campaigns.ShowSeries),
		on("GET", one+"/back-tests", readers, s.campaigns.ShowBackTests),
		on("GET", one+"/best-hour", readers, s.campaigns.ShowBestHour),
		on("GET", one+"/breakdown", readers, s.campaigns.ShowBreakdown),
		on("GET", one+"/capacity", readers, s.campaigns.ShowCapacity),
		on("GET", one+"/runs/{run}/evidence", admins, s.reports.SendEvidence),
		on("POST", one+"/clone", operators, s.campaigns.Clone),
		on("GET", one+"/activity", viewers, s.campaigns.ShowActivity),
		on("GET", v1+"/activity", viewers, s.campaigns.ShowConfigActivity),

		on("GET", one+"/exclusions", readers, s.exclusions.List),
		on("GET", one+"/exclusions.csv", readers, s.exclusions.SendFile),
		on("POST", one+"/exclusions", operators, s.exclusions.Add),
		on("POST", one+"/exclusions/lift", operators, s.exclusions.Lift),
		uploads(one+"/exclusions/imports", operators, s.exclusions.Import),

		on("GET", one+"/imports", viewers, s.contacts.ListImports),
		uploads(one+"/imports", operators, s.contacts.Import),
		on("GET", one+"/imports/{import_id}", viewers, s.contacts.ShowImport),
		on("DELETE", one+"/imports/{import_id}", operators, s.contacts.CancelImport),
		on("GET", one+"/imports/{import_id}/live", viewers, s.contacts.WatchImport),
		on("GET", one+"/imports/{import_id}/rejected", viewers, s.contacts.ListRejected),
		on("GET", one+"/imports/{import_id}/rejected.csv", viewers, s.contacts.SendRejected),

		on("GET", v1+"/recordings/{attempt_id}", wire.Access{Scope: wire.ScopeRead, Role: wire.RoleAdmin},
			s.calls.SendRecording),
		on("DELETE", v1+"/recordings/{attempt_id}", admins, s.calls.DeleteRecording),

		on("GET", v1+"/amd/reviews", viewers, s.amd.ListReviews),
		on("GET", v1+"/amd/reviews/{attempt_id}", viewers, s.amd.ShowReview),
		on("PUT", v1+"/amd/reviews/{attempt_id}", admins, s.amd.LabelReview),
		on("GET", v1+"/amd/reviews/{attempt_id}/audio", admins, s.amd.ReviewAudio),
		on("GET", v1+"/amd/confusion", viewers, s.amd.Confusion),
		on("GET", v1+"/amd/export.zip", admins, s.amd.ExportReviews),
		on("GET", v1+"/voicemails", viewers, s.amd.ListVoicemails),
		uploads(v1+"/voicemails", operators, s.amd.AddVoicemail),
		on("GET", v1+"/voicemails/{voicemail_id}/audio", viewers, s.amd.VoicemailAudio),
		on("DELETE", v1+"/voicemails/{voicemail_id}", operators, s.amd.DeleteVoicemail),

		on("GET", v1+"/suppressions", viewers, s.exclusions.ListSuppressions),
		on(
			"POST",
			v1+"/suppressions",
			wire.Access{Scope: wire.ScopeExclude, Role: wire.RoleOperator},
			s.exclusions.Suppress,
		),
		uploads(v1+"/suppressions/imports", operators, s.exclusions.ImportSuppressions),
		on("DELETE", v1+"/suppressions/{number}", admins, s.exclusions.LiftSuppression),

		on("DELETE", v1+"/persons/{number}", admins, s.exclusions.ErasePerson),

		on("GET", v1+"/cadences", viewers, s.campaigns.ListCadences),
		on("GET", v1+"/cadences/{cadence_id}", viewers, s.campaigns.ShowCadence),
		on("PUT", v1+"/cadences/{cadence_id}", operators, s.campaigns.PutCadence),
		on("DELETE", v1+"/cadences/{cadence_id}", operators, s.campaigns.DeleteCadence),
		on("POST", v1+"/cadences/preview", viewers, s.campaigns.PreviewCadence),

		on("GET", v1+"/calendars", viewers, s.campaigns.ListCalendars),
		on("GET", v1+"/calendars/choices", viewers, s.campaigns.CalendarChoices),
		on("GET", v1+"/calendars/{calendar_id}", viewers, s.campaigns.ShowCalendar),
		on("PUT", v1+"/calendars/{calendar_id}", operators, s.campaigns.PutCalendar),
		on("DELETE", v1+"/calendars/{calendar_id}", operators, s.campaigns.DeleteCalendar),
		on("GET", v1+"/calendars/{calendar_id}/windows", viewers, s.campaigns.CalendarWindows),

		on("GET", v1+"/bots", viewers, s.lines.ListBots),
		on("PUT", v1+"/bots/{bot_id}", admins, s.lines.PutBot),
		on("DELETE", v1+"/bots/{bot_id}", admins, s.lines.DeleteBot),
		on("GET", v1+"/trunks", viewers, s.lines.ListTrunks),
		on("GET", v1+"/trunks/{trunk_id}", viewers, s.lines.ShowTrunk),
		on("DELETE", v1+"/trunks/{trunk_id}", admins, s.lines.DeleteTrunk),
		on("PUT", v1+"/trunks/{trunk_id}", admins, s.lines.PutTrunk),
		on("POST", v1+"/trunks/{trunk_id}/test", admins, s.lines.TestTrunk),
		on("GET", v1+"/numbers", viewers, s.lines.ListNumbers),
		on("PUT", v1+"/numbers/{number}", admins, s.lines.PutNumber),

		on("GET", v1+"/webhooks", operators, s.webhooks.List),
		on("POST", v1+"/webhooks", admins, s.webhooks.Create),
		on("GET", v1+"/webhooks/{webhook_id}", operators, s.webhooks.Show),
		on("PATCH", v1+"/webhooks/{webhook_id}", admins, s.webhooks.Change),
		on("DELETE", v1+"/webhooks/{webhook_id}", admins, s.webhooks.Delete),
		on("POST", v1+"/webhooks/{webhook_id}/rotate-secret", admins, s.webhooks.RotateSecret),
		on("POST", v1+"/webhooks/{webhook_id}/test", admins, s.webhooks.Test),
		on("POST", v1+"/webhooks/{webhook_id}/replay", admins, s.webhooks.ReplayFailed),
		on("GET", v1+"/webhooks/{webhook_id}/deliveries", operators, s.webhooks.ListDeliveries),
		on("POST", v1+"/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", admins, s.webhooks.ReplayDelivery),

		on("GET", v1+"/health", viewers, s.showHealth),

		// For monitoring systems, and for readers.
		on("GET", "/healthz", everybody, s.healthz),
		on("GET", "/readyz", everybody, s.readyz),
		on("GET", "/metrics", everybody, exposition(s.Registry)),
		on("GET", "/api/openapi.yaml", everybody, s.openapiYAML),
		on("GET", "/api/openapi.json", everybody, s.openapiJSON),
		on("GET", "/api/docs", everybody, s.docs),
	}
	for _, a := range actions {
		routes = append(routes, &route{method: "POST", path: one + "/" + a.name,
			access: wire.Access{Role: wire.RoleOperator}, handle: s.campaigns.Act(a.action)})
	}
	return routes
}

// isContactsPath says, before routing, whether a request goes to a route for long lists.
func isContactsPath(uri []byte) bool {
	if i := bytes.IndexByte(uri, '?'); i >= 0 {
		uri = uri[:i]
	}
	return bytes.HasPrefix(uri, []byte("/api/v1/campaigns/")) && (bytes.HasSuffix(uri, []byte("/contacts")) ||
		contacts.IsBatchPath(uri))
}

func (s *Server) route() {
	s.routes = s.table()
	s.unrouted = &route{method: "other", path: noRoute, access: wire.Access{Open: true}}
	s.unrouted.metrics = new(routeMetrics)

	s.router = router.New()
	// A client that mistypes a path must be told: many would drop or repeat a redirected POST.
	s.router.RedirectTrailingSlash = false
	s.router.RedirectFixedPath = false
	s.router.HandleOPTIONS = false
	for _, rt := range s.routes {
		rt.intake = intakeOf(rt)
		rt.metrics = new(routeMetrics)
		s.router.Handle(rt.method, rt.path, s.serve(rt))
	}
	for _, rt := range s.pages() {
		rt.metrics = new(routeMetrics)
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
	// The router always lists OPTIONS, which none of our routes answers.
	allow := strings.Split(string(r.HTTP.Response.Header.Peek("Allow")), ", ")
	kept := allow[:0]
	for _, m := range allow {
		if m != nethttp.MethodOptions {
			kept = append(kept, m)
		}
	}
	r.HTTP.Response.Header.Set("Allow", strings.Join(kept, ", "))
	return &engine.Error{Kind: wire.KindMethod, Code: "method_not_allowed",
		Detail: "This route does not support " + form.ClipName(string(r.HTTP.Method())) + "; see Allow."}
}

// actions are the lifecycle commands with their own routes.
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
