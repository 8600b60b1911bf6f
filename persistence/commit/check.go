package commit

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// check begins the transaction and queries everything that may make the database refuse a write.
// more says that it refused one: then the transaction must begin again without it.
func (t *commit) check() (more bool, err error) {
	t.queue("begin", nil, nothing)
	c := checks{t: t}
	c.schedules()
	c.epochs()
	c.dialouts()
	c.unscheduled()
	c.dialoutEnds()
	c.intents()
	c.suppressions()
	c.replies()
	c.known()
	c.holds()
	c.caps()
	c.keyCaps()
	t.variables()
	if err := t.send(); err != nil {
		return false, err
	}
	return c.refused, nil
}

type checks struct {
	t       *commit
	refused bool
}

func (c *checks) refuse(i int, err error) {
	if c.t.refused[i] == nil {
		c.t.refused[i] = err
		c.refused = true
	}
}

// each calls f with every write that is not refused.
func (c *checks) each(f func(i int, w *journal.Write)) {
	for _, i := range c.t.g.rows.order {
		f(i, &c.t.writes[i])
	}
}

func (t *commit) texts(n int) *column.Array {
	a := &t.g.arrays[n]
	a.Reset(pgtype.TextOID)
	return a
}

func (t *commit) arrayOf(n int, oid uint32) *column.Array {
	a := &t.g.arrays[n]
	a.Reset(oid)
	return a
}

func (c *checks) epochs() {
	asked := map[engine.CampaignID]int64{}
	ids := c.t.texts(0)
	c.each(func(_ int, w *journal.Write) {
		if w.Campaign == "" {
			return
		}
		if _, seen := asked[w.Campaign]; !seen {
			asked[w.Campaign] = -1 // no such campaign
			ids.Text(string(w.Campaign))
		}
	})
	if len(asked) == 0 {
		return
	}
	c.t.queue("epochs", [][]byte{ids.Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			epoch := binary.BigEndian.Uint64(r[1])
			asked[engine.CampaignID(r[0])] = int64(epoch) //nolint:gosec // two's complement is the wire form
		}
		c.each(func(i int, w *journal.Write) {
			if w.Campaign != "" && asked[w.Campaign] != w.Epoch {
				c.refuse(i, c.t.staleEpoch(w.Campaign, asked[w.Campaign]))
			}
		})
		return nil
	})
}

// dialouts refuses writes of a node that was declared dead about its calls outside campaigns: the
// node that took them over writes them. Any node may still report that a leg has ended, and what a
// bot says of a call.
func (c *checks) dialouts() {
	acting := c.t.acting
	if acting == 0 {
		return
	}
	asked := map[engine.Incarnation]bool{}
	nodes := c.t.arrayOf(0, pgtype.Int4OID)
	c.each(func(_ int, w *journal.Write) {
		if n := dialoutNode(w); n != 0 && !asked[n] {
			asked[n] = true
			nodes.Int4(int64(n))
		}
	})
	if len(asked) == 0 {
		return
	}
	me := c.t.arrayOf(1, pgtype.Int4OID)
	me.Int4(int64(acting))
	c.t.queue("dialouts", [][]byte{nodes.Param(), me.Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			delete(asked, engine.Incarnation(binary.BigEndian.Uint32(r[0]))) //nolint:gosec // two's complement
		}
		c.each(func(i int, w *journal.Write) {
			if n := dialoutNode(w); n != 0 && !asked[n] {
				c.refuse(i, errDialoutTaken)
			}
		})
		return nil
	})
}

// errDialoutTaken refuses a write about a dialout that the node lost with its lease.
var errDialoutTaken = engine.Conflict(journal.ErrStaleEpoch.Code,
	"the node that placed the call lost its lease, and another one acts for it")

// dialoutNode is the node that continues a dialout with this write; 0 means none does.
func dialoutNode(w *journal.Write) engine.Incarnation {
	if w.Campaign != "" || len(w.Attempts) == 0 {
		return 0
	}
	for i := range w.Events {
		if t := w.Events[i].Type; t != journal.LegClosed && t != journal.ResultStored {
			return w.Attempts[0].Node
		}
	}
	return 0
}

// errDialoutEnded refuses a second end of a dialout: the node that had it before ended it while this
// one took it over.
var errDialoutEnded = engine.Conflict(journal.ErrStaleEpoch.Code,
	"the call was ended by the node that had it before")

