package spool

import (
	"encoding/json"
	"errors"
	"fmt"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/contact"
	"dialler/engine/journal"
)

// recordVersion is the version of the records written here. An additional field needs no new
// version: an old record has its zero value. A field with a new meaning does.
const recordVersion = 1

// record is the encoded form of a write: the parts that may be spooled (journal.Write.Spoolable).
type record struct {
	Version      int                   `json:"v"`
	Campaign     engine.CampaignID     `json:"campaign,omitempty"`
	Epoch        int64                 `json:"epoch,omitempty"`
	Events       []journal.Event       `json:"events,omitempty"`
	Contacts     []contact.Contact     `json:"contacts,omitempty"`
	Kept         []contact.Contact     `json:"kept,omitempty"`
	Attempts     []attempt.Attempt     `json:"attempts,omitempty"`
	Holds        []journal.HoldRelease `json:"holds,omitempty"`
	Suppressions []journal.Suppression `json:"suppressions,omitempty"`
}

var errNotSpoolable = errors.New("spool: the write has parts that cannot be spooled")

func encode(w *journal.Write) ([]byte, error) {
	if !w.Spoolable() {
		return nil, errNotSpoolable
	}
	b, err := json.Marshal(&record{
		Version: recordVersion, Campaign: w.Campaign, Epoch: w.Epoch, Events: w.Events, Contacts: w.Contacts, Kept: w.Kept,
		Attempts: w.Attempts, Holds: w.Holds, Suppressions: w.Suppressions,
	})
	if err != nil {
		return nil, errors.New("spool: the write cannot be written as JSON") // the cause may contain a value
	}
	return b, nil
}

func decode(b []byte) (journal.Write, error) {
	var v struct {
		Version int `json:"v"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return journal.Write{}, errors.New("spool: a record is not JSON")
	}
	if v.Version < 1 || v.Version > recordVersion {
		return journal.Write{}, fmt.Errorf("spool: a record has version %d, this program reads up to %d; start the newer "+
			"version once, so that it writes them to the database", v.Version, recordVersion)
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return journal.Write{}, errors.New("spool: a record does not have the fields of its version")
	}
	return journal.Write{Campaign: r.Campaign, Epoch: r.Epoch, Events: r.Events, Contacts: r.Contacts, Kept: r.Kept,
		Attempts: r.Attempts, Holds: r.Holds, Suppressions: r.Suppressions}, nil
}
