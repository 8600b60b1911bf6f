package commit

import (
	"encoding/binary"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/chain"
	"dialler/engine/journal"
	"dialler/engine/number"
	"dialler/persistence/column"
	"dialler/persistence/failure"
	"dialler/persistence/table"
)

// store sends the rows of the accepted writes and COMMIT.
func (t *commit) store() error {
	if err := t.queueRows(); err != nil {
		return &failure.Unencodable{Err: err}
	}
	r := &t.g.rows
	if t.repeated || len(r.kept)+len(r.exclusions)+len(r.suppressions)+len(r.bulks)+len(r.retunes) > 0 {
		return t.storeApart()
	}
	if err := t.queueEvents("fresh events", nothing); err != nil {
		return &failure.Unencodable{Err: err}
	}
	t.queueBatches()
	return t.finish()
}

func (t *commit) finish() error {
	t.queue("commit", nil, nothing)
	return t.send()
}

func (t *commit) queueRows() error {
	r := &t.g.rows
	shapes := t.g.shapes
	if err := addRows(t, "contacts", &t.g.contacts, table.ContactColumns, &shapes.Contacts, r.contacts,
		t.contactWritten); err != nil {
		return err
	}
	if err := t.queueVariables(); err != nil {
		return err
	}
	if err := addRows(t, "kept", &t.g.kept, table.ContactColumns, &shapes.Contacts, r.kept, nil); err != nil {
		return err
	}
	if err := addRows(t, "attempts", &t.g.attempts, table.AttemptColumns, &shapes.Attempts, t.g.whole(),
		t.attemptWritten); err != nil {
		return err
	}
	t.queueRecordings()
	t.queueReviews()
	if err := t.queueLegs(); err != nil {
		return err
	}
	if err := addRows(t, "campaigns", &t.g.campaigns, table.CampaignColumns, &shapes.Campaigns, r.campaigns,
		t.campaignWritten); err != nil {
		return err
	}
	t.queueHolds()
	if err := t.queueExclusions(); err != nil {
		return err
	}
	t.queueSuppressions()
	if err := t.queueSchedules(); err != nil {
		return err
	}
	t.queueStatuses()
	t.queueMentions()
	for _, b := range r.bulks {
		t.queueSweep("bulk", b.campaign, string(b.To), &b.Sweep)
	}
	for _, x := range r.retunes {
		t.queueSweep("retune", x.campaign, strconv.Itoa(x.MaxAttempts), &x.Sweep)
	}
	return nil
}

func (t *commit) queueSweep(name string, id engine.CampaignID, to string, s *journal.Sweep) {
	at := &t.g.instants
	at.Reset(pgtype.TimestamptzOID)
	at.Instant(s.At)
	except := t.arrayOf(0, pgtype.UUIDOID)
	for _, id := range s.Except {
		except.ID(string(id))
	}
	t.queue(name, [][]byte{[]byte(id), []byte(to), at.Only(),
		binary.BigEndian.AppendUint64(nil, uint64(s.Event.Seq)), //nolint:gosec // never negative
		binary.BigEndian.AppendUint32(nil, uint32(s.Event.Run)), //nolint:gosec // never negative
		except.Param(),
		binary.BigEndian.AppendUint32(nil, uint32(s.Limit))}, //nolint:gosec // never negative
		func(rows [][][]byte) error {
			ev := s.Event
			ev.Campaign, ev.At, ev.Version, ev.Data = id, s.At, 1, journal.Data{}
			ids, err := table.ReadSweep(rows[0], &ev)
			t.swept = append(t.swept, swept{&ev, ids})
			return err
		})
}

func addRows[T any](t *commit, name string, b *column.Batch[T], cols []column.Of[T], shape *column.Layout,
	rows []*T, written func(*T) error) error {
	if len(rows) == 0 {
		return nil
	}
	b.Reset(cols, shape)
	for _, r := range rows {
		if err := b.Add(r); err != nil {
			return err
		}
		if written == nil || t.written.Digester() == nil {
			continue
		}
		if err := written(r); err != nil {
			return err
		}
	}
	t.queue(name, [][]byte{b.Param()}, nothing)
	return nil
}

