package persistence_test

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"

	"dialler/engine"
	"dialler/persistence"
	"dialler/persistence/sealed"
	"dialler/persistence/settings"
	"dialler/persistence/storetest"
)

func newKey(t *testing.T) string {
	t.Helper()
	b := make([]byte, 32)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b)
}

func keysOf(t *testing.T, text string) *sealed.Keys {
	t.Helper()
	k, err := sealed.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func storeWith(t *testing.T, url string, keys *sealed.Keys) *persistence.Store {
	t.Helper()
	s, err := persistence.Open(t.Context(), url, persistence.Config{Log: zerolog.Nop(), Secrets: keys})
	if err != nil {
		t.Fatal(err)
	}
	s.UseRowKey(storetest.RowKey)
	t.Cleanup(s.Close)
	return s
}

// storedAs returns what the tables contain for the trunk's password and the bot's token.
func storedAs(t *testing.T, url string) (password, token string) {
	t.Helper()
	storetest.Row(t, url, []any{&password, &token}, "SELECT (SELECT password FROM trunks WHERE id = 't'), "+
		"(SELECT auth_token || headers FROM bots WHERE id = 'b')")
	return password, token
}

func putSecrets(t *testing.T, s *persistence.Store) {
	t.Helper()
	who := engine.Who{Name: "test"}
	if _, err := s.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t", Host: "a", Password: "hunter2"}, false,
		who); err != nil {
		t.Fatal(err)
	}
	stored, _, err := s.PutBot(t.Context(), engine.Bot{ID: "b", Name: "B", Endpoints: []string{"ws://a"},
		AuthToken: "wonderland", Headers: []engine.HTTPHeader{{Name: "X-A", Value: "looking-glass"}}}, false, who)
	if err != nil || stored.AuthToken != "wonderland" {
		t.Fatalf("%q %v", stored.AuthToken, err)
	}
}

func readSecrets(t *testing.T, s *persistence.Store) (password, token string) {
	t.Helper()
	trunks, err := s.Trunks(t.Context())
	if err != nil || len(trunks) != 1 {
		t.Fatal(trunks, err)
	}
	bots, err := s.Bots(t.Context())
	if err != nil || len(bots) != 1 {
		t.Fatal(bots, err)
	}
	if h := bots[0].Headers; len(h) != 1 || h[0].Value != "looking-glass" {
		t.Errorf("the headers read %+v", h)
	}
	return trunks[0].Password, bots[0].AuthToken
}

