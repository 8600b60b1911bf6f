package live

import (
	"fmt"
	"testing"
	"time"

	"dialler/engine"
	"dialler/engine/campaign"
	"dialler/engine/contact"
)

// BenchmarkLiveList measures what a second of the list costs the API, however many clients watch
// it: 200 campaigns, of which some changed and the others only in their time of day.
func BenchmarkLiveList(b *testing.B) {
	for _, changing := range []int{0, 20, 200} {
		b.Run(fmt.Sprintf("changed=%d", changing), func(b *testing.B) {
			rate := 0.5
			list := make([]campaign.Detail, liveListed)
			for i := range list {
				list[i] = campaign.Detail{Campaign: campaign.Campaign{ID: engine.CampaignID(fmt.Sprintf("cmp_%d", i)),
					Settings: campaign.Settings{Name: "n"}, State: campaign.Running}, Live: &campaign.Live{}}
				list[i].Counters.States = map[contact.State]int{contact.Pending: 5, contact.Completed: 7}
				list[i].Counters.AnswerRate = &rate
			}
			start := time.Date(2030, 3, 1, 12, 0, 0, 0, time.UTC)
			p := picture{list: true}
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				n++
				for i := range list {
					list[i].Live.At = start.Add(time.Duration(n) * time.Second)
					if i < changing {
						list[i].Counters.Connected = n
					}
				}
				patch, err := p.move(list, len(list))
				if err != nil || n > 1 && (patch != nil) != (changing > 0) {
					b.Fatal(err, string(patch))
				}
			}
		})
	}
}