// queueLegs sends the legs that are not known to be stored in this state.
func (t *commit) queueLegs() error {
	b := &t.g.legs
	b.Reset(table.LegColumns, &t.g.shapes.Legs)
	var row table.LegRow
	put := func(a *attempt.Attempt, i int, l *attempt.Leg, far table.FarLeg) error {
		row = table.LegRow{Attempt: string(a.ID), N: i + 1, Leg: l, Far: far}
		if _, n, ok := l.ID.Attempt(); ok {
			row.N = n
		}
		if s, ok := sentLegOf(&row); ok {
			if t.marks.leg(&s) {
				return nil
			}
			t.g.sent = append(t.g.sent, s)
		}
		if err := b.Add(&row); err != nil {
			return err
		}
		var id [16]byte
		column.ParseID(row.Attempt, &id)
		return t.written.Put(ownerOf(a), chain.Row{Part: table.PartLeg.Byte, ID: table.Plus(id, row.N)},
			table.LegOrder(l), func(dst []byte) ([]byte, error) { return table.AppendValues(dst, b, t.g.shapes.Leg) })
	}
	for _, a := range t.g.rows.attempts {
		for i := range a.Legs {
			if err := put(a, i, &a.Legs[i], table.FarLeg{}); err != nil {
				return err
			}
		}
		for i := range a.Peers {
			p := &a.Peers[i]
			if err := put(a, len(a.Legs)+i, &p.Leg, table.FarLeg{Kind: p.Kind, State: p.State,
				URI: p.URI}); err != nil {
				return err
			}
		}
	}
	if !b.Empty() {
		t.queue("legs", [][]byte{b.Param()}, nothing)
	}
	return nil
}

func (t *commit) queueVariables() error {
	if len(t.stale) == 0 {
		return nil
	}
	ids, versions := t.arrayOf(0, pgtype.UUIDOID), t.arrayOf(1, pgtype.Int8OID)
	hashes, values := t.arrayOf(2, pgtype.Int8OID), t.arrayOf(3, pgtype.JSONBOID)
	for _, c := range t.g.rows.contacts {
		if _, ok := t.stale[c.ID]; !ok {
			continue
		}
		ids.ID(string(c.ID))
		versions.Int8(c.Version)
		hash := table.VariablesHash(c.Variables)
		hashes.Int8(hash)
		b, err := json.Marshal(c.Variables)
		if err != nil {
			return err
		}
		b = column.CleanJSON(b)
		values.JSONB(b)
		if err := t.variablesWritten(c, hash, b); err != nil {
			return err
		}
	}
	t.queue("variables", [][]byte{ids.Param(), versions.Param(), hashes.Param(), values.Param()}, nothing)
	return nil
}

func (t *commit) queueHolds() {
	if released := t.g.rows.released; len(released) > 0 {
		numbers, attempts := t.texts(0), t.arrayOf(1, pgtype.UUIDOID)
		for _, h := range released {
			numbers.Text(string(h.Number))
			attempts.ID(string(h.Attempt))
		}
		t.queue("released", [][]byte{numbers.Param(), attempts.Param()}, nothing)
	}
	if lost := t.g.rows.lost; len(lost) > 0 {
		numbers, attempts, left, owed := t.texts(0), t.arrayOf(1, pgtype.UUIDOID), t.arrayOf(2, pgtype.Int8OID),
			t.arrayOf(3, pgtype.BoolOID)
		session := t.arrayOf(4, pgtype.Int8OID)
		for _, h := range lost {
			numbers.Text(string(h.Number))
			attempts.ID(string(h.Attempt))
			left.Int8(h.Until.Sub(t.now).Microseconds())
			owed.Bool(h.Owed)
			if h.SessionEnd.IsZero() {
				session.Null()
			} else {
				session.Int8(h.SessionEnd.Sub(t.now).Microseconds())
			}
		}
		t.queue("lost", [][]byte{numbers.Param(), attempts.Param(), left.Param(), owed.Param(), session.Param()},
			nothing)
	}
}

