package bot

import (
	"maps"
	"time"

	"dialler/engine"
)

// EndedBy says how a session ended.
type EndedBy string

// The ways in which a session ends.
const (
	EndedByBot    EndedBy = "bot"    // the bot closed the socket
	EndedByCallee EndedBy = "callee" // a stop frame came
	EndedByDeath  EndedBy = "death"  // the bot died by its script
	EndedLost     EndedBy = "lost"   // the socket ended without a stop frame
)

// Session is the record of one conversation.
type Session struct {
	SessionID  engine.SessionID   `json:"session_id"` // streamSid
	CallID     engine.CallID      `json:"call_id"`    // callSid
	Number     engine.PhoneNumber `json:"number"`     // to_number of customParameters
	Account    string             `json:"account"`
	Parameters map[string]string  `json:"parameters,omitempty"` // customParameters
	Remote     string             `json:"remote"`

	OpenedAt     time.Time `json:"opened_at"`              // upgrade answered
	StartedAt    time.Time `json:"started_at,omitzero"`    // start frame
	FirstSentAt  time.Time `json:"first_sent_at,omitzero"` // first media frame of the bot
	FirstHeardAt time.Time `json:"first_heard_at,omitzero"`
	// AudibleAt is the first frame that was loud enough to be heard.
	AudibleAt time.Time `json:"audible_at,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	EndedBy   EndedBy   `json:"ended_by,omitempty"`

	FramesIn   int    `json:"frames_in"`  // media frames from the platform
	FramesOut  int    `json:"frames_out"` // media frames from the bot
	AudioOutMS int    `json:"audio_out_ms"`
	MarksSent  int    `json:"marks_sent"`
	MarksBack  int    `json:"marks_back"`
	Clears     int    `json:"clears"`
	Digits     string `json:"digits,omitempty"`
	// Violations counts breaches of the protocol by name.
	Violations map[string]int `json:"violations,omitempty"`

	Result Report `json:"result"`
}

// Report is what happened to a session's result.
type Report struct {
	State       ReportState `json:"state"`
	Disposition string      `json:"disposition,omitempty"`
	DoNotCall   bool        `json:"do_not_call,omitempty"`
	Callback    bool        `json:"callback,omitempty"`
	Tries       int         `json:"tries,omitempty"`
	Status      int         `json:"status,omitempty"` // last HTTP status
	Error       string      `json:"error,omitempty"`  // last connection error
	At          time.Time   `json:"at,omitzero"`
}

// ReportState is the progress of a result.
type ReportState string

// The states of a result.
const (
	ReportNone    ReportState = "none"    // the script reports nothing, or no result_url was given
	ReportPending ReportState = "pending" // the session is live, or the post is in progress
	ReportTaken   ReportState = "taken"   // 2xx
	ReportRefused ReportState = "refused" // a 4xx that a retry cannot fix
	ReportGivenUp ReportState = "given_up"
)

// Summary counts everything.
type Summary struct {
	Sessions     int                 `json:"sessions"`
	Open         int                 `json:"open"`
	PeakOpen     int                 `json:"peak_open"`
	Full         int                 `json:"full"`          // refused for lack of a seat
	Refused      int                 `json:"refused"`       // by the door's script, drops included
	BadSignature int                 `json:"bad_signature"` // refused with 403
	BadUpgrade   int                 `json:"bad_upgrade"`   // not a WebSocket upgrade
	Probes       int                 `json:"probes"`        // sockets that only probed whether the bot is there
	EndedBy      map[EndedBy]int     `json:"ended_by"`
	FramesIn     int                 `json:"frames_in"`
	FramesOut    int                 `json:"frames_out"`
	MarksSent    int                 `json:"marks_sent"`
	MarksBack    int                 `json:"marks_back"`
	Clears       int                 `json:"clears"`
	Violations   map[string]int      `json:"violations"`
	Results      map[ReportState]int `json:"results"`
	Dispositions map[string]int      `json:"dispositions"`
	DoNotCall    int                 `json:"do_not_call"`
	Callbacks    int                 `json:"callbacks"`
}

func newSummary() Summary {
	return Summary{EndedBy: map[EndedBy]int{}, Violations: map[string]int{}, Results: map[ReportState]int{},
		Dispositions: map[string]int{}}
}

// clone returns a deep copy.
func (s Summary) clone() Summary {
	s.EndedBy, s.Violations = maps.Clone(s.EndedBy), maps.Clone(s.Violations)
	s.Results, s.Dispositions = maps.Clone(s.Results), maps.Clone(s.Dispositions)
	return s
}

// count adds sessions.
func (s *Summary) count(rows ...Session) {
	s.Sessions += len(rows)
	for i := range rows {
		r := &rows[i]
		if r.EndedAt.IsZero() {
			s.Open++
		} else {
			s.EndedBy[r.EndedBy]++
		}
		s.FramesIn += r.FramesIn
		s.FramesOut += r.FramesOut
		s.MarksSent += r.MarksSent
		s.MarksBack += r.MarksBack
		s.Clears += r.Clears
		for name, n := range r.Violations {
			s.Violations[name] += n
		}
		s.Results[r.Result.State]++
		if r.Result.State == ReportTaken {
			s.Dispositions[r.Result.Disposition]++
			if r.Result.DoNotCall {
				s.DoNotCall++
			}
			if r.Result.Callback {
				s.Callbacks++
			}
		}
	}
}
