package http

import (
	"cmp"
	nethttp "net/http"

	"dialler/http/wire"
)

// INTERFACES §6: /healthz says whether the process works, /readyz whether it
// should get work.

type aliveView struct {
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
}

func (s *Server) healthz(r *wire.Request) error {
	if err := s.Health.Alive(); err != nil {
		return r.Reply(
			nethttp.StatusServiceUnavailable,
			aliveView{Status: "unhealthy", Detail: "the decision loop is stale"},
		)
	}
	return r.Reply(nethttp.StatusOK, aliveView{Status: "ok"})
}

type readyView struct {
	Status string  `json:"status"` // ready, not_ready
	Checks []Check `json:"checks"`
}

func (s *Server) readyz(r *wire.Request) error {
	v := s.readiness(r)
	if v.Status != "ready" {
		return r.Reply(nethttp.StatusServiceUnavailable, v)
	}
	return r.Reply(nethttp.StatusOK, v)
}

// showHealth shows a console what readyz shows a machine, with names; a problem is not an error of the request.
func (s *Server) showHealth(r *wire.Request) error {
	v := s.readiness(r)
	for i := range v.Checks {
		v.Checks[i].Detail = cmp.Or(v.Checks[i].Known, v.Checks[i].Detail)
	}
	return r.Reply(nethttp.StatusOK, v)
}

func (s *Server) readiness(r *wire.Request) readyView {
	v := readyView{Status: "ready", Checks: s.Health.Checks(r.Ctx())}
	if v.Checks == nil {
		v.Checks = []Check{}
	}
	for _, c := range v.Checks {
		if !c.OK {
			v.Status = "not_ready"
		}
	}
	return v
}
