package commit

import (
	"encoding/binary"

	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/chain"
	"dialler/engine/contact"
	"dialler/persistence/column"
	"dialler/persistence/table"
)

// The digests of the rows that a group writes are made of their encoded form, before the database
// has them. That they are those of the rows as read back is what every audit tests.

// ownerOf is the chain of an attempt's rows.
func ownerOf(a *attempt.Attempt) table.Owner {
	if a.Campaign == "" {
		return table.Owner{}
	}
	return table.Owner{Campaign: string(a.Campaign), Run: a.Run}
}

func (t *commit) attemptWritten(a *attempt.Attempt) error {
	if a.Live() {
		return nil
	}
	var id [16]byte
	column.ParseID(string(a.ID), &id)
	b, shapes, of := &t.g.attempts, t.g.shapes, ownerOf(a)
	put := func(p *table.Part, order uint64, columns column.Some) error {
		return t.written.Put(of, chain.Row{Part: p.Byte, ID: id}, order, func(dst []byte) ([]byte, error) {
			return table.AppendValues(dst, b, columns)
		})
	}
	if err := put(table.PartResult, table.ResultOrder(a), shapes.Result); err != nil {
		return err
	}
	// A result changes nothing of what the end of the call said.
	order, stamp := table.AttemptOrder(a), t.written.Stamp()
	was, is := t.marks.end(&id), sentEnd{attempt: id}
	if is.endMark.attempt = b.Sum(shapes.Attempt, stamp^order); is.endMark.attempt != was.attempt {
		if err := put(table.PartAttempt, order, shapes.Attempt); err != nil {
			return err
		}
	}
	if a.Quality != nil {
		if is.quality = b.Sum(shapes.Quality, stamp); is.quality != was.quality {
			if err := put(table.PartQuality, table.QualityOrder, shapes.Quality); err != nil {
				return err
			}
		}
	}
	if is.endMark != was {
		t.g.ended = append(t.g.ended, is)
	}
	return nil
}

func (t *commit) contactWritten(c *contact.Contact) error {
	if c.Attempt != "" {
		return nil
	}
	var id [16]byte
	column.ParseID(string(c.ID), &id)
	row := chain.Row{Part: table.PartContact.Byte, ID: table.Plus(id, c.Run)}
	of, order := table.Owner{Campaign: string(c.Campaign), Run: c.Run}, uint64(c.Version) //nolint:gosec // positive
	return t.written.Put(of, row, order,
		func(dst []byte) ([]byte, error) { return table.AppendValues(dst, &t.g.contacts, t.g.shapes.Contact) })
}

func (t *commit) campaignWritten(c *campaign.Campaign) error {
	dig := t.written.Digester()
	row := chain.Row{Part: table.PartCampaign.Byte, ID: dig.Named(string(c.ID))}
	return t.written.Put(table.Owner{Campaign: string(c.ID)}, row, uint64(c.Seq), //nolint:gosec // never negative
		func(dst []byte) ([]byte, error) { return table.AppendValues(dst, &t.g.campaigns, t.g.shapes.Campaign) })
}

// variablesWritten is of the columns of contact_variables, in the order of their names.
func (t *commit) variablesWritten(c *contact.Contact, hash int64, variables []byte) error {
	var id [16]byte
	column.ParseID(string(c.ID), &id)
	row := chain.Row{Part: table.PartVariables.Byte, ID: id}
	of, order := table.Owner{Campaign: string(c.Campaign), Run: c.Run}, uint64(c.Version) //nolint:gosec // positive
	return t.written.Put(of, row, order,
		func(dst []byte) ([]byte, error) {
			dst = chain.AppendColumn(dst, "contact_id", id[:])
			if hash != 0 {
				dst = chain.AppendColumn(dst, "hash",
					binary.BigEndian.AppendUint64(nil, uint64(hash))) //nolint:gosec // two's complement is the wire form
			}
			return chain.AppendJSONColumn(dst, "variables", variables)
		})
}
