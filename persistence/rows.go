package persistence

import (
	"encoding/binary"
	"strconv"

	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/journal"
	"dialler/engine/number"
)

// store sends the rows of the accepted writes and COMMIT.
func (t *commit) store() error {
	if err := t.queueRows(); err != nil {
		return &encodeError{err}
	}
	t.queue("commit", nil, nothing)
	return t.send()
}

func (t *commit) queueRows() error {
	r := &t.g.rows
	shapes := t.g.shapes
	if err := addRows(t, "contacts", &t.g.contacts, contactColumns, &shapes.contacts, r.contacts); err != nil {
		return err
	}
	if err := t.queueVariables(); err != nil {
		return err
	}
	if err := addRows(t, "attempts", &t.g.attempts, attemptColumns, &shapes.attempts, r.attempts); err != nil {
		return err
	}
	t.queueRecordings()
	t.queueReviews()
	if err := t.queueLegs(); err != nil {
		return err
	}
	if err := addRows(t, "campaigns", &t.g.campaigns, campaignColumns, &shapes.campaigns, r.campaigns); err != nil {
		return err
	}
	t.queueHolds()
	if err := t.queueExclusions(); err != nil {
		return err
	}
	t.queueSuppressions()
	for _, b := range r.bulks {
		t.queueSweep("bulk", b.campaign, string(b.To), &b.Sweep)
	}
	for _, x := range r.retunes {
		t.queueSweep("retune", x.campaign, strconv.Itoa(x.MaxAttempts), &x.Sweep)
	}
	return t.queueEvents()
}

func (t *commit) queueSweep(name string, id engine.CampaignID, to string, s *journal.Sweep) {
	at := &t.g.instants
	at.reset(pgtype.TimestamptzOID)
	at.instant(s.At)
	except := t.arrayOf(0, pgtype.UUIDOID)
	for _, id := range s.Except {
		except.id(string(id))
	}
	// One value, not an array: the eight bytes behind header and length.
	t.queue(name, [][]byte{[]byte(id), []byte(to), at.buf[headLength+4:],
		binary.BigEndian.AppendUint64(nil, uint64(s.Event.Seq)), //nolint:gosec // never negative
		binary.BigEndian.AppendUint32(nil, uint32(s.Event.Run)), //nolint:gosec // never negative
		except.param(),
		binary.BigEndian.AppendUint32(nil, uint32(s.Limit))}, nothing) //nolint:gosec // never negative
}

func addRows[T any](t *commit, name string, b *batchRows[T], cols []column[T], shape *layout, rows []*T) error {
	if len(rows) == 0 {
		return nil
	}
	b.reset(cols, shape)
	for _, r := range rows {
		if err := b.add(r); err != nil {
			return err
		}
	}
	t.queue(name, [][]byte{b.rows.param()}, nothing)
	return nil
}

// queueLegs sends the legs that are not known to be stored as they are.
func (t *commit) queueLegs() error {
	b := &t.g.legs
	b.reset(legColumns, &t.g.shapes.legs)
	var row legRow
	put := func(a *attempt.Attempt, i int, l *attempt.Leg, far farLeg) error {
		row = legRow{attempt: string(a.ID), n: i + 1, leg: l, far: far}
		if _, n, ok := l.ID.Attempt(); ok {
			row.n = n
		}
		if s, ok := sentLegOf(&row); ok {
			if t.marks.stored(&s) {
				return nil
			}
			t.g.sent = append(t.g.sent, s)
		}
		return b.add(&row)
	}
	for _, a := range t.g.rows.attempts {
		for i := range a.Legs {
			if err := put(a, i, &a.Legs[i], farLeg{}); err != nil {
				return err
			}
		}
		for i := range a.Peers {
			p := &a.Peers[i]
			if err := put(a, len(a.Legs)+i, &p.Leg, farLeg{p.Kind, p.State, p.URI}); err != nil {
				return err
			}
		}
	}
	if b.rows.n > 0 {
		t.queue("legs", [][]byte{b.rows.param()}, nothing)
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
		ids.id(string(c.ID))
		versions.int8(c.Version)
		hashes.int8(variablesHash(c.Variables))
		if err := values.json(c.Variables); err != nil {
			return err
		}
	}
	t.queue("variables", [][]byte{ids.param(), versions.param(), hashes.param(), values.param()}, nothing)
	return nil
}

