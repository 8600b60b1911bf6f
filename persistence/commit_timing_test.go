package persistence_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/storetest"
)

// BenchmarkCalls measures what an answered call costs: the five writes of its
// life (intent, answered, connected, ended, result) with five events, committed
// in groups of the given size. Client CPU is this process, server CPU the
// backend that commits; both per call. Wall time is that of the disk.
func BenchmarkCalls(b *testing.B) {
	for _, size := range []int{1, 10, 50, 200} {
		b.Run(fmt.Sprintf("group=%d", size), func(b *testing.B) { benchmarkCalls(b, size) })
	}
}

const preload = 20_000

func benchmarkCalls(b *testing.B, size int) {
	store := storetest.OpenAt(b, storetest.URL(b), persistence.Config{Writers: 1, Readers: 1})
	ctx := b.Context()
	now := time.Now().Truncate(time.Microsecond)
	c := campaign.Campaign{ID: "cmp_bench", State: campaign.Running, Run: 1, CreatedAt: now, Settings: campaign.Settings{Name: "bench", MaxAttempts: 3}}
	if err := store.InsertCampaign(ctx, c); err != nil {
		b.Fatal(err)
	}
	c, err := store.AcquireCampaign(ctx, c.ID)
	if err != nil {
		b.Fatal(err)
	}
	add := journal.ContactInsert{Campaign: c.ID, Epoch: c.Epoch, Run: 1, Source: "csv", Max: 3, At: now, DueClass: contact.DueFirst}
	total := max(b.N, preload)
	for i := range total {
		add.Contacts = append(add.Contacts, journal.IdentifiedContact{ID: engine.ContactID(benchID(now, i)), NewContact: campaign.NewContact{
			Number:    engine.PhoneNumber(fmt.Sprintf("+49151%08d", i)),
			Variables: map[string]string{"name": "Ada Lovelace", "plan": "gold", "account": strconv.Itoa(i), "language": "en"},
		}})
	}
	for from := 0; from < total; from += 10_000 {
		part := add
		part.Contacts = add.Contacts[from:min(total, from+10_000)]
		part.Event = journal.Event{Campaign: c.ID, Seq: int64(from + 1), Run: 1, At: now, Type: journal.ContactsAdded, Version: 1}
		if _, err := store.AddContacts(ctx, part); err != nil {
			b.Fatal(err)
		}
	}
	rows, err := store.DueContacts(ctx, c.ID, 1, contact.Order{Now: now.Add(time.Hour)}, b.N, nil)
	if err != nil {
		b.Fatal(err)
	}
	calls := make([]benchCall, b.N)
	for i := range calls {
		calls[i] = benchCall{c: rows[i], epoch: c.Epoch}
	}
	pid := backend(b, store)
	seq := int64(total + 10)
	b.ReportAllocs()
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
	// A window of calls in flight, so that a group has every step in it and no
	// call twice.
	for at := 0; at < len(calls)+5*size; at++ {
		for step := range 5 {
			if i := at - step*size; i >= 0 && i < len(calls) {
				seq++
				group = append(group, calls[i].write(step, seq, now))
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
}

type benchCall struct {
	c     contact.Contact
	a     attempt.Attempt
	epoch int64
}

func (k *benchCall) write(step int, seq int64, now time.Time) journal.Write {
	t := now.Add(time.Duration(step) * time.Second)
	w := journal.Write{Campaign: k.c.Campaign, Epoch: k.epoch}
	ev := journal.Event{Campaign: k.c.Campaign, Seq: seq, Run: 1, At: t, Version: 1, Contact: k.c.ID}
	before := k.c.Facts()
	switch step {
	case 0:
		k.a = attempt.Attempt{ID: engine.AttemptID(randomID()), Campaign: k.c.Campaign, Contact: k.c.ID, Run: 1, Pass: 1, Number: 1, Bot: "bot",
			To: k.c.Number, From: "+4930111222", Trunk: "t1", Epoch: k.epoch, SendBy: t, State: attempt.Reserved, ReservedAt: &t}
		k.a.Legs = []attempt.Leg{{ID: k.a.ID.Leg(1), Trunk: "t1"}}
		k.c.Attempt, k.c.DueAt = k.a.ID, nil
		k.c.Version++
		w.Intent = &journal.Intent{Attempt: k.a.ID, Number: k.c.Number}
		w.Contacts = []contact.Contact{k.c}
		ev.Type, ev.Data = journal.AttemptReserved, journal.Data{Trunk: "t1", Number: 1, Pass: 1}
	case 1:
		k.a.State, k.a.InviteAt, k.a.RingingAt, k.a.AnsweredAt, k.a.SIPCode, k.a.SIPReason = attempt.Answered, &t, &t, &t, 200, "OK"
		k.a.Legs = []attempt.Leg{{ID: k.a.ID.Leg(1), Trunk: "t1", SentAt: &t, SIPCode: 200, SIPReason: "OK", Seq: 4, Dialog: &engine.DialogState{
			ToTag: "9fxced76sl", RemoteTarget: "sip:+4915112345678@192.0.2.10:5060", CSeq: 1, RemoteAddr: "192.0.2.10:5060", Transport: "udp", LocalAddr: "192.0.2.1:5060"}}}
		ev.Type = journal.AttemptAnswered
	case 2:
		k.a.State, k.a.ServedAt, k.a.BotConnectedAt, k.a.Session, k.a.Verdict, k.a.MediaSeq = attempt.Connected, &t, &t, "MZ0123", engine.VerdictHuman, 2
		k.c.State, k.c.ConnectedOnce = contact.Connected, true
		k.c.Version++
		w.Contacts = []contact.Contact{k.c}
		after := k.c.Facts()
		ev.Type, ev.Data = journal.AttemptConnected, journal.Data{Before: &before, After: &after, Verdict: engine.VerdictHuman}
	case 3:
		k.a.State, k.a.EndedAt, k.a.Consumed, k.a.Outcome, k.a.HungUpBy = attempt.Ended, &t, true, engine.OutcomeConnectedNoResult, engine.PartyCallee
		k.a.Quality = &engine.MediaQuality{PacketsReceived: 1000, PacketsSent: 1000, Codec: "PCMU"}
		legs := []attempt.Leg{k.a.Legs[0]}
		legs[0].EndedAt, legs[0].Seq = &t, 5
		k.a.Legs = legs
		due := t.Add(time.Hour)
		k.c.Attempt, k.c.ResultDueAt, k.c.Used, k.c.LastOutcome = "", &due, 1, k.a.Outcome
		k.c.Version++
		w.Contacts = []contact.Contact{k.c}
		w.Holds = []journal.HoldRelease{{Attempt: k.a.ID, Number: k.c.Number}}
		after := k.c.Facts()
		ev.Type, ev.Data = journal.AttemptEnded, journal.Data{Before: &before, After: &after, Outcome: k.a.Outcome, Consumed: true,
			Answered: true, Connected: true, Pass: 1, Number: 1, Trunk: "t1", SIPCode: 200, TalkMS: 1000, RingMS: 1000}
	case 4:
		k.a.Result = &attempt.Result{Disposition: "interested", Summary: "asked for a quote by e-mail", ReceivedAt: t}
		k.a.Outcome = engine.OutcomeCompleted
		k.c.State, k.c.HasResult, k.c.ResultDueAt, k.c.LastDisposition = contact.Completed, true, nil, "interested"
		k.c.Version++
		w.Contacts = []contact.Contact{k.c}
		after := k.c.Facts()
		ev.Type, ev.Data = journal.ResultStored, journal.Data{Before: &before, After: &after, Connected: true, Disposition: "interested"}
	}
	ev.Attempt = k.a.ID
	w.Attempts, w.Events = []attempt.Attempt{k.a}, []journal.Event{ev}
	return w
}

func benchID(now time.Time, i int) string {
	return fmt.Sprintf("%012x%s", now.UnixMilli()+int64(i), randomID()[:20])
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	ms := time.Now().UnixMilli()
	for i := range 6 {
		b[i] = byte(ms >> (8 * (5 - i)))
	}
	return hex.EncodeToString(b[:])
}

// backend is the server process of the one writing connection.
func backend(b *testing.B, store *persistence.Store) (pid int) {
	b.Helper()
	if _, err := store.Commit(b.Context(), []journal.Write{{}}); err != nil {
		b.Fatal(err)
	}
	var schema string
	if err := store.QueryRow(b.Context(), "SELECT current_schema()", &schema); err != nil {
		b.Fatal(err)
	}
	if err := store.QueryRow(b.Context(), `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query = 'COMMIT'
		AND application_name = 'dialler' ORDER BY state_change DESC LIMIT 1`, &pid); err != nil {
		b.Fatal(err)
	}
	return pid
}

func cpuSelf() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// cpuOf reads user and system time of a process: 1/100 s on Linux.
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
