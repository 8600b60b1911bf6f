package media

import (
	"context"
	"errors"
	"time"

	"dialler/engine"
	"dialler/media/amd"
	"dialler/media/codec"
)

// Leaving a message on a machine: it is played after the beep, or after so much quiet that no beep
// will come.
const (
	// afterBeep is the quiet after the beep before the message begins, in frames: by then the
	// beep's reverberation has ended.
	afterBeep = 15
	// noBeep is the quiet after the greeting that means no beep will come, in frames: 3.5 s.
	// Machines wait up to three seconds before theirs.
	noBeep = 175
	// afterMessage is the silence after a message before the call ends, in bytes: 200 ms. It lets
	// the far side play out its jitter buffer.
	afterMessage = 10 * codec.FrameBytes
	// greetingOn is the number of frames of sound after a beep that means the greeting goes on: the
	// beep was part of it.
	greetingOn = 20
	// leavePatience bounds the wait, in frames: 60 s.
	leavePatience = 3000
	// leaveSoon is how long a machine's classifier waits for the command to leave a message.
	leaveSoon = 10 * time.Second
	// voicemailsKept bounds how many messages are kept in memory; 30 s of audio take 240 kB.
	voicemailsKept = 32
	// fetchLimit bounds how long fetching a message may take.
	fetchLimit = 10 * time.Second
)

var errNoVoicemails = errors.New("media: no messages for machines are kept here")

// leaving is a message waiting for its moment.
type leaving struct {
	message engine.VoicemailID
	atOnce  bool // to a person
	frames  int  // since the request
	beep    bool // heard, and nothing followed it
	quiet   int  // frames in a row
	sound   int  // frames since the beep, not counting tones
}

// voicemail is a message in memory, or being fetched (neither audio nor err).
type voicemail struct {
	audio []byte // μ-law
	err   error
}

// fetchVoicemail starts fetching a message; one whose fetch failed is fetched again.
func (e *Engine) fetchVoicemail(id engine.VoicemailID) {
	if id == "" {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if v := e.voicemails[id]; e.closed || v != nil && v.err == nil {
		return
	}
	for other, v := range e.voicemails {
		if len(e.voicemails) < voicemailsKept {
			break
		}
		if v.audio != nil || v.err != nil {
			delete(e.voicemails, other)
		}
	}
	e.voicemails[id] = &voicemail{}
	e.tasks.Add(1)
	go func() {
		defer e.tasks.Done()
		v := &voicemail{err: errNoVoicemails}
		if e.cfg.Voicemail != nil {
			ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
			v.audio, v.err = e.cfg.Voicemail(ctx, id)
			cancel()
		}
		if v.err == nil && len(v.audio) == 0 {
			v.err = errNoVoicemails
		}
		if v.err != nil {
			e.log.Warn().Err(v.err).Str("voicemail_id",
				string(id)).Msg("the message for machines could not be read; calls to machines end without it")
		}
		e.mu.Lock()
		e.voicemails[id] = v
		e.mu.Unlock()
	}()
}

// voicemailOf returns a message; nil without an error means it is being fetched.
func (e *Engine) voicemailOf(id engine.VoicemailID) ([]byte, error) {
	e.mu.RLock()
	v := e.voicemails[id]
	e.mu.RUnlock()
	if v == nil {
		e.fetchVoicemail(id)
		return nil, nil
	}
	return v.audio, v.err
}

// LeaveVoicemail waits for the beep of the answering machine, or the end of its greeting, and plays
// a message in place of the bot; MediaPlayed follows, with an Error if it was not played.
func (e *Engine) LeaveVoicemail(cmd engine.LeaveVoicemail) {
	e.fetchVoicemail(cmd.Message)
	if c := e.call(cmd.Attempt); c != nil {
		c.leave(cmd.Message, cmd.AtOnce)
	}
}

func (c *call) leave(id engine.VoicemailID, atOnce bool) {
	c.mu.Lock()
	defer c.unlock()
	if c.closed || !c.answered || c.leaving != nil || c.playing {
		return
	}
	c.leaving, c.judged = &leaving{message: id, atOnce: atOnce}, true
	if atOnce {
		return // the next frame begins it
	}
	if c.det == nil {
		c.det, c.waited = amd.New(c.rules()), c.without(c.e.now())
	}
	c.leaving.beep = c.det.TakeBeep() // the beep that revealed the machine
}

// rules returns the classifier's rules for this call.
func (c *call) rules() amd.Config {
	cfg := c.e.cfg.AMD
	cfg.Bias += c.listen.Bias
	if t := c.listen.Timeout; t > 0 {
		cfg.TalkTimeout = t
		if cfg.Timeout <= 0 || cfg.Timeout > t {
			cfg.Timeout = min(t, amd.QuietTimeout)
		}
	}
	return cfg
}

// await checks after each frame whether to start the message; mu is held.
func (c *call) await() {
	l := c.leaving
	if l == nil || l.atOnce || c.playing {
		return
	}
	l.frames++
	tone := c.det.InTone()
	switch {
	case tone:
		l.quiet = 0
	case c.det.Sounding():
		l.quiet = 0
		l.sound++
	default:
		l.quiet++
	}
	if c.det.TakeBeep() {
		l.beep, l.sound = true, 0
	}
	if l.beep && l.sound > greetingOn {
		l.beep = false
	}
	if l.frames > leavePatience {
		c.notLeft("nothing that a message could follow was heard")
		return
	}
	if l.quiet < noBeep && (!l.beep || l.quiet < afterBeep) {
		return
	}
	c.begin(l.message)
}

// begin plays a message once it is in memory; mu is held.
func (c *call) begin(id engine.VoicemailID) {
	switch audio, err := c.e.voicemailOf(id); {
	case err != nil:
		c.notLeft("the message could not be read")
	case audio != nil:
		c.leaving, c.det = nil, nil
		c.message, c.playing, c.played = audio, true, 0
	}
}

func (c *call) notLeft(why string) {
	c.leaving, c.det = nil, nil
	c.emit(engine.MediaEvent{Kind: engine.MediaPlayed, Error: why})
}