func (t *commit) queueHolds() {
	if released := t.g.rows.released; len(released) > 0 {
		numbers, attempts := t.texts(0), t.arrayOf(1, pgtype.UUIDOID)
		for _, h := range released {
			numbers.text(string(h.Number))
			attempts.id(string(h.Attempt))
		}
		t.queue("released", [][]byte{numbers.param(), attempts.param()}, nothing)
	}
	if lost := t.g.rows.lost; len(lost) > 0 {
		numbers, attempts, left, owed := t.texts(0), t.arrayOf(1, pgtype.UUIDOID), t.arrayOf(2, pgtype.Int8OID), t.arrayOf(3, pgtype.BoolOID)
		for _, h := range lost {
			numbers.text(string(h.Number))
			attempts.id(string(h.Attempt))
			left.int8(h.Until.Sub(t.now).Microseconds())
			owed.bool(h.Owed)
		}
		t.queue("lost", [][]byte{numbers.param(), attempts.param(), left.param(), owed.param()}, nothing)
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
		campaigns.text(string(x.Campaign))
		numbers.text(string(x.Number))
		match := x.Match
		if match == nil {
			match = map[string]string{}
		}
		if err := matches.json(match); err != nil {
			return err
		}
		reasons.text(x.Reason)
		lifted.bool(x.Lifted)
		created.instant(orNow(x.CreatedAt))
	}
	t.queue("exclusions", [][]byte{campaigns.param(), numbers.param(), matches.param(), reasons.param(), lifted.param(), created.param()}, nothing)
	return nil
}

func (t *commit) queueSuppressions() {
	list := t.g.rows.suppressions
	if len(list) == 0 {
		return
	}
	numbers, reasons, created := t.texts(0), t.texts(1), t.arrayOf(2, pgtype.TimestamptzOID)
	for _, x := range list {
		numbers.text(string(x.Number))
		reasons.text(x.Reason)
		created.instant(orNow(x.CreatedAt))
	}
	t.queue("suppressions", [][]byte{numbers.param(), reasons.param(), created.param()}, nothing)
}

// queueRecordings notes the recordings of attempts that ended.
func (t *commit) queueRecordings() {
	ids, campaigns, places, started := t.arrayOf(0, pgtype.UUIDOID), t.texts(1), t.texts(2), t.arrayOf(3, pgtype.TimestamptzOID)
	n := 0
	for _, a := range t.g.rows.attempts {
		if a.Live() || a.Quality == nil || a.Quality.Recording == nil {
			continue
		}
		n++
		ids.id(string(a.ID))
		campaigns.text(string(a.Campaign))
		places.text(a.Quality.Recording.ID)
		started.instant(a.Quality.Recording.StartedAt)
	}
	if n > 0 {
		t.queue("recordings", [][]byte{ids.param(), campaigns.param(), places.param(), started.param()}, nothing)
	}
}

// queueReviews puts a sample of the verdicts on recorded calls that ended before
// people.
func (t *commit) queueReviews() {
	ids, dice, campaigns := t.arrayOf(0, pgtype.UUIDOID), t.arrayOf(1, pgtype.Int8OID), t.texts(2)
	trunks, countries, verdicts, before := t.texts(3), t.texts(4), t.texts(5), t.texts(6)
	confidence, took, answered := t.arrayOf(7, pgtype.Int8OID), t.arrayOf(8, pgtype.Int8OID), t.arrayOf(9, pgtype.TimestamptzOID)
	n := 0
	for _, a := range t.g.rows.attempts {
		if !reviewable(a) {
			continue
		}
		n++
		ids.id(string(a.ID))
		dice.int8(int64(engine.AMDDice(a.ID)))
		campaigns.text(string(a.Campaign))
		trunks.text(string(a.Trunk))
		countries.text(number.Region(a.To))
		verdicts.text(string(a.Verdict))
		before.text(string(a.RevisedFrom))
		confidence.int8(int64(a.Confidence * 1e6))
		took.int8(a.AMDTook.Milliseconds())
		answered.instant(*a.AnsweredAt)
	}
	if n > 0 {
		t.queue("reviews", [][]byte{ids.param(), dice.param(), campaigns.param(), trunks.param(), countries.param(), verdicts.param(), before.param(),
			confidence.param(), took.param(), answered.param()}, nothing)
	}
}

func reviewable(a *attempt.Attempt) bool {
	return !a.Live() && a.Campaign != "" && a.Verdict != "" && a.AnsweredAt != nil && a.Quality != nil && a.Quality.Recording != nil
}

const insertReviews = `INSERT INTO amd_reviews (attempt_id, campaign_id, trunk, country, verdict, revised_from, confidence, amd_ms, answered_at)
	SELECT u.id, u.campaign, u.trunk, u.country, u.verdict, u.before, u.confidence / 1e6, u.took, u.answered
	FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::timestamptz[])
		AS u(id, dice, campaign, trunk, country, verdict, before, confidence, took, answered)
	JOIN campaigns c ON c.id = u.campaign AND u.dice < coalesce((c.settings->>'amd_review_ppm')::bigint, 0)
	ON CONFLICT (attempt_id) DO NOTHING`
