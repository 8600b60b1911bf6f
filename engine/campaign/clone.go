package campaign

import (
	"time"
	"unicode/utf8"

	"dialler/engine"
)

// Clone copies a campaign in any state into a new draft.
type Clone struct {
	Campaign engine.CampaignID
	Name     string // of the copy; "" means CopyName of the original's
	Who      engine.Who
}

const copySuffix = " (copy)"

// CopyName is the default name of a copy, within the length limit of names.
func CopyName(name string) string {
	for utf8.RuneCountInString(name)+utf8.RuneCountInString(copySuffix) > nameCap {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name + copySuffix
}

// CopyOf is the draft that a clone creates: the current settings of the original, and nothing of
// its runs.
func CopyOf(original *Campaign, id engine.CampaignID, cmd Clone, now time.Time) Campaign {
	c := Campaign{ID: id, Settings: original.Settings, State: Draft, Version: 1, Run: 1, CreatedAt: now,
		CreatedBy: cmd.Who}
	c.Settings.Name = cmd.Name
	if cmd.Name == "" {
		c.Settings.Name = CopyName(original.Settings.Name)
	}
	return c
}