// dialoutEnds compares what writes say of a dialout's end with what is stored. A second end is refused; the
// same one may come again. What a node without the call may still report takes no end with it that was
// refused: of a leg's end only the leg is stored, and a result is for the call's owner to store.
func (c *checks) dialoutEnds() {
	clear(c.t.g.legsOnly)
	if c.t.acting == 0 {
		return
	}
	ids := c.t.arrayOf(0, pgtype.UUIDOID)
	var asked []int
	c.each(func(i int, w *journal.Write) {
		if w.Campaign == "" && len(w.Attempts) > 0 && (w.Attempts[0].EndedAt != nil || dialoutNode(w) == 0) {
			asked = append(asked, i)
			ids.ID(string(w.Attempts[0].ID))
		}
	})
	if len(asked) == 0 {
		return
	}
	c.t.queue("ends", [][]byte{ids.Param()}, func(rows [][][]byte) error {
		ends := map[engine.AttemptID]time.Time{}
		for _, r := range rows {
			ends[engine.AttemptID(column.IDOf(r[0]))] = column.InstantOf(r[1])
		}
		for _, i := range asked {
			w := &c.t.writes[i]
			a := &w.Attempts[0]
			var end time.Time
			if a.EndedAt != nil {
				end = a.EndedAt.Truncate(time.Microsecond)
			}
			stored := ends[a.ID]
			switch {
			case c.t.refused[i] != nil || end.Equal(stored):
			case dialoutNode(w) == 0:
				c.reported(i, w)
			case !stored.IsZero():
				c.refuse(i, errDialoutEnded)
			default:
				ends[a.ID] = end // by this group
			}
		}
		return nil
	})
}

// reported handles the report of a node whose dialout has another end, or none, in the database.
func (c *checks) reported(i int, w *journal.Write) {
	for j := range w.Events {
		if w.Events[j].Type == journal.ResultStored {
			c.refuse(i, errDialoutTaken)
			return
		}
	}
	c.t.g.legsOnly[w.Attempts[0].ID] = true
}

// intents refuses intents whose INVITE cannot leave in time any more. It runs after unscheduled, which
// waits for an earlier commit of the same write.
func (c *checks) intents() {
	late := map[engine.AttemptID]int{}
	ids := c.t.arrayOf(0, pgtype.UUIDOID)
	c.each(func(i int, w *journal.Write) {
		if n := w.Intent; n != nil && !n.NotAfter.IsZero() && !c.t.now.Before(n.NotAfter) {
			late[n.Attempt] = i
			ids.ID(string(n.Attempt))
		}
	})
	if len(late) == 0 {
		return
	}
	c.t.queue("stored", [][]byte{ids.Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			delete(late, engine.AttemptID(column.IDOf(r[0])))
		}
		for _, i := range late {
			c.refuse(i, journal.ErrNotInTime)
		}
		return nil
	})
}

func (c *checks) suppressions() {
	numbers := c.t.texts(0)
	c.each(func(i int, w *journal.Write) {
		if n := w.Intent; n != nil && n.Refused != nil {
			c.refuse(i, n.Refused)
		}
		add := func(n engine.PhoneNumber) {
			numbers.Text(string(n))
			numbers.Text(c.t.hashed(n))
		}
		switch {
		case dials(w):
			add(w.Intent.Number)
		case w.Fresh:
			for n := range w.Contacts[0].Numbers() {
				add(n)
			}
		}
	})
	if numbers.Empty() {
		return
	}
	c.t.queue("suppressed", [][]byte{numbers.Param()}, func(rows [][][]byte) error {
		if len(rows) == 0 {
			return nil
		}
		found := map[string]struct{}{}
		rest := map[string]time.Time{} // the hashes of numbers that rest after an erasure, until when
		for _, r := range rows {
			if r[1] == nil {
				found[string(r[0])] = struct{}{}
			} else if until := column.InstantOf(r[1]); until.After(c.t.now) {
				rest[string(r[0])] = until
			}
		}
		listed := func(n engine.PhoneNumber) bool {
			_, plain := found[string(n)]
			if !plain {
				_, plain = found[c.t.hashed(n)]
			}
			return plain
		}
		c.each(func(i int, w *journal.Write) {
			switch {
			case dials(w) && listed(w.Intent.Number), !dials(w) && w.Fresh && w.Contacts[0].StopsFor(listed):
				c.refuse(i, journal.ErrSuppressed)
			case dials(w) && len(rest) > 0:
				if until, ok := rest[c.t.hashed(w.Intent.Number)]; ok {
					c.refuse(i, journal.Rests(until))
				}
			}
		})
		return nil
	})
}

