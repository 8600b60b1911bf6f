package http

import (
	"strings"
	"testing"
	"time"

	"dialler/engine"
	"dialler/http/wire"
)

func TestPeopleHearCallsAndSayWhoAnswered(t *testing.T) {
	b := newBench(t)
	b.ports.reviews = []engine.AMDReview{{Attempt: theAttempt, Campaign: "cmp_1", Trunk: "main", Country: "DE",
		Verdict:     engine.VerdictMachine,
		RevisedFrom: engine.VerdictUnknown, Confidence: 0.9, Took: 2400 * time.Millisecond, AnsweredAt: testAt, Audio: true}}
	const all = "/api/v1/amd/reviews"
	one := all + "/" + string(theAttempt)
	a := b.byAdmin("GET", all+"?campaign_id=cmp_1&trunk=main&country=de&verdict=machine&labelled=false&page_size=10",
		"").is(200, "")
	first := a.get("reviews").([]any)[0].(map[string]any)
	if a.get("total") != 1.0 || first["audio_url"] != one+"/audio" || first["label"] != nil ||
		first["revised_from"] != "unknown" || first["took_ms"] != 2400.0 {
		t.Errorf("%s", a.body)
	}
	q := b.ports.reviewed
	if q.Campaign != "cmp_1" || q.Trunk != "main" || q.Country != "DE" || q.Verdict != "machine" || q.Labelled == nil ||
		*q.Labelled || b.ports.pages[0].Size != 10 {
		t.Errorf("asked for %+v", q)
	}
	if a := b.byAdmin("GET", one+"/audio", "").is(200, ""); a.header.Get("Content-Type") != wire.ContentWAV ||
		string(a.body) != "RIFF" {
		t.Errorf("%s", a.body)
	}
	if a := b.byAdmin("PUT", one, `{"label":"screener"}`).is(200, ""); a.get("label") != "screener" ||
		a.get("labelled_by") != "admin@example.org" || a.get("labelled_at") == nil {
		t.Errorf("%s", a.body)
	}
	if a := b.byAdmin("PUT", one, `{"label":"none"}`).is(200, ""); a.get("label") != nil || a.get("labelled_by") != nil {
		t.Errorf("%s", a.body)
	}
	if a := b.byAdmin("GET", "/api/v1/amd/export.zip?trunk=main", "").is(200, "").has("Cache-Control",
		"no-store"); string(a.body) != "PK-export" || a.header.Get("Content-Type") != "application/zip" {
		t.Errorf("%s", a.body)
	}
}

func TestALabelThatIsNoneIsRefused(t *testing.T) {
	b := newBench(t)
	one := "/api/v1/amd/reviews/" + string(theAttempt)
	b.byAdmin("PUT", one, `{"label":"robot"}`).is(422, "validation_failed")
	b.byAdmin("PUT", one, `{}`).is(422, "validation_failed")
	b.byAdmin("PUT", one, `{"label":"human"}`).is(404, "review_not_found")
	b.byAdmin("GET", "/api/v1/amd/reviews/nobody", "").is(404, "review_not_found")
	for _, wrong := range []string{"verdict=x", "country=1", "labelled=x", "limit=3", "trunk=" + strings.Repeat("x", 65)} {
		b.byAdmin("GET", "/api/v1/amd/reviews?"+wrong, "").is(422, "validation_failed")
	}
}

func TestTheConfusionOfVerdictsIsSummedByTrunkAndCountry(t *testing.T) {
	b := newBench(t)
	b.ports.confused = []engine.AMDConfusion{
		{Trunk: "a", Country: "DE", Label: engine.VerdictHuman, Verdict: engine.VerdictHuman, Count: 90},
		{Trunk: "a", Country: "DE", Label: engine.VerdictHuman, Verdict: engine.VerdictMachine, Count: 2},
		{Trunk: "a", Country: "DE", Label: engine.VerdictMachine, Verdict: engine.VerdictUnknown, Count: 3},
		{Trunk: "a", Country: "FR", Label: engine.VerdictFax, Verdict: engine.VerdictFax, Count: 1},
	}
	a := b.byAdmin("GET", "/api/v1/amd/confusion", "").is(200, "")
	sums := a.get("sums").([]any)
	first := sums[0].(map[string]any)
	if len(a.get("cells").([]any)) != 4 || len(sums) != 2 || first["labelled"] != 95.0 || first["right"] != 90.0 ||
		first["humans"] != 92.0 ||
		first["humans_taken_off"] != 2.0 || first["machines"] != 3.0 || first["machines_to_bot"] != 3.0 {
		t.Errorf("%s", a.body)
	}
}

func TestAMessageForMachinesIsKeptHeardAndDeleted(t *testing.T) {
	b := newBench(t)
	const all = "/api/v1/voicemails"
	wav := func(path, body, contentType string) answer {
		return b.do("POST", path, body, "Authorization", "Bearer "+b.admin, "Content-Type", contentType)
	}
	a := wav(all+"?name=Reminder", "RIFF....", wire.ContentWAV).is(201, "")
	at := all + "/" + a.get("id").(string)
	if a.get("name") != "Reminder" || a.get("duration_s") != 1.5 || a.get("audio_url") != at+"/audio" ||
		a.get("created_by") != "admin@example.org" {
		t.Errorf("%s", a.body)
	}
	wav(all+"?name=x", "MP3", wire.ContentWAV).is(422, "invalid_audio")
	wav(all+"?name=x", "RIFF", "audio/mpeg").is(415, "unsupported_media_type")
	wav(all, "RIFF", wire.ContentWAV).is(422, "validation_failed")
	wav(all+"?name=x&more=1", "RIFF", wire.ContentWAV).is(422, "validation_failed")
	if list := b.byAdmin("GET", all, "").is(200, "").get("voicemails").([]any); len(list) != 1 {
		t.Errorf("%v", list)
	}
	b.byAdmin("GET", at+"/audio", "").is(200, "")
	b.byAdmin("DELETE", at, "").is(204, "")
	b.byAdmin("DELETE", at, "").is(404, "voicemail_not_found")
}
