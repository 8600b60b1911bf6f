// Package sim is a seeded world in which whole campaigns are played on a virtual clock,
// at some thousand times the speed of a real one. Ways of pacing alone are tried by
// engine/pacing/trial; both take their people from engine/callee.
//
// RunCampaigns plays whole campaigns. It has no rule of its own: it drives
// engine/run.State, engine/call.Contact and engine/memstore.Store, as the actors
// drive them. What is here is the world around them:
//
//   - campaign_world.go, campaign_events.go: the clocks, and what happens when;
//   - campaign_process.go, campaign_store.go, campaign_leases.go: one life of the
//     process. It carries out the effects of runs and contacts in their order, writes
//     in groups, puts questions to the store, and owns trunks, numbers and seats.
//     Everything asked of somebody else is answered after a small delay;
//   - campaign_network.go, campaign_media.go: carriers and callees, bots and results.
//     They go on when the process dies;
//   - campaign_requests.go, campaign_acts.go, campaign_faults.go: operators and callers
//     of the API, and what goes wrong;
//   - campaign_check.go, campaign_audit.go: what the judge of the promises
//     (engine/promise) is told, and what must come to an end.
//
// A run at rest is looked after less often than the shipped one, so that nights
// pass quickly. Dialouts, calls to bots by SIP, transfers and the spool are not played,
// and there is one process at a time.
//
// What it must not know: the real clock, files, sockets, actors. There is no
// randomness but hashes of the seed; the same input gives the same output, byte
// for byte.
package sim
