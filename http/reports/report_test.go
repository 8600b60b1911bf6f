package reports

import (
	"strings"
	"testing"
)

func TestTheReportHasTheColumnsOfTheRulebook(t *testing.T) {
	const want = "run,pass,attempt_number,attempt_id,contact_id,phone_number,from_number,trunk," +
		"reserved_at,invite_at,trying_at,ringing_at,answered_at,verdict_at,bot_connected_at,bot_first_audio_at,ended_at," +
		"outcome,sip_code,sip_reason,q850,amd_verdict,amd_ms,session_id,disposition,sub_disposition," +
		"ring_s,talk_s,hung_up_by," +
		"attestation" // our last column; the variables follow
	if got := strings.Join(reportColumns, ","); got != want {
		t.Errorf("%s", got)
	}
}
