package persistence_test

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/attempt"
	"dialler/engine/campaign"
	"dialler/engine/journal"
	"dialler/persistence"
	"dialler/persistence/history"
	"dialler/persistence/storetest"
)

const (
	manyPersons  = 5_000
	stagedImport = engine.ImportID("00000000000000000000000000000001")
	// Of the i-th person of a list of them, and of a file of them that is being imported.
	firstNumber  = engine.PhoneNumber("+49151%08d")
	secondNumber = engine.PhoneNumber("+4930%08d")
	stagedNumber = engine.PhoneNumber("+4940%08d")
)

// persons opens a store with two lists of persons with two numbers each, and a file of them that is being
// imported; plans are measured from then on.
func persons(t *testing.T, plans *measuredPlans) (*persistence.Store, string) {
	t.Helper()
	url := storetest.URL(t)
	of := plans.of
	plans.t, plans.of = t, "no query yet"
	s := storetest.OpenAt(t, url, persistence.Config{Tracer: plans})
	for _, id := range []engine.CampaignID{"cmp_1", "cmp_2"} {
		if err := s.InsertCampaign(t.Context(), campaign.Campaign{ID: id, State: campaign.Running, Run: 1,
			CreatedAt: time.Now(), Settings: campaign.Settings{Name: string(id), MaxAttempts: 5}}); err != nil {
			t.Fatal(err)
		}
	}
	run(t, url, fmt.Sprintf(`INSERT INTO contacts (id, campaign_id, run, number, position, due_class, due_at, state, max,
			source, created_at, updated_at, version, alternates)
		SELECT gen_random_uuid(), c, 1, '+49151' || lpad(i::text, 8, '0'), i, 2, now(), 'pending', 5, 'csv', now(), now(),
			1, '+4930' || lpad(i::text, 8, '0') || E'\toffice'
		FROM unnest('{cmp_1,cmp_2}'::text[]) c, generate_series(1, %[1]d) i;
		INSERT INTO imports (id, campaign_id, state, filename, created_at, created_by)
			VALUES ('%[2]s', 'cmp_1', 'staging', 'list.csv', now(), '{}');
		INSERT INTO import_rows (import_id, line, id, number, hash, alternates)
			SELECT '%[2]s', i, gen_random_uuid(), '+49171' || lpad(i::text, 8, '0'), 0,
				'+4940' || lpad(i::text, 8, '0') || ' +4950' || lpad(i::text, 8, '0') || E'\toffice\t'
			FROM generate_series(1, %[1]d) i;
		ANALYZE contacts; ANALYZE contact_numbers`, manyPersons, stagedImport))
	plans.of = of
	return s, url
}

func nth(n engine.PhoneNumber, i int) engine.PhoneNumber {
	return engine.PhoneNumber(fmt.Sprintf(string(n), i))
}

// An erasure costs what is known of the person, however many contacts there are and rows of files.
func TestAPersonIsFoundByIndexes(t *testing.T) {
	t.Parallel()
	plans := &measuredPlans{of: "bool_or(k.state", most: 50}
	s, _ := persons(t, plans)
	found, err := s.Records.Traces(t.Context(), nth(secondNumber, 7))
	if err != nil || len(found.Open) != 2 || plans.read == 0 {
		t.Errorf("%+v, %v; %d plans read", found, err, plans.read)
	}
	plans.of, plans.read = "import_rows", 0
	for n, importing := range map[engine.PhoneNumber]bool{nth(stagedNumber, 8): true, "+493099999999": false} {
		_, err := s.Records.ErasePerson(t.Context(), history.Erasure{Number: n, At: time.Now(),
			Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1")})
		if refused := err != nil && engine.ErrorCode(err) == "person_in_import"; refused != importing {
			t.Errorf("in an import %v: %v", importing, err)
		}
	}
	if plans.read != 4 {
		t.Errorf("%d plans read of the rows of a file", plans.read)
	}
	plans.of, plans.read = "import_rows", 0
	for n, want := range map[engine.PhoneNumber]bool{nth(stagedNumber, 8): true, "+493099999999": false} {
		staged, err := s.StagedNumber(t.Context(), stagedImport, n)
		if err != nil || staged != want {
			t.Errorf("staged %v, want %v; %v", staged, want, err)
		}
	}
	if plans.read != 4 {
		t.Errorf("%d plans read of the numbers of a file", plans.read)
	}
}

// An erasure finds the person's calls, and the calls back that return them, however many others there are.
func TestCallsOfAPersonAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	plans := &measuredPlans{of: "SET to_number = $1 WHERE", most: 50}
	s, url := persons(t, plans)
	now := time.Now()
	if refused, err := s.Commit(t.Context(), []journal.Write{{Attempts: []attempt.Attempt{{
		ID: "0123456789abcdef0123456789abcdef", To: "+493099999999", State: attempt.Ended, ReservedAt: &now, EndedAt: &now,
		Outcome: engine.OutcomeNoAnswer}}}}); err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	run(t, url, `UPDATE contacts SET state = 'completed', due_at = NULL WHERE number = '`+string(nth(firstNumber, 7))+`';
		INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'campaign_id',
			k.campaign_id, 'contact_id', k.id, 'to_number', n.number))).*
			FROM attempts a, contacts k JOIN contact_numbers n ON n.contact_id = k.id WHERE k.campaign_id = 'cmp_1';
		INSERT INTO attempts SELECT (jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'campaign_id',
			'', 'contact_id', NULL, 'inbound', true, 'returns', a.id))).* FROM attempts a WHERE a.contact_id IS NOT NULL;
		ANALYZE attempts`)
	done, err := s.Records.ErasePerson(t.Context(), history.Erasure{Number: nth(firstNumber, 7), At: now,
		Tombstone: engine.PhoneNumber(engine.ErasedPrefix + "1")})
	if err != nil || done.Attempts != 2 || plans.read != 2 {
		t.Errorf("%+v, %v; %d plans read", done, err, plans.read)
	}
}

// A take-over tests the numbers of those persons alone who have one on the suppression list.
func TestSuppressedPersonsAreFoundByTheirListedNumbers(t *testing.T) {
	t.Parallel()
	plans := &measuredPlans{of: "cardinality($3", table: "contact_numbers", most: 10}
	s, url := persons(t, plans)
	var listed []journal.Suppression
	for _, n := range []engine.PhoneNumber{nth(firstNumber, 3), nth(secondNumber, 3), nth(firstNumber, 4),
		nth(secondNumber, 5)} {
		listed = append(listed, journal.Suppression{Number: n, Reason: "import", CreatedAt: time.Now()})
	}
	if refused, err := s.Commit(t.Context(), []journal.Write{{Suppressions: listed}}); err != nil || refused[0] != nil {
		t.Fatal(err, refused)
	}
	run(t, url, "ANALYZE suppressions")
	for _, numbers := range [][]engine.PhoneNumber{nil, {nth(secondNumber, 3)}} {
		list, err := s.SuppressedContacts(t.Context(), "cmp_1", 1, numbers, "", 100)
		if err != nil || len(list) != 1 || list[0].Number != nth(firstNumber, 3) {
			t.Errorf("%d contacts, %v", len(list), err)
		}
	}
	if plans.read != 4 {
		t.Errorf("%d plans read", plans.read)
	}
}
