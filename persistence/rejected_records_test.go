package persistence_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

// rejectedRecords returns a store with imports, and says which of them still have the record of a line.
func rejectedRecords(t *testing.T) (*persistence.Store, func(sql string), func() string) {
	url := storetest.URL(t)
	s := storetest.OpenAt(t, url, persistence.Config{Writers: 1, Readers: 2})
	has := func() (list string) {
		t.Helper()
		if err := s.QueryRow(t.Context(), `SELECT coalesce(string_agg(reason, ' ' ORDER BY reason), '')
			FROM import_rejected WHERE record <> ''`, &list); err != nil {
			t.Fatal(err)
		}
		return list
	}
	return s, func(sql string) { run(t, url, sql) }, has
}

func TestWholeRowsThatWereRefusedAreKeptForSomeDays(t *testing.T) {
	s, write, has := rejectedRecords(t)
	write(`INSERT INTO imports (id, campaign_id, state, filename, created_at, created_by, dry_run, finished_at)
		SELECT md5(name)::uuid, 'cmp_' || name, state, 'autumn.csv', now(), '{}', state = 'checked', at FROM (VALUES
			('week', 'active', now() - interval '169 hours'), ('days', 'active', now() - interval '167 hours'),
			('yesterday', 'checked', now() - interval '25 hours'), ('today', 'checked', now() - interval '23 hours'),
			('broken', 'failed', now() - interval '25 hours'), ('open', 'staging', NULL)) i(name, state, at)`)
	write(`INSERT INTO import_rejected (import_id, line, number, reason, message, record)
		SELECT md5(name)::uuid, line, '123', name, 'm', '123;Ada' FROM unnest(ARRAY['week', 'days', 'yesterday', 'today',
		'broken', 'open']) name, generate_series(2, 3) line`)
	if _, err := s.Records.Retain(t.Context(), time.Now(), history.Keep{}); err != nil {
		t.Fatal(err)
	}
	if got := has(); got != "days days open open today today" {
		t.Error(got)
	}
	var rows int
	if err := s.QueryRow(t.Context(), "SELECT count(*) FROM import_rejected WHERE number = '123'", &rows); err != nil ||
		rows != 12 {
		t.Errorf("%d rows are listed, %v", rows, err)
	}
}

// Sixteen files are sent at a time, and a record has up to 64 KiB.
func TestRejectedRowsAreReadAFewMegabytesAtATime(t *testing.T) {
	s, write, _ := rejectedRecords(t)
	write(`INSERT INTO import_rejected (import_id, line, number, reason, message, record)
		SELECT md5('x')::uuid, line, 'n', 'r', 'm', repeat('0', 65536) FROM generate_series(2, 201) line`)
	var parts []int
	line := 0
	for {
		part, err := s.RejectedAfter(t.Context(), "9dd4e461-268c-8034-f5c8-564e155c67a6", line, true)
		if err != nil {
			t.Fatal(err)
		}
		if len(part) == 0 {
			break
		}
		if part[0].Line != max(line+1, 2) {
			t.Errorf("line %d follows line %d", part[0].Line, line)
		}
		line = part[len(part)-1].Line
		parts = append(parts, len(part))
	}
	if line != 201 || !slices.Equal(parts, []int{64, 64, 64, 8}) {
		t.Errorf("up to line %d in parts of %v rows", line, parts)
	}
}

func TestErasingAPersonEmptiesTheRowsThatTellTheNumberAndNoOthers(t *testing.T) {
	s, write, has := rejectedRecords(t)
	write(`INSERT INTO import_rejected (import_id, line, number, reason, message, record)
		SELECT md5('x')::uuid, row_number() OVER () + 1, 'n', name, 'm', record FROM (VALUES
			('a', '0151/234-567 89;Ada'), ('b', 'Ada;+4915123456789'), ('c', '12;(0151) 234 56.78.9'),
			('d', E'x;0151\u00a0234\u201156789'),
			('k1', '015123;456789'), ('k2', E'2345,6789\t1'), ('k3', '2345|6789'), ('k4', '"0151 2345","6789"'),
			('k5', '015123456780')) r(name, record)`)
	_, err := s.Records.ErasePerson(context.Background(), history.Erasure{Number: "+4915123456789",
		Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "0123456789012345"), At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if got := has(); got != "k1 k2 k3 k4 k5" {
		t.Error(got)
	}
}
