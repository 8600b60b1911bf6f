package flight

import (
	"encoding/hex"
	"fmt"
	"time"

	"dialler/engine"
	"dialler/engine/run"
)

// Header says what a recording is of.
type Header struct {
	Campaign engine.CampaignID `json:"campaign_id"`
	Program  string            `json:"program"` // version that recorded
	Began    time.Time         `json:"began_at"`
	Config   run.Config        `json:"config"`
	// Types is the seal of the types in the recording: a program with others cannot read it.
	Types string `json:"types"`
}

// types is the seal of this program's types.
func types() string {
	seal := run.Codec().Seal()
	return hex.EncodeToString(seal[:8])
}

// check says whether this program can read the recording.
func (h *Header) check() error {
	if own := types(); h.Types != own {
		return fmt.Errorf("it was recorded by another version, %s (its types are %s, those of this program %s): replay it "+
			"with that version", h.Program, h.Types, own)
	}
	return nil
}

// Why a recording ended.
const (
	EndClosed   = "closed"   // the life of the run ended
	EndOverflow = "overflow" // the disk was too slow
	EndFull     = "full"     // recordings take as much of the disk as they may
	EndErased   = "erased"   // a person was erased
	EndUnknown  = "unknown"  // an input that cannot be written down
	EndFailed   = "failed"   // the file could not be written
)