func (t *commit) queueExclusions() error {
	list := t.g.rows.exclusions
	if len(list) == 0 {
		return nil
	}
	campaigns, numbers, matches := t.texts(0), t.texts(1), t.arrayOf(2, pgtype.JSONBOID)
	reasons, lifted, created := t.texts(3), t.arrayOf(4, pgtype.BoolOID), t.arrayOf(5, pgtype.TimestamptzOID)
	for _, x := range list {
		campaigns.Text(string(x.Campaign))
		numbers.Text(string(x.Number))
		if err := matches.JSON(matchOf(x)); err != nil {
			return err
		}
		reasons.Text(x.Reason)
		lifted.Bool(x.Lifted)
		created.Instant(table.OrNow(x.CreatedAt))
	}
	t.queue("exclusions", [][]byte{campaigns.Param(), numbers.Param(), matches.Param(), reasons.Param(),
		lifted.Param(), created.Param()}, nothing)
	return nil
}

func matchOf(x *journal.Exclusion) map[string]string {
	if x.Match == nil {
		return map[string]string{}
	}
	return x.Match
}

func (t *commit) queueSuppressions() {
	list := t.g.rows.suppressions
	if len(list) == 0 {
		return
	}
	numbers, reasons, created := t.texts(0), t.texts(1), t.arrayOf(2, pgtype.TimestamptzOID)
	for _, x := range list {
		numbers.Text(string(x.Number))
		reasons.Text(x.Reason)
		created.Instant(table.OrNow(x.CreatedAt))
	}
	t.queue("suppressions", [][]byte{numbers.Param(), reasons.Param(), created.Param()}, nothing)
}

func (t *commit) queueStatuses() {
	list := t.g.rows.statuses
	if len(list) == 0 {
		return
	}
	subjects, endpoints, urls, types := t.arrayOf(0, pgtype.UUIDOID), t.texts(1), t.texts(2), t.texts(3)
	at := t.arrayOf(4, pgtype.TimestamptzOID)
	for _, x := range list {
		subjects.ID(x.Subject)
		endpoints.Text(x.Endpoint)
		urls.Text(x.URL)
		types.Text(strings.Join(x.Types, ","))
		at.Instant(x.At)
	}
	t.queue("statuses", [][]byte{subjects.Param(), endpoints.Param(), urls.Param(), types.Param(), at.Param()}, nothing)
}

// queueMentions notes the contacts that a trigger or an operator has named.
func (t *commit) queueMentions() {
	ids := t.arrayOf(0, pgtype.UUIDOID)
	n := 0
	for _, e := range t.g.rows.events {
		if e.Mentions() && e.Contact != "" {
			ids.ID(string(e.Contact))
			n++
		}
	}
	if n > 0 {
		t.queue("mentioned", [][]byte{ids.Param()}, nothing)
	}
}

func (t *commit) queueSchedules() error {
	list := t.g.rows.schedules
	if len(list) == 0 {
		return nil
	}
	ids, bots, numbers, commands := t.arrayOf(0, pgtype.UUIDOID), t.texts(9), t.texts(1), t.arrayOf(2, pgtype.JSONBOID)
	from, until := t.arrayOf(3, pgtype.TimestamptzOID), t.arrayOf(4, pgtype.TimestamptzOID)
	precedences, created := t.arrayOf(5, pgtype.Int4OID), t.arrayOf(6, pgtype.TimestamptzOID)
	next, reasons := t.arrayOf(7, pgtype.TimestamptzOID), t.texts(8)
	for _, d := range list {
		ids.ID(string(d.ID))
		bots.Text(string(d.Command.Bot))
		numbers.Text(string(d.Command.To))
		if err := commands.JSON(table.ScheduledCommand(d)); err != nil {
			return err
		}
		from.Instant(d.NotBefore)
		until.Instant(d.ExpiresAt)
		precedences.Int4(int64(d.Precedence))
		created.Instant(d.CreatedAt)
		next.Instant(d.NextAt)
		reasons.Text(d.Reason)
	}
	t.queue("schedule", [][]byte{ids.Param(), bots.Param(), numbers.Param(), commands.Param(), from.Param(), until.Param(),
		precedences.Param(), created.Param(), next.Param(), reasons.Param()}, nothing)
	return nil
}

