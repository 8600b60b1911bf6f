package persistence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/persistence"
	"dialler/persistence/pool"
	"dialler/persistence/storetest"
)

// A page of the due queue costs a page: neither those who wait for their time nor those who are due
// but stand further back are read. This holds for the plan made for these values and for the one
// that PostgreSQL keeps for all values, and also while its statistics know first attempts alone.
func TestWhoIsDueIsReadFromAnIndexHoweverManyWaitForTheirTime(t *testing.T) {
	t.Parallel()
	const all, page = 20_000, 100
	for _, tc := range []struct {
		name string
		rows string // due_class, used, due_at of the i-th
		due  int
	}{
		{"retries, a third due", "3, i % 3, now() + CASE WHEN i % 3 = 0 THEN interval '-1 hour' ELSE interval '1 day' END",
			page},
		{"retries, all due at once", "3, i % 3, now() - interval '1 hour'", page},
		{"retries, all due in turn", "3, i % 3, now() - i * interval '1 second'", page},
		{"first attempts, all due", "2, 0, now() - interval '1 hour'", page},
		{"triggers, all due at once", "1, 0, now() - interval '1 hour'", page},
		{"callbacks, all later", "0, 1, now() + i * interval '1 hour'", 0},
	} {
		for _, stale := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, stale statistics %v", tc.name, stale), func(t *testing.T) {
				t.Parallel()
				url, plans := storetest.URL(t), &measuredPlans{t: t, of: "ranked", most: 5 * page}
				store := storetest.OpenAt(t, url, persistence.Config{Tracer: plans})
				c := campaign.Campaign{ID: "cmp_due", State: campaign.Running, Run: 1, CreatedAt: time.Now(),
					Settings: campaign.Settings{Name: "due", MaxAttempts: 5}}
				if err := store.InsertCampaign(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				run(t, url, fmt.Sprintf(`ALTER TABLE contacts SET (autovacuum_enabled = false);
					INSERT INTO contacts (id, campaign_id, run, number, position, due_class, due_at, state, max, source,
						created_at, updated_at, version)
					SELECT gen_random_uuid(), '%s', 1, '+49151' || lpad(i::text, 8, '0'), i, 2, now() - interval '2 hours',
						'pending', 5, 'csv', now(), now(), 1
					FROM generate_series(1, %d) i;
					ANALYZE contacts;
					UPDATE contacts SET (due_class, used, due_at) = (SELECT %s FROM (SELECT position AS i) p)`,
					c.ID, all, tc.rows))
				if !stale {
					run(t, url, "ANALYZE contacts")
				}
				list, err := store.DueContacts(t.Context(), c.ID, 1, contact.Order{Now: time.Now()}, page, nil)
				if err != nil || len(list) != tc.due || plans.read != 2 {
					t.Fatalf("%d contacts due, want %d; %d plans read; %v", len(list), tc.due, plans.read, err)
				}
			})
		}
	}
}

// measuredPlans runs the queries that contain a text with each kind of plan before they run, and counts
// what each step of the plan reads.
type measuredPlans struct {
	t     *testing.T
	of    string
	table string // the only one whose reads count, if not ""
	most  int    // rows that a step may read
	busy  bool
	read  int
}

type measuredPlan struct {
	Node    string         `json:"Node Type"`
	Table   string         `json:"Relation Name"`
	Index   string         `json:"Index Name"`
	Rows    float64        `json:"Actual Rows"` // of one loop
	Removed float64        `json:"Rows Removed by Filter"`
	Loops   float64        `json:"Actual Loops"`
	Parts   []measuredPlan `json:"Plans"`
}

func (p *measuredPlans) TraceQueryStart(ctx context.Context, conn *pgx.Conn,
	q pgx.TraceQueryStartData) context.Context {
	if p.busy || !strings.Contains(q.SQL, p.of) {
		return ctx
	}
	p.busy = true
	defer func() { p.busy = false }()
	args := q.Args
	if len(args) > 0 && args[0] == pool.PlannedEachTime {
		args = args[1:]
	}
	values := make([]string, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case nil, *time.Duration:
			values[i] = "NULL" // no campaign here has an overdue time
		case time.Time:
			values[i] = "'" + a.Format(time.RFC3339Nano) + "'"
		case []string:
			values[i] = "'{" + strings.Join(a, ",") + "}'"
		case []engine.PhoneNumber:
			if values[i] = "NULL"; a != nil {
				values[i] = "'{" + string(a[0]) + "}'"
			}
		default:
			values[i] = fmt.Sprintf("'%v'", a)
		}
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		p.explain(ctx, conn, mode, q.SQL, strings.Join(values, ", "))
	}
	return ctx
}

func (p *measuredPlans) explain(ctx context.Context, conn *pgx.Conn, mode, query, values string) {
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = "+mode+"; PREPARE due AS "+query,
		pgx.QueryExecModeSimpleProtocol); err != nil {
		p.t.Error(err)
		return
	}
	var text string
	var found []struct{ Plan measuredPlan }
	err := conn.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE due ("+values+")",
		pgx.QueryExecModeSimpleProtocol).Scan(&text)
	if err == nil {
		err = json.Unmarshal([]byte(text), &found)
	}
	if err != nil || len(found) != 1 {
		p.t.Error("no plan: ", err)
		return
	}
	if _, err := conn.Exec(ctx, "DEALLOCATE due; RESET plan_cache_mode", pgx.QueryExecModeSimpleProtocol); err != nil {
		p.t.Error(err)
	}
	p.read++
	p.judge(mode, &found[0].Plan)
}

func (p *measuredPlans) judge(mode string, n *measuredPlan) {
	if rows := (n.Rows + n.Removed) * n.Loops; rows > float64(p.most) && (p.table == "" || p.table == n.Table) {
		p.t.Errorf("%s: %s %s reads %.0f rows", mode, n.Node, n.Index, rows)
	}
	for i := range n.Parts {
		p.judge(mode, &n.Parts[i])
	}
}

func (p *measuredPlans) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