// dials says that a write is to dial a number, which must not be on the suppression list.
func dials(w *journal.Write) bool { return w.Intent != nil && !w.Intent.Incoming }

// schedules refuses the dialouts to schedule that are more than may wait, or whose request was answered
// meanwhile. One that comes again is none of them.
func (c *checks) schedules() {
	asked := map[engine.AttemptID]int{}
	ids := c.t.arrayOf(0, pgtype.UUIDOID)
	c.each(func(i int, w *journal.Write) {
		if w.Schedule != nil {
			asked[w.Schedule.ID] = i
			ids.ID(string(w.Schedule.ID))
		}
	})
	if len(asked) == 0 {
		return
	}
	c.t.queue("schedulelock", nil, nothing)
	c.t.queue("scheduled again", [][]byte{ids.Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			delete(asked, engine.AttemptID(column.IDOf(r[0])))
		}
		for id, i := range asked {
			if by := c.t.writes[i].ScheduleBy; !by.IsZero() && !c.t.now.Before(by) {
				c.refuse(i, journal.ErrNotInTime)
				delete(asked, id)
			}
		}
		return nil
	})
	c.t.queue("scheduled", nil, func(rows [][][]byte) error {
		room := campaign.ScheduledCap - int64(binary.BigEndian.Uint64(rows[0][0])) //nolint:gosec // a count
		for _, i := range slices.Sorted(maps.Values(asked)) {
			if room--; room < 0 {
				c.refuse(i, journal.ErrScheduledFull)
			}
		}
		return nil
	})
}

// unscheduled takes the scheduled dialouts away that are placed or ended. Of two writes in one group the
// first wins.
func (c *checks) unscheduled() {
	first := map[engine.AttemptID]*attempt.Attempt{}
	a := &c.t.g.arrays
	var asked []int
	c.each(func(i int, w *journal.Write) {
		if !w.Unschedule {
			return
		}
		x := &w.Attempts[0]
		if earlier := first[x.ID]; earlier != nil {
			if !earlier.ReservedAt.Equal(*x.ReservedAt) || !earlier.SendBy.Equal(x.SendBy) {
				c.refuse(i, journal.ErrNotScheduled)
			}
			return
		}
		if len(first) == 0 {
			a[0].Reset(pgtype.UUIDOID)
			for n := 1; n < 4; n++ {
				a[n].Reset(pgtype.TimestamptzOID)
			}
			a[4].Reset(pgtype.Int4OID)
		}
		first[x.ID] = x
		asked = append(asked, i)
		a[0].ID(string(x.ID))
		a[1].Instant(*x.ReservedAt)
		a[2].Instant(x.SendBy)
		if x.EndedAt == nil {
			a[3].Null()
		} else {
			a[3].Instant(*x.EndedAt)
		}
		a[4].Int4(int64(x.Node))
	})
	if len(asked) == 0 {
		return
	}
	c.t.queue("unscheduled", [][]byte{a[0].Param(), a[1].Param(), a[2].Param(), a[3].Param(), a[4].Param()},
		func(rows [][][]byte) error {
			for _, r := range rows {
				delete(first, engine.AttemptID(column.IDOf(r[0])))
			}
			c.each(func(i int, w *journal.Write) {
				if w.Unschedule && first[w.Attempts[0].ID] != nil {
					c.refuse(i, journal.ErrNotScheduled)
				}
			})
			return nil
		})
}

// known looks up the numbers of new contacts. If two in one group share a number, the first is new. A
// number that an earlier one has beside its first is known too.
func (c *checks) known() {
	var first, beside map[table.NumberOf]engine.ContactID
	var asked map[engine.ContactID]int
	campaigns, numbers, ids := c.t.texts(0), c.t.texts(1), c.t.arrayOf(2, pgtype.UUIDOID)
	c.each(func(i int, w *journal.Write) {
		if !w.Fresh {
			return
		}
		if first == nil {
			first, asked = map[table.NumberOf]engine.ContactID{}, map[engine.ContactID]int{}
		}
		n := &w.Contacts[0]
		k := table.NumberOf{Campaign: n.Campaign, Number: n.Number}
		if id, seen := beside[k]; seen && id != n.ID {
			c.refuse(i, journal.ErrContactExists)
			return
		}
		if id, seen := first[k]; seen {
			if id != n.ID {
				c.refuse(i, journal.ErrContactExists)
			}
			return
		}
		for other := range n.Alternates.Numbers() {
			if beside == nil {
				beside = map[table.NumberOf]engine.ContactID{}
			}
			beside[table.NumberOf{Campaign: n.Campaign, Number: other}] = n.ID
		}
		first[k], asked[n.ID] = n.ID, i
		campaigns.Text(string(n.Campaign))
		numbers.Text(string(n.Number))
		ids.ID(string(n.ID))
	})
	if first == nil {
		return
	}
	c.t.queue("known", [][]byte{campaigns.Param(), numbers.Param(), ids.Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			if i, ok := asked[engine.ContactID(column.IDOf(r[0]))]; ok {
				c.refuse(i, journal.ErrContactExists)
			}
		}
		return nil
	})
}

