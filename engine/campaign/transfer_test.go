package campaign

import (
	"errors"
	"testing"

	"dialler/engine"
	"dialler/engine/attempt"
)

func TestTransferTargetsAreNumbersTheirBeginningsAndSIPAddresses(t *testing.T) {
	base := goodSettings()
	for name, c := range map[string]struct {
		targets []string
		limit   int
		want    string
	}{
		"off": {nil, 1, ""},
		"all kinds": {[]string{"+4930*", "+493012345", "sip:desk@pbx.example", "sip:*@pbx.example"}, attempt.TransfersCap,
			""},
		"no target":   {[]string{"+4930*", "desk"}, 1, "transfer_targets[1] invalid_format"},
		"limit under": {nil, -1, "transfer_limit out_of_range"},
		"limit over":  {nil, attempt.TransfersCap + 1, "transfer_limit out_of_range"},
		"as many":     {many(attempt.TransferTargetsCap), 1, ""},
		"too many":    {many(attempt.TransferTargetsCap + 1), 1, "transfer_targets too_long"},
	} {
		s := base
		s.TransferTargets, s.TransferLimit = c.targets, c.limit
		err := s.Validate()
		var e *engine.Error
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (!errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Field+" "+e.Fields[0].Code != c.want):
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func many(n int) (list []string) {
	for range n {
		list = append(list, "+4930*")
	}
	return list
}
