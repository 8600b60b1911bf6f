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

// table lists every route of the API and who may use it: the only place for both. Tests check openapi.yaml and
// docs/access.md against it.
func (s *Server) table() []*route {
	const v1 = "/api/v1"
	const one = v1 + "/campaigns/{campaign_id}"
	on := func(method, path string, who wire.Access, handle wire.Handler) *route {
		if who.Bound == wire.BoundUnsaid && strings.Contains(path, "{campaign_id}") {
			who.Bound = wire.BoundByPath
		}
		return &route{method: method, path: path, access: who, handle: handle}
	}
	uploads := func(path string, who wire.Access, handle wire.Handler) *route {
		rt := on("POST", path, who, handle)
		rt.streams = true
		return rt
	}
	// Who may use a route: users from a role on, and keys with a scope.
	who := func(scope string, role wire.Role) wire.Access { return wire.Access{Scope: scope, Role: role} }
	viewers := func(scope string) wire.Access { return who(scope, wire.RoleViewer) }
	operators := func(scope string) wire.Access { return who(scope, wire.RoleOperator) }
	admins := func(scope string) wire.Access { return who(scope, wire.RoleAdmin) }
	callers := func(scope string) wire.Access { // keys, and the call's own token
		return wire.Access{Scope: scope, OwnToken: true, Bound: wire.BoundWithin}
	}
	// What keys that are bound to campaigns may do there.
	bound := func(b wire.Bound) func(wire.Access) wire.Access {
		return func(a wire.Access) wire.Access { a.Bound = b; return a }
	}
	within, shared, closed := bound(wire.BoundWithin), bound(wire.BoundShared), bound(wire.BoundClosed)
	var (
		everybody = wire.Access{Open: true}
		people    = wire.Access{Role: wire.RoleViewer} // no keys
		managers  = wire.Access{Role: wire.RoleAdmin}  // no keys
		browsers  = wire.Access{Role: wire.RoleViewer, Session: true}
	)
	routes := []*route{
		// For external systems (spec: Endpoints).
		on("POST", v1+"/sip/dialout", shared(admins(wire.ScopeDialout)), s.calls.Dial),
		on("POST", v1+"/campaigns/trigger", within(who(wire.ScopeTrigger, wire.RoleNone)), s.contacts.Trigger),
		on("POST", v1+"/contacts/exclude", within(who(wire.ScopeExclude, wire.RoleNone)), s.exclusions.Exclude),

		// For bots and post-call analyses. The result's own token and the
		// bot's account are checked by the handlers.
		on("GET", v1+"/calls", within(viewers(wire.ScopeRead)), s.calls.List),
		on("GET", v1+"/calls/{call_id}", within(viewers(wire.ScopeCall)), s.calls.Show),
		on("DELETE", v1+"/calls/{call_id}", within(operators(wire.ScopeDialout)), s.calls.Cancel),
		on("POST", v1+"/calls/{call_id}/hang-up", within(operators(wire.ScopeDialout)), s.calls.HangUp),
		on("GET", v1+"/calls/{call_id}/ladder", within(viewers(wire.ScopeRead)), s.calls.ShowLadder),
		on("POST", v1+"/calls/{call_id}/transfer", callers(wire.ScopeResults), s.calls.Transfer),
		on("GET", v1+"/calls/{call_id}/transfer", callers(wire.ScopeResults), s.calls.ShowTransfer),
		on("POST", v1+"/calls/{call_id}/digits", callers(wire.ScopeDialout), s.calls.SendDigits),
		on("POST", v1+"/calls/{call_id}/result", callers(wire.ScopeResults), s.calls.TakeResult),
		on("POST", "/2010-04-01/Accounts/{account}/Calls/{call}.json", everybody, s.calls.TwilioUpdate),

		// For the console.
		on("POST", v1+"/auth/token", everybody, s.gate.Login),
		on("GET", v1+"/oidc", everybody, s.gate.LogInWays),
		on("GET", v1+"/oidc/log-in", everybody, s.gate.StartSignOn),
		on("GET", v1+"/oidc/callback", everybody, s.gate.EndSignOn),
		on("POST", v1+"/session", everybody, s.gate.OpenSession),
		on("GET", v1+"/session", browsers, s.gate.Session),
		on("DELETE", v1+"/session", browsers, s.gate.CloseSession),

		on("GET", v1+"/api-keys", admins(wire.ScopeKeys), s.gate.ListKeys),
		on("POST", v1+"/api-keys", admins(wire.ScopeKeys), s.gate.CreateKey),
		on("PATCH", v1+"/api-keys/{key_id}", admins(wire.ScopeKeys), s.gate.ChangeKey),
		on("POST", v1+"/api-keys/{key_id}/rotate-secret", admins(wire.ScopeKeys), s.gate.RotateKey),
		on("DELETE", v1+"/api-keys/{key_id}", admins(wire.ScopeKeys), s.gate.DeleteKey),

		on("GET", v1+"/users", admins(wire.ScopeUsers), s.gate.ListUsers),
		on("POST", v1+"/users", admins(wire.ScopeUsers), s.gate.CreateUser),
		on("PATCH", v1+"/users/{user_id}", admins(wire.ScopeUsers), s.gate.ChangeUser),
		on("PUT", v1+"/password", people, s.gate.ChangePassword),

		on("GET", v1+"/campaigns", within(viewers(wire.ScopeSeeCampaigns)), s.campaigns.List),
		on("POST", v1+"/campaigns", operators(wire.ScopeCampaigns), s.campaigns.Create),
		on("GET", one, viewers(wire.ScopeSeeCampaigns), s.campaigns.Show),
		on("PATCH", one, operators(wire.ScopeCampaigns), s.campaigns.Edit),
		on("DELETE", one, operators(wire.ScopeCampaigns), s.campaigns.Delete),
		on("GET", one+"/preflight", viewers(wire.ScopeSeeCampaigns), s.campaigns.ShowPreflight),
		on("POST", one+"/simulate", viewers(wire.ScopeSeeCampaigns), s.campaigns.Simulate),
		on("GET", one+"/windows", viewers(wire.ScopeSeeCampaigns), s.campaigns.CampaignWindows),
		on("GET", one+"/live", viewers(wire.ScopeSeeCampaigns), s.feeds.WatchCampaign),
		on("GET", v1+"/live", within(viewers(wire.ScopeSeeCampaigns)), s.feeds.WatchCampaigns),
		on("GET", one+"/contacts", viewers(wire.ScopeRead), s.contacts.List),
		on("GET", one+"/contacts/{contact_id}", viewers(wire.ScopeRead), s.contacts.Show),
		on("POST", one+"/contacts/{contact_id}/exclude", operators(wire.ScopeCampaigns),
			s.contacts.Act(campaign.ExcludeContact)),
		on("POST", one+"/contacts/{contact_id}/call-back", operators(wire.ScopeCampaigns),
			s.contacts.Act(campaign.CallBack)),
		on("POST", one+"/contacts/{contact_id}/retry-now", operators(wire.ScopeCampaigns),
			s.contacts.Act(campaign.RetryNow)),
		on("GET", one+"/attempts.csv", viewers(wire.ScopeRead), s.reports.SendReport),
		on("POST", one+"/contacts", operators(wire.ScopeImports), s.contacts.Add),
		on("POST", one+contacts.BatchSuffix, operators(wire.ScopeTrigger), s.contacts.AddBatch),

		on("GET", one+"/runs", viewers(wire.ScopeSeeCampaigns), s.campaigns.ListRuns),
		on("GET", one+"/series", viewers(wire.ScopeSeeCampaigns), s.campaigns.ShowSeries),
		on("GET", one+"/back-tests", viewers(wire.ScopeSeeCampaigns), s.campaigns.ShowBackTests),
		on("GET", one+"/best-hour", viewers(wire.ScopeSeeCampaigns), s.campaigns.ShowBestHour),
		on("GET", one+"/breakdown", viewers(wire.ScopeSeeCampaigns), s.campaigns.ShowBreakdown),
		on("GET", one+"/capacity", viewers(wire.ScopeSeeCampaigns), s.campaigns.ShowCapacity),
		on("GET", one+"/runs/{run}/evidence", admins(wire.ScopeEvidence), s.reports.SendEvidence),
		on("POST", one+"/clone", closed(operators(wire.ScopeCampaigns)), s.campaigns.Clone),
		on("GET", one+"/activity", viewers(wire.ScopeActivity), s.campaigns.ShowActivity),
		on("GET", v1+"/activity", viewers(wire.ScopeActivity), s.campaigns.ShowConfigActivity),

		on("GET", one+"/exclusions", viewers(wire.ScopeRead), s.exclusions.List),
		on("GET", one+"/exclusions.csv", viewers(wire.ScopeRead), s.exclusions.SendFile),
		on("POST", one+"/exclusions", operators(wire.ScopeExcluded), s.exclusions.Add),
		on("POST", one+"/exclusions/lift", operators(wire.ScopeExcluded), s.exclusions.Lift),
		uploads(one+"/exclusions/imports", operators(wire.ScopeExcluded), s.exclusions.Import),

		on("GET", one+"/imports", viewers(wire.ScopeImports), s.contacts.ListImports),
		uploads(one+"/imports", operators(wire.ScopeImports), s.contacts.Import),
		on("GET", one+"/imports/{import_id}", viewers(wire.ScopeImports), s.contacts.ShowImport),
		on("DELETE", one+"/imports/{import_id}", operators(wire.ScopeImports), s.contacts.CancelImport),
		on("GET", one+"/imports/{import_id}/undo", viewers(wire.ScopeImports), s.contacts.PreviewUndo),
		on("POST", one+"/imports/{import_id}/undo", operators(wire.ScopeImports), s.contacts.UndoImport),
		on("GET", one+"/imports/{import_id}/live", viewers(wire.ScopeImports), s.contacts.WatchImport),
		on("GET", one+"/imports/{import_id}/rejected", viewers(wire.ScopeImports), s.contacts.ListRejected),
		on("GET", one+"/imports/{import_id}/rejected.csv", viewers(wire.ScopeImports), s.contacts.SendRejected),

		on("GET", v1+"/recordings/{attempt_id}", within(admins(wire.ScopeRead)), s.calls.SendRecording),
		on("DELETE", v1+"/recordings/{attempt_id}", within(admins(wire.ScopePrivacy)), s.calls.DeleteRecording),

		on("GET", v1+"/amd/reviews", within(viewers(wire.ScopeSeeReviews)), s.amd.ListReviews),
		on("GET", v1+"/amd/reviews/{attempt_id}", within(viewers(wire.ScopeSeeReviews)), s.amd.ShowReview),
		on("PUT", v1+"/amd/reviews/{attempt_id}", within(admins(wire.ScopeReviews)), s.amd.LabelReview),
		on("GET", v1+"/amd/reviews/{attempt_id}/audio", within(admins(wire.ScopeReviews)), s.amd.ReviewAudio),
		on("GET", v1+"/amd/confusion", within(viewers(wire.ScopeSeeReviews)), s.amd.Confusion),
		on("GET", v1+"/amd/export.zip", within(admins(wire.ScopeReviews)), s.amd.ExportReviews),
		on("GET", v1+"/voicemails", shared(viewers(wire.ScopeSeeVoicemails)), s.amd.ListVoicemails),
		uploads(v1+"/voicemails", operators(wire.ScopeVoicemails), s.amd.AddVoicemail),
		on("GET", v1+"/voicemails/{voicemail_id}/audio", shared(viewers(wire.ScopeSeeVoicemails)),
			s.amd.VoicemailAudio),
		on("DELETE", v1+"/voicemails/{voicemail_id}", operators(wire.ScopeVoicemails), s.amd.DeleteVoicemail),

		on("GET", v1+"/suppressions", viewers(wire.ScopeSuppress), s.exclusions.ListSuppressions),
		on("POST", v1+"/suppressions", shared(operators(wire.ScopeExclude)), s.exclusions.Suppress),
		uploads(v1+"/suppressions/imports", operators(wire.ScopeSuppress), s.exclusions.ImportSuppressions),
		on("DELETE", v1+"/suppressions/{number}", admins(wire.ScopeSuppress), s.exclusions.LiftSuppression),

		on("GET", v1+"/search", viewers(wire.ScopeRead), s.contacts.Search),
		on("GET", v1+"/persons/{number}", viewers(wire.ScopeRead), s.contacts.ShowPerson),
		on("DELETE", v1+"/persons/{number}", admins(wire.ScopePrivacy), s.exclusions.ErasePerson),

		on("GET", v1+"/cadences", shared(viewers(wire.ScopeSeeCadences)), s.campaigns.ListCadences),
		on("GET", v1+"/cadences/{cadence_id}", shared(viewers(wire.ScopeSeeCadences)), s.campaigns.ShowCadence),
		on("PUT", v1+"/cadences/{cadence_id}", operators(wire.ScopeCadences), s.campaigns.PutCadence),
		on("DELETE", v1+"/cadences/{cadence_id}", operators(wire.ScopeCadences), s.campaigns.DeleteCadence),
		on("POST", v1+"/cadences/preview", shared(viewers(wire.ScopeSeeCadences)), s.campaigns.PreviewCadence),

		on("GET", v1+"/calendars", shared(viewers(wire.ScopeSeeCalendars)), s.campaigns.ListCalendars),
		on("GET", v1+"/calendars/choices", shared(viewers(wire.ScopeSeeCalendars)), s.campaigns.CalendarChoices),
		on("GET", v1+"/calendars/{calendar_id}", shared(viewers(wire.ScopeSeeCalendars)), s.campaigns.ShowCalendar),
		on("PUT", v1+"/calendars/{calendar_id}", operators(wire.ScopeCalendars), s.campaigns.PutCalendar),
		on("DELETE", v1+"/calendars/{calendar_id}", operators(wire.ScopeCalendars), s.campaigns.DeleteCalendar),
		on("GET", v1+"/calendars/{calendar_id}/windows", shared(viewers(wire.ScopeSeeCalendars)),
			s.campaigns.CalendarWindows),

		on("GET", v1+"/bots", shared(viewers(wire.ScopeSeeBots)), s.lines.ListBots),
		on("PUT", v1+"/bots/{bot_id}", admins(wire.ScopeBots), s.lines.PutBot),
		on("DELETE", v1+"/bots/{bot_id}", admins(wire.ScopeBots), s.lines.DeleteBot),
		on("GET", v1+"/trunks", shared(viewers(wire.ScopeSeeTrunks)), s.lines.ListTrunks),
		on("GET", v1+"/trunks/{trunk_id}", shared(viewers(wire.ScopeSeeTrunks)), s.lines.ShowTrunk),
		on("DELETE", v1+"/trunks/{trunk_id}", admins(wire.ScopeTrunks), s.lines.DeleteTrunk),
		on("PUT", v1+"/trunks/{trunk_id}", admins(wire.ScopeTrunks), s.lines.PutTrunk),
		on("POST", v1+"/trunks/{trunk_id}/test", admins(wire.ScopeTrunks), s.lines.TestTrunk),
		on("GET", v1+"/numbers", shared(viewers(wire.ScopeSeeNumbers)), s.lines.ListNumbers),
		on("PUT", v1+"/numbers/{number}", admins(wire.ScopeNumbers), s.lines.PutNumber),
		on("GET", v1+"/set-up", people, s.lines.ShowSetUp),
		on("PUT", v1+"/set-up", managers, s.lines.ChangeSetUp),

		on("GET", v1+"/webhooks", within(operators(wire.ScopeSeeWebhooks)), s.webhooks.List),
		on("POST", v1+"/webhooks", within(admins(wire.ScopeWebhooks)), s.webhooks.Create),
		on("GET", v1+"/webhooks/{webhook_id}", within(operators(wire.ScopeSeeWebhooks)), s.webhooks.Show),
		on("PATCH", v1+"/webhooks/{webhook_id}", within(admins(wire.ScopeWebhooks)), s.webhooks.Change),
		on("DELETE", v1+"/webhooks/{webhook_id}", within(admins(wire.ScopeWebhooks)), s.webhooks.Delete),
		on("POST", v1+"/webhooks/{webhook_id}/rotate-secret", within(admins(wire.ScopeWebhooks)),
			s.webhooks.RotateSecret),
		on("POST", v1+"/webhooks/{webhook_id}/test", within(admins(wire.ScopeWebhooks)), s.webhooks.Test),
		on("POST", v1+"/webhooks/{webhook_id}/replay", within(admins(wire.ScopeWebhooks)), s.webhooks.ReplayFailed),
		on("GET", v1+"/webhooks/{webhook_id}/deliveries", within(operators(wire.ScopeSeeWebhooks)),
			s.webhooks.ListDeliveries),
		on("POST", v1+"/webhooks/{webhook_id}/deliveries/{delivery_id}/replay", within(admins(wire.ScopeWebhooks)),
			s.webhooks.ReplayDelivery),

		on("GET", v1+"/health", shared(viewers(wire.ScopeHealth)), s.showHealth),

		// For monitoring systems, and for readers.
		on("GET", "/healthz", everybody, s.healthz),
		on("GET", "/readyz", everybody, s.readyz),
		on("GET", "/metrics", everybody, exposition(s.Registry)),
		on("GET", "/api/openapi.yaml", everybody, s.openapiYAML),
		on("GET", "/api/openapi.json", everybody, s.openapiJSON),
		on("GET", "/api/docs", everybody, s.docs),
	}
	for _, a := range actions {
		routes = append(routes, on("POST", one+"/"+a.name, operators(wire.ScopeCampaigns), s.campaigns.Act(a.action)))
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
