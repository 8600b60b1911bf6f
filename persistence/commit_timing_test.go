package persistence_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/engine/webhook"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// BenchmarkCalls measures the cost of an answered call: its five writes (intent, answered,
// connected, ended, result) with five events, committed in groups of the given size. Client CPU is
// this process, server CPU the backend that commits; both per call. Wall time is that of the disk.
func BenchmarkCalls(b *testing.B) {
	for _, size := range []int{1, 10, 50, 200} {
		b.Run(fmt.Sprintf("group=%d", size), func(b *testing.B) { benchmarkCalls(b, size, false, true) })
	}
}

// BenchmarkDigestsOfCalls measures what the digests of a call's rows cost: the same calls with and
// without them, alternately.
func BenchmarkDigestsOfCalls(b *testing.B) {
	for i := range 10 {
		with := i%2 == 1
		b.Run(fmt.Sprintf("digests=%v", with), func(b *testing.B) { benchmarkCalls(b, 50, false, with) })
	}
}

// BenchmarkAudit measures an audit of b.N calls, five events each: also how much the heap grows.
func BenchmarkAudit(b *testing.B) {
	store := benchmarkCalls(b, 200, false, true)
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, most := m.HeapAlloc, m.HeapAlloc
	done, sampled := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(sampled)
		for tick := time.Tick(20 * time.Millisecond); ; {
			select {
			case <-done:
				return
			case <-tick:
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
		}
	}()
	client, began := cpuSelf(), time.Now()
	a, err := store.Records.Audit(b.Context(), "cmp_bench")
	took := time.Since(began)
	close(done)
	<-sampled
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(a.Events)/took.Seconds(), "events/s")
	b.ReportMetric(float64((cpuSelf()-client).Microseconds())/float64(a.Events), "client-µs/event")
	b.ReportMetric(float64(most-before)/(1<<20), "MiB")
}

// BenchmarkCallsThatAWebhookIsToldOf measures the same with an endpoint that subscribes to
// everything. In addition to the writing it measures reading the events and making messages and
// jobs of them, three per call, in the process (told-client) and in the server (told-server).
func BenchmarkCallsThatAWebhookIsToldOf(b *testing.B) { benchmarkCalls(b, 50, true, true) }

const preload = 20_000

func benchmarkCalls(b *testing.B, size int, told, digests bool) *persistence.Store {
	b.Helper()
	ctx := b.Context()
	store, err := persistence.Open(ctx, storetest.URL(b), persistence.Config{Writers: 1, Readers: 1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(store.Close)
	if digests {
		store.UseRowKey(storetest.RowKey)
	}
	now := time.Now().Truncate(time.Microsecond)
	c := campaign.Campaign{ID: "cmp_bench", State: campaign.Running, Run: 1, CreatedAt: now,
		Settings: campaign.Settings{Name: "bench", MaxAttempts: 3}}
	if err := store.InsertCampaign(ctx, c); err != nil {
		b.Fatal(err)
	}
	c, err = store.AcquireCampaign(ctx, c.ID)
	if err != nil {
		b.Fatal(err)
	}
	add := journal.ContactInsert{Campaign: c.ID, Epoch: c.Epoch, Run: 1, Source: "csv", Max: 3, At: now,
		DueClass: contact.DueFirst}
	total := max(b.N, preload)
	for i := range total {
		add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: engine.ContactID(benchID(now, i)),
			NewContact: campaign.NewContact{
				Number:    engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)),
				Variables: map[string]string{"name": "Ada Lovelace", "plan": "gold", "account": strconv.Itoa(i), "language": "en"},
			}})
	}
	for from := 0; from < total; from += 10_000 {
		part := add
		part.Contacts = add.Contacts[from:min(total, from+10_000)]
		part.Event = journal.Event{Campaign: c.ID, Seq: int64(from + 1), Run: 1, At: now, Type: journal.ContactsAdded,
			Version: 1}
		if _, err := store.AddContacts(ctx, part); err != nil {
			b.Fatal(err)
		}
	}
	rows, err := store.DueContacts(ctx, c.ID, 1, contact.Order{Now: now.Add(time.Hour)}, b.N, nil)
	if err != nil {
		b.Fatal(err)
	}
	calls := make([]storetest.Call, b.N)
	for i := range calls {
		calls[i] = storetest.Call{Contact: rows[i], Epoch: c.Epoch}
	}
	if told {
		e := webhook.Endpoint{ID: "whk_bench", URL: "https://crm.example.org/", Active: true}
		if err := store.Endpoints.CreateWebhook(ctx, e, hookSecret, engine.System); err != nil {
			b.Fatal(err)
		}
	}
	pid := backend(b, store)
	seq := int64(total + 10)
	b.ReportAllocs()
	var wal, was int64
	const position = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint"
	if err := store.QueryRow(ctx, position, &was); err != nil {
		b.Fatal(err)
	}
	client, server := cpuSelf(), cpuOf(pid)
	b.ResetTimer()
	group := make([]journal.Write, 0, size)
	flush := func() {
		if len(group) == 0 {
			return
		}
		refused, err := store.Commit(ctx, group)
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range refused {
			if err != nil {
				b.Fatal(err)
			}
		}
		group = group[:0]
	}
	// A window of calls in flight, so that a group contains every step but no call twice.
	for at := 0; at < len(calls)+storetest.CallSteps*size; at++ {
		for step := range storetest.CallSteps {
			if i := at - step*size; i >= 0 && i < len(calls) {
				seq++
				group = append(group, calls[i].Write(step, seq, now))
				if len(group) == size {
					flush()
				}
			}
		}
	}
	flush()
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(float64((cpuSelf()-client).Microseconds())/n, "client-µs/call")
	b.ReportMetric(float64((cpuOf(pid)-server).Microseconds())/n, "server-µs/call")
	b.ReportMetric(n/b.Elapsed().Seconds(), "calls/s")
	if err := store.QueryRow(ctx, position, &wal); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(wal-was)/n, "wal-B/call")
	if !told {
		return store
	}
	var reader int
	if err := store.QueryRow(ctx, "SELECT pg_backend_pid()", &reader); err != nil {
		b.Fatal(err)
	}
	client, server = cpuSelf(), cpuOf(reader)
	for more := true; more; {
		f, err := store.Endpoints.FollowEvents(ctx)
		if err != nil {
			b.Fatal(err)
		}
		more = f.More
	}
	b.ReportMetric(float64((cpuSelf()-client).Microseconds())/n, "told-client-µs/call")
	b.ReportMetric(float64((cpuOf(reader)-server).Microseconds())/n, "told-server-µs/call")
	return store
}

func benchID(now time.Time, i int) string {
	return fmt.Sprintf("%012x%s", now.UnixMilli()+int64(i), storetest.RandomID()[:20])
}

// backend is the server process behind the only writing connection.
func backend(b *testing.B, store *persistence.Store) (pid int) {
	b.Helper()
	if _, err := store.Commit(b.Context(), []journal.Write{{}}); err != nil {
		b.Fatal(err)
	}
	var schema string
	if err := store.QueryRow(b.Context(), "SELECT current_schema()", &schema); err != nil {
		b.Fatal(err)
	}
	if err := store.QueryRow(b.Context(), `SELECT pid FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND query = 'COMMIT' AND application_name = 'dialler'
		ORDER BY state_change DESC LIMIT 1`, &pid); err != nil {
		b.Fatal(err)
	}
	return pid
}

func cpuSelf() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// cpuOf reads the user and system time of a process: in units of 1/100 s on Linux.
func cpuOf(pid int) time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