// replies stores the answers to requests with an Idempotency-Key. If two in one group share a key,
// the first wins.
func (c *checks) replies() {
	var first map[replyKey]int
	a := &c.t.g.arrays
	c.each(func(i int, w *journal.Write) {
		if w.Reply == nil {
			return
		}
		if first == nil {
			first = map[replyKey]int{}
			for n := range 4 {
				a[n].Reset(pgtype.TextOID)
			}
			a[4].Reset(pgtype.Int4OID)
			a[5].Reset(pgtype.ByteaOID)
			c.t.g.instants.Reset(pgtype.TimestamptzOID)
		}
		r := w.Reply
		if _, seen := first[keyOf(r)]; seen {
			c.refuse(i, journal.ErrReplyExists)
			return
		}
		first[keyOf(r)] = i
		a[0].Text(string(r.Key))
		a[1].Text(r.Route)
		a[2].Text(r.Token)
		a[3].Text(r.BodyHash)
		a[4].Int4(int64(r.Status))
		a[5].Bytea(r.Body)
		c.t.g.instants.Instant(r.At)
	})
	if first == nil {
		return
	}
	params := [][]byte{a[0].Param(), a[1].Param(), a[2].Param(), a[3].Param(), a[4].Param(), a[5].Param(),
		c.t.g.instants.Param()}
	c.t.queue("replies", params, func(rows [][][]byte) error {
		for _, r := range rows {
			delete(first, replyKey{string(r[0]), string(r[1]), string(r[2])})
		}
		for _, i := range first {
			c.refuse(i, journal.ErrReplyExists)
		}
		return nil
	})
}

// holds takes the number of every intent. If two intents in one group want the same number, the
// first wins: the second is refused even when the first is released in the same group, and is
// retried.
func (c *checks) holds() {
	var first map[engine.PhoneNumber]int
	numbers, attempts, left := c.t.texts(0), c.t.arrayOf(1, pgtype.UUIDOID), c.t.arrayOf(2, pgtype.Int8OID)
	c.each(func(i int, w *journal.Write) {
		if w.Intent == nil {
			return
		}
		if first == nil {
			first = map[engine.PhoneNumber]int{}
		}
		if at, seen := first[w.Intent.Number]; seen {
			if c.t.writes[at].Intent.Attempt != w.Intent.Attempt {
				c.refuse(i, journal.ErrNumberHeld)
			}
			return
		}
		first[w.Intent.Number] = i
		numbers.Text(string(w.Intent.Number))
		attempts.ID(string(w.Intent.Attempt))
		left.Int8(w.Intent.Bound.Sub(c.t.now).Microseconds())
	})
	if first == nil {
		return
	}
	c.t.queue("holds", [][]byte{numbers.Param(), attempts.Param(), left.Param()}, func(rows [][][]byte) error {
		held := make(map[engine.AttemptID]struct{}, len(rows))
		for _, r := range rows {
			held[engine.AttemptID(column.IDOf(r[0]))] = struct{}{}
		}
		for _, i := range first {
			if _, ok := held[c.t.writes[i].Intent.Attempt]; !ok {
				c.refuse(i, journal.ErrNumberHeld)
			}
		}
		return nil
	})
}

