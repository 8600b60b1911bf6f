package media

import (
	"sync/atomic"
	"time"
)

// tendEvery is how often the sockets are checked.
const tendEvery = time.Second

// tend checks the sockets until the engine ends.
func (e *Engine) tend() {
	defer e.tasks.Done()
	every := time.NewTicker(tendEvery)
	defer every.Stop()
	for {
		select {
		case <-e.stop:
			return
		case <-every.C:
		}
		for _, s := range e.ports() {
			s.tend()
		}
	}
}

// tend replaces the broken ports of the socket; its calls continue on the same port numbers. A port
// that cannot be bound now is retried at the next check.
func (s *socket) tend() {
	if l := s.rtp.Load(); s.broken.Load() || !l.sound() {
		s.broken.Store(true)
		if s.replace(&s.rtp, s.read, (*line).widen) {
			s.broken.Store(false)
		}
	}
	if l := s.rtcp.Load(); !l.sound() {
		s.replace(&s.rtcp, s.readRTCP, func(*line) {})
	}
}

func (s *socket) replace(at *atomic.Pointer[line], read func(*line), prepare func(*line)) bool {
	old := at.Load()
	old.leave()
	conn, err := s.e.listenUDP(s.pool.bind, old.port)
	var fresh *line
	if err == nil {
		fresh, err = newLine(conn)
	}
	if err != nil {
		s.e.log.Error().Err(err).Uint16("port",
			old.port).Msg("a broken RTP port cannot be replaced; its calls hear nothing, new ones take other ports")
		return false
	}
	prepare(fresh)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = conn.Close()
		return false
	}
	at.Store(fresh)
	s.e.counters.replaced.Add(1)
	s.e.log.Warn().Uint16("port", old.port).Msg("a broken RTP port was replaced; its calls go on")
	s.e.tasks.Add(1)
	go read(fresh)
	return true
}
