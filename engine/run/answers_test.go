package run

import (
	"context"
	"errors"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/call"
	"dialler/engine/campaign"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// held are tables that contain contacts and suppressions and nothing else.
type held struct {
	Tables
	rows       []contact.Contact
	suppressed map[engine.PhoneNumber]journal.Suppression
}

func (h *held) DueContacts(context.Context, engine.CampaignID, int, contact.Order, int,
	[]engine.ContactID) ([]contact.Contact, error) {
	return h.rows, nil
}

func (h *held) NextDue(context.Context, engine.CampaignID, int) (*time.Time, int, error) {
	return nil, 7, nil
}

func (h *held) Suppressed(context.Context, ...engine.PhoneNumber) (map[engine.PhoneNumber]journal.Suppression, error) {
	return h.suppressed, nil
}

func (h *held) AbandonedSince(context.Context, []engine.PhoneNumber,
	time.Time) (map[engine.PhoneNumber]time.Time, error) {
	return nil, nil
}

func (h *held) ContactByNumber(context.Context, engine.CampaignID, engine.PhoneNumber) (contact.Contact, bool, error) {
	return contact.Contact{}, false, nil
}

func (h *held) ContactByID(_ context.Context, id engine.ContactID) (contact.Contact, bool, error) {
	return contact.Contact{ID: id, Campaign: "cmp", Number: phone("c1")}, true, nil
}

func TestThePageOfDueContactsSaysWhetherItIsFull(t *testing.T) {
	h := &held{rows: []contact.Contact{{ID: "c1"}, {ID: "c2"}}}
	for limit, open := range map[int]int{2: -1, 3: 7} {
		a := Asked{Campaign: "cmp", At: t0, Question: ReadDue{Run: 1, Limit: limit}}
		got, _ := a.Answer(t.Context(), h)
		if m, ok := got.(*DueRead); !ok || m.Open != open || len(m.Rows) != 2 {
			t.Errorf("limit %d: %+v", limit, got)
		}
	}
}

func TestWhoeverIsWantedByNameIsRefusedOnlyWhenTheNumberIsSuppressed(t *testing.T) {
	for _, on := range []bool{false, true} {
		h := &held{}
		if on {
			h.suppressed = map[engine.PhoneNumber]journal.Suppression{phone("c1"): {Number: phone("c1")}}
		}
		for _, q := range []any{FindTrigger{Command: campaign.Trigger{Number: phone("c1")}},
			FindOperated{Command: campaign.ActOnContact{Campaign: "cmp", Contact: "c1"}, Calls: true}} {
			a := Asked{Campaign: "cmp", At: t0, Question: q}
			got, _ := a.Answer(t.Context(), h)
			var err error
			switch m := got.(type) {
			case *TriggerFound:
				err = m.Err
			case *OperateFound:
				err = m.Err
			}
			if errors.Is(err, journal.ErrSuppressed) != on {
				t.Errorf("%T, suppressed %v: %v", q, on, err)
			}
		}
	}
}

func TestAListThatAnEarlierLifeAddedBringsNobodyBack(t *testing.T) {
	w := seated(t)
	row := w.final("c1")
	row.State = contact.Excluded
	w.do(&RowsAdded{Lifting: true, Again: []contact.Contact{row}})
	none[ReadContact](w)
	eq(w, "brought back", len(told[*call.Readmit](w, "c1")), 0)
}