// caps looks up which numbers have reached a limit on calls. It runs after holds: of two attempts
// to one number the later one starts when the other's hold has ended, and so counts it.
func (c *checks) caps() {
	a := &c.t.g.arrays
	since := &c.t.g.instants
	asked := map[engine.AttemptID]int{}
	c.each(func(i int, w *journal.Write) {
		if w.Intent == nil || w.Intent.Cap == nil {
			return
		}
		if len(asked) == 0 {
			a[0].Reset(pgtype.TextOID)
			a[1].Reset(pgtype.UUIDOID)
			a[2].Reset(pgtype.Int4OID)
			a[3].Reset(pgtype.TextOID)
			a[4].Reset(pgtype.Int4OID)
			since.Reset(pgtype.TimestamptzOID)
		}
		n := w.Intent
		asked[n.Attempt] = i
		for k, l := range n.Cap.Limits {
			a[0].Text(string(n.Number))
			a[1].ID(string(n.Attempt))
			a[2].Int4(int64(k))
			a[3].Text(string(l.What))
			a[4].Int4(int64(l.Most))
			since.Instant(n.Cap.Now.Add(-l.Period))
		}
	})
	if len(asked) == 0 {
		return
	}
	c.t.queue("capped", [][]byte{a[0].Param(), a[1].Param(), a[2].Param(), a[3].Param(), a[4].Param(), since.Param()},
		func(rows [][][]byte) error {
			full := map[int]error{} // of several limits the one that lasts longest
			for _, r := range rows {
				i, ok := asked[engine.AttemptID(column.IDOf(r[0]))]
				if !ok {
					continue
				}
				limit := c.t.writes[i].Intent.Cap
				if err := limit.Refusal(limit.Limits[column.Int4Of(r[1])], column.InstantOf(r[2])); full[i] == nil ||
					engine.ErrorUntil(err).After(engine.ErrorUntil(full[i])) {
					full[i] = err
				}
			}
			for i, err := range full {
				c.refuse(i, err)
			}
			return nil
		})
}

// keyCaps looks up which API keys have reached their cap on dialouts. Within the group the first
// come first. The lock of the keys waits for an earlier commit of the same write.
func (c *checks) keyCaps() {
	a := &c.t.g.arrays
	since := &c.t.g.instants
	asked := map[engine.KeyID][]int{}
	stored := map[engine.AttemptID]bool{}
	c.each(func(i int, w *journal.Write) {
		if w.Intent == nil || w.Intent.KeyCap == nil {
			return
		}
		if len(asked) == 0 {
			a[0].Reset(pgtype.TextOID)
			a[1].Reset(pgtype.Int4OID)
			a[2].Reset(pgtype.UUIDOID)
			since.Reset(pgtype.TimestamptzOID)
		}
		n := w.Intent.KeyCap
		if asked[n.Key] == nil {
			a[0].Text(string(n.Key))
			a[1].Int4(int64(n.Calls))
			since.Instant(n.Now.Add(-journal.KeyCapPeriod))
		}
		a[2].ID(string(w.Intent.Attempt))
		asked[n.Key] = append(asked[n.Key], i)
	})
	if len(asked) == 0 {
		return
	}
	c.t.queue("keylock", [][]byte{a[0].Param()}, nothing)
	c.t.queue("stored", [][]byte{a[2].Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			stored[engine.AttemptID(column.IDOf(r[0]))] = true
		}
		return nil
	})
	c.t.queue("keycalls", [][]byte{a[0].Param(), a[1].Param(), since.Param()},
		func(rows [][][]byte) error {
			placed, oldest := map[engine.KeyID]int64{}, map[engine.KeyID]time.Time{}
			for _, r := range rows {
				k := engine.KeyID(r[0])
				placed[k] = int64(binary.BigEndian.Uint64(r[1])) //nolint:gosec // a count
				oldest[k] = column.InstantOf(r[2])
			}
			for k, list := range asked {
				for _, i := range list {
					intent := c.t.writes[i].Intent
					n := intent.KeyCap
					if c.t.refused[i] != nil || stored[intent.Attempt] {
						continue
					}
					if placed[k] < int64(n.Calls) {
						placed[k]++
						continue
					}
					nth, ok := oldest[k]
					if !ok {
						nth = n.Now // all of them are from this moment
					}
					c.refuse(i, n.Refusal(nth))
				}
			}
			return nil
		})
}

// variables looks up which contacts' variables differ from the stored ones: they rarely change, and
// are sent only then.
func (t *commit) variables() {
	t.stale = nil
	ids, hashes := t.arrayOf(0, pgtype.UUIDOID), t.arrayOf(1, pgtype.Int8OID)
	for _, c := range t.g.rows.contacts {
		if len(c.Variables) > 0 {
			ids.ID(string(c.ID))
			hashes.Int8(table.VariablesHash(c.Variables))
		}
	}
	if ids.Empty() {
		return
	}
	t.queue("stalevars", [][]byte{ids.Param(), hashes.Param()}, func(rows [][][]byte) error {
		for _, r := range rows {
			if t.stale == nil {
				t.stale = map[engine.ContactID]struct{}{}
			}
			t.stale[engine.ContactID(column.IDOf(r[0]))] = struct{}{}
		}
		return nil
	})
}
