package campaigns

import (
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/numberpool"
	"dialler/engine/trunk"
	"dialler/http/telephony"
)

func TestTheCapacityOfACampaignIsWhatCanBeUsedNow(t *testing.T) {
	d := campaign.Detail{
		Campaign: campaign.Campaign{Settings: campaign.Settings{Name: "n", Bot: "bot_1", Concurrency: 8,
			Numbers: []engine.PhoneNumber{"+493023125000", "+493023125001"}}},
		Live: &campaign.Live{Seats: 6, FreeSeats: 2},
	}
	have := supplies{
		trunks: []engine.TrunkSettings{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "new"}},
		stand:  map[engine.TrunkID]telephony.TrunkStatus{},
		statuses: map[engine.PhoneNumber]numberpool.Status{"+493023125000": {State: numberpool.Resting,
			Refuses: numberpool.CapRest},
			"+493023125001": {State: numberpool.Active}, "+493023125009": {Refuses: numberpool.CapState}},
	}
	for id, health := range map[engine.TrunkID]string{"a": "up", "b": "trying", "c": "held"} {
		var s telephony.TrunkStatus
		s.Health, s.Rate, s.Placed, s.Legs, s.Channels = trunk.Health(health), 10, 4.5, 7, 30
		have.stand[id] = s
	}
	v := viewCapacity(&d, &have, time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC))
	want := []resourceView{{Resource: "seats", Used: 4, Of: 6}, {Resource: "trunk_cps", Used: 9, Of: 20},
		{Resource: "trunk_channels", Used: 14, Of: 60}, {Resource: "numbers", Used: 1, Of: 2}}
	for i, r := range v.Resources {
		if w := want[i]; r.Resource != w.Resource || r.Used != w.Used || r.Of != w.Of {
			t.Errorf("%+v, want %+v", r, w)
		}
	}
	if v.Resources[1].Out["held"] != 1 || v.Resources[3].Out["rest"] != 1 {
		t.Errorf("%+v", v)
	}
	// While nothing is dialled its own limit is what it could use.
	d.Live = nil
	if s := viewCapacity(&d, &have, time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)).Resources[0]; s.Used != 0 ||
		s.Of != 8 {
		t.Errorf("%+v", s)
	}
}