func TestSecretsAreSealedWithTheFirstKeyAndOpenedWithAny(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	old, fresh := newKey(t), newKey(t)

	plain := storeWith(t, url, nil)
	putSecrets(t, plain)
	if p, b := storedAs(t, url); p != "hunter2" || b != `wonderland[{"name":"X-A","value":"looking-glass"}]` {
		t.Errorf("without a key: %q, %q", p, b)
	}
	if c, err := plain.CheckSecrets(t.Context()); err != nil || c != (settings.Sealing{Plain: 3}) {
		t.Errorf("%+v %v", c, err)
	}

	first := storeWith(t, url, keysOf(t, old))
	if p, b := readSecrets(t, first); p != "hunter2" || b != "wonderland" {
		t.Errorf("what was stored before there was a key reads %q, %q", p, b)
	}
	if n, err := first.SealSecrets(t.Context()); n != 3 || err != nil {
		t.Errorf("%d sealed, %v", n, err)
	}
	if n, err := first.SealSecrets(t.Context()); n != 0 || err != nil {
		t.Errorf("%d sealed again, %v", n, err)
	}
	p, b := storedAs(t, url)
	if strings.Contains(p, "hunter2") || strings.Contains(b, "wonderland") ||
		strings.Contains(b, "looking") || p == "" || b == "" {
		t.Errorf("sealed they are %q, %q", p, b)
	}
	if _, err := plain.Trunks(t.Context()); engine.ErrorCode(err) != "secrets_key_missing" {
		t.Errorf("without the key trunks are read: %v", err)
	}
	if _, err := plain.CheckSecrets(t.Context()); engine.ErrorCode(err) != "secrets_key_missing" {
		t.Errorf("without the key: %v", err)
	}

	both := storeWith(t, url, keysOf(t, "# the new one\n"+fresh+"\n\n"+old+"\n"))
	if p, b := readSecrets(t, both); p != "hunter2" || b != "wonderland" {
		t.Errorf("after a change of keys: %q, %q", p, b)
	}
	if c, err := both.CheckSecrets(t.Context()); err != nil || c != (settings.Sealing{Old: 3}) {
		t.Errorf("%+v %v", c, err)
	}
	// An unchanged secret is not touched; a new one is sealed again.
	if _, err := both.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t", Host: "b"}, true,
		engine.Who{Name: "test"}); err != nil {
		t.Fatal(err)
	}
	if kept, _ := storedAs(t, url); kept != p {
		t.Error("a password that was to stay was written")
	}
	if n, err := both.SealSecrets(t.Context()); n != 3 || err != nil {
		t.Errorf("%d sealed, %v", n, err)
	}
	if c, err := both.CheckSecrets(t.Context()); err != nil || c != (settings.Sealing{Current: 3}) {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := first.Bots(t.Context()); engine.ErrorCode(err) != "secrets_key_missing" {
		t.Errorf("the old key opens what was sealed with the new one: %v", err)
	}
	if p, b := readSecrets(t, storeWith(t, url, keysOf(t, fresh))); p != "hunter2" || b != "wonderland" {
		t.Errorf("with the new key alone: %q, %q", p, b)
	}
}

func TestASealedSecretOpensInItsOwnRowOnlyAndNotWhenItWasChanged(t *testing.T) {
	t.Parallel()
	url := storetest.URL(t)
	s := storeWith(t, url, keysOf(t, newKey(t)))
	putSecrets(t, s)
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(t.Context()) }()
	f := func(what, sql string) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trunks(t.Context()); engine.ErrorCode(err) != "secret_damaged" {
			t.Errorf("%s: %v", what, err)
		}
		if _, err := s.CheckSecrets(t.Context()); engine.ErrorCode(err) != "secret_damaged" {
			t.Errorf("%s: %v", what, err)
		}
	}
	f("the token of a bot in its place", "UPDATE trunks SET password = (SELECT auth_token FROM bots)")
	putSecrets(t, s)
	f("cut short", "UPDATE trunks SET password = left(password, 30)")
	putSecrets(t, s)
	f("changed", "UPDATE trunks SET password = overlay(password PLACING (CASE substr(password, length(password) - 6, "+
		"3) WHEN 'AAA' THEN 'BBB' ELSE 'AAA' END) FROM length(password) - 6)")
	putSecrets(t, s)
	if p, _ := readSecrets(t, s); p != "hunter2" {
		t.Errorf("set anew it is %q", p)
	}
}

func TestKeysThatCannotBeUsedAreRefusedWithoutNamingThem(t *testing.T) {
	t.Parallel()
	good := newKey(t)
	for _, text := range []string{"", "# only a comment\n", "hunter2", good[:40], good + "\n" + good,
		strings.Repeat(newKey(t)+"\n", 2)} {
		_, err := sealed.ParseKeys(text)
		if engine.ErrorCode(err) != "secrets_key_invalid" || strings.Contains(engine.ErrorDetail(err), "hunter2") ||
			strings.Contains(engine.ErrorDetail(err), good[:20]) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
	s := storeWith(t, storetest.URL(t), nil)
	_, err := s.PutTrunk(t.Context(), engine.TrunkSettings{ID: "t", Host: "a", Password: "sealed:1:deadbeef:aa"}, false,
		engine.Who{Name: "test"})
	if engine.ErrorCode(err) != "secret_looks_sealed" {
		t.Errorf("a password that looks sealed: %v", err)
	}
	if _, err := s.SealSecrets(t.Context()); engine.ErrorCode(err) != "secrets_key_invalid" {
		t.Errorf("sealing without a key: %v", err)
	}
}