// queueRecordings notes the recordings of attempts that ended.
func (t *commit) queueRecordings() {
	ids, campaigns, places, started := t.arrayOf(0, pgtype.UUIDOID), t.texts(1), t.texts(2), t.arrayOf(3,
		pgtype.TimestamptzOID)
	n := 0
	for _, a := range t.g.rows.attempts {
		if a.Live() || a.Quality == nil || a.Quality.Recording == nil {
			continue
		}
		n++
		ids.ID(string(a.ID))
		campaigns.Text(string(a.Campaign))
		places.Text(a.Quality.Recording.ID)
		started.Instant(a.Quality.Recording.StartedAt)
	}
	if n > 0 {
		t.queue("recordings", [][]byte{ids.Param(), campaigns.Param(), places.Param(), started.Param()}, nothing)
	}
}

// queueReviews queues for human review a sample of the verdicts on recorded calls that have ended.
func (t *commit) queueReviews() {
	ids, dice, campaigns := t.arrayOf(0, pgtype.UUIDOID), t.arrayOf(1, pgtype.Int8OID), t.texts(2)
	trunks, countries, verdicts, before := t.texts(3), t.texts(4), t.texts(5), t.texts(6)
	confidence, took, answered := t.arrayOf(7, pgtype.Int8OID), t.arrayOf(8, pgtype.Int8OID), t.arrayOf(9,
		pgtype.TimestamptzOID)
	n := 0
	for _, a := range t.g.rows.attempts {
		if !reviewable(a) {
			continue
		}
		n++
		ids.ID(string(a.ID))
		dice.Int8(int64(engine.AMDDice(a.ID)))
		campaigns.Text(string(a.Campaign))
		trunks.Text(string(a.Trunk))
		countries.Text(number.Region(a.To))
		verdicts.Text(string(a.Verdict))
		before.Text(string(a.RevisedFrom))
		confidence.Int8(int64(a.Confidence * 1e6))
		took.Int8(a.AMDTook.Milliseconds())
		answered.Instant(*a.AnsweredAt)
	}
	if n > 0 {
		t.queue("reviews", [][]byte{ids.Param(), dice.Param(), campaigns.Param(), trunks.Param(), countries.Param(),
			verdicts.Param(), before.Param(),
			confidence.Param(), took.Param(), answered.Param()}, nothing)
	}
}

func reviewable(a *attempt.Attempt) bool {
	return !a.Live() && a.Campaign != "" && a.Verdict != "" && a.AnsweredAt != nil && a.Quality != nil &&
		a.Quality.Recording != nil
}

const insertReviews = `INSERT INTO amd_reviews (attempt_id, campaign_id, trunk, country, verdict, revised_from,
	confidence, amd_ms, answered_at)
	SELECT u.id, u.campaign, u.trunk, u.country, u.verdict, u.before, u.confidence / 1e6, u.took, u.answered
	FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[],
	$9::bigint[], $10::timestamptz[])
		AS u(id, dice, campaign, trunk, country, verdict, before, confidence, took, answered)
	JOIN campaigns c ON c.id = u.campaign AND u.dice < coalesce((c.settings->>'amd_review_ppm')::bigint, 0)
	ON CONFLICT (attempt_id) DO NOTHING`
