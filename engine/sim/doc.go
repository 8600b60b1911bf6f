// Package sim is a seeded world in which whole campaigns are played on a virtual clock, at some
// thousand times the speed of a real one. engine/pacing/trial tries ways of pacing alone; both take
// their people from engine/callee.
//
// RunCampaigns plays whole campaigns. It has no rules of its own: it drives engine/run.State,
// engine/call.Contact and engine/memstore.Store, as the actors drive them; and for people who call
// us engine/inbound, engine/dialout.State and engine/call.Dialout. This package is the world around
// them:
//
//   - campaign_world.go, campaign_events.go: the clocks, and what happens when;
//   - campaign_process.go, campaign_store.go, campaign_leases.go: one incarnation of
//     the process. It carries out the effects of runs and contacts in order, writes
//     in groups, queries the store, and owns trunks, numbers and seats. Every request
//     to another party is answered after a small delay;
//   - campaign_calls.go, campaign_callsin.go: what the process does for every call, and for those
//     that come in;
//   - campaign_callers.go: people who call us;
//   - campaign_network.go, campaign_media.go: carriers and callees, bots and results.
//     They continue when the process dies;
//   - campaign_requests.go, campaign_acts.go, campaign_faults.go: operators and API
//     clients, and faults;
//   - campaign_check.go, campaign_audit.go: reports to the judge of the promises
//     (engine/promise), and checks that everything ends.
//
// A run at rest is ticked less often than in the shipped program, so that nights pass quickly.
// Dialouts, calls to bots by SIP, transfers and the spool are not played, and there is one process
// at a time.
//
// What it must not know: the real clock, files, sockets, actors. The only randomness is hashes of
// the seed; the same input gives the same output, byte for byte.
package sim
